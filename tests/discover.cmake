# discover.cmake: run after a test program is linked. Writes the file from which ctest reads one test for
# each suite of the program, named PREFIX.Suite: fewer processes than one for each case, and names that
# tell what failed. Cases named Long... of a suite, and all of its instantiations named Long..., are a
# test of their own, PREFIX.Suite.Long.
#
#   cmake -DPROGRAM= -DPREFIXES= -DFILTER= -DPROPERTIES= -DOUTPUT= [-DLAUNCHER=] -P discover.cmake
#
# PREFIXES: PREFIX or PREFIX=VARIABLE=VALUE (a variable of the environment), separated by |.
# FILTER: GoogleTest's filter; what it excludes is in no test. PROPERTIES: of each test, separated by |.
cmake_minimum_required(VERSION 3.22)

string(REPLACE "|" ";" PREFIXES "${PREFIXES}")
string(REPLACE "|" ";" PROPERTIES "${PROPERTIES}")
execute_process(
  COMMAND ${LAUNCHER} ${PROGRAM} --gtest_list_tests --gtest_filter=${FILTER}
  OUTPUT_VARIABLE listed ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed (${status}):\n${listed}${errors}")
endif()

string(REPLACE "\n" ";" listed "${listed}")
set(keys "")
foreach(line IN LISTS listed)
  string(REGEX REPLACE "  #.*" "" line "${line}")  # the values of parameters
  if(line MATCHES "^([^ ]+)\\.$")
    set(suite ${CMAKE_MATCH_1})
    string(REGEX REPLACE "^.*/([A-Za-z])" "\\1" name ${suite})  # Kernels/Suite; Suite/0 is of a type
    string(REGEX REPLACE "/[0-9]+$" "" name ${name})
  elseif(line MATCHES "^  ([^ ]+)$")
    set(case ${CMAKE_MATCH_1})
    set(key ${name})
    if(NOT name MATCHES "^Long" AND (case MATCHES "^Long" OR suite MATCHES "^Long"))
      string(APPEND key ".Long")
    endif()
    list(APPEND keys ${key})
    list(APPEND cases_${key} ${suite}.${case})
  endif()
endforeach()
list(REMOVE_DUPLICATES keys)

set(text "")
foreach(prefix IN LISTS PREFIXES)
  set(variable "")
  if(prefix MATCHES "^([^=]+)=(.+)$")
    set(prefix ${CMAKE_MATCH_1})
    set(variable "ENVIRONMENT [==[${CMAKE_MATCH_2}]==]")
  endif()
  foreach(key IN LISTS keys)
    list(JOIN cases_${key} ":" cases)
    string(APPEND text
      "add_test([==[${prefix}.${key}]==] ${LAUNCHER} [==[${PROGRAM}]==] [==[--gtest_filter=${cases}]==])\n"
      "set_tests_properties([==[${prefix}.${key}]==] PROPERTIES ${PROPERTIES} ${variable})\n")
  endforeach()
endforeach()
string(REPLACE ";" " " text "${text}")
file(WRITE ${OUTPUT} "${text}")
