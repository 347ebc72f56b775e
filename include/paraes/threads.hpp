// The number of available processors, and jobs for several threads.
#pragma once

#include <cstdint>
#include <functional>

#include "paraes/export.hpp"

namespace paraes {

// Processors that this process may run on.
[[nodiscard]] PARAES_EXPORT int available_cores();

// Sets an upper bound on the threads that one call of the library uses, whatever its arguments say;
// 0, the initial value, is no bound. Applies to calls that begin later, in all threads of the
// process. thread_limit() returns the present bound.
PARAES_EXPORT void limit_threads(unsigned most) noexcept;
[[nodiscard]] PARAES_EXPORT unsigned thread_limit() noexcept;

// Stack size of a thread. `small` is 1 MiB, for machines that limit address space. `usual` is the
// system's default, which compilers of GPU programs need.
enum class StackSize { small, usual };

// Calls body(worker, job) once for each job < count, on up to `workers` threads; the calling thread
// is worker 0. Uses fewer threads if the system cannot start as many. Jobs start in order. After a
// job has thrown, jobs with higher numbers are not started. When all workers have ended, rethrows
// the exception of the job with the lowest number.
PARAES_EXPORT void for_each_job(unsigned workers, std::uint64_t count,
                                const std::function<void(unsigned worker, std::uint64_t job)>& body,
                                StackSize stack = StackSize::small);

}  // namespace paraes
