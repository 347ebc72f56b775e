// The interface of paraes_openmp.so, the part of the bench that needs an OpenMP library. It is a
// module, so that the executables run where there is none. Only C types pass between the two, which
// may have different C++ libraries.
#pragma once

namespace paraes::bench {

extern "C" {

struct OpenMpFunctions {
  // The OpenMP specification that the compiler implements: the year and month, as 201511.
  int version;

  // How many threads a parallel region has by default.
  int (*max_threads)();

  // Calls task(object, 0) … task(object, tasks - 1), number r on thread r of a team of `tasks`
  // threads, and returns when all have ended. `task` must not throw. 1 ≤ tasks ≤ 4096.
  void (*spread)(unsigned tasks, void (*task)(const void* object, unsigned number),
                 const void* object);

  // Ends the threads.
  void (*end_threads)();
};

// The only function that the module exports. What it returns is valid until the process ends. The
// number in the name changes with the structure, so that a module of another version is not used.
const OpenMpFunctions* paraes_openmp_functions_1();
}

inline constexpr const char* openmp_functions_name = "paraes_openmp_functions_1";

}  // namespace paraes::bench
