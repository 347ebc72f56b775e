#include "tests/support/buffers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <system_error>

#include "tests/support/hex.hpp"

namespace paraes::support {

GuardedBuffer::GuardedBuffer(std::size_t capacity)
    : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      capacity_((capacity + page_ - 1) / page_ * page_) {
  void* memory =
      mmap(nullptr, capacity_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  base_ = static_cast<std::uint8_t*>(memory);
  if (mprotect(base_ + page_, capacity_, PROT_READ | PROT_WRITE) != 0) {
    throw std::system_error(errno, std::generic_category(), "mprotect");
  }
}

GuardedBuffer::~GuardedBuffer() { munmap(base_, capacity_ + 2 * page_); }

MutableBytes GuardedBuffer::place(std::size_t bytes, Flush flush) const {
  if (bytes > capacity_) throw std::length_error("GuardedBuffer: more bytes than its capacity");
  std::uint8_t* first = base_ + page_;
  return {flush == Flush::start ? first : first + capacity_ - bytes, bytes};
}

MutableBytes GuardedBuffer::place(Bytes source, Flush flush) const {
  const MutableBytes placed = place(source.size(), flush);
  std::copy(source.begin(), source.end(), placed.begin());
  return placed;
}

namespace {

// Written by FaultNote::set, and read by the signal handler on the same thread.
const char* volatile fault_operation = nullptr;
volatile std::size_t fault_bytes = 0;
struct sigaction action_before;

void write_text(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(99);
}

// Calls async-signal-safe functions only. It restores the action before and returns, so that the
// instruction faults again: the process ends by the same fault, and a sanitizer reports it.
void on_fault(int) {
  char digits[24];
  char* at = digits + sizeof digits;
  *--at = '\0';
  std::size_t n = fault_bytes;
  do {
    *--at = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  write_text("a guard page was touched: ");
  write_text(fault_operation != nullptr ? fault_operation : "?");
  write_text(", ");
  write_text(at);
  write_text(" bytes\n");
  sigaction(SIGSEGV, &action_before, nullptr);
}

}  // namespace

FaultNote::FaultNote() {
  struct sigaction action = {};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, &action_before);
}

FaultNote::~FaultNote() { sigaction(SIGSEGV, &action_before, nullptr); }

void FaultNote::set(const char* operation, std::size_t bytes) noexcept {
  fault_operation = operation;
  fault_bytes = bytes;
}

std::string difference(Bytes actual, Bytes expected) {
  if (actual.size() != expected.size()) {
    return std::to_string(actual.size()) + " bytes instead of " + std::to_string(expected.size());
  }
  if (actual.empty() || std::memcmp(actual.data(), expected.data(), actual.size()) == 0) return {};
  const auto at = static_cast<std::size_t>(
      std::mismatch(actual.begin(), actual.end(), expected.begin()).first - actual.begin());
  const std::size_t n = std::min<std::size_t>(16, actual.size() - at);
  return "of " + std::to_string(actual.size()) + " bytes, byte " + std::to_string(at) +
         " is the first that differs: " + to_hex(actual.subspan(at, n)) + " instead of " +
         to_hex(expected.subspan(at, n));
}

}  // namespace paraes::support
