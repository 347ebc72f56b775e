set(CMAKE_SYSTEM_PROCESSOR s390x)
set(architecture s390x)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
