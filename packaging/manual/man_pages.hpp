// Manual pages in the language man(7).
#pragma once

#include <string>

#include "packaging/manual/description.hpp"

namespace paraes::manual {

struct Page {
  std::string name;  // paraes-encrypt.1
  std::string text;
};

// Whether there is more to say about a verb than a line.
[[nodiscard]] bool has_page(const Verb& verb);

// The page of an executable without pages for its verbs: paraes-lab.
[[nodiscard]] Page whole_page(const Executable& executable, const std::string& date);

// The page of paraes, which lists its verbs.
[[nodiscard]] Page overview_page(const Executable& executable, const std::string& date);

// The page of paraes-mpi: where its verbs differ from those of `other`, paraes.
[[nodiscard]] Page difference_page(const Executable& executable, const Executable& other,
                                   const std::string& date);

[[nodiscard]] Page verb_page(const Executable& executable, const Verb& verb,
                             const std::string& date);

}  // namespace paraes::manual
