// Makes allocations fail. An executable or a preloaded library with failing_memory.cpp replaces
// malloc and its relatives, which operator new calls, and mmap and mremap.
#pragma once

namespace paraes::support {

// Allocations are numbered from 1 on, from this call on, in all threads. Those with numbers from
// `first` on fail: `most` of them. Without a call, none fail.
void fail_allocations(long first, long most);

// Since the last call of fail_allocations.
[[nodiscard]] long allocations();
[[nodiscard]] long failed_allocations();

}  // namespace paraes::support
