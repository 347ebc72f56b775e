# Which programs tests start. A test finds no other ones on its PATH, so that a program that only happens
# to be on this machine is missed at once; the test structure.programs compares the lists with the packages
# that ./quickstart installs. Elsewhere than on Debian and Ubuntu, tests have the PATH of the caller.
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
find_program(PARAES_DPKG_QUERY dpkg-query)
set(paraes_programs ${PROJECT_BINARY_DIR}/tests/programs)
set(programs_script ${PROJECT_SOURCE_DIR}/tests/structure/programs)
if(PARAES_DPKG_QUERY)
  file(REMOVE_RECURSE ${paraes_programs})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -B ${programs_script} --base ${paraes_programs}
    COMMAND_ERROR_IS_FATAL ANY)
endif()

# paraes_programs([PROGRAM...]): at the top of the CMakeLists.txt of a folder, what its tests start beyond
# the programs of essential packages and those that compile paraes. `?chromium` is used where it is
# installed, which quickstart need not do, and `?clang-*` in all versions; `package:dpkg-dev` stands for all
# programs of a package.
macro(paraes_programs)
  set(test_path)
  if(PARAES_DPKG_QUERY AND NOT CMAKE_CROSSCOMPILING)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
    string(REGEX REPLACE "^tests/" "" folder ${folder})  # `tests` itself is a name like the others
    execute_process(
      COMMAND ${Python3_EXECUTABLE} -B ${programs_script} --link ${paraes_programs} ${folder} ${ARGN}
      COMMAND_ERROR_IS_FATAL ANY)
    set(test_path "PATH=set:${paraes_programs}/${folder}/bin:${paraes_programs}/base")
    cmake_language(DEFER CALL paraes_set_path)
  endif()
endmacro()

# Sets PATH for the tests that CMake knows; tests/discover.cmake does it for the others.
function(paraes_set_path)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT_MODIFICATION ${test_path})
  endforeach()
endfunction()
