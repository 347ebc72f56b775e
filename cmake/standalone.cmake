# paraes_standalone: linked to executables that also have to run where no C++ library is installed. They
# contain libstdc++ and libgcc. OpenSSL stays a shared library, because it gets security updates.
add_library(paraes_standalone INTERFACE)
set(PARAES_STANDALONE OFF)
if(APPLE)  # its C++ library is a part of the system, and its linker has other flags
  return()
endif()
target_link_options(paraes_standalone INTERFACE LINKER:--as-needed)
if(NOT PARAES_SANITIZE)  # the sanitizers intercept functions of the shared libraries
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LINK_OPTIONS
    -static-libstdc++ -static-libgcc LINKER:--exclude-libs,ALL LINKER:--gc-sections)
  check_cxx_source_compiles("
    #include <iostream>
    int main() { std::cout << 1; }"
    PARAES_STATIC_LIBSTDCXX)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(PARAES_STATIC_LIBSTDCXX)
    set(PARAES_STANDALONE ON)
    # Without --exclude-libs, a library in the same process that uses the shared libstdc++ (a driver of
    # OpenCL, an MPI) could be bound to functions of the copy in the executable.
    target_link_options(paraes_standalone INTERFACE
      -static-libstdc++ -static-libgcc LINKER:--exclude-libs,ALL
      # Leaves out functions of libstdc++ that nothing calls, one of which needs glibc 2.36.
      LINKER:--gc-sections)
    message(STATUS "C++ library: part of the executables")
  else()
    message(STATUS "C++ library: shared, because there is no static one")
  endif()
endif()
