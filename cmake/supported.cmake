# Refuses what paraes cannot be built for, in a sentence each. Reads only variables that project()
# sets: tests/structure/refusals gives it others.

if(WIN32 OR CYGWIN OR MSYS)
  message(FATAL_ERROR
    "paraes does not support Windows: build it on Linux, which the Windows Subsystem for Linux "
    "(WSL 2) is, too.")
endif()

if(CMAKE_SIZEOF_VOID_P LESS 8)
  message(FATAL_ERROR
    "paraes needs a 64-bit target: its files, buffers and counters exceed what 32 bits address.")
endif()

# Kernels get their instruction sets by attributes of functions. On AArch64, Clang gives such a function
# the intrinsics of its instructions from version 16 on, which is version 15 of Apple's Clang.
set(least_GNU 11)
set(least_Clang 14)
set(least_AppleClang 15)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(least_Clang 16)
endif()
set(least "${least_${CMAKE_CXX_COMPILER_ID}}")
if(least AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
  message(FATAL_ERROR
    "paraes needs ${CMAKE_CXX_COMPILER_ID} ${least} or later on ${CMAKE_SYSTEM_PROCESSOR}, and this "
    "compiler is ${CMAKE_CXX_COMPILER_VERSION}: name another one by -DCMAKE_CXX_COMPILER=….")
endif()
