// Work in a child process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <functional>
#include <iostream>

namespace paraes::support {

// Whether `work` returns true in a child process.
inline bool in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    bool done = false;
    try {
      done = work();
    } catch (const std::exception& error) {
      std::cerr << "in the child: " << error.what() << '\n';
    }
    _exit(done ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace paraes::support
