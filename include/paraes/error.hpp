// Errors thrown by the library. Nothing here prints, exits or aborts: callers translate.
#pragma once

#include <stdexcept>
#include <string>

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

// A kernel or device was asked for by name and this machine cannot run it.
class Unavailable : public Error {
 public:
  using Error::Error;
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
