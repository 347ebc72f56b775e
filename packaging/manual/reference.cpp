#include "packaging/manual/reference.hpp"

#include <string_view>

#include "packaging/manual/sections.hpp"
#include "packaging/manual/text.hpp"

namespace paraes::manual {
namespace {

constexpr const char* introduction =
    "# Reference: the command line\n"
    "\n"
    "<!-- Generated. After a change to the flags: `cmake --build --preset release`, then copy\n"
    "     build/release/manual/reference.md here. -->\n"
    "\n"
    "Every verb and flag, from the description that `--help` prints.\n"
    "[command-line.md](command-line.md) explains them, with examples.\n";

std::string prose(std::string_view text) {
  std::string result;
  for (const Span& span : spans(text)) {
    result += span.code ? "`" + span.text + "`" : backslashed(span.text, "*_<>[]|");
  }
  return result;
}

// One sentence a line.
std::string paragraph(std::string_view text, const std::string& indent = "") {
  std::string result;
  for (const std::string& one : sentences(text)) {
    result += (result.empty() ? "" : indent) + prose(one) + "\n";
  }
  return result;
}

std::string item(const std::string& term, const std::string& text) {
  return text.empty() ? "- " + term + "\n" : "- " + term + ": " + paragraph(text, "  ");
}

std::string code_block(const std::vector<Definition>& examples) {
  std::string text = "\n```\n";
  for (const Definition& example : examples) {
    text += example.term + (example.text.empty() ? "" : "  # " + example.text) + "\n";
  }
  return text + "```\n";
}

std::string flag_names(const Flag& flag) {
  std::string text;
  for (const std::string& name : flag.names) {
    text += text.empty() ? "`" : ", `";
    text += name;
    if (!flag.type.empty())
      text += flag.value_is_optional ? "[=" + flag.type + "]" : " " + flag.type;
    text += "`";
  }
  return text;
}

std::string groups_text(const std::vector<Group>& groups) {
  std::string text;
  for (const Group& group : groups) {
    if (group.title != "Options") text += "\n**" + group.title + "**\n";
    if (!group.note.empty()) text += "\n" + paragraph(group.note);
    text += "\n";
    for (const Flag& flag : group.flags) text += item(flag_names(flag), flag.text);
  }
  return text;
}

std::string verb_text(const Executable& executable, const Verb& verb) {
  std::string text = "\n### " + executable.name + " " + verb.name + "\n\n";
  text += paragraph(verb.summary) + "\n```\n" + usage_of(executable, verb) + "\n```\n";
  if (!verb.arguments.empty()) text += "\n";
  for (const Argument& argument : verb.arguments) {
    text += item("`" + argument.name + "`", argument.text);
  }
  for (const std::string& one : verb.text.paragraphs) text += "\n" + paragraph(one);
  text += groups_text(verb.groups);
  if (!verb.text.examples.empty()) text += code_block(verb.text.examples);
  return text;
}

std::string rows_text(const char* title, const std::vector<Row>& rows) {
  std::string text = std::string("\n## ") + title + "\n\n";
  for (const Row& row : rows)
    text += item("`" + std::string(row.name) + "`", std::string(row.text));
  return text;
}

}  // namespace

std::string reference(const std::vector<const Executable*>& executables) {
  std::string text = introduction;
  for (const Executable* executable : executables) {
    text += "\n## " + executable->name + "\n\n" + paragraph(executable->summary);
    for (const std::string& one : executable->text.paragraphs) text += "\n" + paragraph(one);
    text += groups_text(executable->groups);
    if (!executable->text.examples.empty()) text += code_block(executable->text.examples);
    for (const Verb& verb : executable->verbs) text += verb_text(*executable, verb);
    if (executable->text.exit_statuses.empty()) continue;
    text += "\n### Exit status of " + executable->name + "\n\n";
    for (const Definition& status : executable->text.exit_statuses) {
      text += item("`" + status.term + "`", status.text);
    }
  }
  text += rows_text("Environment", environment()) + rows_text("Files", files());
  return text;
}

}  // namespace paraes::manual
