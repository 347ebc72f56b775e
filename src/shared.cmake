# libparaes.so and libparaes-c.so, from the objects of the static libraries.

# add_shared(TARGET NAME SOVERSION MAP OBJECTS...): a library that exports what the version script
# cmake/MAP.in lists.
function(add_shared target name soversion map)
  add_library(${target} SHARED ${ARGN})
  add_library(paraes::${target} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name}
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    SOVERSION ${soversion})
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target}
    PRIVATE $<BUILD_INTERFACE:paraes_flags> OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
  if(NOT APPLE)
    set(script ${CMAKE_CURRENT_BINARY_DIR}/${map})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${map}.in ${script} @ONLY)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
    target_link_options(${target} PRIVATE
      LINKER:--version-script=${script}
      # Calls within the library are direct, not through its table of functions.
      LINKER:-Bsymbolic-functions
      # Its threads wait for work until the process ends: dlclose(3) must leave their code.
      LINKER:-z,nodelete
      LINKER:--as-needed,--no-undefined)
  endif()
endfunction()

# For C++. include/paraes/export.hpp says what it exports. Before 1.0 a new minor version may change the
# interface.
add_shared(paraes_shared paraes ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} libparaes.map
  $<TARGET_OBJECTS:paraes>)
target_compile_features(paraes_shared INTERFACE cxx_std_20)

# For C: a whole library of its own, because that of C++ gets another name more often
# (docs/decisions/0060). tests/install compares its interface with the recorded one.
add_shared(paraes_c_shared paraes-c 0 libparaes-c.map
  $<TARGET_OBJECTS:paraes> $<TARGET_OBJECTS:paraes_c>)
