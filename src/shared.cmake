# libparaes.so, from the objects of the static library. include/paraes/export.hpp says what it exports.
add_library(paraes_shared SHARED $<TARGET_OBJECTS:paraes>)
add_library(paraes::paraes_shared ALIAS paraes_shared)
# Before 1.0 a new minor version may change the interface.
set_target_properties(paraes_shared PROPERTIES
  OUTPUT_NAME paraes
  LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(paraes_shared INTERFACE cxx_std_20)
target_include_directories(paraes_shared INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(paraes_shared
  PRIVATE $<BUILD_INTERFACE:paraes_flags> OpenSSL::Crypto Threads::Threads ${CMAKE_DL_LIBS})
if(NOT APPLE)
  set(map ${CMAKE_CURRENT_BINARY_DIR}/libparaes.map)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/libparaes.map.in ${map} @ONLY)
  set_property(TARGET paraes_shared APPEND PROPERTY LINK_DEPENDS ${map})
  target_link_options(paraes_shared PRIVATE
    LINKER:--version-script=${map}
    # Calls within the library are direct, not through its table of functions.
    LINKER:-Bsymbolic-functions
    LINKER:--as-needed,--no-undefined)
endif()
