// A library to preload, which leaves a process open to inspection: /proc/PID/fd and strace show
// what it does. Otherwise only processes with CAP_SYS_PTRACE can inspect paraes, which hides its
// memory.

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>

extern "C" __attribute__((visibility("default"))) int prctl(int option, ...) {
  if (option == PR_SET_DUMPABLE) return 0;
  va_list list;
  va_start(list, option);
  unsigned long arguments[4];
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  return static_cast<int>(
      syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]));
}
