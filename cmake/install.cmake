# cmake --install: the library, its headers, the files for find_package(paraes), and the commands that
# are built.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/paraes)

install(TARGETS paraes EXPORT paraes
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/paraes DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.hpp")
install(EXPORT paraes NAMESPACE paraes:: FILE paraesTargets.cmake DESTINATION ${package_dir}
  COMPONENT development)

configure_package_config_file(cmake/paraesConfig.cmake.in
  ${PROJECT_BINARY_DIR}/paraesConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a new minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/paraesConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/paraesConfig.cmake
              ${PROJECT_BINARY_DIR}/paraesConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)

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
