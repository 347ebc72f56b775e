#include "packaging/manual/man_pages.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/words/help.hpp"
#include "packaging/manual/sections.hpp"
#include "packaging/manual/text.hpp"
#include "paraes/version.hpp"

namespace paraes::manual {
namespace {

// Hyphens as ASCII, so that flags can be copied from the page.
std::string escaped(std::string_view text) {
  constexpr std::string_view special = "\\-'`^~";
  constexpr const char* names[] = {"e", "-", "(aq", "(ga", "(ha", "(ti"};
  std::string result;
  for (const char c : text) {
    const std::size_t at = special.find(c);
    result += at == std::string_view::npos ? std::string(1, c) : std::string("\\") + names[at];
  }
  return result;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

// A summary of --help as it is usual in NAME: "encrypts files or a pipe".
std::string phrase(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  if (!text.empty() && text.back() == '.') text.pop_back();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// "staged|mapped": words are bold, what stands for a value is in italics.
std::string type_text(const std::string& type) {
  std::string text;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    const bool stands_for_value = std::none_of(word.begin(), word.end(), [](char c) {
      return std::islower(static_cast<unsigned char>(c)) != 0 ||
             std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
    text += stands_for_value ? italic(word) : bold(word);
    word.clear();
  };
  for (const char c : type) {
    if (c != '|' && c != ',' && c != '=') {
      word += c;
      continue;
    }
    end_word();
    text += c;
    if (c != '=') text += "\\:";  // a line may break here
  }
  end_word();
  return text;
}

class Writer {
 public:
  // The page of a program, up to its synopsis.
  Writer(const std::string& name, const std::string& summary, const std::string& date) {
    line(".\\\" Generated from the description that --help prints: see packaging/manual.");
    line(".TH " + escaped(upper(name)) + " 1 " + date + " \"paraes " + version() +
         "\" \"User Commands\"");
    // No hyphenation, and no spaces between words to fill lines.
    line(".nh");
    line(".ad l");
    section("NAME");
    literal(cli::wrap(escaped(name) + " \\- " + escaped(phrase(summary)), 0, 0));
    section("SYNOPSIS");
  }

  void section(const std::string& title) { line(".SH " + title); }
  void subsection(const std::string& title) { line(".SS " + escaped(title)); }

  void paragraph(const std::string& text) {
    if (!begins_section()) line(".PP");
    prose(text);
  }

  void paragraphs(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) paragraph(text);
  }

  // `term` is in the language of the page.
  void definition(const std::string& term, const std::string& text) {
    line(".TP");
    line(term);
    prose(text);
  }

  void commands(const std::vector<Definition>& examples) {
    if (!begins_section()) line(".PP");
    line(".nf");
    for (const Definition& example : examples) {
      literal(example.term + (example.text.empty() ? "" : "  # " + example.text));
    }
    line(".fi");
  }

  // One of several ways to call a program.
  void synopsis(const std::string& name, const std::string& rest) {
    if (!begins_section()) line(".br");
    line(bold(name) + (rest.empty() ? "" : " " + rest));
  }

  void prose(const std::string& text) {
    for (const std::string& one : sentences(text)) {
      std::string words;
      for (const Span& span : spans(one)) {
        words += span.code ? bold(span.text) : escaped(span.text);
      }
      literal(cli::wrap(words, 0, 0));
    }
  }

  void line(const std::string& text) { page_ += text + "\n"; }

  [[nodiscard]] std::string take() { return std::move(page_); }

 private:
  // A line that begins with a dot or an apostrophe would be a request.
  void literal(const std::string& text) {
    std::string rest = text;
    for (;;) {
      const std::size_t end = rest.find('\n');
      const std::string one = rest.substr(0, end);
      line((!one.empty() && (one[0] == '.' || one[0] == '\'') ? "\\&" : "") + one);
      if (end == std::string::npos) return;
      rest.erase(0, end + 1);
    }
  }

  [[nodiscard]] bool begins_section() const {
    const std::size_t begin = page_.rfind('\n', page_.size() - 2) + 1;
    return page_.compare(begin, 3, ".SH") == 0 || page_.compare(begin, 3, ".SS") == 0;
  }

  std::string page_;
};

std::string names_text(const Flag& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    text += text.empty() ? "" : ", ";
    text += bold(name);
  }
  if (flag.type.empty()) return text;
  if (flag.value_is_optional) return text + "[=" + type_text(flag.type) + "]";
  return text + " " + type_text(flag.type);
}

void write_flags(Writer& page, const Group& group) {
  if (!group.note.empty()) page.paragraph(group.note);
  for (const Flag& flag : group.flags) page.definition(names_text(flag), flag.text);
}

// The description of a verb, and its arguments.
void write_verb(Writer& page, const Verb& verb) {
  if (verb.text.paragraphs.empty()) page.paragraph(verb.summary);
  page.paragraphs(verb.text.paragraphs);
  for (const Argument& argument : verb.arguments) {
    page.definition(italic(argument.name), argument.text);
  }
}

std::string arguments_text(const Verb& verb) {
  std::string text;
  if (!verb.groups.empty()) text = "[" + italic("OPTION") + "...]";
  for (const Argument& argument : verb.arguments) {
    // FILE, [FILE...]: brackets and dots are not in italics.
    const std::string& usage = argument.usage;
    const std::size_t at = usage.find(argument.name);
    text += text.empty() ? "" : " ";
    text += escaped(usage.substr(0, at)) + italic(argument.name) +
            escaped(usage.substr(at + argument.name.size()));
  }
  return text;
}

void write_rows(Writer& page, const char* title, const std::vector<Row>& rows,
                std::string_view verb) {
  bool first = true;
  for (const Row& row : rows) {
    if (!verb.empty() && !row.concerns(verb)) continue;
    if (std::exchange(first, false)) page.section(title);
    page.definition(bold(row.name), std::string(row.text));
  }
}

void write_exit_statuses(Writer& page, const std::vector<Definition>& statuses) {
  if (statuses.empty()) return;
  page.section("EXIT STATUS");
  for (const Definition& status : statuses)
    page.definition(bold(status.term), sentence(status.text));
}

void write_examples(Writer& page, const std::vector<Definition>& examples) {
  if (examples.empty()) return;
  page.section("EXAMPLES");
  page.commands(examples);
}

// Names are "paraes-encrypt" or "openssl-enc(1ssl)".
void write_see_also(Writer& page, const std::vector<std::string>& names) {
  page.section("SEE ALSO");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const std::size_t bracket = name.find('(');
    const std::string section = bracket == std::string::npos ? "(1)" : name.substr(bracket);
    page.line(".BR " + escaped(name.substr(0, bracket)) + " " + section +
              (i + 1 < names.size() ? "," : ""));
  }
}

bool uses_age(const Verb& verb) { return environment().front().concerns(verb.name); }

// The flags of `verb` that `other` lacks, or that mean something else there.
std::vector<Flag> own_flags(const Verb& verb, const Verb& other) {
  std::vector<Flag> own = flags_of(verb.groups);
  const std::vector<Flag> others = flags_of(other.groups);
  std::erase_if(own, [&](const Flag& flag) {
    return std::any_of(others.begin(), others.end(), [&](const Flag& one) {
      return one.names == flag.names && one.text == flag.text && one.type == flag.type;
    });
  });
  return own;
}

// "All options of `paraes bench`, except --message and --keys, and:"
std::string common_options(const Verb& verb, const Executable& other, const Verb& same) {
  std::vector<std::string> absent;
  const std::vector<Flag> flags = flags_of(verb.groups);
  for (const Flag& flag : flags_of(same.groups)) {
    const auto is_same = [&](const Flag& one) { return one.names == flag.names; };
    if (std::none_of(flags.begin(), flags.end(), is_same)) absent.push_back(flag.names.back());
  }
  std::string text = "All options of `" + other.name + " " + verb.name + "`";
  for (std::size_t i = 0; i < absent.size(); ++i) {
    text += i == 0 ? ", except " : i + 1 < absent.size() ? ", " : " and ";
    text += absent[i];
  }
  return text + (absent.empty() ? " and:" : ", and:");
}

}  // namespace

bool has_page(const Verb& verb) { return verb.name != "help" && verb.name != "version"; }

Page verb_page(const Executable& executable, const Verb& verb, const std::string& date) {
  const std::string name = executable.name + "-" + verb.name;
  Writer page(name, verb.summary, date);
  page.synopsis(executable.name + " " + verb.name, arguments_text(verb));
  page.section("DESCRIPTION");
  write_verb(page, verb);
  page.section("OPTIONS");
  for (const Group& group : verb.groups) {
    if (group.title != "Options") page.subsection(group.title);
    write_flags(page, group);
  }
  write_exit_statuses(page, executable.text.exit_statuses);
  write_rows(page, "ENVIRONMENT", environment(), verb.name);
  write_rows(page, "FILES", files(), verb.name);
  write_examples(page, verb.text.examples);
  std::vector<std::string> others = {executable.name};
  for (const std::string_view other : related(verb.name)) {
    others.push_back(executable.name + "-" + std::string(other));
  }
  if (uses_age(verb)) others.emplace_back("age(1)");
  write_see_also(page, others);
  return {name + ".1", page.take()};
}

Page overview_page(const Executable& executable, const std::string& date) {
  Writer page(executable.name, executable.summary, date);
  page.synopsis(executable.name,
                italic("VERB") + " [" + italic("OPTION") + "...] [" + italic("FILE") + "...]");
  page.synopsis(executable.name + " help", "[" + italic("VERB") + "]");
  page.section("DESCRIPTION");
  page.paragraph(executable.summary);
  for (const std::string_view paragraph : overview()) page.paragraph(std::string(paragraph));
  page.paragraphs(executable.text.paragraphs);
  page.section("VERBS");
  std::vector<std::string> pages;
  for (const Verb& verb : executable.verbs) {
    const std::string name = executable.name + "-" + verb.name;
    if (has_page(verb)) pages.push_back(name);
    page.definition(has_page(verb) ? bold(name) + "(1)" : bold(executable.name + " " + verb.name),
                    verb.summary);
  }
  page.section("OPTIONS");
  for (const Group& group : executable.groups) write_flags(page, group);
  write_exit_statuses(page, executable.text.exit_statuses);
  write_rows(page, "ENVIRONMENT", environment(), "");
  write_rows(page, "FILES", files(), "");
  write_examples(page, executable.text.examples);
  pages.insert(pages.end(), {"paraes-mpi", "age(1)", "openssl-enc(1ssl)"});
  write_see_also(page, pages);
  return {executable.name + ".1", page.take()};
}

Page difference_page(const Executable& executable, const Executable& other,
                     const std::string& date) {
  Writer page(executable.name, executable.summary, date);
  std::vector<std::string> pages = {other.name};
  for (const Verb& verb : executable.verbs) {
    if (!has_page(verb)) continue;
    page.synopsis("mpirun -n", italic("N") + " " + bold(executable.name + " " + verb.name) + " " +
                                   arguments_text(verb));
  }
  page.section("DESCRIPTION");
  page.paragraphs(executable.text.paragraphs);
  page.section("OPTIONS");
  for (const Group& group : executable.groups) write_flags(page, group);
  std::vector<Definition> examples = executable.text.examples;
  for (const Verb& verb : executable.verbs) {
    const Verb* const same = other.find(verb.name);
    if (same == nullptr || own_flags(verb, *same).empty()) continue;
    pages.push_back(other.name + "-" + verb.name);
    page.subsection(executable.name + " " + verb.name);
    page.paragraph(common_options(verb, other, *same));
    for (const Flag& flag : own_flags(verb, *same)) {
      page.definition(names_text(flag), flag.text);
    }
    for (const Definition& example : verb.text.examples) {
      const auto is_same = [&](const Definition& known) { return known.term == example.term; };
      if (std::none_of(examples.begin(), examples.end(), is_same)) examples.push_back(example);
    }
  }
  write_exit_statuses(page, other.text.exit_statuses);
  page.section("ENVIRONMENT");
  page.paragraph("The variables of `" + other.name + "`, on every rank.");
  write_examples(page, examples);
  pages.insert(pages.end(), {"mpirun", "srun"});
  write_see_also(page, pages);
  return {executable.name + ".1", page.take()};
}

Page whole_page(const Executable& executable, const std::string& date) {
  Writer page(executable.name, executable.summary, date);
  for (const Verb& verb : executable.verbs) {
    page.synopsis(executable.name + " " + verb.name, arguments_text(verb));
  }
  page.section("DESCRIPTION");
  page.paragraph(executable.summary);
  page.paragraph("`paraes lab` runs this program, which the Python package of paraes installs.");
  page.section("OPTIONS");
  for (const Group& group : executable.groups) write_flags(page, group);
  for (const Verb& verb : executable.verbs) {
    page.section(upper(verb.name));
    write_verb(page, verb);
    for (const Group& group : verb.groups) {
      if (!group.note.empty()) page.subsection(group.title);
      write_flags(page, group);
    }
  }
  write_exit_statuses(page, executable.text.exit_statuses);
  write_rows(page, "ENVIRONMENT", environment(), "lab");
  write_examples(page, executable.text.examples);
  write_see_also(page, {"paraes", "paraes-bench", "paraes-mpi"});
  return {executable.name + ".1", page.take()};
}

}  // namespace paraes::manual
