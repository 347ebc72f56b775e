// tune: measures this machine for `--device auto` and `--kernel auto`.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/suites/tune.hpp"
#include "cli/arguments/number_flags.hpp"
#include "cli/plan/profile.hpp"
#include "cli/streams/descriptors.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/status_line.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/sizes.hpp"
#include "cli/words/spelling.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "src/core/system/descriptors.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {
namespace {

struct TuneFlags {
  std::string output;
  double seconds = 20;
  bool show = false;
  bool json = false;
  bool quiet = false;
};

// Whether the list has this device in CUDA or HIP too, with a compiler. Without one it may not run.
bool is_repeated(const std::vector<DeviceInfo>& list, const DeviceInfo& device) {
  return std::ranges::any_of(list, [&](const DeviceInfo& other) {
    return other.id == device.same_as && !other.compiler.empty();
  });
}

// The devices that `auto` may choose: the CPU and each GPU once, but no OpenCL device on the CPU.
std::vector<DeviceInfo> tunable() {
  std::vector<DeviceInfo> list;
  const std::vector<DeviceInfo> all = devices();
  std::ranges::copy_if(all, std::back_inserter(list), [&](const DeviceInfo& device) {
    return device.available && !is_repeated(all, device) && (!device.is_cpu || device.id == "cpu");
  });
  return list;
}

// How far an interval reaches from its middle, in percent of the median: "±3".
double percent(const bench::Measured& measured) {
  return measured.median > 0 ? 50 * (measured.high - measured.low) / measured.median : 0;
}

std::string spread_text(const bench::Measured& measured) {
  return fmt::format("\u00b1{:.0f}", percent(measured));
}

// Which kernel `auto` uses at each size of the profile, and whether that is sure.
std::string choices(const Profile& profile, const std::set<std::uint64_t>& sizes) {
  std::string text;
  for (const Profile::Device& device : profile.devices) {
    for (const std::uint64_t bytes : sizes) {
      const auto choice = choose_kernel(profile, device.id, bytes, false);
      if (!choice) continue;
      text +=
          fmt::format("\n{}, {}: {}: {}", device.id, format_size(bytes),
                      with_tuning(choice->kernel, choice->gpu_tuning),
                      choice->ties.empty()
                          ? "sure"
                          : "undecided: the first in the order of the kernels; as fast may be " +
                                listed(choice->ties, "and"));
    }
  }
  return text;
}

// Reports what was not measured: one line for each reason.
void say_unmeasured(const std::vector<bench::Unmeasured>& list) {
  std::map<std::string, std::vector<std::string>> rows;
  for (const auto& [name, bytes, reason] : list) {
    rows[reason].push_back(fmt::format("{} {}{}", name.device,
                                       with_tuning(name.kernel, name.gpu_tuning),
                                       bytes == 0 ? "" : " " + format_size(bytes)));
  }
  for (const auto& [reason, names] : rows) {
    say("not measured: {}: {}", listed(names, "and"), reason);
  }
}

std::string table(const Profile& profile) {
  std::string text = fmt::format("{} with {} cores, paraes {}, {}\n", profile.cpu, profile.cores,
                                 profile.version, profile.time);
  std::set<std::uint64_t> sizes;
  std::vector<bench::TunedKernel> names;
  for (const auto& [name, bytes, rate] : profile.rates) {
    sizes.insert(bytes);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  for (const Profile::Device& device : profile.devices) {
    text += fmt::format("{}: {}; {:.3g} ms {} % from start to exit\n", device.id, device.name,
                        1e3 * device.start_seconds.median, spread_text(device.start_seconds));
  }
  text += "MB/s and \u00b1% of AES-256-GCM in segments, memory to memory\n";
  text += fmt::format("{:<10} {:<17}", "device", "kernel");
  for (const std::uint64_t bytes : sizes) text += fmt::format(" {:>13}", format_size(bytes));
  for (const bench::TunedKernel& name : names) {
    text += fmt::format("\n{:<10} {:<17}", name.device,
                        name.gpu_tuning.empty() ? name.kernel : "  " + name.gpu_tuning);
    for (const std::uint64_t bytes : sizes) {
      const auto rate = std::ranges::find_if(profile.rates, [&](const bench::Rate& candidate) {
        return candidate.name == name && candidate.bytes == bytes;
      });
      text += rate == profile.rates.end()
                  ? fmt::format(" {:>13}", "-")
                  : fmt::format(" {:>8.0f} {:>4}", rate->bytes_per_second.median * 1e-6,
                                spread_text(rate->bytes_per_second));
    }
  }
  return text + choices(profile, sizes);
}

// An idle machine gives intervals of a few per cent.
constexpr double noisy_percent = 5;

// Says by how much, and what to do, if the machine was too noisy for reliable measurements.
void warn_of_noise(const Profile& profile) {
  std::vector<double> spreads;
  for (const bench::Rate& rate : profile.rates) {
    spreads.push_back(percent(rate.bytes_per_second));
  }
  if (spreads.empty()) return;
  const auto middle = spreads.begin() + static_cast<std::ptrdiff_t>(spreads.size() / 2);
  std::nth_element(spreads.begin(), middle, spreads.end());
  const double usual = *middle;  // half of them, or one more, are not below
  if (usual <= noisy_percent) return;
  say("the machine was noisy: half of the rates are uncertain by {:.0f} % or more; where that "
      "leaves it undecided, `auto` keeps to the order of the kernels; measure again on an idle "
      "machine, or for longer (--seconds)",
      usual);
}

void print(const Profile& profile, const TuneFlags& options) {
  if (options.json) {
    print_line(stdout, to_json(profile));
  } else if (!options.quiet) {
    print_line(stdout, table(profile));
  }
}

std::string where(const TuneFlags& options) {
  std::string path = options.output.empty() ? profile_path() : options.output;
  if (!path.empty()) return path;
  throw InvalidArgument(
      "no file for the profile: PARAES_PROFILE is \"none\", or HOME is not set; name a file with "
      "-o");
}

void show(const TuneFlags& options) {
  const std::string path = where(options);
  std::optional<Profile> profile;
  try {
    profile = read_profile(path);
  } catch (const InvalidArgument& error) {
    throw Error(fmt::format("{}: it is not a profile: {}; `paraes tune` makes a new one", path,
                            error.what()));
  }
  if (!profile)
    throw IoError(fmt::format("{}: there is no profile; `paraes tune` makes it", path), ENOENT);
  print(*profile, options);
  const std::string stale = why_stale(*profile);
  if (!stale.empty()) say("`auto` ignores it: {}", stale);
}

// Throws InvalidArgument if -o names something that a profile must not replace: probably a mistake.
void check_replaceable(const TuneFlags& options) {
  const std::string& path = options.output;
  if (path.empty()) return;
  if (path.back() == '/' || std::filesystem::is_directory(path)) {
    throw refusal("{}: it is a folder; name a file in it", path);
  }
  if (system::descriptor_named(path)) return;  // replaces nothing
  if (!std::filesystem::is_regular_file(path) || std::filesystem::file_size(path) == 0) return;
  try {
    static_cast<void>(read_profile(path));
  } catch (const OtherSchema&) {
    return;
  } catch (const InvalidArgument&) {
    throw refusal("{}: it exists and is not a profile: name another file", path);
  }
}

// Made before anything is measured, so that a path where nothing can be written wastes no time.
class ProfileFile {
 public:
  explicit ProfileFile(const std::string& named) {
    if (named != "-") sink_ = open_stream(named);  // here, that is a file
    if (sink_) return;
    // Replaces the target of a symbolic link, and keeps the link.
    const bool exists = std::filesystem::exists(named);
    const std::string path = exists ? std::filesystem::canonical(named).string() : named;
    const std::string folder = folder_of(path);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw io_error(folder, "make", error.value());
    FileSink::Options options;
    options.overwrite = true;
    options.mode = 0644;
    options.on_temporary = [this](int at, const std::string& name) { temporary_.set(at, name); };
    sink_ = std::make_unique<FileSink>(path, std::move(options));
  }

  void store(const Profile& profile) {
    const std::string text = to_json(profile) + "\n";
    sink_->write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    sink_->commit();
  }

 private:
  TemporaryName temporary_;
  std::unique_ptr<Sink> sink_;
};

int run(const TuneFlags& options) {
  if (options.show) {
    show(options);
    return exit_done;
  }
  const std::string path = where(options);
  check_replaceable(options);
  ProfileFile file(path);
  bench::TuneOptions tune_options;
  tune_options.seconds = options.seconds;
  tune_options.program = system::executable_path();
  if (tune_options.program.empty()) throw io_error("this executable", "find", errno);
  Profile profile = new_profile();
  const std::vector<DeviceInfo> list = tunable();
  for (const DeviceInfo& device : list) tune_options.devices.push_back(device.id);
  const bool shows = !options.quiet && isatty(STDERR_FILENO) != 0;
  StatusLine line(STDERR_FILENO);
  const bench::Tuned tuned = bench::tune(tune_options, [&](const std::string& status) {
    if (shows && line.is_due()) line.draw(status);
  });
  line.remove();
  if (tuned.signal != 0) return 128 + tuned.signal;
  for (const bench::Start& start : tuned.starts) {
    const auto device = std::ranges::find(list, start.device, &DeviceInfo::id);
    profile.devices.push_back({.id = device->id,
                               .name = device->name,
                               .driver = device->driver,
                               .start_seconds = start.seconds});
  }
  profile.rates = tuned.rates;
  if (!options.quiet) say_unmeasured(tuned.unmeasured);
  file.store(profile);
  print(profile, options);
  if (options.quiet) return exit_done;
  warn_of_noise(profile);
  if (path == profile_path()) {
    say("{}: `auto` uses this profile from now on", path);
  } else {
    say("{}: `auto` uses this profile where PARAES_PROFILE names it", path);
  }
  return exit_done;
}

constexpr const char* tune_footer = R"(
Measures AES-256-GCM in segments with every kernel of the CPU and of each GPU, and the time that
paraes takes from start to exit. `--device auto` and `--kernel auto` of encrypt, decrypt and verify
use the result: they choose a GPU if it finishes a file sooner, its start included, and only
constant-time kernels (on GPUs, --allow-leaky permits all); -v says why. On GPUs, launches and
programs of other sizes are tried as well, for large files. Measurements that overlap
decide nothing: the order of the kernels and the CPU stay. A profile of another CPU, version or
driver is ignored. Measure on an idle machine.

PARAES_PROFILE names another file; PARAES_PROFILE=none turns profiles off.

Examples:
  paraes tune
  paraes tune --seconds 60 -o profile.json
  paraes tune --show)";

}  // namespace

void add_tune(CLI::App& app, int& status) {
  CLI::App* verb =
      app.add_subcommand("tune", "Measures this machine for --device auto and --kernel auto.");
  const auto options = std::make_shared<TuneFlags>();
  verb->add_option("-o,--output", options->output,
                   "Where to store the result (default: $PARAES_PROFILE, else "
                   "$XDG_STATE_HOME/paraes/profile.json, else "
                   "~/.local/state/paraes/profile.json).")
      ->type_name("FILE");
  add_decimal(*verb, "--seconds", options->seconds, 1, 3600,
              "Approximate time to spend, in seconds (default: 20).")
      ->type_name("S");
  verb->add_flag("--show", options->show, "Print the stored profile and measure nothing.");
  verb->add_flag("--json", options->json, "Print the profile as JSON.");
  verb->add_flag("-q,--quiet", options->quiet, "Print errors only.");
  verb->footer(tune_footer);
  verb->callback([options, &status] { status = run(*options); });
}

}  // namespace paraes::cli
