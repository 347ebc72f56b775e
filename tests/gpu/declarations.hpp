// Compares hand-written declarations of functions with those in headers.
#pragma once

#include <type_traits>

#include "src/gpu/runtime/cuda_api.hpp"

namespace paraes::gpu::declarations {

// Whether values of types Ours and Theirs are passed in the same way. Handles may be pointers to
// anything, device pointers may be integers, and codes may be enumerations.
template <class Ours, class Theirs>
constexpr bool passes_as() {
  using O = std::remove_cv_t<Ours>;
  using T = std::remove_cv_t<Theirs>;
  if constexpr (std::is_void_v<O> || std::is_void_v<T>) {
    return std::is_void_v<O>;  // behind a pointer
  } else if constexpr (std::is_pointer_v<O> && std::is_pointer_v<T>) {
    return passes_as<std::remove_pointer_t<O>, std::remove_pointer_t<T>>();
  } else if constexpr (std::is_pointer_v<T>) {
    return std::is_same_v<O, driver::Pointer> && sizeof(O) == sizeof(T);
  } else if constexpr (std::is_enum_v<T>) {
    return std::is_same_v<O, int> && sizeof(O) == sizeof(T);
  } else if constexpr (std::is_integral_v<O> && std::is_integral_v<T>) {
    return sizeof(O) == sizeof(T) && std::is_signed_v<O> == std::is_signed_v<T>;
  } else {
    return std::is_same_v<O, T>;
  }
}

template <class Ours, class Theirs>
struct Matches : std::false_type {};

template <class R, class... P, class S, class... Q>
requires(sizeof...(P) == sizeof...(Q)) struct Matches<driver::Call<R(P...)>, S (*)(Q...)>
    : std::bool_constant<passes_as<R, S>() && (passes_as<P, Q>() && ...)> {
};

static_assert(Matches<driver::Call<int(void*, std::size_t*)>, int (*)(char*, std::size_t*)>::value);
static_assert(!Matches<driver::Call<int(void*, int*)>, int (*)(char*, std::size_t*)>::value);
static_assert(!Matches<driver::Call<int(void*)>, int (*)(void*, int)>::value);
static_assert(!Matches<driver::Call<int(std::size_t*)>, int (*)(void*)>::value);
static_assert(!Matches<driver::Call<int(float)>, int (*)(int)>::value);

}  // namespace paraes::gpu::declarations
