# In a cross build, ctest runs each suite of a test program on each processor, under the name
# ARCHITECTURE.PROCESSOR.FOLDER.Suite.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(emulated_cpus max neoverse-n1 cortex-a53 cortex-a72)
else()
  set(emulated_cpus max)
endif()

# paraes_emulated_prefixes(RESULT FOLDER): as tests/discover.cmake takes them.
function(paraes_emulated_prefixes result folder)
  set(prefixes ${emulated_cpus})
  list(TRANSFORM prefixes
    REPLACE "(.+)" "${CMAKE_SYSTEM_PROCESSOR}.\\1.${folder}=PARAES_EMULATED_CPU=\\1")
  list(JOIN prefixes "|" prefixes)
  set(${result} "${prefixes}" PARENT_SCOPE)
endfunction()
