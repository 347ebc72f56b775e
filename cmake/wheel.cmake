# Options of a Python wheel, which has the module, and the command `paraes` if its libraries are
# installed.
set(PARAES_BUILD_PYTHON ON)
set(PARAES_BUILD_TESTS OFF)
set(PARAES_BUILD_MPI OFF)

set(missing "")
foreach(package IN ITEMS CLI11 fmt nlohmann_json)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing ${package})
  endif()
endforeach()
if(missing)
  set(PARAES_BUILD_CLI OFF)
  list(JOIN missing ", " missing)
  message(WARNING
    "The wheel will not have the command `paraes`, because these libraries are missing: ${missing} "
    "(Debian and Ubuntu: libcli11-dev libfmt-dev nlohmann-json3-dev)")
else()
  set(PARAES_BUILD_CLI ON)
  message(STATUS "The wheel will have the command `paraes`")
endif()

option(PARAES_PRIVATE_LIBCRYPTO
  "Link libcrypto statically, for a wheel that runs where there is none (packaging/wheel)" OFF)
if(PARAES_PRIVATE_LIBCRYPTO)
  set(OPENSSL_USE_STATIC_LIBS ON)
  # bench --executor openmp needs libgomp, which such a machine may lack.
  set(CMAKE_DISABLE_FIND_PACKAGE_OpenMP ON)
endif()
