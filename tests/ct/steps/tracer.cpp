// Runs a program step by step between its marks, and compares each run with the first one: the
// instructions, and the addresses that they access. steps.py starts it and decodes instructions:
//
//   paraes_steps_tracer native INPUT COMMAND...
//   paraes_steps_tracer emulated SOCKET INPUT COMMAND...       COMMAND is qemu-aarch64 -g SOCKET
//   ...
//
// It asks on standard output, and reads the answers on standard input, a line each:
//
//   decode ADDRESS BYTES       answered by `mark`, or by the number of addresses that the
//   instruction
//                              accesses, and for each: displacement, number of terms, and for each
//                              term: register, factor, and the kind of extension (see decode.py)
//
// It then writes one of
//
//   equal RUNS STEPS HASH      the number of instructions of a run, and a hash of its trace, or
//   differ RUN STEP path|address AT FIRST THIS MODULE
//
// and exits with 0. Other ends: 77, and `skipped: REASON`; 1, and the reason on standard error.
#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <unordered_map>

#include "tests/ct/steps/machine.hpp"
#include "tests/support/hex.hpp"

namespace paraes::steps {
namespace {

// How a register of 32 bits enters an address of AArch64.
enum class Extension { none, unsigned32, signed32 };

struct Term {
  std::size_t reg;
  std::uint64_t factor;
  Extension extension;
};

struct Address {
  std::uint64_t displacement;
  std::vector<Term> terms;
};

struct Instruction {
  bool is_mark = false;
  bool needs_masks = false;
  std::vector<Address> addresses;
};

std::uint64_t value_of(const Machine& machine, const Term& term) {
  std::uint64_t value = machine.reg(term.reg);
  if (term.extension == Extension::unsigned32) value = static_cast<std::uint32_t>(value);
  if (term.extension == Extension::signed32) {
    value = static_cast<std::uint64_t>(
        static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(value))));
  }
  return value * term.factor;
}

// The instructions that have been decoded, by their addresses.
class Decoder {
 public:
  explicit Decoder(bool has_masks) : has_masks_(has_masks) {}

  const Instruction& at(Machine& machine) {
    const auto [entry, is_new] = known_.try_emplace(machine.program_counter());
    if (is_new) entry->second = ask(machine);
    return entry->second;
  }

 private:
  [[nodiscard]] Instruction ask(Machine& machine) const {
    std::cout << "decode " << machine.program_counter() << ' ' << support::to_hex(machine.code())
              << std::endl;
    std::string line;
    if (!std::getline(std::cin, line)) throw Trouble("steps.py has ended");
    Instruction instruction;
    if (line == "mark") {
      instruction.is_mark = true;
      return instruction;
    }
    std::istringstream numbers(line);
    std::size_t count = 0;
    numbers >> count;
    for (; count != 0; --count) instruction.addresses.push_back(read_address(numbers));
    if (!numbers) throw Trouble("steps.py refuses an instruction: " + line);
    for (const Address& address : instruction.addresses) {
      for (const Term& term : address.terms) {
        if (has_masks_ && term.reg >= first_mask) instruction.needs_masks = true;
      }
    }
    return instruction;
  }

  static Address read_address(std::istream& numbers) {
    Address address = {};
    std::int64_t displacement = 0;
    std::size_t terms = 0;
    numbers >> displacement >> terms;
    address.displacement = static_cast<std::uint64_t>(displacement);
    for (; numbers && terms != 0; --terms) {
      std::size_t reg = 0;
      std::uint64_t factor = 0;
      int extension = 0;
      numbers >> reg >> factor >> extension;
      if (reg >= most_registers || extension < 0 || extension > 2) throw Trouble("no such term");
      address.terms.push_back({reg, factor, static_cast<Extension>(extension)});
    }
    return address;
  }

  bool has_masks_;
  std::unordered_map<std::uint64_t, Instruction> known_;
};

