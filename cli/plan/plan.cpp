#include "cli/plan/plan.hpp"

#include <unistd.h>

#include <array>
#include <string_view>

#include "cli/arguments/flags.hpp"
#include "cli/plan/lists.hpp"
#include "cli/plan/secrets.hpp"
#include "cli/words/errors.hpp"
#include "paraes/attributes.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// All of it but the bar.
Reporting plan_reporting(const CryptOptions& options, const Plan& plan) {
  Reporting reporting;
  if (!plan.inputs.empty()) reporting.input = plan.inputs[0];
  if (options.format) reporting.format = format_name(*options.format);
  reporting.several = plan.several;
  reporting.quiet = options.quiet;
  reporting.verbose = options.verbose && !options.quiet;
  reporting.json = options.json;
  const bool writes = options.verb != Verb::verify;
  if (writes && plan.output.mixes_with_stdout) reporting.json_stream = stderr;
  return reporting;
}

Progress::Bar choose_bar(const CryptOptions& options, const Plan& plan) {
  if (options.progress) return Progress::Bar::always;
  // A terminal shows what is typed, or the data, in the place of the bar.
  const bool typed = plan.standard_input.is_data && isatty(STDIN_FILENO) != 0;
  const bool shown = options.verb != Verb::verify && plan.output.is_terminal();
  const bool wanted =
      !options.no_progress && !options.quiet && isatty(STDERR_FILENO) != 0 && !typed && !shown;
  return wanted ? Progress::Bar::when_slow : Progress::Bar::none;
}

// Sets what else there is to say about the format. Flags that have no effect are left to
// check_flags.
void plan_message(const CryptOptions& options, Plan& plan) {
  plan.format_named = options.format.has_value();
  plan.mode = options.mode.value_or(plan.format == Format::openssl ? BlockMode::cbc : plan.mode);
  if (options.iv) plan.iv = *options.iv;
  if (options.iv && options.iv->size() != block_bytes) {
    throw refusal("--iv-hex has {} hex digits; it must have exactly 32 (16 bytes)",
                  2 * options.iv->size());
  }
  const std::size_t most = plan.format == Format::c2sp ? max_c2sp_context_bytes : max_context_bytes;
  if (plan.context.size() > most) {
    throw refusal("--context-hex has {} bytes; at most {} are allowed", plan.context.size(), most);
  }
}

// More than any system takes.
constexpr std::size_t most_path_bytes = 4096;

// Sets the kernel, the device and what goes with them. info computes nothing.
void plan_computing(const CryptOptions& options, Plan& plan) {
  if (plan.verb == Verb::info) return;
  const std::string device = options.device.value_or("auto");
  const std::string kernel = options.kernel.value_or("");
  if (device.starts_with("cpu+") && !is_authenticated(plan.format)) {
    throw refusal(
        "--device {} shares out segments, which --format {} does not have: name only one of them",
        device, format_name(plan.format));
  }
  // Check the name before a passphrase is asked for.
  require_device(device);
  plan.kernel = select_kernel(kernel, device, options.allow_leaky);
  plan.on_gpu = device != "auto" && device != "cpu";
  const std::string_view wanted = kernel.empty() ? kernel_of_environment() : kernel;
  const bool is_named = !wanted.empty() && wanted != "auto";
  plan.why = is_named && options.kernel ? "named by --kernel"
             : is_named                 ? "named by PARAES_KERNEL"
             : options.allow_leaky      ? "the fastest one available"
                                        : "the fastest constant-time one available";
  plan.may_choose = device == "auto" && !is_named && is_authenticated(plan.format);
  plan.execution.kernel = kernel;
  plan.execution.threads = options.threads;
  plan.execution.device = device;
  plan.execution.allow_leaky = options.allow_leaky;
  plan.execution.transfer = options.transfer;
  plan.execution.key_expansion = options.key_expansion;
  plan.execution.overlap = !options.no_overlap;
}

