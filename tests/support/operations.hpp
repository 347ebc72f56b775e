// Everything that the public classes can do to a message, in one form, so that a test can walk
// through all modes and directions, with OpenSSL's answer beside each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::support {

// What an operation reads beside the message.
struct Inputs {
  Bytes key;
  Bytes iv;   // CBC: IV, CTR: counter block, XTS: number of the first data unit, GCM: nonce
  Bytes aad;  // GCM
  Bytes tag;  // GCM decryption
};

struct Task {
  Buffer key, iv, aad, tag;
  Buffer in;
  Buffer out;      // the right answer
  Buffer out_tag;  // GCM encryption: the right tag

  [[nodiscard]] Inputs inputs() const { return {key, iv, aad, tag}; }
};

struct Operation {
  const char* name;
  Direction direction;
  std::span<const std::size_t> key_bytes;
  std::size_t min_bytes;  // lengths are min_bytes + k step
  std::size_t step;
  std::size_t max_bytes;  // what one message may have, or is sensible to try

  // A message of `bytes` bytes with key, nonce, … and the answer of OpenSSL. The plaintext, in
  // either direction, is pattern(bytes).
  Task (*prepare)(Direction direction, std::size_t bytes, std::size_t key_bytes);

  // One message through a new object of the public class. `tag` (16 bytes) is written by GCM
  // encryption alone.
  void (*run)(Direction direction, const Execution& execution, const Inputs& inputs, Bytes in,
              MutableBytes out, MutableBytes tag);
};

[[nodiscard]] std::span<const Operation> all_operations();

// Runs a task from `in` to `out` (which hold task.in, and as many bytes) and says what is wrong
// with the result; empty if it is right.
[[nodiscard]] std::string run_task(const Operation& operation, const Task& task,
                                   const Execution& execution, Bytes in, MutableBytes out);

}  // namespace paraes::support
