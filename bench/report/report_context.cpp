#include "bench/report/report.hpp"

#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/file/child.hpp"
#include "bench/file/tools.hpp"
#include "bench/memory/openmp.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/system/machine.hpp"
#include "build_info.hpp"
#include "paraes/devices.hpp"
#include "paraes/kernels.hpp"
#include "paraes/threads.hpp"
#include "paraes/version.hpp"
#include "src/core/cache.hpp"
#include "src/core/system/program_path.hpp"
#include "src/kernels/cpu_features.hpp"

namespace paraes::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

#if defined(__x86_64__) || defined(__aarch64__)
// Counts `steps` down to 0.
void count_down(std::uint64_t steps) {
#if defined(__x86_64__)
  asm volatile(
      "1: dec %0\n\t"
      "jnz 1b"
      : "+r"(steps)
      :
      : "cc");
#else
  asm volatile(
      "1: subs %0, %0, #1\n\t"
      "b.ne 1b"
      : "+r"(steps)
      :
      : "cc");
#endif
}
#endif

// Cycles per second of a busy core, from the time of a countdown loop, assuming one cycle for each
// iteration, as on current x86-64 and AArch64 processors. The best of 15 measurements, since other
// processes may use the core. Null on other architectures.
Json measured_clock() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr std::uint64_t steps = 2'000'000;
  double best = 0;
  for (int i = 0; i < 15; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    count_down(steps);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(steps) / took.count());
  }
  return static_cast<std::uint64_t>(best);
#else
  return {};
#endif
}

// The text of the file without trailing white space, or null.
Json text_of(const char* path) {
  std::ifstream file(path);
  if (!file) return {};
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  text.erase(text.find_last_not_of(" \n\t") + 1);
  if (text.empty()) return {};
  return text;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json time_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  if (gmtime_r(&now, &utc) == nullptr) return {};
  char text[32];
  if (std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) return {};
  return text;
}

Json host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

Json kernel_release() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return std::string(names.sysname) + " " + names.release;
}

// The kind of container, or null if none is detected, which does not prove that there is none.
Json container() {
  std::error_code error;
  if (fs::exists("/.dockerenv", error)) return "docker";
  if (fs::exists("/run/.containerenv", error)) return "podman";
  if (const char* name = std::getenv("container"); name != nullptr && *name != '\0') return name;
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  return {};
}

// "none" is certain. A hypervisor may hide.
Json hypervisor() {
  const std::string reported = reported_hypervisor();
  return text_or_null(reported.empty() ? hypervisor_of_system() : reported);
}

// Physical cores: distinct (package, core) pairs.
Json physical_cores() {
  std::set<std::pair<int, int>> cores;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/cpu", error)) {
    std::ifstream package(entry.path() / "topology/physical_package_id");
    std::ifstream core(entry.path() / "topology/core_id");
    int p = 0;
    int c = 0;
    if (package >> p && core >> c) cores.emplace(p, c);
  }
  if (cores.empty()) return {};
  return cores.size();
}

Json numa_nodes() {
  unsigned nodes = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/sys/devices/system/node", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("node", 0) == 0 && name.size() > 4 && name[4] >= '0' && name[4] <= '9') ++nodes;
  }
  if (nodes == 0) return {};
  return nodes;
}

// The system's setting for huge pages, and that buffers request them.
Json huge_pages() {
  const Json setting = text_of("/sys/kernel/mm/transparent_hugepage/enabled");
  if (setting.is_null()) return {};
  return setting.get<std::string>() + ", buffers from 2 MiB on advised";
}

Json compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("gcc ") + __VERSION__;
#else
  return {};
#endif
}

std::string version_of(const FileRival& rival) {
  if (rival.version_command.empty()) return {};
  std::vector<std::string> command = rival.version_command;
  command[0] = system::find_in_path(command[0]);
  return command[0].empty() ? "" : first_line_of(command);
}

