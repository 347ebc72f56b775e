// Texts of manual pages that --help does not have.
#pragma once

#include <string_view>
#include <vector>

namespace paraes::manual {

// The paragraphs of paraes(1) that introduce it.
[[nodiscard]] std::vector<std::string_view> overview();

// A row of ENVIRONMENT or FILES.
struct Row {
  std::string_view name;
  std::string_view text;
  // The verbs that it concerns, with a space before and after each; the page of the executable has
  // every row.
  std::string_view verbs;

  [[nodiscard]] bool concerns(std::string_view verb) const;
};

[[nodiscard]] const std::vector<Row>& environment();
[[nodiscard]] const std::vector<Row>& files();

// The verbs whose pages SEE ALSO of the page of `verb` names.
[[nodiscard]] std::vector<std::string_view> related(std::string_view verb);

}  // namespace paraes::manual
