#include "src/core/thread_teams.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "paraes/secret.hpp"
#include "src/core/system/blocked_signals.hpp"
#include "src/core/system/processors.hpp"

namespace paraes {

constinit std::atomic<StartThread> start_thread = pthread_create;

namespace {

constinit std::atomic<unsigned> most_threads = 0;  // 0: any number

using Clock = std::chrono::steady_clock;
using Word = std::atomic<std::uint32_t>;

// A sleeping thread takes 5 to 50 µs to wake up. Spinning for that long before it sleeps at most
// doubles the time that is lost, and soon leaves the core to other processes.
constexpr std::chrono::microseconds spin_time(50);
// How long to wait after a thread could not be started, before the next attempt.
constexpr std::chrono::milliseconds retry_time(100);
// Two cache lines, because processors prefetch them in pairs.
constexpr std::size_t cache_line_pair = 128;

void pause_core() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Whether done() became true within spin_time.
bool spin_until(const auto& done) noexcept {
  constexpr int polls_per_clock_read = 32;
  Clock::time_point end = {};
  for (;;) {
    for (int i = 0; i < polls_per_clock_read; ++i) {
      if (done()) return true;
      pause_core();
    }
    const Clock::time_point now = Clock::now();
    if (end == Clock::time_point{}) end = now + spin_time;
    if (now >= end) return false;
  }
}

struct TeamJob {
  TaskRef body;
  unsigned tasks = 0;
  unsigned threads = 0;  // that take part, including the caller
  bool spins = false;    // true if each of them has a core to itself
};

class Team;

// A thread of a team. The caller has number 0 and no TeamWorker.
struct alignas(cache_line_pair) TeamWorker {
  enum State : std::uint32_t { waits, works, sleeps };

  TeamWorker(Team& owner, unsigned index, bool spins) noexcept
      : team(owner), number(index), spins_first(spins) {}

  // The job is written before the state becomes `works`. Both are in one cache line, so that a
  // single transfer brings them to the worker's core.
  Word state = waits;
  TeamJob job;
  Team& team;
  unsigned number;
  bool spins_first;  // while it waits for its first job

  void give(const TeamJob& work) noexcept {
    job = work;
    if (state.exchange(works, std::memory_order_acq_rel) == sleeps) system::wake_sleeper(state);
  }

  // Waits for a job. Spins first if `spins`.
  TeamJob take(bool spins) noexcept {
    const auto given = [this] { return state.load(std::memory_order_acquire) == works; };
    if (!(spins && spin_until(given))) {
      wipe_stack();
      std::uint32_t expected = waits;
      if (state.compare_exchange_strong(expected, sleeps, std::memory_order_acquire)) {
        while (!given()) system::sleep_while(state, sleeps);
      }
    }
    state.store(waits, std::memory_order_relaxed);
    return job;
  }
};

// A set of threads that works for one caller at a time.
class Team {
 public:
  // threads: at most so many take part.
  void run(unsigned tasks, unsigned threads, TaskRef body) noexcept {
    if (threads - 1 > workers_.size()) grow(threads - 1);
    TeamJob job;
    job.body = body;
    job.tasks = tasks;
    job.threads = std::min(threads, static_cast<unsigned>(workers_.size()) + 1);
    job.spins = job.threads <= cores_;
    pending_.store(job.threads - 1, std::memory_order_relaxed);
    run_tasks(0, job);
    await_workers(job.spins);
  }

  // Returns true if the team was free; it is then leased to the caller.
  bool lease() noexcept {
    return !leased_.load(std::memory_order_relaxed) &&
           !leased_.exchange(true, std::memory_order_acquire);
  }
  void give_back() noexcept { leased_.store(false, std::memory_order_release); }

  Team* next = nullptr;  // in the list of all teams

 private:
  static constexpr std::uint32_t caller_sleeps = std::uint32_t{1} << 31;

  // Hands the job on to other threads, then runs the tasks of thread `number`.
  void run_tasks(unsigned number, const TeamJob& job) noexcept {
    // If each thread has a core, each wakes two others, so that the time grows only with the
    // logarithm of their number. If not, a thread might have to wait for a core before it wakes
    // others, so the caller wakes them all.
    const unsigned first = job.spins ? 2 * number + 1 : 1;
    const unsigned most = job.spins ? 2 : number == 0 ? job.threads - 1 : 0;
    for (unsigned other = first; other < std::min(first + most, job.threads); ++other) {
      workers_[other - 1]->give(job);
    }
    for (unsigned task = number; task < job.tasks; task += job.threads) job.body(task);
  }

  static void* work(void* worker) noexcept {
    TeamWorker& own = *static_cast<TeamWorker*>(worker);
    for (bool spins = own.spins_first;;) {
      const TeamJob job = own.take(spins);
      spins = job.spins;
      own.team.run_tasks(own.number, job);
      own.team.end_one();
    }
  }