// Sets the inputs, and what the lists of inputs and patterns hold, each of which is read once.
// Returns the flags that read a list from standard input.
std::vector<std::string> plan_inputs(const CryptOptions& options, const Surroundings& surroundings,
                                     Plan& plan) {
  std::vector<std::string> readers =
      list_readers(options, surroundings.reads_lists, surroundings.launched);
  plan.inputs = inputs_of(options, readers, surroundings.stdin_is_terminal);
  plan.first_listed = plan.inputs.size();
  std::vector<std::string> patterns = options.exclude;
  const auto read = [&](const std::string& path, const char* flag, EntryEnd end) {
    plan.lists.push_back({.path = path, .flag = flag, .is_public = true});
    return surroundings.reads_lists ? read_list(path, flag, end) : std::vector<std::string>();
  };
  if (options.files_from) {
    const auto names = read(*options.files_from, "--files-from",
                            options.null_list ? EntryEnd::nul : EntryEnd::newline);
    if (names.empty() && plan.inputs.empty() && surroundings.reads_lists) {
      throw refusal("--files-from {}: it names no files", *options.files_from);
    }
    for (const std::string& name : names) {
      if (name.size() <= most_path_bytes) continue;
      throw refusal(
          "--files-from {}: it has an entry of {} bytes, more than a path can have: one name {} is "
          "expected",
          *options.files_from, name.size(), options.null_list ? "before each NUL" : "a line");
    }
    plan.inputs.insert(plan.inputs.end(), names.begin(), names.end());
  }
  for (const std::string& path : options.exclude_from) {
    const auto more = read(path, "--exclude-from", EntryEnd::newline);
    patterns.insert(patterns.end(), more.begin(), more.end());
  }
  plan.exclusions = Exclusions(patterns);
  plan.several = plan.inputs.size() > 1 || plan.recursive || options.files_from;
  return readers;
}

}  // namespace

const char* mode_name(BlockMode mode) {
  constexpr std::array names = {"ECB", "CBC", "CTR", "XTS"};
  return names.at(static_cast<std::size_t>(mode));
}

std::vector<std::string> Plan::secret_variables() const {
  return {keys.passphrase_env.value_or(""), new_keys.passphrase_env.value_or("")};
}

std::uint64_t Plan::plain_bytes(std::uint64_t bytes) const {
  if (verb == Verb::encrypt || !is_authenticated(format)) return bytes;
  try {
    const SegmentLayout layout =
        format == Format::tink
            ? tink_layout(tink_parameters())
            : c2sp_layout(format == Format::paraes ? paraes_header_bytes : c2sp_header_bytes);
    return layout.extent_of(bytes).plain_bytes;
  } catch (const Error&) {
    return bytes;  // no message has this size
  }
}

Plan make_plan(const CryptOptions& options, const Surroundings& surroundings,
               Reporting& reporting) {
  Plan plan;
  static_cast<Settings&>(plan) = options;
  const std::vector<std::string> readers = plan_inputs(options, surroundings, plan);
  const bool data_on_stdin = plan.inputs == std::vector<std::string>{"-"};
  plan.output = look_at_output(options, data_on_stdin, surroundings.launched);
  reporting = plan_reporting(options, plan);

  plan.standard_input = plan_standard_input(options, plan.inputs, readers);
  const std::string descriptor = check_named_descriptors(options, plan.inputs, plan.output);
  plan.format = options.format.value_or(Format::paraes);
  plan_message(options, plan);
  check_flags(options, {.format = plan.format,
                        .mode = plan.mode,
                        .keys = plan.keys.kind(),
                        .new_keys = (plan.verb == Verb::rekey ? plan.new_keys : plan.keys).kind(),
                        .data_on_stdin = data_on_stdin,
                        .data_on_stdout = plan.output.data_on_stdout,
                        .descriptor = descriptor});
  check_secrets(options, plan.format);
  if (plan.keeps_attributes && !has_file_attributes()) {
    throw Unavailable(
        "--xattrs: paraes knows the extended attributes of Linux alone: leave it out");
  }
  plan_computing(options, plan);
  check_output(options, plan.output, plan.several, data_on_stdin);

  if (!plan.several && plan.exclusions.match(file_name_of(plan.inputs[0]), plan.inputs[0], false)) {
    throw refusal("--exclude matches {}, the only input", plan.inputs[0]);
  }
  reporting.bar = choose_bar(options, plan);
  plan.reporting = reporting;
  return plan;
}

}  // namespace paraes::cli
