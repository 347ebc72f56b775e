// The POSIX calls that io needs, each made to finish what it began and to throw IoError.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes::posix {

// Throws IoError "cannot <verb> <name>: <what errno says>", with a hint where one helps.
[[noreturn]] void fail(std::string_view verb, std::string_view name, int error);

// Fills `buffer` unless the input ends first; returns how many bytes there were. If the descriptor
// `cancelled` (-1: none) becomes readable first, throws IoError with ECANCELED.
std::size_t read_full(int descriptor, int cancelled, MutableBytes buffer, std::string_view name);
std::size_t read_full_at(int descriptor, std::uint64_t offset, MutableBytes buffer,
                         std::string_view name);

void write_full(int descriptor, Bytes data, std::string_view name);
void write_full_at(int descriptor, std::uint64_t offset, Bytes data, std::string_view name);

// Opens `path` below the descriptor `folder` without following a symbolic link anywhere, or leaving
// the folder. Without success the result is empty and errno says why: ELOOP for a link.
[[nodiscard]] Descriptor open_beneath(int folder, const std::string& path, int flags, mode_t mode);

}  // namespace paraes::posix
