# Packages for Debian and Ubuntu: packaging/deb builds them, `cpack -G DEB` alone repeats the last step.
# Each install component is a package; docs/decisions/0039-packages.md says why they are so many.
if(PARAES_BUILD_CLI)
  include(packaging/spdx.cmake)
endif()
get_cmake_property(installed COMPONENTS)
set(packages "")
foreach(component IN ITEMS runtime library c_library development mpi)
  if(component IN_LIST installed)
    list(APPEND packages ${component})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME paraes)
set(CPACK_PACKAGE_VENDOR "The paraes contributors")
set(CPACK_PACKAGE_CONTACT "The paraes contributors <paraes@example.org>")
# CPack's own default, which it leaves out: otherwise each package has it above its own first line.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
# Whatever the umask is.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SOURCE paraes)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The libraries of the release that the package is built on, with the versions that it needs of them.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(library libparaes${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME paraes)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "age, python3")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "fast authenticated encryption of files and pipes
paraes encrypts and decrypts files, folders and streams with AES on all cores
of the processor, or on a GPU, and verifies every byte before it trusts it.
It also reads and writes the formats of C2SP, Tink and OpenSSL, changes the
key of a file without encrypting it again, and measures how fast this
machine encrypts.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "fast AES and encrypted files (shared library)
paraes encrypts with AES on all cores of the processor, or on a GPU. This
package has the shared library, for programs that are linked to it.")
set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_NAME libparaes-c0)
set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_C_LIBRARY_DESCRIPTION "fast AES and encrypted files (shared library for C)
paraes encrypts with AES on all cores of the processor, or on a GPU. This
package has the shared library for programs in C, and in languages that call
C.")
# The dependency of programs that are linked to the library, and an update of the loader's cache.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
set(CPACK_DEBIAN_C_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libparaes-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# The static library leaves libcrypto to the program that is linked to it.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libssl-dev")
if("library" IN_LIST packages)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    ", ${library} (= ${PROJECT_VERSION}), libparaes-c0 (= ${PROJECT_VERSION})")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "fast AES and encrypted files (development files)
paraes encrypts with AES on all cores of the processor, or on a GPU. This
package has the headers, the static library, and the files for CMake and
pkg-config.")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME paraes-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION utils)
if(PARAES_MPI_NAME STREQUAL "openmpi")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
elseif(PARAES_MPI_NAME STREQUAL "mpich")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS mpich)
endif()
set(CPACK_COMPONENT_MPI_DESCRIPTION "fast authenticated encryption of files on clusters
paraes-mpi encrypts and decrypts large files with all nodes of a cluster,
which MPI connects. The files are those of paraes.")

# Compressed manual pages, changelog and copyright, as Debian's policy wants them.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian.cmake)
set(CPACK_PARAES_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_PARAES_PACKAGES "")
foreach(component IN LISTS packages)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_PARAES_PACKAGES ${component} ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
endforeach()

include(CPack)
