#include "bench/system/c_library.hpp"

#include <sys/utsname.h>

namespace paraes::bench {

std::string c_library() {
  utsname names = {};
  if (uname(&names) != 0) return "unknown C library";
  return std::string("the C library of ") + names.sysname + " " + names.release;
}

}  // namespace paraes::bench
