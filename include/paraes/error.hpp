// Errors thrown by the library, which never prints, exits or aborts.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "paraes/export.hpp"
#include "paraes/supported.hpp"

namespace paraes {

// The classes below as numbers, for programs that exceptions do not reach: other processes and
// other languages. A number keeps its meaning; new ones are added at the end.
enum class ErrorKind : std::uint8_t {
  other = 0,   // an exception of somebody else
  memory = 1,  // std::bad_alloc
  error = 2,   // Error itself; its subclasses follow
  invalid_argument = 3,
  target_exists = 4,
  unknown_kernel = 5,
  unavailable = 6,
  unknown_device = 7,
  missing_program = 8,
  damaged_program = 9,
  wrong_process = 10,
  device_error = 11,
  device_memory = 12,  // OutOfMemory
  integrity_error = 13,
  bad_segment = 14,
  not_salted = 15,
  wrong_key = 16,
  io_error = 17,
  cannot_rename = 18,
  bad_padding = 19,
  wrong_key_size = 20,
  ambiguous_key = 21,
  cancelled = 22,
};
inline constexpr ErrorKind last_error_kind = ErrorKind::cancelled;

// The kind of any exception: that of its own class, or of the nearest base that has one.
[[nodiscard]] PARAES_EXPORT ErrorKind error_kind(const std::exception& error) noexcept;

// Whether errors of this kind are also errors of the kind `base`, as their classes are: a
// cannot_rename is an io_error and an error. A number of a later version counts as an error.
[[nodiscard]] PARAES_EXPORT bool is_a(ErrorKind kind, ErrorKind base) noexcept;

// Base class of the library's exceptions. Functions may also throw std::bad_alloc.
class PARAES_EXPORT Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument breaks a rule of an interface or of a standard. If a standard sets the rule, the
// message names its clause.
class PARAES_EXPORT InvalidArgument : public Error {
 public:
  using Error::Error;
};

// An output exists already, and the caller did not allow that it is replaced.
class PARAES_EXPORT TargetExists : public InvalidArgument {
 public:
  explicit TargetExists(const std::string& what, std::string path = {})
      : InvalidArgument(what), path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const noexcept { return path_; }  // as of IoError

 private:
  std::string path_;
};

// No kernel of the device has the requested name. The message lists the kernels.
class PARAES_EXPORT UnknownKernel : public InvalidArgument {
 public:
  UnknownKernel(const std::string& what, std::string name, std::string source)
      : InvalidArgument(what), name_(std::move(name)), source_(std::move(source)) {}
  // The name that was requested.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The environment variable that named it; empty if the caller did.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  std::string name_;
  std::string source_;
};

// This machine cannot run the requested kernel or device.
class PARAES_EXPORT Unavailable : public Error {
 public:
  using Error::Error;
};

// The runtime of the requested device is installed but does not see the device. devices() lists the
// devices that it sees.
class PARAES_EXPORT UnknownDevice : public Unavailable {
 public:
  UnknownDevice(const std::string& device, const std::string& why)
      : Unavailable(std::string("there is no device ").append(device).append(": ").append(why)),
        device_(device) {}
  [[nodiscard]] const std::string& device() const noexcept { return device_; }  // "cuda:7"

 private:
  std::string device_;
};

// A GPU program is neither prepared nor cached, and its compiler is not installed.
// prepare_programs() can compile it for target() on another machine.
class PARAES_EXPORT MissingProgram : public Unavailable {
 public:
  MissingProgram(const std::string& what, const std::string& target)
      : Unavailable(what), target_(target) {}
  [[nodiscard]] const std::string& target() const noexcept { return target_; }  // "sm_90"

 private:
  std::string target_;
};

// A file from prepare_programs() is damaged, or another version of paraes wrote it. It is not an
// IntegrityError: nothing is wrong with the data.
class PARAES_EXPORT DamagedProgram : public Unavailable {
 public:
  DamagedProgram(const std::string& path, const std::string& target, const std::string& why)
      : Unavailable(std::string(path).append(": ").append(why)), path_(path), target_(target) {}
  // The damaged file, and the compilation target that it is for.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const std::string& target() const noexcept { return target_; }  // "sm_90"

