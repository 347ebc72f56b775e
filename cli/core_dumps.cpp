#include "cli/core_dumps.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace paraes::cli {

void forbid_core_files() {
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(setrlimit(RLIMIT_CORE, &no_core));
}

void hide_memory() { static_cast<void>(prctl(PR_SET_DUMPABLE, 0)); }

}  // namespace paraes::cli
