// How many threads can run at once, and jobs for several.
#pragma once

#include <cstdint>
#include <functional>

namespace paraes {

// Processors that this process may run on.
[[nodiscard]] int available_cores();

// Of a thread: `small` is 1 MiB, where address space may be limited; compilers of GPU programs need
// the `usual` size of the system.
enum class StackSize { small, usual };

// Calls body(worker, job) once for each job < count, on up to `workers` threads, of which the
// caller is worker 0, or on fewer where the system starts no more. Jobs are handed out in order.
// After a job has thrown, jobs of higher numbers are not begun; what the one of the lowest number
// threw is thrown here, when all workers have ended.
void for_each_job(unsigned workers, std::uint64_t count,
                  const std::function<void(unsigned worker, std::uint64_t job)>& body,
                  StackSize stack = StackSize::small);

}  // namespace paraes
