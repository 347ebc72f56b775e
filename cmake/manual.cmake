# Manual pages, completions for Bash, zsh and fish, and the reference of the command line: made during
# the build, from the description that --help prints. A program writes that as JSON, and a script of
# Python the rest.
if(PARAES_SANITIZE)  # the same texts again, and a program that takes long to compile
  return()
endif()
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "Manual pages and completions: not made, because CMAKE_CROSSCOMPILING_EMULATOR is "
    "not set, and this machine cannot run the program that describes the command line")
  return()
endif()
find_package(Python3 3.9 COMPONENTS Interpreter)
if(NOT Python3_FOUND)
  message(STATUS "Manual pages and completions: not made, because there is no python3 of 3.9 or later")
  return()
endif()

set(source ${PROJECT_SOURCE_DIR}/packaging/manual)
set(output ${PROJECT_BINARY_DIR}/manual)

add_executable(paraes_describe ${source}/describe.cpp mpi/executable.cpp)  # needs no MPI
# It runs for a moment.
target_compile_options(paraes_describe PRIVATE $<$<CONFIG:Release>:-O0 -U_FORTIFY_SOURCE>)
# paraes_standalone: with the shared C++ library it ends with a signal under QEMU for AArch64.
target_link_libraries(paraes_describe PRIVATE paraes_command paraes_flags paraes_standalone)

# The date of the pages: that of this version in CHANGELOG.md. Until it is there, that of the last
# change of the command line.
file(STRINGS CHANGELOG.md heading REGEX "^## \\[${PROJECT_VERSION}\\] - [0-9-]+$")
set(date 2026-11-25)
if(heading MATCHES "- ([0-9-]+)$")
  set(date ${CMAKE_MATCH_1})
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS CHANGELOG.md)

set(pages ${output}/man/paraes.1)
foreach(verb IN ITEMS encrypt decrypt verify rekey info keygen devices bench tune lab)
  list(APPEND pages ${output}/man/paraes-${verb}.1)
endforeach()
set(mpi_page ${output}/man/paraes-mpi.1)
set(completions "")
foreach(executable IN ITEMS paraes paraes-mpi paraes-lab)
  list(APPEND completions
    ${output}/bash/${executable} ${output}/zsh/_${executable} ${output}/fish/${executable}.fish)
endforeach()

add_custom_command(
  OUTPUT ${pages} ${mpi_page} ${completions} ${output}/reference.md
  COMMAND paraes_describe ${output}.json
  COMMAND Python3::Interpreter -B ${source}/write.py ${output}.json ${output} ${date}
  DEPENDS paraes_describe ${source}/lab.json ${source}/engine.bash ${source}/write.py
          ${source}/completions.py ${source}/man_pages.py ${source}/reference.py
          ${source}/sections.py ${source}/texts.py
  COMMENT "Writing manual pages and completions"
  VERBATIM)
add_custom_target(paraes_pages ALL
  DEPENDS ${pages} ${mpi_page} ${completions} ${output}/reference.md)

# OPTIONAL: ./quickstart builds the command alone.
function(paraes_install_pages component folder)
  install(FILES ${ARGN} DESTINATION ${folder} COMPONENT ${component} OPTIONAL)
endfunction()
function(paraes_install_completions component executable)
  paraes_install_pages(${component} ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    ${output}/bash/${executable})
  paraes_install_pages(${component} ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    ${output}/zsh/_${executable})
  paraes_install_pages(${component} ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    ${output}/fish/${executable}.fish)
endfunction()
paraes_install_pages(runtime ${CMAKE_INSTALL_MANDIR}/man1 ${pages})
paraes_install_completions(runtime paraes)
paraes_install_completions(runtime paraes-lab)
if(TARGET paraes_mpi)
  paraes_install_pages(mpi ${CMAKE_INSTALL_MANDIR}/man1 ${mpi_page})
  paraes_install_completions(mpi paraes-mpi)
endif()
