// All operations of the public cipher classes behind one interface, each with OpenSSL's result, so
// that a test can loop over modes and directions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::support {

// The inputs of an operation except the message.
struct Inputs {
  Bytes key;
  Bytes iv;   // CBC: IV, CTR: counter block, XTS: number of the first data unit, GCM: nonce
  Bytes aad;  // GCM
  Bytes tag;  // GCM decryption
};

struct Task {
  Buffer key, iv, aad, tag;
  Buffer in;
  Buffer out;      // the expected output
  Buffer out_tag;  // GCM encryption: the expected tag

  [[nodiscard]] Inputs inputs() const { return {key, iv, aad, tag}; }
};

struct Operation {
  const char* name;
  Direction direction;
  std::span<const std::size_t> key_bytes;
  std::size_t min_bytes;  // lengths are min_bytes + k step
  std::size_t step;
  std::size_t max_bytes;  // the longest message that is allowed, or fast enough for a test

  // Makes a message of `bytes` bytes with its key, nonce and so on, and OpenSSL's result. The
  // plaintext is pattern(bytes) in both directions.
  Task (*prepare)(Direction direction, std::size_t bytes, std::size_t key_bytes);

  // Processes one message with a new object of the public class. `tag` (16 bytes) is written by GCM
  // encryption only.
  void (*run)(Direction direction, const Execution& execution, const Inputs& inputs, Bytes in,
              MutableBytes out, MutableBytes tag);
};

[[nodiscard]] std::span<const Operation> all_operations();

// Runs a task. `in` holds task.in, and `out` has as many bytes. Returns an empty string if the
// result is right, else a description of what is wrong.
[[nodiscard]] std::string run_task(const Operation& operation, const Task& task,
                                   const Execution& execution, Bytes in, MutableBytes out);

}  // namespace paraes::support
