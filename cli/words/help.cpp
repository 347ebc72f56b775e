#include "cli/words/help.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

namespace paraes::cli {
namespace {

constexpr std::size_t text_column = 28;

// `name` on the left, and `text` beside it, or below it if the name is too long.
std::string two_columns(const std::string& name, const std::string& text) {
  std::string row = "  " + name;
  if (row.size() + 2 > text_column) {
    row += '\n';
    row.append(text_column, ' ');
  } else {
    row.append(text_column - row.size(), ' ');
  }
  return row + wrap(text, text_column, text_column) + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "VERB");
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    // CLI11 puts two empty lines between groups.
    for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) {
      text.erase(at, 1);
    }
    return text;
  }

  std::string make_description(const CLI::App* app) const override {
    return wrap(app->get_description(), 0, 0) + "\n";
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = "\n" + wrap(group + ":", 0, 0) + "\n";
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return two_columns(make_option_name(option, is_positional) + make_option_opts(option),
                       make_option_desc(option));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    const bool is_list = type.size() > 3 && type.compare(type.size() - 3, 3, "...") == 0;
    const bool repeats = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return (type.empty() ? "" : " " + type) + (repeats && !is_list ? " ..." : "");
  }

  std::string make_option_usage(const CLI::Option* option) const override {
    return usage_of_argument(*option);
  }

  std::string make_subcommand(const CLI::App* verb) const override {
    return two_columns(verb->get_name(), verb->get_description());
  }

  std::string make_footer(const CLI::App* app) const override {
    return wrap_paragraphs(app->get_footer());
  }
};

}  // namespace

std::string wrap(std::string_view paragraph, std::size_t indent, std::size_t used) {
  std::string text;
  std::size_t column = used;
  bool begins_line = true;
  while (!paragraph.empty()) {
    const std::size_t length = std::min(paragraph.find(' '), paragraph.size());
    const std::string_view word = paragraph.substr(0, length);
    paragraph.remove_prefix(std::min(length + 1, paragraph.size()));
    if (word.empty()) continue;
    if (!begins_line && column + 1 + length > help_width) {
      text += '\n';
      text.append(indent, ' ');
      column = indent;
    } else if (!begins_line) {
      text += ' ';
      ++column;
    }
    text += word;
    column += length;
    begins_line = false;
  }
  return text;
}

std::string wrap_paragraphs(std::string_view text) {
  std::string wrapped;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) wrapped += wrap(paragraph, 0, 0) + "\n";
    paragraph.clear();
  };
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (!line.empty() && line[0] != ' ') {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    end_paragraph();
    wrapped.append(line).append("\n");
  }
  end_paragraph();
  return wrapped;
}

std::string usage_of_argument(const CLI::Option& option) {
  const std::string& text = option.get_option_text();
  if (!text.empty()) return text;
  return "[" + option.get_name(true) + (option.get_expected_max() > 1 ? "...]" : "]");
}

std::shared_ptr<CLI::FormatterBase> make_help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace paraes::cli
