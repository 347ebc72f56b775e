// Refuses targets for which paraes does not work, for builds without CMake.
#pragma once

#if defined(_WIN32) || defined(__CYGWIN__)
#error "paraes does not support Windows: use Linux, or the Windows Subsystem for Linux (WSL 2)"
#endif

#if !defined(__SIZEOF_POINTER__) || __SIZEOF_POINTER__ < 8
#error "paraes needs a 64-bit target: its files, buffers and counters exceed what 32 bits address"
#endif
