// Functions for programs that are linked with failing_opencl.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

// A command that was enqueued, with the times of the device in nanoseconds.
struct ParaesCommand {
  enum class Kind { upload, kernel, download };
  const void* queue;
  Kind kind;
  std::size_t bytes;  // of a copy
  std::uint64_t queued;
  std::uint64_t start;
  std::uint64_t end;
};
// From now on, commands are recorded. They must have no events of their own.
void paraes_record_commands();
// Returns the recorded commands, in the order in which they were enqueued. All queues must be done.
std::vector<ParaesCommand> paraes_recorded_commands();
