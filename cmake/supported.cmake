# Refuses what paraes cannot be built for, in a sentence each. Reads only variables that project()
# sets: tests/structure/refusals gives it others.

if(WIN32 OR CYGWIN OR MSYS)
  message(FATAL_ERROR
    "paraes does not support Windows: build it in the Windows Subsystem for Linux (WSL 2).")
endif()

if(CMAKE_SIZEOF_VOID_P LESS 8)
  message(FATAL_ERROR
    "paraes needs a 64-bit target: its files, buffers and counters exceed what 32 bits address.")
endif()

# The sources of the kernels are chosen for one architecture.
if(CMAKE_OSX_ARCHITECTURES AND NOT CMAKE_OSX_ARCHITECTURES STREQUAL CMAKE_SYSTEM_PROCESSOR)
  message(FATAL_ERROR
    "paraes is built for one architecture at a time: set CMAKE_SYSTEM_PROCESSOR to that of "
    "CMAKE_OSX_ARCHITECTURES, which is ${CMAKE_OSX_ARCHITECTURES}.")
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
