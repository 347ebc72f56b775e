#include "tests/support/entry_probe.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#if defined(__linux__) && (defined(__x86_64__) || defined(__AARCH64EL__))
#define PARAES_HAS_BREAKPOINTS 1
#include <ucontext.h>
#endif

namespace paraes::support {

#ifdef PARAES_HAS_BREAKPOINTS

namespace {

// The unit in which code is patched, its breakpoint, and how far behind the start of the breakpoint
// the signal handler finds the program counter.
#if defined(__x86_64__)
using Code = std::uint8_t;
constexpr Code breakpoint = 0xcc;  // INT3
constexpr std::uintptr_t counter_after = 1;

auto& program_counter(void* context) {
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
}
#else
using Code = std::uint32_t;
constexpr Code breakpoint = 0xd4200000;  // BRK #0
constexpr std::uintptr_t counter_after = 0;

auto& program_counter(void* context) { return static_cast<ucontext_t*>(context)->uc_mcontext.pc; }
#endif

constexpr std::size_t max_functions = 512;

struct Watched {
  Code* code;
  Code first;
  volatile bool entered;
};

// Static, because the signal handler reads it.
Watched watched[max_functions];
std::size_t watched_count = 0;
struct sigaction action_before;

void write_code(Code* code, Code value) {
  *static_cast<volatile Code*>(code) = value;
  // Does nothing on x86-64, whose instruction caches see stores.
  __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(code + 1));
}

void on_breakpoint(int, siginfo_t*, void* context) {
  auto& counter = program_counter(context);
  const auto start = static_cast<std::uintptr_t>(counter) - counter_after;
  for (std::size_t i = 0; i < watched_count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(watched[i].code) != start) continue;
    write_code(watched[i].code, watched[i].first);
    watched[i].entered = true;
    counter = static_cast<std::remove_reference_t<decltype(counter)>>(start);
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
  watched[0] = {reinterpret_cast<Code*>(reinterpret_cast<std::uintptr_t>(&sample)), 0, false};
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
    auto* code = static_cast<Code*>(const_cast<void*>(function));
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
    write_code(watched[i].code, watched[i].first);
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

std::string EntryProbe::why_unavailable() {
  return "breakpoints are set on Linux on x86-64 and AArch64 only";
}
EntryProbe::EntryProbe(std::vector<const void*>) { throw std::logic_error(why_unavailable()); }
EntryProbe::~EntryProbe() = default;
void EntryProbe::arm() {}
void EntryProbe::disarm() {}
std::vector<const void*> EntryProbe::entered() const { return {}; }

#endif

}  // namespace paraes::support
