// The operations whose time is measured, each with its two classes of inputs.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "src/modes/gcm.hpp"
#include "src/modes/xts.hpp"

namespace paraes::dudect {

// The secret input of one measurement. All have the same size and are made in the same way.
using Secret = std::array<std::uint8_t, 1024>;

using Random = std::mt19937_64;

// What the operations of one kernel work on. The objects stay where they are, so that both classes
// use the same addresses.
struct Work {
  explicit Work(const Kernel& row);

  // Expands keys into the objects that exist.
  void use_keys(const std::uint8_t* key);
  void use_hash_key(const std::uint8_t h[16]);

  const Kernel& row;
  GcmKey gcm;
  XtsKey xts;
  alignas(64) Secret secret;  // of this measurement
  alignas(64) Secret text;    // public
  alignas(64) Secret out;
  std::array<std::uint8_t, 64> nonce;
  std::array<std::uint8_t, 16> block;
  std::array<std::uint8_t, 16> tag;
  bool intact = false;
};

struct Operation {
  const char* name;
  // Makes the input of a class: 0 always the same, 1 a random one.
  void (*make)(unsigned input_class, Random& random, const Work& work, Secret& secret);
  void (*prepare)(Work& work);  // is not measured
  void (*run)(Work& work);
};

[[nodiscard]] std::span<const Operation> operations();
// Compares tags up to the first difference, to show that the measurement finds leaks.
[[nodiscard]] const Operation& early_exit();
// ECB of four blocks. Tables are read at fewer addresses if the blocks are equal.
[[nodiscard]] const Operation& equal_blocks();

}  // namespace paraes::dudect
