#include "cli/terminal/core_dumps.hpp"

#include <sys/resource.h>

#include "src/core/system/process.hpp"

namespace paraes::cli {

void forbid_core_files() {
  const rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
  static_cast<void>(setrlimit(RLIMIT_CORE, &no_core));
}

void hide_memory() { system::hide_memory(); }

}  // namespace paraes::cli
