// The --help of an executable, in parts: for its manual pages, completions and reference.
#pragma once

#include <string>
#include <vector>

#include "cli/verbs/app.hpp"

namespace paraes::manual {

struct Flag {
  std::vector<std::string> names;  // with dashes, the short one first
  std::string type;                // as in --help, such as FILE or staged|mapped; empty: no value
  std::string text;
  bool repeats = false;
  bool value_is_optional = false;
};

struct Group {
  std::string title;
  std::string note;  // about all of its flags
  std::vector<Flag> flags;
};

// A word that is not a flag.
struct Argument {
  std::string name;   // FILE
  std::string usage;  // "[FILE...]", "FILE..."
  std::string text;
  std::vector<std::string> words;  // that it takes; empty: anything
};

struct Definition {
  std::string term;
  std::string text;
};

// The end of --help.
struct Text {
  std::vector<std::string> paragraphs;
  std::vector<Definition> exit_statuses;
  std::vector<Definition> examples;  // the command, and a remark or nothing
};

struct Verb {
  std::string name;
  std::string summary;
  std::vector<Argument> arguments;
  std::vector<Group> groups;
  Text text;
};

struct Executable {
  std::string name;
  std::string summary;
  std::vector<Group> groups;  // of the flags without a verb
  std::vector<Verb> verbs;
  Text text;

  [[nodiscard]] const Verb* find(const std::string& verb) const;
};

[[nodiscard]] Executable describe(const cli::ExecutableInfo& info);

// Reads the description of paraes-lab, which packaging/manual/describe_lab writes. Throws
// nlohmann::json::exception if it is none.
[[nodiscard]] Executable read_description(const std::string& json);

}  // namespace paraes::manual