Json libraries(bool programs) {
  Json list = Json::object();
  list["paraes"] = paraes::version();
  for (const MemoryRival& rival : memory_rivals()) {
    list[rival.library] = text_or_null(rival.version());
  }
  if (!programs) return list;
  for (const FileRival& rival : file_rivals()) {
    if (rival.version_command.empty()) continue;
    list[std::string(rival.name)] = text_or_null(version_of(rival));
  }
  return list;
}

// Null without the module of the executor `openmp`.
Json openmp_context() try {
  const OpenMpFunctions& functions = openmp_functions();
  Json json;
  json["version"] = functions.version;
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<void*>(functions.max_threads), &info) != 0;
  json["library"] = known ? Json(fs::path(info.dli_fname).filename().string()) : Json();
  json["max_threads"] = functions.max_threads();
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY"}) {
    const char* value = std::getenv(name);
    json[name] = value != nullptr ? Json(value) : Json();
  }
  return json;
} catch (const Skip&) {
  return {};
}

// Null if the system does not tell.
Json memory_bytes(const std::vector<DeviceInfo>& devices) {
  for (const DeviceInfo& info : devices) {
    if (info.id == "cpu" && info.memory_bytes != 0) return info.memory_bytes;
  }
  return {};
}

// Adds "gpus", every GPU that can be used, and "drivers", the driver version of each runtime, null
// if it has no usable device.
void add_gpus(Json& json, const std::vector<DeviceInfo>& devices) {
  Json gpus = Json::array();
  Json drivers;
  for (const std::string_view runtime : gpu_runtimes) drivers[runtime] = nullptr;
  for (const DeviceInfo& info : devices) {
    if (info.id == "cpu" || !info.available) continue;
    gpus.push_back({{"id", info.id},
                    {"name", info.name},
                    {"memory", info.memory_bytes},
                    {"type", info.is_cpu ? "cpu" : "gpu"},
                    {"driver", info.driver},
                    {"compiler", text_or_null(info.compiler)},
                    {"target", info.target}});
    Json& driver = drivers[info.id.substr(0, info.id.find(':'))];
    if (driver.is_null()) driver = info.driver;
  }
  json["gpus"] = std::move(gpus);
  json["drivers"] = std::move(drivers);
}

}  // namespace

std::string version_of_rival(const std::string& name) {
  for (const MemoryRival& rival : memory_rivals()) {
    if (rival.name == name) return rival.version();
  }
  for (const FileRival& rival : file_rivals()) {
    if (rival.name == name) return version_of(rival);
  }
  return {};
}

Json context(const std::string& folder, const std::string& machine) {
  const std::vector<DeviceInfo> all_devices = devices();
  Json json;
  json["time"] = time_now();
  json["host"] = host_name();
  json["machine"] = text_or_null(machine);
  json["kernel_release"] = kernel_release();
  json["container"] = container();
  json["hypervisor"] = hypervisor();
  json["cpu"] = cpu_model();
  json["cpu_id"] = text_or_null(reported_cpu_id());
  json["microcode"] = text_or_null(microcode());
  Json features = Json::array();
  for (const std::string_view name : cpu_features()) features.push_back(std::string(name));
  json["features"] = std::move(features);
  json["cores"] = physical_cores();
  json["threads"] = available_cores();
  json["numa"] = numa_nodes();
  json["memory_bytes"] = memory_bytes(all_devices);
  json["governor"] = text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  json["clock_hz"] = measured_clock();
  json["thp"] = huge_pages();
  json["first_touch"] = "by the threads that are timed";
  json["last_level_cache_bytes"] = last_level_cache_bytes(1);
  add_gpus(json, all_devices);
  json["compiler"] = compiler();
  json["flags"] = PARAES_BUILD_FLAGS;
  const std::string commit = PARAES_BUILD_COMMIT;
  json["git"] = text_or_null(commit);
  json["dirty"] = commit.empty() ? Json() : Json(PARAES_BUILD_DIRTY != 0);
  json["libraries"] = libraries(!folder.empty());
  json["omp"] = openmp_context();
  if (!folder.empty()) json["folder"] = describe_folder(folder);
  return json;
}

}  // namespace paraes::bench
