# The toolchain files of this folder include it: a cross compiler of Debian or Ubuntu, and libraries
# that tests/emulated/sysroot unpacks. The file that includes it sets CMAKE_SYSTEM_PROCESSOR, and
# `architecture` to Debian's name of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++)
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(CMAKE_SYSROOT ${source}/build/sysroot/${architecture})
if(NOT EXISTS ${CMAKE_SYSROOT}/.complete)
  message(FATAL_ERROR "${CMAKE_SYSROOT} is missing: run tests/emulated/sysroot ${architecture}")
endif()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${source}/tests/emulated/qemu ${CMAKE_SYSTEM_PROCESSOR})
