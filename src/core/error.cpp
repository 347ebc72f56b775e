#include "paraes/error.hpp"

#include <new>

#include "paraes/keys.hpp"

namespace paraes {
namespace {

struct Class {
  ErrorKind kind;
  ErrorKind base;
  bool (*has)(const std::exception& error) noexcept;
};

template <class Exception>
bool is_of(const std::exception& error) noexcept {
  return dynamic_cast<const Exception*>(&error) != nullptr;
}

// Each class before its base. No virtual function says it, because that would change the layout of
// classes that programs derive from.
constexpr Class classes[] = {
    {ErrorKind::target_exists, ErrorKind::invalid_argument, is_of<TargetExists>},
    {ErrorKind::unknown_kernel, ErrorKind::invalid_argument, is_of<UnknownKernel>},
    {ErrorKind::wrong_key_size, ErrorKind::invalid_argument, is_of<WrongKeySize>},
    {ErrorKind::ambiguous_key, ErrorKind::invalid_argument, is_of<AmbiguousKey>},
    {ErrorKind::invalid_argument, ErrorKind::error, is_of<InvalidArgument>},
    {ErrorKind::unknown_device, ErrorKind::unavailable, is_of<UnknownDevice>},
    {ErrorKind::missing_program, ErrorKind::unavailable, is_of<MissingProgram>},
    {ErrorKind::damaged_program, ErrorKind::unavailable, is_of<DamagedProgram>},
    {ErrorKind::unavailable, ErrorKind::error, is_of<Unavailable>},
    {ErrorKind::wrong_process, ErrorKind::error, is_of<WrongProcess>},
    {ErrorKind::device_memory, ErrorKind::device_error, is_of<OutOfMemory>},
    {ErrorKind::device_error, ErrorKind::error, is_of<DeviceError>},
    {ErrorKind::bad_segment, ErrorKind::integrity_error, is_of<BadSegment>},
    {ErrorKind::bad_padding, ErrorKind::integrity_error, is_of<BadPadding>},
    {ErrorKind::not_salted, ErrorKind::integrity_error, is_of<NotSalted>},
    {ErrorKind::integrity_error, ErrorKind::error, is_of<IntegrityError>},
    {ErrorKind::wrong_key, ErrorKind::error, is_of<WrongKey>},
    {ErrorKind::cannot_rename, ErrorKind::io_error, is_of<CannotRename>},
    {ErrorKind::io_error, ErrorKind::error, is_of<IoError>},
    {ErrorKind::cancelled, ErrorKind::error, is_of<Cancelled>},
    {ErrorKind::error, ErrorKind::error, is_of<Error>},
    {ErrorKind::memory, ErrorKind::memory, is_of<std::bad_alloc>},
};

}  // namespace

ErrorKind error_kind(const std::exception& error) noexcept {
  for (const Class& one : classes) {
    if (one.has(error)) return one.kind;
  }
  return ErrorKind::other;
}

bool is_a(ErrorKind kind, ErrorKind base) noexcept {
  if (kind > last_error_kind && kind != base) kind = ErrorKind::error;
  for (const Class& one : classes) {  // a base comes later
    if (kind == base) return true;
    if (one.kind == kind) kind = one.base;
  }
  return kind == base;
}

}  // namespace paraes
