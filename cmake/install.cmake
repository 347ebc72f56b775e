# cmake --install: the commands that are built, the libraries, their headers, and the files by which
# CMake and pkg-config find them. The target `uninstall` removes them. Components, for packages:
#   runtime      the command paraes, its manual pages and completions
#   mpi          paraes-mpi
#   library      the shared library for C++
#   c_library    the one for C
#   development  what is needed to compile programs for the libraries
#   licence
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/paraes)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)

# ---- Libraries

install(TARGETS paraes paraes_c EXPORT paraes_static
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT paraes_static NAMESPACE paraes:: FILE paraesStaticTargets.cmake
  DESTINATION ${package_dir} COMPONENT development)
if(PARAES_BUILD_SHARED)
  install(TARGETS paraes_shared EXPORT paraes_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT library NAMELINK_COMPONENT development)
  install(TARGETS paraes_c_shared EXPORT paraes_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT c_library NAMELINK_COMPONENT development)
  install(EXPORT paraes_shared NAMESPACE paraes:: FILE paraesSharedTargets.cmake
    DESTINATION ${package_dir} COMPONENT development)
endif()
install(DIRECTORY include/paraes DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.hpp")
install(FILES include/paraes.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# ---- find_package(paraes)

configure_package_config_file(cmake/paraesConfig.cmake.in
  ${PROJECT_BINARY_DIR}/paraesConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/paraesConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/paraesConfig.cmake
              ${PROJECT_BINARY_DIR}/paraesConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

# ---- pkg-config

# The file names its folders from its own place, so that an installed tree can be moved. With an
# absolute folder of libraries, its place says nothing about the prefix.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${pc_dir}")
  set(pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/prefix/${pc_dir}" "/prefix")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(name IN ITEMS LIBDIR INCLUDEDIR)
  set(pc_${name} "${CMAKE_INSTALL_${name}}")
  if(NOT IS_ABSOLUTE "${pc_${name}}")
    set(pc_${name} "\${prefix}/${pc_${name}}")
  endif()
endforeach()
# One name for C and C++: a program gets those of the libraries that it calls.
set(pc_libraries "-lparaes-c -lparaes")
if(PARAES_BUILD_SHARED AND NOT APPLE)
  set(pc_libraries "-Wl,--push-state,--as-needed ${pc_libraries} -Wl,--pop-state")
endif()
# For C programs with the static libraries.
set(pc_cxx_library "-lstdc++")
if(APPLE)
  set(pc_cxx_library "-lc++")
endif()
foreach(name IN ITEMS paraes paraes-c)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir} COMPONENT development)
endforeach()

# ---- Commands

if(PARAES_BUILD_CLI)
  install(TARGETS paraes_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  if(TARGET paraes_openmp)
    install(TARGETS paraes_openmp
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/paraes COMPONENT runtime)
  endif()
  if(TARGET paraes_mpi)
    # OPTIONAL: ./quickstart builds paraes-mpi only with --with mpi.
    install(TARGETS paraes_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi OPTIONAL)
  endif()
endif()

# ---- Uninstall

if(PROJECT_IS_TOP_LEVEL)
  set(own_folders
    ${CMAKE_INSTALL_DOCDIR}
    ${CMAKE_INSTALL_INCLUDEDIR}/paraes
    ${CMAKE_INSTALL_LIBDIR}/paraes
    ${package_dir})
  configure_file(cmake/uninstall.cmake.in ${PROJECT_BINARY_DIR}/uninstall.cmake @ONLY)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -P ${PROJECT_BINARY_DIR}/uninstall.cmake
    VERBATIM)
endif()
