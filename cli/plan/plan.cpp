#include "cli/plan/plan.hpp"

#include <fmt/format.h>

#include "cli/arguments/flags.hpp"
#include "cli/plan/computing.hpp"
#include "cli/plan/message.hpp"
#include "cli/plan/named_descriptors.hpp"
#include "cli/plan/secrets.hpp"
#include "cli/words/choices.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

void check_exclusions(const Exclusions& exclusions, const std::string& input) {
  if (!exclusions.match(file_name_of(input), input, false)) return;
  throw InvalidArgument(fmt::format("--exclude matches {}, the only input", input));
}

}  // namespace

const char* mode_name(BlockMode mode) {
  switch (mode) {
    case BlockMode::ecb:
      return "ECB";
    case BlockMode::cbc:
      return "CBC";
    case BlockMode::ctr:
      return "CTR";
    case BlockMode::xts:
      break;
  }
  return "XTS";
}

std::vector<std::string> Plan::secret_variables() const {
  return {keys.passphrase_env.value_or(""), new_keys.passphrase_env.value_or("")};
}

std::uint64_t Plan::plain_bytes(std::uint64_t bytes) const {
  if (verb == Verb::encrypt || !is_authenticated(format)) return bytes;
  try {
    const SegmentLayout layout =
        format == Format::tink
            ? tink_layout({.segment_bytes = segment_bytes})
            : c2sp_layout(format == Format::paraes ? paraes_header_bytes : c2sp_header_bytes);
    return layout.extent_of(bytes).plain_bytes;
  } catch (const Error&) {
    return bytes;  // no message has this size
  }
}

Plan make_plan(const CryptOptions& options, const Surroundings& surroundings,
               Reporting& reporting) {
  Plan plan;
  plan.verb = options.verb;
  plan.inputs = inputs_of(options, surroundings.stdin_is_terminal);
  plan.recursive = options.recursive;
  plan.several = plan.inputs.size() > 1 || plan.recursive;
  const bool data_on_stdin = plan.inputs == std::vector<std::string>{"-"};
  plan.output = look_at_output(options, data_on_stdin, surroundings.launched);
  reporting = plan_reporting(options, plan.inputs, plan.several, plan.output);

  plan.standard_input = plan_standard_input(options, plan.inputs);
  const std::string descriptor = check_named_descriptors(options, plan);
  plan.format = options.format.value_or(Format::paraes);
  plan_message(options, plan);
  check_flags(options, {.format = plan.format,
                        .mode = plan.mode,
                        .keys = options.keys.kind(),
                        .new_keys = (plan.verb == Verb::rekey ? options.to : options.keys).kind(),
                        .data_on_stdin = data_on_stdin,
                        .data_on_stdout = plan.output.data_on_stdout,
                        .descriptor = descriptor});
  check_secrets(options, plan.format);
  plan_computing(options, plan);
  check_output(options, plan.output, plan.several, data_on_stdin);

  plan.exclusions = Exclusions(options.exclude);
  if (!plan.several) check_exclusions(plan.exclusions, plan.inputs[0]);
  plan.removes = options.remove;
  plan.keys = options.keys;
  plan.new_keys = options.to;
  plan.new_key = options.new_key;
  plan.verify_segments = options.verify_segments;
  reporting.bar = choose_bar(options, plan.output, plan.standard_input.is_data);
  plan.reporting = reporting;
  return plan;
}

}  // namespace paraes::cli
