#include "tests/support/entry_probe.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>
#endif

namespace paraes::support {

#if defined(__x86_64__) && defined(__linux__)

namespace {

constexpr std::uint8_t breakpoint = 0xcc;  // INT3
constexpr std::size_t max_functions = 512;

struct Watched {
  std::uint8_t* code;
  std::uint8_t first_byte;
  volatile bool entered;
};

// Static, because the signal handler reads it.
Watched watched[max_functions];
std::size_t watched_count = 0;
struct sigaction action_before;

void write_code(std::uint8_t* code, std::uint8_t byte) {
  *reinterpret_cast<volatile std::uint8_t*>(code) = byte;
}

void on_breakpoint(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  // INT3 leaves the instruction pointer at the byte after it.
  auto* code = reinterpret_cast<std::uint8_t*>(registers[REG_RIP] - 1);
  for (std::size_t i = 0; i < watched_count; ++i) {
    if (watched[i].code != code) continue;
    write_code(code, watched[i].first_byte);
    watched[i].entered = true;
    registers[REG_RIP] -= 1;
    return;
  }
  sigaction(SIGTRAP, &action_before, nullptr);  // not a watched function
}

void protect(int protection) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < watched_count; ++i) {
    const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(watched[i].code) / page * page;
    if (mprotect(reinterpret_cast<void*>(start), page, protection) != 0) {
      throw std::system_error(errno, std::generic_category(), "mprotect of code");
    }
  }
}

// why_unavailable() tries to make the code of this function writable.
__attribute__((noinline)) int sample() {
  volatile int value = 7;
  return value;
}

}  // namespace

std::string EntryProbe::why_unavailable() {
  if (sample() != 7) return "?";
  watched[0] = {reinterpret_cast<std::uint8_t*>(reinterpret_cast<std::uintptr_t>(&sample)), 0,
                false};
  watched_count = 1;
  std::string reason;
  try {
    protect(PROT_READ | PROT_WRITE | PROT_EXEC);
    protect(PROT_READ | PROT_EXEC);
  } catch (const std::system_error& e) {
    reason = std::string("this system does not allow code to be patched: ") + e.what();
  }
  watched_count = 0;
  return reason;
}

EntryProbe::EntryProbe(std::vector<const void*> functions) {
  if (watched_count != 0) throw std::logic_error("another EntryProbe exists");
  if (functions.size() > max_functions) throw std::length_error("too many functions to watch");
  for (const void* function : functions) {
    auto* code = static_cast<std::uint8_t*>(const_cast<void*>(function));
    watched[watched_count++] = {code, *code, false};
  }
  protect(PROT_READ | PROT_WRITE | PROT_EXEC);
  struct sigaction action = {};
  action.sa_sigaction = on_breakpoint;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &action_before);
}

EntryProbe::~EntryProbe() {
  disarm();
  sigaction(SIGTRAP, &action_before, nullptr);
  protect(PROT_READ | PROT_EXEC);
  watched_count = 0;
}

void EntryProbe::arm() {
  for (std::size_t i = 0; i < watched_count; ++i) {
    watched[i].entered = false;
    write_code(watched[i].code, breakpoint);
  }
}

void EntryProbe::disarm() {
  for (std::size_t i = 0; i < watched_count; ++i) {
    write_code(watched[i].code, watched[i].first_byte);
  }
}

std::vector<const void*> EntryProbe::entered() const {
  std::vector<const void*> functions;
  for (std::size_t i = 0; i < watched_count; ++i) {
    if (watched[i].entered) functions.push_back(watched[i].code);
  }
  return functions;
}

#else

std::string EntryProbe::why_unavailable() { return "breakpoints are set on x86-64 Linux only"; }
EntryProbe::EntryProbe(std::vector<const void*>) { throw std::logic_error(why_unavailable()); }
EntryProbe::~EntryProbe() = default;
void EntryProbe::arm() {}
void EntryProbe::disarm() {}
std::vector<const void*> EntryProbe::entered() const { return {}; }

#endif

}  // namespace paraes::support
