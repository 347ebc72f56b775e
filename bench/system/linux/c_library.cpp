#include "bench/system/c_library.hpp"

#include <gnu/libc-version.h>

namespace paraes::bench {

std::string c_library() { return std::string("glibc ") + gnu_get_libc_version(); }

}  // namespace paraes::bench
