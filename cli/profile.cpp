#include "cli/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "cli/json_input.hpp"
#include "cli/report.hpp"
#include "cli/sizes.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/threads.hpp"
#include "paraes/version.hpp"

namespace paraes::cli {
namespace {

using Json = nlohmann::basic_json<UniqueMembers>;

constexpr int schema = 1;
constexpr std::uint64_t most_file_bytes = 1 << 20;
// Of a message that was measured. Up to here a double tells any two sizes apart.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 53;

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

std::vector<std::string> features_here() {
  const auto features = cpu_features();
  return {features.begin(), features.end()};
}

// Bytes per second at a size: interpolates linearly in the logarithm of the size.
double rate_at(const std::vector<const Profile::Rate*>& points, std::uint64_t bytes) {
  const auto above = std::find_if(points.begin(), points.end(), [&](const Profile::Rate* point) {
    return point->bytes >= bytes;
  });
  if (above == points.begin()) return points.front()->bytes_per_second;
  if (above == points.end()) return points.back()->bytes_per_second;
  const Profile::Rate& low = **(above - 1);
  const Profile::Rate& high = **above;
  const double part = std::log(static_cast<double>(bytes) / static_cast<double>(low.bytes)) /
                      std::log(static_cast<double>(high.bytes) / static_cast<double>(low.bytes));
  return low.bytes_per_second + part * (high.bytes_per_second - low.bytes_per_second);
}

bool may_run(const std::string& device, const std::string& kernel, bool allow_leaky) {
  const bool on_cpu = device == "cpu";
  const std::vector<KernelInfo> list = on_cpu ? kernels() : gpu_kernels();
  const auto info = std::find_if(list.begin(), list.end(),
                                 [&](const KernelInfo& row) { return row.name == kernel; });
  if (info == list.end() || !info->available) return false;
  return info->timing == Timing::constant || (!on_cpu && allow_leaky);
}

// How a GPU differs from the one in the profile; empty if it does not.
std::string why_changed(const Profile::Device& known) {
  for (const DeviceInfo& device : devices()) {
    if (device.id != known.id) continue;
    if (!device.available) return device.reason;
    if (device.is_cpu) return known.id + " is the CPU";
    if (device.name != known.name) return fmt::format("{} is {} now", known.id, device.name);
    if (device.driver != known.driver) {
      return fmt::format("the driver of {} is {} now", known.id, device.driver);
    }
    return "";
  }
  return "there is no " + known.id;
}

[[noreturn]] void refuse(const char* name, std::string_view what) {
  throw InvalidArgument(fmt::format("'{}' is missing or is not {}", name, what));
}

const Json& member(const Json& object, const char* name, std::string_view what) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(name, what);
  return *found;
}

const Json& list_in(const Json& object, const char* name) {
  const Json& list = member(object, name, "a list");
  if (!list.is_array()) refuse(name, "a list");
  return list;
}

std::string text_of(const Json& json, const char* name) {
  const auto* const text = json.get_ptr<const std::string*>();
  if (text == nullptr) refuse(name, "a text");
  return *text;
}

std::string text_in(const Json& object, const char* name) {
  return text_of(member(object, name, "a text"), name);
}

// From 1 to `most`.
std::uint64_t count_in(const Json& object, const char* name, std::uint64_t most) {
  const std::string what = fmt::format("a whole number from 1 to {}", most);
  const auto count = whole_number(member(object, name, what), most);
  if (!count || *count == 0) refuse(name, what);
  return *count;
}

// JSON has no infinity and no NaN.
double number_in(const Json& object, const char* name) {
  constexpr const char* what = "a number of at least 0";
  const Json& json = member(object, name, what);
  const double number = json.is_number() ? json.get<double>() : -1;
  if (number < 0) refuse(name, what);
  return number;
}

}  // namespace

Profile new_profile() {
  Profile profile;
  profile.version = version();
  profile.time = now();
  profile.cpu = cpu_model();
  profile.features = features_here();
  profile.cores = available_cores();
  return profile;
}

std::string profile_path() {
  const auto environment = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  std::string named = environment("PARAES_PROFILE");
  if (named == "none") return "";
  if (!named.empty()) return named;
  // The XDG base directory specification allows absolute paths only.
  const std::string base = environment("XDG_STATE_HOME");
  if (!base.empty() && base[0] == '/') return base + "/paraes/profile.json";
  const std::string home = environment("HOME");
  return home.empty() || home[0] != '/' ? "" : home + "/.local/state/paraes/profile.json";
}

