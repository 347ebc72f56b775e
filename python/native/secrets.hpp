// Where the keys of a call come from, and the messages that they make and open.
#pragma once

#include <memory>
#include <string>

#include "paraes/files.hpp"
#include "python/native/common.hpp"

namespace paraes::python {

// The use of the secrets, which decides the names that are allowed.
enum class Role {
  seal,      // recipients
  open,      // identities
  rekey_to,  // recipients; the names begin with to_
};

// Takes the secret of a call, and what belongs to it, from `options`: names and values of keyword
// arguments. A name that nobody has taken is a TypeError of check_all_taken. Needs the GIL; copies
// every value.
[[nodiscard]] std::unique_ptr<MessageSecret> take_secret(const nb::dict& options, Role role);

// Raises TypeError if `options` still has a name: no such argument exists.
void check_all_taken(const nb::dict& options, const char* function);

// Removes `name` from `options` and returns its value; nothing if it is not there or None.
[[nodiscard]] nb::object take_option(const nb::dict& options, const char* name);

// Empties a dictionary of keyword arguments when it goes: tracebacks show no secrets.
class ForgottenOptions {
 public:
  explicit ForgottenOptions(nb::dict options) : options_(std::move(options)) {}
  ~ForgottenOptions() { options_.clear(); }
  ForgottenOptions(const ForgottenOptions&) = delete;
  ForgottenOptions& operator=(const ForgottenOptions&) = delete;

 private:
  nb::dict options_;
};

// threads, device, kernel.
[[nodiscard]] Execution take_where(const nb::dict& options);

// The keyword arguments of a call: where it computes, and its secrets. They are forgotten when it
// ends. Throws TypeError, which names the function, if there is an argument that nobody takes.
struct Call {
  Call(const Options& options, Role role, const char* function)
      : forgotten(options),
        where(take_where(options)),
        use(where),
        secret(take_secret(options, role)) {
    check_all_taken(options, function);
  }

  ForgottenOptions forgotten;
  Execution where;
  DeviceUse use;
  std::shared_ptr<const MessageSecret> secret;
};

// The functions of the same names call these with their secret, which the writer keeps.
[[nodiscard]] nb::bytes seal_with(const MessageSecret& secret, const Execution& where,
                                  Bytes context, nb::handle object);
[[nodiscard]] nb::bytes unseal_with(const MessageSecret& secret, const Execution& where,
                                    Bytes context, nb::handle object);
[[nodiscard]] nb::object open_reader_with(const MessageSecret& secret, const Execution& where,
                                          nb::object file);
[[nodiscard]] nb::object open_writer_with(const std::shared_ptr<const MessageSecret>& secret,
                                          const Execution& where, nb::object file, bool exclusive);

// Whether it is a str, bytes or os.PathLike, which name a file.
[[nodiscard]] bool is_path(nb::handle object);
// The path that it names.
[[nodiscard]] std::string path_of(nb::handle object);

}  // namespace paraes::python
