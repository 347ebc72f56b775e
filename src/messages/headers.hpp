// Shared by the formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "paraes/messages.hpp"

namespace paraes {

[[nodiscard]] std::vector<std::uint8_t> join(std::initializer_list<Bytes> parts);

// Throws IntegrityError if a header has `bytes` bytes instead of `expected`. If there are fewer,
// the message says that the input is truncated.
void check_header_size(std::size_t bytes, std::size_t expected);

// Throws InvalidArgument unless Preface::parse can return `preface`.
void check_preface(const Preface& preface);

}  // namespace paraes
