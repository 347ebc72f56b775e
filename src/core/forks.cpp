#include "paraes/forks.hpp"

#include <pthread.h>

#include <atomic>
#include <string>

#include "paraes/error.hpp"

namespace paraes {
namespace {

std::atomic<unsigned> fork_count = 0;

[[maybe_unused]] const int counts_forks =
    pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned forks() noexcept { return fork_count.load(std::memory_order_relaxed); }

void OwnerProcess::refuse(const char* what) {
  throw WrongProcess(std::string(what) +
                     ": it belongs to the process that made it, and this is a child of that: make "
                     "another one here");
}

}  // namespace paraes
