# Writes OUTPUT, a header with the commit of the repository SOURCE. Runs at every build, and writes
# the file only if its content changes, so that nothing is recompiled needlessly.
set(commit "")
set(dirty "0")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} rev-parse HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  else()
    execute_process(COMMAND ${GIT} -C ${SOURCE} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      set(dirty "1")
    endif()
  endif()
endif()
set(text "#pragma once
#define PARAES_BUILD_COMMIT \"${commit}\"
#define PARAES_BUILD_DIRTY ${dirty}
")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL "${old}")
  file(WRITE ${OUTPUT} "${text}")
endif()
