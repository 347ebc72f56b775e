// Errors thrown by the library. Nothing here prints, exits or aborts: callers translate.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace paraes {

// Base of every exception that the library throws on purpose.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument breaks a contract or a limit of a standard; the message names the clause.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// There is no kernel of the name that was asked for; the message lists those that there are.
class UnknownKernel : public InvalidArgument {
 public:
  UnknownKernel(const std::string& what, std::string name, std::string source)
      : InvalidArgument(what), name_(std::move(name)), source_(std::move(source)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The environment variable that has the name; empty: the caller asked for it.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  std::string name_;
  std::string source_;
};

// A kernel or device was asked for by name and this machine cannot run it.
class Unavailable : public Error {
 public:
  using Error::Error;
};

// A device was asked for whose runtime is there and does not see it; devices() lists those that it
// sees.
class UnknownDevice : public Unavailable {
 public:
  UnknownDevice(const std::string& device, const std::string& why)
      : Unavailable(std::string("there is no device ").append(device).append(": ").append(why)),
        device_(device) {}
  [[nodiscard]] const std::string& device() const noexcept { return device_; }  // "cuda:7"

 private:
  std::string device_;
};

// A GPU's program is neither prepared nor cached, and no compiler is installed that makes it.
// prepare_programs() on another machine does, for target().
class MissingProgram : public Unavailable {
 public:
  MissingProgram(const std::string& what, const std::string& target)
      : Unavailable(what), target_(target) {}
  [[nodiscard]] const std::string& target() const noexcept { return target_; }  // "sm_90"

 private:
  std::string target_;
};

// A call to a GPU's runtime failed: the message has the call, the name of its code, and the number.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// The same, because the device has no memory left.
class OutOfMemory : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// The data is not intact: a tag, a padding or a length does not check.
class IntegrityError : public Error {
 public:
  using Error::Error;
};

// A file that prepare_programs() made is damaged, or another version made it.
class DamagedProgram : public IntegrityError {
 public:
  DamagedProgram(const std::string& path, const std::string& why)
      : IntegrityError(std::string(path).append(": ").append(why)), path_(path) {}
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// A segment of a message does not authenticate.
class BadSegment : public IntegrityError {
 public:
  BadSegment(const std::string& what, std::uint64_t segment, std::uint64_t plain_offset,
             bool key_fits)
      : IntegrityError(what), segment_(segment), plain_offset_(plain_offset), key_fits_(key_fits) {}
  [[nodiscard]] std::uint64_t segment() const noexcept { return segment_; }
  // Of its first byte, in the plaintext.
  [[nodiscard]] std::uint64_t plain_offset() const noexcept { return plain_offset_; }
  // Whether the message has shown by then that the key is right: the data is damaged.
  [[nodiscard]] bool key_fits() const noexcept { return key_fits_; }

 private:
  std::uint64_t segment_;
  std::uint64_t plain_offset_;
  bool key_fits_;
};

// The data of the openssl format does not begin with "Salted__".
class NotSalted : public IntegrityError {
 public:
  using IntegrityError::IntegrityError;
};

// The header of a message does not match the key, the passphrase or the context: one of them is
// wrong, or the header is damaged. Nothing is known of the data behind it.
class WrongKey : public Error {
 public:
  using Error::Error;
};

// The operating system refused to read or write; code() is its errno.
class IoError : public Error {
 public:
  IoError(const std::string& what, int code) : Error(what), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace paraes