std::string to_json(const Profile& profile) {
  nlohmann::ordered_json object;
  object["schema"] = schema;
  object["version"] = profile.version;
  object["time"] = profile.time;
  object["cpu"] = {
      {"model", profile.cpu}, {"features", profile.features}, {"cores", profile.cores}};
  object["devices"] = nlohmann::ordered_json::array();
  for (const Profile::Device& device : profile.devices) {
    object["devices"].push_back({{"id", device.id},
                                 {"name", device.name},
                                 {"driver", device.driver},
                                 {"start_seconds", device.start_seconds}});
  }
  object["rates"] = nlohmann::ordered_json::array();
  for (const Profile::Rate& rate : profile.rates) {
    object["rates"].push_back({{"device", rate.device},
                               {"kernel", rate.kernel},
                               {"bytes", rate.bytes},
                               {"bytes_per_second", rate.bytes_per_second}});
  }
  return object.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Profile parse_profile(const std::string& text) {
  const Json object = parse_json_object<Json>(text);
  if (count_in(object, "schema", INT_MAX) != schema) {
    throw InvalidArgument(fmt::format("its schema is not {}", schema));
  }
  Profile profile;
  profile.version = text_in(object, "version");
  profile.time = text_in(object, "time");
  const Json& cpu = member(object, "cpu", "an object");
  profile.cpu = text_in(cpu, "model");
  for (const Json& feature : list_in(cpu, "features")) {
    profile.features.push_back(text_of(feature, "features"));
  }
  profile.cores = static_cast<int>(count_in(cpu, "cores", INT_MAX));
  std::set<std::string> devices;
  for (const Json& device : list_in(object, "devices")) {
    profile.devices.push_back({.id = text_in(device, "id"),
                               .name = text_in(device, "name"),
                               .driver = text_in(device, "driver"),
                               .start_seconds = number_in(device, "start_seconds")});
    if (!devices.insert(profile.devices.back().id).second) {
      throw InvalidArgument("a device occurs twice");
    }
  }
  std::set<std::tuple<std::string, std::string, std::uint64_t>> rates;
  for (const Json& json : list_in(object, "rates")) {
    const Profile::Rate rate = {.device = text_in(json, "device"),
                                .kernel = text_in(json, "kernel"),
                                .bytes = count_in(json, "bytes", most_bytes),
                                .bytes_per_second = number_in(json, "bytes_per_second")};
    if (rate.bytes_per_second == 0) throw InvalidArgument("'bytes_per_second' is 0");
    if (!rates.emplace(rate.device, rate.kernel, rate.bytes).second) {
      throw InvalidArgument("the rate of a kernel occurs twice for one size");
    }
    profile.rates.push_back(rate);
  }
  return profile;
}

std::optional<Profile> read_profile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw IoError(fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)),
                  errno);
  }
  PipeSource source(Descriptor(descriptor), path);
  std::vector<std::uint8_t> text(most_file_bytes);
  text.resize(source.read(text));
  return parse_profile({text.begin(), text.end()});
}

std::string why_stale(const Profile& profile) {
  if (profile.version != version()) {
    return fmt::format("it was measured with version {}", profile.version);
  }
  if (profile.cpu != cpu_model())
    return fmt::format("it was measured on another CPU, {}", profile.cpu);
  if (profile.features != features_here()) return "it was measured on a CPU with other features";
  if (profile.cores != available_cores()) {
    return fmt::format("it was measured with {} cores, and there are {}", profile.cores,
                       available_cores());
  }
  return "";
}

std::optional<Choice> choose(const Profile& profile, std::uint64_t bytes, bool allow_leaky) {
  std::map<std::pair<std::string, std::string>, std::vector<const Profile::Rate*>> curves;
  for (const Profile::Rate& rate : profile.rates) {
    curves[{rate.device, rate.kernel}].push_back(&rate);
  }
  std::optional<Choice> best;
  for (const Profile::Device& device : profile.devices) {
    std::optional<Choice> best_here;
    for (auto& [name, points] : curves) {
      if (name.first != device.id || !may_run(device.id, name.second, allow_leaky)) continue;
      std::sort(points.begin(), points.end(),
                [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
      const double seconds =
          device.start_seconds + static_cast<double>(bytes) / rate_at(points, bytes);
      if (best_here && best_here->seconds <= seconds) continue;
      best_here = {.device = device.id, .kernel = name.second, .seconds = seconds};
    }
    if (!best_here) continue;
    if (!best || best_here->seconds < best->seconds) std::swap(best, best_here);
    if (best_here && (best->other.empty() || best_here->seconds < best->other_seconds)) {
      best->other = best_here->device;
      best->other_seconds = best_here->seconds;
    }
  }
  return best;
}

void use_profile(const CryptOptions& options, std::uint64_t bytes, Plan& plan) {
  const char* kernel = std::getenv("PARAES_KERNEL");
  const bool named = options.kernel.empty() ? kernel != nullptr && *kernel != '\0' &&
                                                  std::string_view(kernel) != "auto"
                                            : options.kernel != "auto";
  if (options.device != "auto" || named || !is_authenticated(plan.format)) return;
  const std::string path = profile_path();
  if (path.empty()) return;
  std::string why_ignored;
  std::optional<Choice> choice;
  try {
    const std::optional<Profile> profile = read_profile(path);
    if (!profile) return;
    why_ignored = why_stale(*profile);
    if (why_ignored.empty()) choice = choose(*profile, bytes, options.allow_leaky);
    if (choice && choice->device != "cpu") {
      const auto known =
          std::find_if(profile->devices.begin(), profile->devices.end(),
                       [&](const Profile::Device& device) { return device.id == choice->device; });
      why_ignored = why_changed(*known);
    }
  } catch (const Error& error) {
    why_ignored = error.what();
  }
  if (!why_ignored.empty()) {
    if (!options.quiet) {
      say(fmt::format("the profile {} is ignored: {}; `paraes tune` measures again", path,
                      why_ignored));
    }
    return;
  }
  if (!choice) return;
  plan.kernel = select_kernel(choice->kernel, choice->device, options.allow_leaky);
  plan.execution.kernel = choice->kernel;
  plan.execution.device = choice->device;
  plan.on_gpu = choice->device != "cpu";
  plan.execution.fall_back = plan.on_gpu;
  plan.why = fmt::format("the fastest for {} according to the profile, {:.3g} s",
                         format_size(bytes), choice->seconds);
  if (!choice->other.empty()) {
    plan.why += fmt::format(" against {:.3g} s on {}", choice->other_seconds, choice->other);
  }
}

}  // namespace paraes::cli
