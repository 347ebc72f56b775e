// Suggests the name that a user probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paraes::cli {

// The names that are most like `word`, in their order: those that it begins, or that begin it, else
// those that the fewest typing errors (Damerau and Levenshtein) turn into it. Ignores case. Empty
// if no name is near, or if too many are.
[[nodiscard]] std::vector<std::string> similar_names(std::string_view word,
                                                     const std::vector<std::string>& names);

// "a", "a and b", "a, b and c"
[[nodiscard]] std::string listed(const std::vector<std::string>& words, std::string_view last);

// "; did you mean 'a' or 'b'?", or nothing if there are no names.
[[nodiscard]] std::string did_you_mean(const std::vector<std::string>& names);

}  // namespace paraes::cli
