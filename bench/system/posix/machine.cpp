#include "bench/system/machine.hpp"

#include <sys/utsname.h>

namespace paraes::bench {

std::string microcode() { return {}; }

std::string hypervisor_of_system() { return {}; }

std::string c_library() {
  utsname names = {};
  if (uname(&names) != 0) return "unknown C library";
  return std::string("the C library of ") + names.sysname + " " + names.release;
}

std::string file_system_of(const std::string& /*path*/) { return {}; }

}  // namespace paraes::bench
