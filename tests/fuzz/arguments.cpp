// Fuzzes the arguments of encrypt, decrypt, verify, rekey and info: they are refused with
// InvalidArgument, or they give flags, files and a plan that agree with each other. No file is
// opened, and no program is run. The input is one argument a line.

#include "cli/arguments/arguments.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <iterator>
#include <sstream>

#include "cli/arguments/flags.hpp"
#include "cli/plan/plan.hpp"
#include "paraes/error.hpp"
#include "tests/fuzz/input.hpp"

namespace paraes::fuzz {
namespace {

using cli::CryptOptions;
using cli::Verb;

// A line that begins with a byte from 128 on begins with one of these.
std::vector<std::string> known_words() {
  std::istringstream all(
      "encrypt decrypt verify rekey info help --format paraes c2sp tink raw openssl --mode ecb cbc "
      "ctr xts --iv-hex 00112233445566778899aabbccddeeff --key-bits 128 192 256 --key-file -k key "
      "--key-hex --passphrase-file --passphrase-env --recipient --identity --to-key-file "
      "--to-recipient --to-passphrase --new-key --context-hex --segment-size --tink-hash SHA512 "
      "--scrypt-log2n --max-scrypt-log2n --nopad --unit --iter --output --stdout --force --update "
      "--rm --offset --length --salvage --recursive --exclude --kernel --device cpu --threads - -- "
      "1MiB --no-progress --progress --passphrase-fd --key-command --key-encoding hex");
  return {std::istream_iterator<std::string>(all), {}};
}

std::vector<std::string> words_in(const std::string& text) {
  static const std::vector<std::string> known = known_words();
  std::vector<std::string> words = {"paraes"};
  std::istringstream lines(text);
  for (std::string line; words.size() < 40 && std::getline(lines, line);) {
    line.erase(std::find(line.begin(), line.end(), '\0'), line.end());  // no argument has it
    const auto first = line.empty() ? 0U : static_cast<std::uint8_t>(line[0]);
    if (first >= 128 && first - 128 < known.size()) line.replace(0, 1, known[first - 128]);
    words.push_back(line);
  }
  return words;
}

constexpr Verb verbs[] = {Verb::encrypt, Verb::decrypt, Verb::verify, Verb::rekey, Verb::info};

// The command, with flags that go nowhere but to `options`.
struct Command {
  CLI::App app{"summary", "paraes"};
  std::array<CryptOptions, std::size(verbs)> options;

  Command() {
    app.set_version_flag("-V,--version", "1", "Print the version.");
    app.set_help_flag("-h,--help", "Print this help.");
    for (std::size_t i = 0; i < std::size(verbs); ++i) {
      options[i] = CryptOptions(verbs[i]);
      cli::add_crypt_flags(*app.add_subcommand(cli::verb_name(verbs[i]), "A verb."), options[i],
                           cli::NamedFlags::all());
    }
    app.add_subcommand(cli::version_verb, "A verb.");
    app.add_subcommand(cli::help_verb, "A verb.")->add_option("VERB", "A verb.");
    app.require_subcommand(0, 1);
  }
};

cli::Arguments read(Command& command, const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  argv.reserve(words.size());
  for (const std::string& word : words) argv.push_back(word.c_str());
  return cli::read_arguments(command.app, static_cast<int>(argv.size()), argv.data());
}

// The files: all behind the `--` that is not the value of a flag.
std::vector<std::string> files_in(const CLI::App& verb, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") {
      return std::vector(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
    }
    const CLI::Option* const flag = verb.get_option_no_throw(words[i]);
    if (flag != nullptr && flag->get_items_expected_min() != 0) ++i;
  }
  return {};
}

void check_plan(const CryptOptions& options) {
  // A GPU's driver is not under test.
  if (options.device && *options.device != "auto" && *options.device != "cpu") return;
  cli::Reporting reporting;
  const cli::Plan plan = cli::make_plan(options, {}, reporting);
  require(!plan.inputs.empty());
  require(plan.format == options.format.value_or(cli::Format::paraes));
  require(plan.format_named == options.format.has_value());
  require(plan.verb == Verb::info || (plan.kernel.available && !plan.on_gpu));
  require(cli::is_authenticated(plan.format) || plan.context.empty());
  require(plan.context.size() <= max_c2sp_context_bytes);
  require(plan.unit_bytes >= block_bytes && plan.unit_bytes <= max_xts_unit_bytes);
  require(plan.iv.empty() || plan.iv.size() == block_bytes);
  require(plan.key_bits != 192 || !cli::is_authenticated(plan.format));
  require(plan.plain_bytes(1000) <= 1000);
  require(plan.keys.given().size() <= 1);
}

// Checks that CLI11 and the verb get what read_arguments returned.
void check_parsed(Command& command, const cli::Arguments& arguments) {
  std::vector<std::string> words(arguments.words.rbegin(), arguments.words.rend());
  try {
    command.app.parse(std::move(words));
  } catch (const CLI::ParseError&) {
    return;  // a value that does not fit
  }
  for (std::size_t i = 0; i < std::size(verbs); ++i) {
    const CLI::App& verb = *command.app.get_subcommand(cli::verb_name(verbs[i]));
    const bool chosen = arguments.words.front() == verb.get_name();
    require(chosen == verb.parsed());
    if (!chosen) continue;
    require(command.options[i].inputs == files_in(verb, arguments.words));
    check_plan(command.options[i]);
  }
}

}  // namespace

void fuzz(Input& input) {
  const std::vector<std::string> words = words_in(input.ConsumeRemainingBytesAsString());
  try {
    Command command;
    const cli::Arguments arguments = read(command, words);
    if (arguments.help != nullptr) {
      require(!arguments.help->help().empty());
    } else if (!arguments.version) {
      check_parsed(command, arguments);
    }
  } catch (const InvalidArgument& error) {
    require(*error.what() != '\0');
  }
}

}  // namespace paraes::fuzz
