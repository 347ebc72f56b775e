# Compiles for macOS with the compiler of PyPI's package ziglang, which comes with the headers of
# macOS. tests/systems/macos sets these variables of the environment:
#   PARAES_ZIG       a Python that has the package
#   PARAES_MACOS     the architecture: aarch64 or x86_64
#   PARAES_HEADERS   a folder with the headers of the libraries that paraes uses
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR $ENV{PARAES_MACOS})
set(CMAKE_CXX_COMPILER "$ENV{PARAES_ZIG}" -m ziglang c++ -target $ENV{PARAES_MACOS}-macos.13.0)
# Nothing of this machine is found.
set(CMAKE_FIND_ROOT_PATH $ENV{PARAES_HEADERS})
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# CMake finds these out by linking a program, for which zig would compile a C++ library first.
set(CMAKE_CXX_COMPILER_ID_RUN TRUE)
set(CMAKE_CXX_COMPILER_ID Clang)
set(CMAKE_CXX_COMPILER_VERSION 22.1)
set(CMAKE_CXX_COMPILER_FRONTEND_VARIANT GNU)
set(CMAKE_CXX_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_CXX_EXTENSIONS_COMPUTED_DEFAULT ON)
# Nothing is linked. CMake looks for the tools that would do it.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_INSTALL_NAME_TOOL true)
# Every warning and every instruction, but no optimisation, which takes most of the time. Without
# it, zig adds checks of undefined behaviour.
set(CMAKE_BUILD_TYPE Debug)
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -fno-sanitize=undefined")
