#include "cli/plan/profile.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "bench/bench.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/json_input.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"
#include "cli/words/spelling.hpp"
#include "paraes/devices.hpp"
#include "paraes/threads.hpp"
#include "paraes/version.hpp"

namespace paraes::cli {
namespace {

using Json = nlohmann::basic_json<UniqueMembers>;
using bench::Measured;

constexpr int schema = 2;
constexpr std::uint64_t most_file_bytes = 1 << 20;
// The largest size of a measured message. Up to here, a double tells any two sizes apart.
constexpr std::uint64_t most_counted_bytes = std::uint64_t{1} << 53;

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

using Points = std::vector<const bench::Rate*>;  // of one kernel, sizes ascending

// The rate at a size: interpolates linearly in the logarithm of the size.
Measured rate_at(const Points& points, std::uint64_t bytes) {
  const auto above =
      std::ranges::find_if(points, [&](const bench::Rate* point) { return point->bytes >= bytes; });
  if (above == points.begin()) return points.front()->bytes_per_second;
  if (above == points.end()) return points.back()->bytes_per_second;
  const auto& [below_name, below_bytes, below] = **(above - 1);
  const auto& [above_name, above_bytes, beyond] = **above;
  const double part = std::log(static_cast<double>(bytes) / static_cast<double>(below_bytes)) /
                      std::log(static_cast<double>(above_bytes) / static_cast<double>(below_bytes));
  const auto between = [part](double a, double b) { return a + part * (b - a); };
  return {between(below.median, beyond.median), between(below.low, beyond.low),
          between(below.high, beyond.high)};
}

Points points_of(const Profile& profile, const bench::TunedKernel& name) {
  Points points;
  for (const bench::Rate& rate : profile.rates) {
    if (rate.name == name) points.push_back(&rate);
  }
  std::ranges::sort(points, {}, &bench::Rate::bytes);
  return points;
}

// The tunings that the profile has of a kernel, paraes's own choice first.
std::vector<std::string> tunings_of(const Profile& profile, const std::string& device,
                                    std::string_view kernel) {
  std::vector<std::string> tunings = {""};
  for (const auto& [name, bytes, rate] : profile.rates) {
    if (name.device == device && name.kernel == kernel &&
        std::ranges::find(tunings, name.gpu_tuning) == tunings.end()) {
      tunings.push_back(name.gpu_tuning);
    }
  }
  return tunings;
}

bool may_run(const KernelInfo& kernel, bool on_gpu, bool allow_leaky) {
  return kernel.available && (kernel.timing == Timing::constant || (on_gpu && allow_leaky));
}

// How a GPU differs from the one in the profile; empty if it does not.
std::string why_changed(const Profile::Device& known) {
  for (const DeviceInfo& device : runtime_devices(known.id.substr(0, known.id.find(':')))) {
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
  throw refusal("'{}' is missing or is not {}", name, what);
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

// Returns a count from 1 to `most`.
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

// Reads NAME, NAME_low and NAME_high: the interval contains the number.
Measured measured_in(const Json& object, const std::string& name) {
  const Measured measured = {number_in(object, name.c_str()),
                             number_in(object, (name + "_low").c_str()),
                             number_in(object, (name + "_high").c_str())};
  if (!(measured.low <= measured.median && measured.median <= measured.high)) {
    throw refusal("'{}' is not from its low to its high", name);
  }
  return measured;
}

// Writes what measured_in() reads.
void put_measured(nlohmann::ordered_json& object, const std::string& name,
                  const Measured& measured) {
  object[name] = measured.median;
  object[name + "_low"] = measured.low;
  object[name + "_high"] = measured.high;
}

// The index of the first element that no other one beats.
template <class T, class Beats>
std::size_t first_unbeaten(const std::vector<T>& list, const Beats& beats) {
  const auto unbeaten = [&](const T& one) {
    return std::ranges::none_of(list, [&](const T& other) { return beats(other, one); });
  };
  return static_cast<std::size_t>(std::ranges::find_if(list, unbeaten) - list.begin());
}

std::string why_chosen(const Choice& choice, std::uint64_t bytes) {
  std::string text =
      choice.ties.empty()
          ? fmt::format("the fastest for {} according to the profile", format_amount(bytes))
          : fmt::format(
                "the first in order of those of which the profile does not tell which is the "
                "fastest for {}: {}, {}",
                format_amount(bytes), with_tuning(choice.kernel, choice.gpu_tuning),
                listed(choice.ties, "and"));
  if (choice.ties.empty() && !choice.gpu_tuning.empty()) {
    text += fmt::format(", with {}", choice.gpu_tuning);
  }
  text += fmt::format(", expected {:.3g} s", choice.seconds.median);
  if (choice.other.empty()) return text;
  text += fmt::format(" against {:.3g} s on {}", choice.other_seconds, choice.other);
  if (!choice.device_ties.empty()) {
    text += fmt::format(" (undecided: {})", listed(choice.device_ties, "and"));
  }
  return text;
}

}  // namespace

std::string with_tuning(const std::string& kernel, const std::string& gpu_tuning) {
  return gpu_tuning.empty() ? kernel : kernel + " with " + gpu_tuning;
}

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
    object["devices"].push_back(
        {{"id", device.id}, {"name", device.name}, {"driver", device.driver}});
    put_measured(object["devices"].back(), "start_seconds", device.start_seconds);
  }
  object["rates"] = nlohmann::ordered_json::array();
  for (const auto& [name, bytes, rate] : profile.rates) {
    object["rates"].push_back({{"device", name.device}, {"kernel", name.kernel}, {"bytes", bytes}});
    put_measured(object["rates"].back(), "bytes_per_second", rate);
    if (!name.gpu_tuning.empty()) object["rates"].back()["gpu_tuning"] = name.gpu_tuning;
  }
  return object.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Profile parse_profile(const std::string& text) {
  const Json object = parse_json_object<Json>(text);
  if (count_in(object, "schema", INT_MAX) != schema) {
    throw OtherSchema(fmt::format("its schema is not {}", schema));
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
  for (const Json& json : list_in(object, "devices")) {
    profile.devices.push_back({.id = text_in(json, "id"),
                               .name = text_in(json, "name"),
                               .driver = text_in(json, "driver"),
                               .start_seconds = measured_in(json, "start_seconds")});
    if (!devices.insert(profile.devices.back().id).second) {
      throw InvalidArgument("a device occurs twice");
    }
  }
  std::set<std::pair<bench::TunedKernel, std::uint64_t>> rates;
  for (const Json& json : list_in(object, "rates")) {
    bench::Rate rate = {
        .name = {.device = text_in(json, "device"), .kernel = text_in(json, "kernel")},
        .bytes = count_in(json, "bytes", most_counted_bytes),
        .bytes_per_second = measured_in(json, "bytes_per_second")};
    if (rate.bytes_per_second.low == 0) throw InvalidArgument("'bytes_per_second_low' is 0");
    if (json.contains("gpu_tuning")) {
      rate.name.gpu_tuning = text_in(json, "gpu_tuning");
      static_cast<void>(bench::parse_tuning(rate.name.gpu_tuning, {parse_size, parse_number}));
      if (rate.name.device == "cpu") throw InvalidArgument("the cpu has no 'gpu_tuning'");
    }
    if (!rates.emplace(rate.name, rate.bytes).second) {
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
    throw io_error(path, "read", errno);
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

std::optional<KernelChoice> choose_kernel(const Profile& profile, const std::string& device,
                                          std::uint64_t bytes, bool allow_leaky) {
  const bool on_gpu = device != "cpu";
  std::vector<KernelChoice> measured;
  for (const KernelInfo& kernel : on_gpu ? gpu_kernels() : kernels()) {
    if (!may_run(kernel, on_gpu, allow_leaky)) continue;
    for (const std::string& tuning : tunings_of(profile, device, kernel.name)) {
      const std::string name(kernel.name);
      const Points points = points_of(profile, {device, name, tuning});
      if (points.empty() || (!tuning.empty() && bytes < points.front()->bytes)) continue;
      measured.push_back({name, tuning, rate_at(points, bytes), {}});
    }
  }
  if (measured.empty()) return std::nullopt;
  // The one with the highest low end is never beaten.
  const std::size_t best =
      first_unbeaten(measured, [](const KernelChoice& other, const KernelChoice& one) {
        return other.bytes_per_second.low > one.bytes_per_second.high;
      });
  KernelChoice choice = measured[best];
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (i != best && measured[i].bytes_per_second.high >= choice.bytes_per_second.low) {
      choice.ties.push_back(with_tuning(measured[i].kernel, measured[i].gpu_tuning));
    }
  }
  return choice;
}

std::optional<Choice> choose(const Profile& profile, std::uint64_t bytes, bool allow_leaky) {
  std::vector<Choice> measured;
  for (const Profile::Device& device : profile.devices) {
    const auto kernel = choose_kernel(profile, device.id, bytes, allow_leaky);
    if (!kernel) continue;
    const auto size = static_cast<double>(bytes);
    const Measured& start = device.start_seconds;
    const Measured& rate = kernel->bytes_per_second;
    Choice& choice = measured.emplace_back(Choice{*kernel});
    choice.device = device.id;
    choice.seconds = {start.median + size / rate.median, start.low + size / rate.high,
                      start.high + size / rate.low};
  }
  if (measured.empty()) return std::nullopt;
  const std::size_t best = first_unbeaten(measured, [](const Choice& other, const Choice& one) {
    return other.seconds.high < one.seconds.low;
  });
  Choice choice = measured[best];
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Choice& other = measured[i];
    if (i == best) continue;
    if (other.seconds.low <= choice.seconds.high) choice.device_ties.push_back(other.device);
    if (choice.other.empty() || other.seconds.median < choice.other_seconds) {
      choice.other = other.device;
      choice.other_seconds = other.seconds.median;
    }
  }
  return choice;
}

void use_profile(std::uint64_t bytes, Plan& plan) {
  if (!plan.may_choose) return;
  const std::string path = profile_path();
  if (path.empty()) return;
  std::string why_ignored;
  std::optional<Choice> choice;
  try {
    const std::optional<Profile> profile = read_profile(path);
    if (!profile) return;
    why_ignored = why_stale(*profile);
    if (why_ignored.empty()) choice = choose(*profile, bytes, plan.execution.allow_leaky);
    if (choice && choice->device != "cpu") {
      const auto known = std::ranges::find(profile->devices, choice->device, &Profile::Device::id);
      why_ignored = why_changed(*known);
    }
  } catch (const IoError& error) {
    why_ignored = "cannot read it: " + std::generic_category().message(error.code());
  } catch (const Error& error) {
    why_ignored = error.what();
  }
  if (!why_ignored.empty()) {
    if (!plan.reporting.quiet) {
      say("{}: this profile is ignored: {}; `paraes tune` measures again", path, why_ignored);
    }
    return;
  }
  if (!choice) return;
  plan.kernel = select_kernel(choice->kernel, choice->device, plan.execution.allow_leaky);
  plan.execution.kernel = choice->kernel;
  plan.execution.device = choice->device;
  if (!choice->gpu_tuning.empty()) {
    plan.execution.gpu_tuning = bench::parse_tuning(choice->gpu_tuning, {parse_size, parse_number});
  }
  plan.on_gpu = choice->device != "cpu";
  plan.execution.fall_back = plan.on_gpu;
  plan.why = why_chosen(*choice, bytes);
}

}  // namespace paraes::cli