 private:
  std::string path_;
  std::string target_;
};

// An object that seals a message or owns an output was used in a child of the process that made it:
// see forks.hpp.
class PARAES_EXPORT WrongProcess : public Error {
 public:
  using Error::Error;
};

// A call to a GPU runtime failed. The message has the call, and the name and number of its error.
class PARAES_EXPORT DeviceError : public Error {
 public:
  using Error::Error;
};

// A call to a GPU runtime failed because the device has too little free memory.
class PARAES_EXPORT OutOfMemory : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// The data is not intact: a tag, a padding or a length is wrong.
class PARAES_EXPORT IntegrityError : public Error {
 public:
  using Error::Error;
};

// A segment of a message does not authenticate.
class PARAES_EXPORT BadSegment : public IntegrityError {
 public:
  BadSegment(const std::string& what, std::uint64_t segment, std::uint64_t plain_offset,
             bool key_fits)
      : IntegrityError(what), segment_(segment), plain_offset_(plain_offset), key_fits_(key_fits) {}
  // The number of the segment, from 0 on.
  [[nodiscard]] std::uint64_t segment() const noexcept { return segment_; }
  // Offset of the segment's first byte in the plaintext.
  [[nodiscard]] std::uint64_t plain_offset() const noexcept { return plain_offset_; }
  // True if the key is known to be right, so that the data must be damaged. False if the key or the
  // associated data may be wrong instead.
  [[nodiscard]] bool key_fits() const noexcept { return key_fits_; }

 private:
  std::uint64_t segment_;
  std::uint64_t plain_offset_;
  bool key_fits_;
};

// The data of the openssl format does not begin with "Salted__".
class PARAES_EXPORT NotSalted : public IntegrityError {
 public:
  using IntegrityError::IntegrityError;
};

// The padding at the end of an unauthenticated message is wrong: as if by a wrong key, IV or mode.
class PARAES_EXPORT BadPadding : public IntegrityError {
 public:
  BadPadding(const std::string& what, bool derived) : IntegrityError(what), derived_(derived) {}
  // Whether the key came from a passphrase, perhaps by another derivation than the writer's.
  [[nodiscard]] bool derived() const noexcept { return derived_; }

 private:
  bool derived_;
};

// The header of a message does not match the key or passphrase, or the context: one of them is
// wrong, or the header is damaged. The data after the header has not been checked.
class PARAES_EXPORT WrongKey : public Error {
 public:
  enum class Secret { key, passphrase, identity };  // which of them the header needs

  explicit WrongKey(Secret secret)
      : Error(std::string("wrong ") +
              (secret == Secret::key          ? "key or "
               : secret == Secret::passphrase ? "passphrase or "
                                              : "") +
              "context, or a damaged header"),
        secret_(secret) {}
  // For a reason that is known.
  WrongKey(Secret secret, const std::string& what) : Error(what), secret_(secret) {}

  // The kind of secret that does not match.
  [[nodiscard]] Secret secret() const noexcept { return secret_; }

 private:
  Secret secret_;
};

// The caller ended the work, as by its progress function. Nothing is left of the output.
class PARAES_EXPORT Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

// The operating system reported an error, code() (an errno), or a file changed while it was read.
class PARAES_EXPORT IoError : public Error {
 public:
  IoError(const std::string& what, int code, std::string path = {})
      : Error(what), code_(code), path_(std::move(path)) {}
  // The errno.
  [[nodiscard]] int code() const noexcept { return code_; }
  // The file, by the name that the message has; empty if the error is of no file.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  int code_;
  std::string path_;
};

// A finished file cannot get its name: the file system cannot rename files, or has another file
// mounted in the place of the target. The contents can still be written into the target itself,
// without the protection that a name for whole files alone gives.
class PARAES_EXPORT CannotRename : public IoError {
 public:
  using IoError::IoError;
};

}  // namespace paraes
