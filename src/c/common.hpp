// Shared by the functions of paraes.h: codes instead of exceptions, and checks of arguments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>

#include "paraes.h"
#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"

namespace paraes::c {

// Notes the exception that is being handled as the last error of this thread, and returns its code.
[[nodiscard, gnu::cold]] int note_error() noexcept;

// The code of a call, whose body may throw.
template <class Body>
[[nodiscard]] int call(const Body& body) noexcept {
  try {
    body();
    return PARAES_OK;
  } catch (...) {
    return note_error();
  }
}

// Makes the handle at `place`, which stays NULL if `make` throws.
template <class Handle, class Make>
[[nodiscard]] int make_handle(Handle** place, const Make& make) noexcept;

// Functions that throw are apart from those that check: see src/cipher/ciphers.cpp.
[[noreturn, gnu::cold]] void refuse_null(const char* name);
[[noreturn, gnu::cold]] void refuse_size(const char* name, std::size_t bytes, const char* right);
[[noreturn, gnu::cold]] void refuse_capacity(std::size_t capacity, std::uint64_t needed);
[[noreturn, gnu::cold]] void refuse_overlap();
[[noreturn, gnu::cold]] void refuse_stride(const char* name, std::size_t stride);
// `known`: the size that this version knows.
[[noreturn, gnu::cold]] void refuse_options(const char* name, std::size_t size, std::size_t known);

// Throws InvalidArgument, which names the argument, for NULL.
template <class T>
T& require(T* pointer, const char* name) {
  if (pointer == nullptr) refuse_null(name);
  return *pointer;
}

inline Bytes bytes_at(const void* data, std::size_t bytes, const char* name) {
  if (data == nullptr && bytes != 0) refuse_null(name);
  return {static_cast<const std::uint8_t*>(data), bytes};
}
inline MutableBytes room_at(void* data, std::size_t bytes, const char* name) {
  if (data == nullptr && bytes != 0) refuse_null(name);
  return {static_cast<std::uint8_t*>(data), bytes};
}

// Throws InvalidArgument if `out` has bytes of `in`.
inline void check_apart(Bytes in, Bytes out) {
  const std::less<const std::uint8_t*> is_before;
  if (!in.empty() && !out.empty() && is_before(in.data(), out.data() + out.size()) &&
      is_before(out.data(), in.data() + in.size())) {
    refuse_overlap();
  }
}

// NULL is "".
inline std::string text_of(const char* text) { return text == nullptr ? "" : text; }

// A copy of options, in which members that the caller does not know have their default. `given`:
// NULL for all defaults. first_size: of the structure in the first version that had it. Throws
// InvalidArgument for a smaller one, and for values in members that this version does not know.
template <class T>
T options_at(const T* given, const char* name, std::size_t first_size) {
  T options;
  std::memset(&options, 0, sizeof options);
  options.size = sizeof options;
  if (given == nullptr) return options;
  const std::size_t size = given->size;
  // No version has so many members: it is not a size.
  constexpr std::size_t most_bytes = 4096;
  if (size < first_size || size > most_bytes) refuse_options(name, size, sizeof options);
  std::memcpy(&options, given, std::min(size, sizeof options));
  const auto* const rest = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof options; i < size; ++i) {
    if (rest[i] != 0) refuse_options(name, size, sizeof options);
  }
  return options;
}

// Fills a structure whose `size` the caller has set, as far as the caller knows it.
template <class T>
void fill(T* place, const char* name, std::size_t first_size, T filled) {
  const std::size_t size = require(place, name).size;
  if (size < first_size) refuse_options(name, size, sizeof filled);
  filled.size = size;
  std::memcpy(place, &filled, std::min(size, sizeof filled));
}

// An array whose elements may be larger than this version's.
template <class Element>
class Elements {
 public:
  Elements(Element* first, std::size_t count, const char* name, std::size_t stride)
      : first_(first), count_(count), stride_(stride) {
    if (first == nullptr && count != 0) refuse_null(name);
    if (stride < sizeof(Element) || stride % alignof(Element) != 0) refuse_stride(name, stride);
  }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  // Throws InvalidArgument for values in members that this version does not know.
  Element& operator[](std::size_t i) const {
    const Byte* const element = at(i);
    for (std::size_t k = sizeof(Element); k < stride_; ++k) {
      if (element[k] != 0) refuse_options("an element", stride_, sizeof(Element));
    }
    return unchecked(i);
  }
  // To say what was wrong with one.
  [[nodiscard]] Element& unchecked(std::size_t i) const noexcept {
    return *reinterpret_cast<Element*>(at(i));
  }

 private:
  using Byte = std::conditional_t<std::is_const_v<Element>, const unsigned char, unsigned char>;

  [[nodiscard]] Byte* at(std::size_t i) const noexcept {
    return reinterpret_cast<Byte*>(first_) + i * stride_;
  }

  Element* first_;
  std::size_t count_;
  std::size_t stride_;
};

// default_threads: the value of Execution::threads for 0.
[[nodiscard]] Execution execution_of(const paraes_execution* given, int default_threads);

template <class Handle, class Make>
int make_handle(Handle** place, const Make& make) noexcept {
  if (place != nullptr) *place = nullptr;
  return call([&] {
    require(place, "the place of the handle");
    std::unique_ptr<Handle> made(make());
    *place = made.release();
  });
}

}  // namespace paraes::c