// The first run, or the comparison of a later one with it. An entry is the address of an
// instruction or one that it accesses.
class Trace {
 public:
  void begin_run() {
    ++runs_;
    position_ = 0;
    steps_ = 0;
  }

  void begin_step(std::uint64_t program_counter) {
    ++steps_;
    at_ = program_counter;
    enter("path", program_counter);
  }

  void access(std::uint64_t address) { enter("address", address); }

  [[nodiscard]] bool differs() const { return kind_ != nullptr; }

  void report_difference(const Machine& machine) const {
    std::cout << "differ " << std::dec << runs_ << ' ' << steps_ << ' ' << kind_ << std::hex << ' '
              << at_ << ' ' << expected_ << ' ' << found_ << ' ' << machine.module_of(at_) << '\n';
  }

  void report_equality() const {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, over words
    for (const std::uint64_t entry : entries_) hash = (hash ^ entry) * 0x100000001b3;
    std::cout << "equal " << std::dec << runs_ << ' ' << steps_ << ' ' << std::hex << hash << '\n';
  }

 private:
  void enter(const char* kind, std::uint64_t value) {
    if (runs_ == 1) {
      entries_.push_back(value);
      return;
    }
    // Every run ends with the address of a mark, so that no run is a part of another one.
    const std::uint64_t expected = position_ < entries_.size() ? entries_[position_] : 0;
    ++position_;
    if (expected == value) return;
    kind_ = kind;
    expected_ = expected;
    found_ = value;
  }

  std::vector<std::uint64_t> entries_;
  std::size_t position_ = 0;
  std::size_t runs_ = 0;
  std::size_t steps_ = 0;
  std::uint64_t at_ = 0;
  const char* kind_ = nullptr;
  std::uint64_t expected_ = 0;
  std::uint64_t found_ = 0;
};

// Traces from behind one mark to the next one.
void trace_run(Machine& machine, Decoder& decoder, Trace& trace) {
  trace.begin_run();
  while (true) {
    const Instruction& instruction = decoder.at(machine);
    trace.begin_step(machine.program_counter());
    if (trace.differs() || instruction.is_mark) break;
    if (instruction.needs_masks) machine.read_masks();
    for (const Address& address : instruction.addresses) {
      std::uint64_t sum = address.displacement;
      for (const Term& term : address.terms) sum += value_of(machine, term);
      trace.access(sum);
    }
    if (trace.differs()) return;
    machine.step();
  }
  if (!trace.differs()) machine.pass_mark();
}

void compare_runs(Machine& machine, bool has_masks) {
  std::cout << std::hex;  // addresses
  Decoder decoder(has_masks);
  Trace trace;
  while (machine.run_to_mark()) {
    trace_run(machine, decoder, trace);
    if (trace.differs()) {
      trace.report_difference(machine);
      return;
    }
  }
  trace.report_equality();
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4) throw Trouble("too few arguments: see tests/ct/steps/tracer.cpp");
  const bool native = arguments[0] == "native";
  const std::size_t input = native ? 1 : 2;
  Command command;
  command.arguments.assign(arguments.begin() + static_cast<std::ptrdiff_t>(input) + 1,
                           arguments.end());
  command.input = open(arguments[input].c_str(), O_RDONLY | O_CLOEXEC);
  if (command.input < 0) throw Trouble("cannot open " + arguments[input]);
  const std::unique_ptr<Machine> machine =
      native ? trace_native(command) : trace_emulated(command, arguments[1]);
  compare_runs(*machine, native);
  return 0;
}

}  // namespace
}  // namespace paraes::steps

int main(int count, char** arguments) {
  try {
    return paraes::steps::run({arguments + 1, arguments + count});
  } catch (const paraes::steps::NotPermitted& reason) {
    std::cout << "skipped: " << reason.what() << '\n';
    return 77;
  } catch (const std::exception& error) {
    std::cerr << "paraes_steps_tracer: " << error.what() << '\n';
    return 1;
  }
}
