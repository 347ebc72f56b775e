// A program that is run step by step: on this processor, or in QEMU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace paraes::steps {

// Register numbers are those of decode.py: on x86-64 the 16 general registers in the order of their
// encoding, then the bases of fs and gs, then the masks k0 to k7; on AArch64 x0 to x30, then sp.
inline constexpr std::size_t first_mask = 18;
inline constexpr std::size_t most_registers = first_mask + 8 + 6;

// The system or the program does what the tracer does not expect.
struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The system does not let us trace. The test is skipped.
struct NotPermitted : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Machine {
 public:
  Machine() = default;
  virtual ~Machine() = default;
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs to the next mark and passes it. Returns false if the program has ended, with status 0.
  virtual bool run_to_mark() = 0;
  // Executes one instruction, or one iteration of one with a rep prefix.
  virtual void step() = 0;
  // Passes the mark at the program counter without executing it.
  virtual void pass_mark() = 0;

  // Where the program is, and its registers there.
  [[nodiscard]] std::uint64_t program_counter() const { return program_counter_; }
  [[nodiscard]] std::uint64_t reg(std::size_t number) const { return registers_[number]; }
  // Brings the registers from first_mask on up to date; the others are after each stop.
  virtual void read_masks() {}

  // The bytes of the instruction at the program counter, and possibly some behind it.
  [[nodiscard]] virtual std::vector<std::uint8_t> code() = 0;
  // The file and its load address that an address lies in, as "PATH ADDRESS", or "-".
  [[nodiscard]] std::string module_of(std::uint64_t address) const;

 protected:
  std::uint64_t program_counter_ = 0;
  std::array<std::uint64_t, most_registers> registers_ = {};
  int process_ = -1;
};

// A program that is started without address randomisation, with this environment, and with the
// descriptor `input` as standard input.
struct Command {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  int input;
};

// Starts the command under ptrace.
[[nodiscard]] std::unique_ptr<Machine> trace_native(const Command& command);

// Starts the command, which is qemu-aarch64 with `-g SOCKET`, and connects to its gdb stub.
[[nodiscard]] std::unique_ptr<Machine> trace_emulated(const Command& command,
                                                      const std::string& socket);

// Starts a process; calls `prepare` in it before it executes the command.
[[nodiscard]] int start_process(const Command& command, void (*prepare)());

}  // namespace paraes::steps
