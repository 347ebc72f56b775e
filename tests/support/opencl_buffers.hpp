// What programs that are linked with failing_opencl.cpp can ask it.
#pragma once

#include <cstddef>

// How many launches have failed so far.
extern "C" unsigned long paraes_failed_launches();

// From now on, new buffers are filled with zeros and watched, and the next count begins.
extern "C" void paraes_watch_buffers();

// How many buffers were released with other bytes than zeros.
extern "C" unsigned long paraes_unwiped_buffers();

// How many buffers in device memory, not in that of the host, have other bytes than zeros now, or
// hold these bytes.
extern "C" unsigned long paraes_buffers_in_use();
extern "C" unsigned long paraes_buffers_with(const void* bytes, std::size_t count);

// The size in bytes of the largest argument that a kernel has had by value since
// paraes_watch_buffers().
extern "C" unsigned long paraes_largest_argument();
