#include <algorithm>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "src/c/common.hpp"

namespace paraes::c {
namespace {

struct LastError {
  int code = PARAES_OK;
  int number = 0;  // errno
  std::uint64_t offset = UINT64_MAX;
  const char* fixed = "";  // if there is no memory for a message
  std::string message;
  std::string path;
};

thread_local LastError last;

constexpr const char* no_memory = "out of memory";

int code_of(ErrorKind kind) noexcept {
  return kind == ErrorKind::other ? PARAES_OTHER_ERROR : static_cast<int>(kind);
}

// The kind of a code that is neither PARAES_OK nor PARAES_OTHER_ERROR.
ErrorKind kind_of(int code) noexcept { return static_cast<ErrorKind>(code); }

bool is_kind(int code) noexcept { return code > PARAES_OK && code < PARAES_OTHER_ERROR; }

// Every class of exceptions has the code of its kind.
constexpr bool is_code(int code, ErrorKind kind) { return code == static_cast<int>(kind); }
static_assert(is_code(PARAES_OUT_OF_MEMORY, ErrorKind::memory));
static_assert(is_code(PARAES_ERROR, ErrorKind::error));
static_assert(is_code(PARAES_INVALID_ARGUMENT, ErrorKind::invalid_argument));
static_assert(is_code(PARAES_TARGET_EXISTS, ErrorKind::target_exists));
static_assert(is_code(PARAES_UNKNOWN_KERNEL, ErrorKind::unknown_kernel));
static_assert(is_code(PARAES_UNAVAILABLE, ErrorKind::unavailable));
static_assert(is_code(PARAES_UNKNOWN_DEVICE, ErrorKind::unknown_device));
static_assert(is_code(PARAES_MISSING_PROGRAM, ErrorKind::missing_program));
static_assert(is_code(PARAES_DAMAGED_PROGRAM, ErrorKind::damaged_program));
static_assert(is_code(PARAES_WRONG_PROCESS, ErrorKind::wrong_process));
static_assert(is_code(PARAES_DEVICE_ERROR, ErrorKind::device_error));
static_assert(is_code(PARAES_DEVICE_MEMORY, ErrorKind::device_memory));
static_assert(is_code(PARAES_INTEGRITY_ERROR, ErrorKind::integrity_error));
static_assert(is_code(PARAES_BAD_SEGMENT, ErrorKind::bad_segment));
static_assert(is_code(PARAES_NOT_SALTED, ErrorKind::not_salted));
static_assert(is_code(PARAES_WRONG_KEY, ErrorKind::wrong_key));
static_assert(is_code(PARAES_IO_ERROR, ErrorKind::io_error));
static_assert(is_code(PARAES_CANNOT_RENAME, ErrorKind::cannot_rename));
static_assert(is_code(PARAES_BAD_PADDING, ErrorKind::bad_padding));
static_assert(is_code(PARAES_WRONG_KEY_SIZE, ErrorKind::wrong_key_size));
static_assert(is_code(PARAES_AMBIGUOUS_KEY, ErrorKind::ambiguous_key));
static_assert(is_code(PARAES_CANCELLED, ErrorKind::cancelled));
static_assert(last_error_kind == ErrorKind::cancelled, "a new kind needs a code in paraes.h");

// Keeps the details that only IoError and TargetExists have.
void note_details(const std::exception& error) {
  if (const auto* io = dynamic_cast<const IoError*>(&error)) {
    last.number = io->code();
    last.path = io->path();
  } else if (const auto* exists = dynamic_cast<const TargetExists*>(&error)) {
    last.path = exists->path();
  } else if (const auto* segment = dynamic_cast<const BadSegment*>(&error)) {
    last.offset = segment->plain_offset();
  }
}

}  // namespace

int note_error() noexcept {
  last.number = 0;
  last.offset = UINT64_MAX;
  last.fixed = nullptr;
  last.path.clear();
  try {
    try {
      throw;
    } catch (const std::length_error&) {  // a size that no memory has
      throw std::bad_alloc();
    } catch (const std::exception& error) {
      last.code = code_of(error_kind(error));
      if (last.code == PARAES_OUT_OF_MEMORY) throw std::bad_alloc();
      last.message = error.what();
      note_details(error);
    } catch (...) {
      last.code = PARAES_OTHER_ERROR;
      last.fixed = "an exception that is no std::exception";
    }
  } catch (...) {
    last.code = PARAES_OUT_OF_MEMORY;
    last.fixed = no_memory;
  }
  return last.code;
}

void refuse_null(const char* name) { throw InvalidArgument(std::string(name) + ": it is NULL"); }

void refuse_size(const char* name, std::size_t bytes, const char* right) {
  throw InvalidArgument(std::string(name) + ": it needs " + right + ", not " +
                        std::to_string(bytes));
}

void refuse_capacity(std::size_t capacity, std::uint64_t needed) {
  throw InvalidArgument("capacity: the output needs " + std::to_string(needed) + " bytes, not " +
                        std::to_string(capacity));
}

void refuse_overlap() { throw InvalidArgument("out: it must not overlap the input"); }

void refuse_stride(const char* name, std::size_t stride) {
  throw InvalidArgument(std::string(name) + ": pass the size of one, as sizeof gives it, and not " +
                        std::to_string(stride));
}

void refuse_options(const char* name, std::size_t size, std::size_t known) {
  throw InvalidArgument(std::string(name) + ": the size of the structure is " +
                        std::to_string(known) + ", not " + std::to_string(size) +
                        "; in a larger one, members that paraes " + paraes_version() +
                        " does not know must be zero");
}

}  // namespace paraes::c

extern "C" {

const char* paraes_error_message() {
  return paraes::c::last.fixed != nullptr ? paraes::c::last.fixed : paraes::c::last.message.c_str();
}

int paraes_error_code() { return paraes::c::last.code; }
int paraes_error_errno() { return paraes::c::last.number; }
const char* paraes_error_path() { return paraes::c::last.path.c_str(); }
std::uint64_t paraes_error_offset() { return paraes::c::last.offset; }

int paraes_is_a(int code, int base) {
  if (!paraes::c::is_kind(code) || !paraes::c::is_kind(base)) return code == base ? 1 : 0;
  return paraes::is_a(paraes::c::kind_of(code), paraes::c::kind_of(base)) ? 1 : 0;
}

int paraes_exit_status(int code) {
  if (code == PARAES_OK) return 0;
  return paraes_is_a(code, PARAES_INVALID_ARGUMENT) != 0  ? 2
         : paraes_is_a(code, PARAES_INTEGRITY_ERROR) != 0 ? 4
         : paraes_is_a(code, PARAES_WRONG_KEY) != 0       ? 5
                                                          : 1;
}

}  // extern "C"
