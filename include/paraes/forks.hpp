// Objects that belong to the process that made them: what seals a message, or owns an output. A
// child of fork(2) has a copy of each. If both processes used it, they would encrypt different
// texts with the same key and nonces, and write into each other's file.
#pragma once

#include "paraes/export.hpp"

namespace paraes {

// How often this process and those that it was forked from, one from the other, have been forked:
// greater in a child than in its parent. Children by clone(2) or _Fork(3), which run no handlers of
// pthread_atfork(3), are not counted.
[[nodiscard]] PARAES_EXPORT unsigned forks() noexcept;

// The process in which this was made. Any number of threads may use it at once.
class PARAES_EXPORT OwnerProcess {
 public:
  OwnerProcess() noexcept : forks_(forks()) {}

  // False in a child.
  [[nodiscard]] bool is_this() const noexcept { return forks_ == forks(); }
  // Throws WrongProcess in a child. `what`: the object, which begins the message.
  void check(const char* what) const {
    if (!is_this()) refuse(what);
  }

 private:
  [[noreturn]] static void refuse(const char* what);

  unsigned forks_;
};

}  // namespace paraes
