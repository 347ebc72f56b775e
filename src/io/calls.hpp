// POSIX calls that continue after interruptions and partial transfers, and throw IoError.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "paraes/ciphers.hpp"
#include "paraes/io.hpp"

namespace paraes::calls {

// Throws io_error(name, verb, error).
[[noreturn]] void fail(std::string_view verb, std::string_view name, int error);

// Fills `buffer` unless the input ends before, or, with `least` bytes or more, no others come for
// 10 ms in all. If the descriptor `cancelled` (-1: none) becomes readable while it waits, throws
// IoError with ECANCELED.
Source::Ready read_ready(int descriptor, int cancelled, MutableBytes buffer, std::size_t least,
                         std::string_view name);
std::size_t read_full_at(int descriptor, std::uint64_t offset, MutableBytes buffer,
                         std::string_view name);

void write_full(int descriptor, Bytes data, std::string_view name);
// Like write_full, to a pipe, which gets references to the pages of `data` where the system can do
// that, and copies elsewhere.
void write_references(int descriptor, Bytes data, std::string_view name);
void write_full_at(int descriptor, std::uint64_t offset, Bytes data, std::string_view name);

// Opens `path` below the folder with this descriptor. Does not follow symbolic links or leave the
// folder. On failure the result is empty and errno is set: ELOOP for a symbolic link, EXDEV for a
// path that leaves the folder.
[[nodiscard]] Descriptor open_beneath(int folder, const std::string& path, int flags, mode_t mode);

}  // namespace paraes::calls
