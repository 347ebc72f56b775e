# paraes_emulated_test(NAME FOLDER): in a cross build, ctest runs each test of the executable by itself
# on each processor, under the name ARCHITECTURE.PROCESSOR.FOLDER.Suite.Test/kernel.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(emulated_cpus max neoverse-n1 cortex-a53 cortex-a72)
else()
  set(emulated_cpus max)
endif()

function(paraes_emulated_test name folder)
  foreach(cpu IN LISTS emulated_cpus)
    gtest_discover_tests(${name}
      TEST_PREFIX "${CMAKE_SYSTEM_PROCESSOR}.${cpu}.${folder}."
      TEST_LIST ${name}_${cpu}
      NO_PRETTY_VALUES
      DISCOVERY_TIMEOUT 120
      PROPERTIES
        LABELS emulated
        TIMEOUT 1800
        ENVIRONMENT PARAES_EMULATED_CPU=${cpu})
  endforeach()
endfunction()
