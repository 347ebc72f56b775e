// Lists that files hold: names of inputs (--files-from) and patterns (--exclude-from).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paraes::cli {

// The character that ends an entry of a list.
enum class EntryEnd : char { newline = '\n', nul = '\0' };

// The entries of the file `path`, in order, without empty ones; "-" is standard input. Throws
// InvalidArgument, which names `flag`, for no name, for a folder, and for a list that has the other
// end, as far as that shows, a byte order mark, or lines that end with CR LF; IoError if it cannot
// be read.
[[nodiscard]] std::vector<std::string> read_list(const std::string& path, std::string_view flag,
                                                 EntryEnd end);

}  // namespace paraes::cli