  void end_one() noexcept {
    if (pending_.fetch_sub(1, std::memory_order_release) == (caller_sleeps | 1)) {
      system::wake_sleeper(pending_);
    }
  }

  void await_workers(bool spins) noexcept {
    const auto ended = [this] { return pending_.load(std::memory_order_acquire) == 0; };
    if (ended() || (spins && spin_until(ended))) return;
    std::uint32_t left = pending_.fetch_or(caller_sleeps, std::memory_order_acquire);
    while ((left & ~caller_sleeps) != 0) {
      system::sleep_while(pending_, left | caller_sleeps);
      left = pending_.load(std::memory_order_acquire);
    }
  }

  // Starts workers until there are `count` or the system cannot start another one.
  void grow(std::size_t count) noexcept {
    const Clock::time_point now = Clock::now();
    if (now < next_try_) return;
    cores_ = static_cast<unsigned>(available_cores());
    try {
      workers_.reserve(count);
      while (workers_.size() < count) {
        auto worker = std::make_unique<TeamWorker>(
            *this, static_cast<unsigned>(workers_.size()) + 1, count < cores_);
        if (!start(*worker)) break;
        workers_.push_back(std::move(worker));
      }
    } catch (const std::bad_alloc&) {
      // Treated like a thread that cannot be started.
    }
    if (workers_.size() < count) next_try_ = now + retry_time;
  }

  static bool start(TeamWorker& worker) noexcept {
    const system::BlockedSignals blocked;
    // Not joined: the threads wait for work until the process ends.
    pthread_t thread;
    return start_thread_with(thread, StackSize::small, Join::no, work, &worker);
  }

  std::vector<std::unique_ptr<TeamWorker>> workers_;
  unsigned cores_ = 1;
  Clock::time_point next_try_ = {};
  std::atomic<bool> leased_ = true;            // a new team is leased to the thread that creates it
  alignas(cache_line_pair) Word pending_ = 0;  // workers that have not finished
};

// All teams, the newest first. They are never removed or destroyed, because their threads still run
// when the process destroys static objects.
constinit std::atomic<Team*> teams = nullptr;
// Teams of parent processes, whose threads do not exist in this one. The list keeps them reachable
// for leak checkers.
constinit Team* inherited_teams = nullptr;
// The team that this thread leased last.
constinit thread_local Team* recent = nullptr;

void forget_teams() noexcept {
  Team* const all = teams.exchange(nullptr);
  recent = nullptr;
  if (all == nullptr) return;
  Team* oldest = all;
  while (oldest->next != nullptr) oldest = oldest->next;
  oldest->next = inherited_teams;
  inherited_teams = all;
}

[[maybe_unused]] const int handles_forks = pthread_atfork(nullptr, nullptr, forget_teams);

// Leases a free team or a new one; nullptr if there is no memory.
Team* lease_team() noexcept {
  if (recent != nullptr && recent->lease()) return recent;
  for (Team* team = teams.load(std::memory_order_acquire); team != nullptr; team = team->next) {
    if (team->lease()) return team;
  }
  Team* const team = new (std::nothrow) Team;
  if (team == nullptr) return nullptr;
  team->next = teams.load(std::memory_order_relaxed);
  while (!teams.compare_exchange_weak(team->next, team, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
  return team;
}

}  // namespace

int available_cores() { return system::available_cores(); }

void limit_threads(unsigned most) noexcept { most_threads.store(most, std::memory_order_relaxed); }

unsigned thread_limit() noexcept { return most_threads.load(std::memory_order_relaxed); }

unsigned limited_threads(unsigned count) noexcept {
  const unsigned most = thread_limit();
  return most == 0 ? count : std::min(count, most);
}

bool start_thread_with(pthread_t& thread, StackSize stack, Join join, void* (*work)(void*),
                       void* argument) noexcept {
  constexpr std::size_t small_stack_bytes = std::size_t{1} << 20;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(
      &attributes, join == Join::yes ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
  if (stack == StackSize::small) pthread_attr_setstacksize(&attributes, small_stack_bytes);
  const int error = start_thread.load()(&thread, &attributes, work, argument);
  pthread_attr_destroy(&attributes);
  return error == 0;
}

void run_on_threads(unsigned tasks, TaskRef body) noexcept {
  const unsigned threads = tasks > 1 ? limited_threads(tasks) : 1;
  Team* const team = threads > 1 ? lease_team() : nullptr;
  if (team == nullptr) {
    for (unsigned task = 0; task < tasks; ++task) body(task);
    return;
  }
  team->run(tasks, threads, body);
  // Set after the run, because `body` may have leased another team on this thread.
  recent = team;
  team->give_back();
}

}  // namespace paraes
