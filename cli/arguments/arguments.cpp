#include "cli/arguments/arguments.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "cli/words/errors.hpp"
#include "cli/words/spelling.hpp"
#include "paraes/ciphers.hpp"

namespace paraes::cli {
namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) { return app.get_subcommands({}); }

const CLI::App* find_verb(const CLI::App& app, std::string_view name) {
  for (const CLI::App* verb : verbs_of(app)) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& verbs) {
  std::vector<std::string> names;
  names.reserve(verbs.size());
  for (const CLI::App* verb : verbs) names.push_back(verb->get_name());
  return names;
}

// `flag` is "--long" or "-x".
const CLI::Option* find_flag(const CLI::App& app, std::string_view flag) {
  if (!flag.starts_with('-')) return nullptr;
  for (const CLI::Option* option : app.get_options()) {
    if (option->check_name(std::string(flag))) return option;
  }
  return nullptr;
}

// The long flags, without their dashes.
std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

const CLI::Option* positional_of(const CLI::App& app) {
  const auto options = app.get_options([](const CLI::Option* o) { return o->get_positional(); });
  return options.empty() ? nullptr : options.front();
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }
bool needs_value(const CLI::Option& option) { return option.get_items_expected_min() != 0; }
bool repeats(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

// The flags of other programs for what paraes has, too. A target that is no flag is an explanation.
struct Habit {
  std::string_view theirs;
  std::string_view ours;
};
constexpr std::array<Habit, 22> habits = {{
    {"-d", "the verb `decrypt` does that"},
    {"-e", "the verb `encrypt` does that"},
    {"-in", "write the name of the input without a flag"},
    {"--in", "write the name of the input without a flag"},
    {"-i", "write the name of the input without a flag"},
    {"--input", "write the name of the input without a flag"},
    {"--infile", "write the name of the input without a flag"},
    {"--key", "--key-file"},
    {"-p", "--passphrase-file"},
    {"-pass", "--passphrase-file"},
    {"--pass", "--passphrase-file"},
    {"--passwd", "--passphrase-file"},
    {"--password", "--passphrase-file"},
    {"--password-file", "--passphrase-file"},
    {"--passphrase", "--passphrase-file"},
    {"--jobs", "--threads"},
    {"-j", "--threads"},
    {"--delete", "--rm"},
    {"--remove", "--rm"},
    {"--overwrite", "--force"},
    {"--silent", "--quiet"},
    {"--iv", "--iv-hex"},
}};

bool is_habit(std::string_view flag) {
  return std::ranges::any_of(habits, [&](const Habit& habit) { return habit.theirs == flag; });
}

class Reader {
 public:
  Reader(CLI::App& app, int argc, const char* const* argv)
      : app_(app), given_(argv + std::min(argc, 1), argv + argc) {}

  Arguments read() {
    if (asks_for_help()) return std::move(result_);
    for (; at_ < given_.size() && !is_over(); ++at_) {
      const std::string& word = given_[at_];
      if (!only_files_ && word == "--") {
        if (verb_ == nullptr) fail("no verb was given before --; " + all_verbs());
        only_files_ = true;
      } else if (!only_files_ && word.size() > 1 && word[0] == '-') {
        read_flag(word);
      } else if (verb_ == nullptr) {
        read_verb(word);
      } else {
        read_file(word);
      }
    }
    if (is_over()) return std::move(result_);
    if (verb_ == nullptr) fail("no verb was given; " + all_verbs());
    if (verb_->get_name() == version_verb) {
      result_.version = true;
    } else if (verb_->get_name() == help_verb) {
      verb_ = nullptr;
      if (!files_.empty()) read_verb(files_.front());
      result_.help = &level();
    } else {
      add_files();
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool is_over() const { return result_.help != nullptr || result_.version; }
  [[nodiscard]] const CLI::App& level() const { return verb_ == nullptr ? app_ : *verb_; }

  // A user who asks for help gets it even if the other arguments are wrong, unless the verb is.
  bool asks_for_help() {
    const auto end = std::ranges::find(given_, "--");
    const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
    if (std::none_of(given_.begin(), end, is_help)) return false;
    const auto verb = std::find_if(given_.begin(), end,
                                   [](const std::string& word) { return word.rfind('-', 0) != 0; });
    if (verb != end) read_verb(*verb);
    result_.help = &level();
    return true;
  }

  [[nodiscard]] std::string all_verbs() const {
    return "the verbs are " + listed(names_of(verbs_of(app_)), "and");
  }

  [[noreturn]] void fail(const std::string& text) const { fail(text, verb_); }

  // `verb`: whose help tells more; null for that of all verbs.
  [[noreturn]] void fail(const std::string& text, const CLI::App* verb) const {
    const std::string name = verb == nullptr ? "" : " " + verb->get_name();
    throw refusal("{} (see `{}{} --help`)", text, app_.get_name(), name);
  }

  void read_verb(const std::string& word) {
    verb_ = find_verb(app_, word);
    if (verb_ == nullptr) {
      const auto near = similar_names(word, names_of(verbs_of(app_)));
      fail(fmt::format("there is no verb '{}'{}", word,
                       near.empty() ? "; " + all_verbs() : did_you_mean(near)));
    }
    result_.words.push_back(word);
  }

  void read_flag(const std::string& word) {
    if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const std::string flag = word.substr(0, equals);
      const CLI::Option* const option = find_flag(level(), flag);
      if (option == nullptr) unknown_flag(flag);
      std::optional<std::string> value;
      if (equals != std::string::npos) value = word.substr(equals + 1);
      add_flag(*option, flag, std::move(value));
      return;
    }
    // "-rf" is -r -f, and "-T4" is -T 4.
    for (std::size_t i = 1; i < word.size() && !is_over(); ++i) {
      const std::string flag = {'-', word[i]};
      const CLI::Option* const option = find_flag(level(), flag);
      if (option == nullptr && access(word.c_str(), F_OK) == 0) {
        fail(fmt::format("there is no flag '{}'; if you mean the file, write ./{}", flag, word));
      }
      if (option == nullptr) unknown_flag(i == 1 && is_habit(word) ? word : flag);
      std::optional<std::string> value;
      if (takes_value(*option) && i + 1 < word.size()) value = word.substr(i + 1);
      const bool ends = value.has_value();
      add_flag(*option, flag, std::move(value));
      if (ends) return;
    }
  }

  // `flag`: as it was given. `value`: what is attached to it.
  void add_flag(const CLI::Option& option, const std::string& flag,
                std::optional<std::string> value) {
    if (&option == level().get_help_ptr()) {
      result_.help = &level();
      return;
    }
    if (&option == app_.get_version_ptr()) {
      result_.version = true;
      return;
    }
    const std::string name = option.get_name();
    if (!takes_value(option)) {
      if (value) fail(flag + " takes no value");
      if (++counts_[&option] == 1) result_.words.push_back(name);
      return;
    }
    if (++counts_[&option] == 2 && !repeats(option)) {
      fail(flag + " was given twice; give it once");
    }
    if (!needs_value(option)) {
      if (!value && at_ + 1 < given_.size() && given_[at_ + 1].rfind('-', 0) != 0) {
        value = given_[++at_];
      }
      if (value && value->empty()) lacks_value(option, flag);
      result_.words.push_back(value ? name + "=" + *value : name);
      return;
    }
    if (!value) {
      if (at_ + 1 == given_.size()) lacks_value(option, flag);
      value = given_[++at_];
      // Taking it would be the worse guess.
      if (*value == "--" || find_flag(level(), value->substr(0, value->find('='))) != nullptr) {
        lacks_value(option, flag, *value);
      }
    }
    result_.words.push_back(name);
    result_.words.push_back(*value);
  }

  // `next`: the flag that follows.
  [[noreturn]] void lacks_value(const CLI::Option& option, const std::string& flag,
                                const std::string& next = "") const {
    const std::string next_flag = next.substr(0, next.find('='));
    fail(fmt::format("{} lacks its value ({}){}", flag, option.get_type_name(),
                     next.empty() ? "" : fmt::format(": {} is a flag, too", next_flag)));
  }

  void read_file(const std::string& word) {
    const CLI::Option* const option = positional_of(*verb_);
    if (option == nullptr) {
      fail(fmt::format("'{}' is one argument too many: {} takes only flags", word,
                       verb_->get_name()));
    }
    if (!repeats(*option) && !files_.empty()) {
      fail(fmt::format("'{}' is one argument too many: {} takes one {}", word, verb_->get_name(),
                       option->get_name()));
    }
    files_.push_back(word);
  }

  void add_files() {
    if (files_.empty()) return;
    // The exact number: with any number allowed, CLI11 takes a file named [a] for a list.
    app_.get_subcommand(verb_->get_name())
        ->get_option(positional_of(*verb_)->get_name())
        ->expected(static_cast<int>(files_.size()));
    result_.words.emplace_back("--");
    result_.words.insert(result_.words.end(), files_.begin(), files_.end());
  }

  // `flag` is "--name", or what was given of short flags.
  [[noreturn]] void unknown_flag(const std::string& flag) const {
    const std::string start = verb_ == nullptr
                                  ? fmt::format("there is no flag '{}'", flag)
                                  : fmt::format("{} has no flag '{}'", verb_->get_name(), flag);
    if (verb_ != nullptr && find_flag(app_, flag) != nullptr) {
      fail(fmt::format("{}; `{} {}` has it", start, app_.get_name(), flag));
    }
    // rekey --recipient
    const std::string to = flag.substr(0, 2) == "--" ? "--to-" + flag.substr(2) : "";
    if (verb_ != nullptr && !to.empty() && find_flag(*verb_, to) != nullptr) {
      fail(start + did_you_mean({to}));
    }
    std::vector<const CLI::App*> owners;
    for (const CLI::App* verb : verbs_of(app_)) {
      if (find_flag(*verb, flag) != nullptr) owners.push_back(verb);
    }
    if (!owners.empty()) {
      const std::string list = listed(names_of(owners), "and");
      if (verb_ != nullptr) {
        const bool one = owners.size() == 1;
        fail(fmt::format("{}; {} {} it", start, list, one ? "has" : "have"),
             one ? owners.front() : verb_);
      }
      fail(fmt::format("'{}' is a flag of {}: write it after the verb", flag, list));
    }
    fail(start + suggestion(flag));
  }

  [[nodiscard]] std::string suggestion(const std::string& flag) const {
    for (const Habit& habit : habits) {
      if (habit.theirs != flag) continue;
      if (habit.ours[0] != '-') return fmt::format("; {}", habit.ours);
      if (find_flag(level(), habit.ours)) return did_you_mean({std::string(habit.ours)});
    }
    if (flag.substr(0, 2) == "--") {
      const std::string name = flag.substr(2);
      if (find_verb(app_, name) != nullptr) {
        return fmt::format("; {} is a verb: `{} {} …`", name, app_.get_name(), name);
      }
      std::vector<std::string> near = similar_names(name, long_names(level()));
      for (std::string& found : near) found.insert(0, "--");
      return did_you_mean(near);
    }
    const auto other_case =
        static_cast<char>(std::isupper(static_cast<unsigned char>(flag[1])) != 0
                              ? std::tolower(static_cast<unsigned char>(flag[1]))
                              : std::toupper(static_cast<unsigned char>(flag[1])));
    const std::string other = {'-', other_case};
    if (flag.size() == 2 && find_flag(level(), other) != nullptr) return did_you_mean({other});
    return "";
  }

  CLI::App& app_;
  const std::vector<std::string> given_;
  std::size_t at_ = 0;
  const CLI::App* verb_ = nullptr;
  bool only_files_ = false;
  std::map<const CLI::Option*, int> counts_;
  std::vector<std::string> files_;
  Arguments result_;
};

// Static, because it is set before options are parsed.
SecretBytes& stashed_key_hex(std::string_view flag) {
  static std::array<SecretBytes, 2> digits;
  return digits.at(flag == "--to-key-hex" ? 1 : 0);
}

}  // namespace

NamedFlags::NamedFlags(int argc, const char* const* argv) : all_(false) {
  std::copy_if(argv + std::min(argc, 1), argv + argc, std::back_inserter(words_),
               [](std::string_view word) { return word.starts_with('-'); });
}

bool NamedFlags::include(std::string_view names) const {
  if (all_) return true;
  const std::string_view long_name = names.substr(names.find("--"));
  const char letter = names[1];  // a dash if there is no short name
  return std::ranges::any_of(words_, [&](std::string_view word) {
    if (word.starts_with("--")) return word.substr(0, word.find('=')) == long_name;
    return word.find(letter, 1) != std::string_view::npos;
  });
}

Arguments read_arguments(CLI::App& app, int argc, const char* const* argv) {
  return Reader(app, argc, argv).read();
}

void stash_key_hex(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return;
    const std::string_view flag = argument.substr(0, argument.find('='));
    if (flag != "--key-hex" && flag != "--to-key-hex") continue;
    char* digits = nullptr;
    if (flag.size() != argument.size()) {
      digits = argv[i] + flag.size() + 1;
    } else if (i + 1 < argc) {
      digits = argv[++i];
    }
    if (digits == nullptr) continue;
    const std::size_t n = std::strlen(digits);
    stashed_key_hex(flag) = SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(digits), n));
    std::memset(digits, 'x', n);
  }
}

SecretBytes take_key_hex(std::string_view flag) { return std::move(stashed_key_hex(flag)); }

}  // namespace paraes::cli
