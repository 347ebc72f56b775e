set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(architecture arm64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
