// How the executor cuts work into ranges and spreads them over threads.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/threads.hpp"
#include "src/cipher/cpu.hpp"
#include "src/cipher/parallel_modes.hpp"
#include "src/core/cache.hpp"
#include "src/core/executor.hpp"
#include "src/core/thread_teams.hpp"
#include "src/kernels/cpu_features.hpp"
#include "src/kernels/registry.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/systems.hpp"

namespace paraes {
namespace {

using support::in_child;
using support::message_of;

// A call of the body for one range.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int calls = 0;
  std::thread::id thread;
};

#if defined(__SANITIZE_THREAD__)
constexpr bool thread_sanitizer = true;
#elif defined(__has_feature)
constexpr bool thread_sanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool thread_sanitizer = false;
#endif

// After this time, the library tries again to start threads that it could not start.
constexpr std::chrono::milliseconds retry(120);

// While it exists, only `starts` more threads can be started.
class StartLimit {
 public:
  explicit StartLimit(int starts) {
    left_ = starts;
    start_thread = start;
  }
  ~StartLimit() { start_thread = pthread_create; }
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;
  [[nodiscard]] static int left() { return left_; }

 private:
  static int start(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) {
    return left_-- > 0 ? pthread_create(thread, attributes, work, argument) : EAGAIN;
  }
  static inline std::atomic<int> left_ = 0;
};

// The threads on which an executor calls the body for ranges 0, 1, …
std::vector<std::thread::id> threads_of_ranges(int ranges) {
  std::vector<std::thread::id> ids(static_cast<std::size_t>(ranges));
  Executor(ranges).run(static_cast<std::uint64_t>(ranges), 1,
                       [&](unsigned r, std::uint64_t, std::uint64_t) {
                         EXPECT_EQ(ids[r], std::thread::id());
                         ids[r] = std::this_thread::get_id();
                       });
  return ids;
}

std::size_t distinct(const std::vector<std::thread::id>& ids) {
  return std::set<std::thread::id>(ids.begin(), ids.end()).size();
}

TEST(Executor, Run_CoversEveryUnitOnceInOrderAndEvenly) {
  const std::vector<std::thread::id> all = threads_of_ranges(8);
  ASSERT_EQ(distinct(all), all.size());
  for (const int threads : {1, 2, 3, 4, 7, 8}) {
    const Executor executor(threads);
    EXPECT_EQ(executor.threads(), threads);
    for (const std::uint64_t units : {0, 1, 2, 3, 7, 8, 9, 100, 1001}) {
      for (const std::uint64_t min_units : {0, 1, 2, 4, 50, 2000}) {
        const unsigned runs = executor.ranges_for(units, min_units);
        ASSERT_GE(runs, 1U);
        ASSERT_LE(runs, static_cast<unsigned>(threads));
        std::vector<Range> seen(runs);
        executor.run(units, min_units, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
          ASSERT_LT(r, seen.size());
          seen[r].begin = begin;
          seen[r].end = end;
          seen[r].thread = std::this_thread::get_id();
          ++seen[r].calls;
        });
        std::uint64_t next = 0;
        std::uint64_t shortest = ~std::uint64_t{0};
        std::uint64_t longest = 0;
        for (unsigned r = 0; r < runs; ++r) {
          ASSERT_EQ(seen[r].calls, 1);
          ASSERT_EQ(seen[r].thread, all[r]);
          ASSERT_EQ(seen[r].begin, next);
          next = seen[r].end;
          const std::uint64_t length = seen[r].end - seen[r].begin;
          shortest = std::min(shortest, length);
          longest = std::max(longest, length);
        }
        ASSERT_EQ(next, units);
        ASSERT_LE(longest - shortest, 1U);
        if (runs > 1) {
          ASSERT_GE(shortest, min_units);
        }
      }
    }
  }
}

TEST(Executor, RangeCount_IsLimitedByThreadsAndMinimumSize) {
  EXPECT_EQ(Executor(4).ranges_for(100, 1), 4U);
  EXPECT_EQ(Executor(4).ranges_for(100, 25), 4U);
  EXPECT_EQ(Executor(4).ranges_for(100, 26), 3U);
  EXPECT_EQ(Executor(4).ranges_for(100, 101), 1U);
  EXPECT_EQ(Executor(4).ranges_for(0, 1), 1U);
}

TEST(Executor, SingleRange_StaysOnTheCallingThread) {
  const StartLimit limit(1);
  std::thread::id id;
  Executor(8).run(5, 100,
                  [&](unsigned, std::uint64_t, std::uint64_t) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
  EXPECT_EQ(StartLimit::left(), 1);
}

TEST(Executor, Run_ThrowsTheFirstExceptionAfterAllRangesHaveEnded) {
  std::atomic<int> ended = 0;
  const auto body = [&](unsigned r, std::uint64_t, std::uint64_t) {
    const bool fails = r == 1 || r == 3;
    if (!fails) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++ended;
    if (fails) throw std::runtime_error("range " + std::to_string(r));
  };
  EXPECT_EQ(message_of<std::runtime_error>([&] { Executor(4).run(4, 1, body); }), "range 1");
  EXPECT_EQ(ended, 4);
}

TEST(Executor, RepeatedCalls_KeepEachRangeOnItsThread) {
  const std::vector<std::thread::id> first = threads_of_ranges(6);
  EXPECT_EQ(distinct(first), 6U);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  for (int i = 0; i < 200; ++i) {
    // Some calls find the threads spinning, others find them asleep.
    if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const int ranges = 2 + i % 5;
    const std::vector<std::thread::id> ids = threads_of_ranges(ranges);
    ASSERT_TRUE(std::equal(ids.begin(), ids.end(), first.begin())) << ranges << " ranges";
  }
}

TEST(Executor, ThreadShortage_SharesRangesAmongStartedThreads) {
  constexpr int ranges = 64;
  std::size_t expected = 0;
  for (const int starts : {0, 1, 2, 5}) {
    const StartLimit limit(starts);
    for (int call = 0; call < 3; ++call) {
      const std::vector<std::thread::id> ids = threads_of_ranges(ranges);
      const std::size_t threads = distinct(ids);
      // Other tests in this process may have started threads.
      if (expected == 0) expected = threads;
      if (threads == std::size_t{ranges}) {
        GTEST_SKIP() << "other tests have started all threads; run this test alone";
      }
      if (call == 0) expected += static_cast<std::size_t>(starts);
      ASSERT_EQ(threads, expected);
      for (std::size_t r = 0; r < ids.size(); ++r) ASSERT_EQ(ids[r], ids[r % threads]) << r;
    }
    std::this_thread::sleep_for(retry);
  }
  EXPECT_EQ(distinct(threads_of_ranges(ranges)), std::size_t{ranges});
}

TEST(Executor, ThreadShortage_StillThrowsTheFirstException) {
  const StartLimit limit(2);
  std::atomic<int> ended = 0;
  const auto body = [&](unsigned r, std::uint64_t, std::uint64_t) {
    ++ended;
    if (r % 7 == 5) throw std::runtime_error("range " + std::to_string(r));
  };
  EXPECT_EQ(message_of<std::runtime_error>([&] { Executor(32).run(32, 1, body); }), "range 5");
  EXPECT_EQ(ended, 32);
}

TEST(Executor, ThreadLimit_HoldsForLaterCalls) {
  struct Limit {
    explicit Limit(unsigned most) { limit_threads(most); }
    ~Limit() { limit_threads(0); }
  };
  for (const unsigned most : {1U, 2U, 3U}) {
    const Limit limit(most);
    EXPECT_EQ(thread_limit(), most);
    const std::vector<std::thread::id> ids = threads_of_ranges(6);
    EXPECT_EQ(ids.size(), 6U);
    EXPECT_LE(distinct(ids), most);
    std::atomic<int> calls = 0;
    std::atomic<unsigned> highest = 0;
    for_each_job(8, 100, [&](unsigned worker, std::uint64_t) {
      ++calls;
      for (unsigned seen = highest; worker > seen && !highest.compare_exchange_weak(seen, worker);)
        ;
    });
    EXPECT_EQ(calls, 100);
    EXPECT_LT(highest, most);
  }
  EXPECT_EQ(distinct(threads_of_ranges(6)), 6U);
}

TEST(Executor, ConcurrentCallers_UseSeparateThreads) {
  constexpr int callers = 4;
  std::barrier all_running(2 * callers);
  std::vector<std::vector<std::thread::id>> ids(callers, std::vector<std::thread::id>(2));
  std::atomic<std::uint64_t> sum = 0;
  std::vector<std::thread> threads;
  for (std::size_t caller = 0; caller < callers; ++caller) {
    threads.emplace_back([&, caller] {
      const Executor executor(2);
      executor.run(2, 1, [&](unsigned r, std::uint64_t, std::uint64_t) {
        ids[caller][r] = std::this_thread::get_id();
        all_running.arrive_and_wait();
      });
      for (int i = 0; i < 1000; ++i) {
        executor.run(2, 1, [&](unsigned r, std::uint64_t, std::uint64_t) { sum += r; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::thread::id> all;
  for (const auto& pair : ids) all.insert(pair.begin(), pair.end());
  EXPECT_EQ(all.size(), std::size_t{2 * callers});
  EXPECT_EQ(sum, 1000U * callers);
}

TEST(Executor, NestedExecutors_CompleteEveryRange) {
  const std::vector<std::thread::id> before = threads_of_ranges(3);
  std::atomic<int> calls = 0;
  for (int i = 0; i < 20; ++i) {
    Executor(3).run(3, 1, [&](unsigned, std::uint64_t, std::uint64_t) {
      Executor(3).run(3, 1, [&](unsigned, std::uint64_t, std::uint64_t) {
        Executor(2).run(2, 1, [&](unsigned, std::uint64_t, std::uint64_t) { ++calls; });
      });
    });
  }
  EXPECT_EQ(calls, 20 * 3 * 3 * 2);
  EXPECT_EQ(threads_of_ranges(3), before);
}

TEST(Executor, ForkedChild_StartsItsOwnThreads) {
  if (thread_sanitizer) GTEST_SKIP() << "under ThreadSanitizer a forked child cannot start threads";
  ASSERT_EQ(distinct(threads_of_ranges(4)), 4U);
  // Another thread uses an executor during the fork. It must not allocate memory: some versions of
  // AddressSanitizer do not release their locks in a forked child.
  std::atomic<int> calls = 0;
  const std::jthread caller([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Executor(2).run(2, 1, [&](unsigned, std::uint64_t, std::uint64_t) { ++calls; });
    }
  });
  while (calls < 100) std::this_thread::yield();
  const auto starts = [](int threads) {
    alarm(30);
    return distinct(threads_of_ranges(threads)) == static_cast<std::size_t>(threads);
  };
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(in_child([&] { return starts(4) && in_child([&] { return starts(5); }); }));
  }
  EXPECT_EQ(distinct(threads_of_ranges(4)), 4U);
}

TEST(Executor, WorkerThreads_BlockSignalsExceptFaults) {
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  sigset_t masks[3];
  Executor(3).run(3, 1, [&](unsigned r, std::uint64_t, std::uint64_t) {
    pthread_sigmask(SIG_SETMASK, nullptr, &masks[r]);
  });
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM}) {
    EXPECT_EQ(sigismember(masks, signal), sigismember(&before, signal));
    EXPECT_EQ(sigismember(masks + 1, signal), 1);
    EXPECT_EQ(sigismember(masks + 2, signal), 1);
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGTRAP}) EXPECT_EQ(sigismember(masks + 1, signal), 0);
}

TEST(Executor, IdleThreads_UseNoProcessorTime) {
  ASSERT_EQ(distinct(threads_of_ranges(2)), 2U);
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double used = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  // Less than a third of one core: sanitizers run background threads.
  EXPECT_LT(used, passed.count() / 3);
}

TEST(Executor, SpreadScope_ReplacesTheThreadsWhileItExists) {
  static std::atomic<int> spreads;
  spreads = 0;
  const auto backwards = [](unsigned runs, TaskRef body) {
    ++spreads;
    while (runs > 0) body(--runs);
  };
  std::vector<unsigned> order;
  const auto note = [&](unsigned r, std::uint64_t, std::uint64_t) { order.push_back(r); };
  const auto fail = [](unsigned, std::uint64_t, std::uint64_t) {
    throw std::runtime_error("passed on");
  };
  {
    const SpreadScope scope(backwards);
    Executor(3).run(3, 1, note);
    Executor(3).run(1, 1, note);
    EXPECT_THROW(Executor(3).run(3, 1, fail), std::runtime_error);
  }
  EXPECT_EQ(order, (std::vector<unsigned>{2, 1, 0, 0}));
  EXPECT_EQ(spreads, 2);
  EXPECT_EQ(distinct(threads_of_ranges(3)), 3U);
  EXPECT_EQ(spreads, 2);
}

TEST(Executor, ManyMoreThreadsThanCores_RunEveryRange) {
  // ThreadSanitizer is slow with thousands of threads.
  constexpr int ranges = thread_sanitizer ? 300 : 4096;
  for (int call = 0; call < 3; ++call) {
    const std::vector<std::thread::id> ids = threads_of_ranges(ranges);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), std::thread::id()), 0);
  }
}

TEST(NontemporalStores, BeginBeforeTheCachesAreFullWhereThatIsBetterAndOutOfPlace) {
  const std::uint8_t bytes[2] = {};
  for (const int threads : {1, 2, 4096}) {
    for (const std::uint64_t mib : {0, 1, 4, 7, 8, 64, 1 << 20}) {
      const std::uint64_t size = mib == 0 ? 1 << 16 : mib << 20;
      const bool fills_caches = 2 * size >= last_level_cache_bytes(threads);
      // Input and output of 16 MiB, or of 4 MiB for each thread: decision 48.
      const bool fills_second_level = mib >= std::max<std::uint64_t>(8, 2ULL * threads);
      EXPECT_EQ(use_nontemporal_stores(bytes, bytes + 1, size, threads),
                fills_caches || (prefers_second_level_cache() && fills_second_level))
          << mib << " MiB, " << threads << " threads";
      EXPECT_FALSE(use_nontemporal_stores(bytes, bytes, size, threads)) << mib << " MiB";
    }
  }
}

TEST(NontemporalStores, ArePreferredByIntelWithAvx512) {
  const bool intel = reported_cpu_id().rfind("GenuineIntel ", 0) == 0;
  const std::vector<std::string_view> names = cpu_feature_names(detected_cpu_features());
  const bool avx512 = std::find(names.begin(), names.end(), "avx512f") != names.end();
  EXPECT_EQ(prefers_second_level_cache(), intel && avx512);
}

// The number of calls of each form of a kernel's operations. The forms below touch no data.
struct Calls {
  int ordinary = 0;
  int nontemporal = 0;
};
Calls calls;

template <int Calls::*form, class... Arguments>
void count_call(Arguments...) {
  ++(calls.*form);
}

// A row whose operations only count their calls.
Kernel counting_kernel() {
  constexpr auto ordinary = &Calls::ordinary;
  constexpr auto nontemporal = &Calls::nontemporal;
  Kernel row = *kernel_table().back();
  row.ecb_encrypt = row.ecb_decrypt = count_call<ordinary>;
  row.cbc_decrypt = count_call<ordinary>;
  row.ctr = count_call<ordinary>;
  row.xts_encrypt = row.xts_decrypt = count_call<ordinary>;
  row.ecb_encrypt_nontemporal = row.ecb_decrypt_nontemporal = count_call<nontemporal>;
  row.cbc_decrypt_nontemporal = count_call<nontemporal>;
  row.ctr_nontemporal = count_call<nontemporal>;
  row.xts_encrypt_nontemporal = row.xts_decrypt_nontemporal = count_call<nontemporal>;
  row.gcm_encrypt = row.gcm_decrypt = count_call<ordinary>;
  row.gcm_encrypt_nontemporal = row.gcm_decrypt_nontemporal = count_call<nontemporal>;
  return row;
}

TEST(NontemporalStores, AreWhatEveryModeUsesFromTheSizeOfTheCachesOn) {
  const std::size_t large = (last_level_cache_bytes(1) + (2U << 20)) / 4096 * 4096;
  const std::size_t small = std::size_t{1} << 19;
  // Addresses without memory behind them: nothing may touch it.
  const auto reserve = [&] {
    void* const memory =
        mmap(nullptr, large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<std::uint8_t*>(memory);
  };
  std::uint8_t* const in = reserve();
  std::uint8_t* const out = reserve();
  const Kernel row = counting_kernel();
  const std::array<std::uint8_t, 64> key_bytes{};
  const CipherKey key(row, key_bytes.data(), 16);
  const XtsKey xts_key(row, key_bytes.data(), 16);
  const GcmKey gcm_key(row, key_bytes.data(), 16);
  const Executor executor(1);
  std::uint8_t block[16] = {};
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    const std::pair<const char*, std::function<void(std::uint8_t*, std::size_t)>> modes[] = {
        {"ECB", [&](auto* to, auto n) { parallel_ecb(executor, key, direction, in, to, n / 16); }},
        {"CBC decryption",
         [&](auto* to, auto n) { parallel_cbc_decrypt(executor, key, block, in, to, n / 16); }},
        {"CTR", [&](auto* to, auto n) { parallel_ctr(executor, key, block, 0, in, to, n); }},
        {"XTS, one unit",
         [&](auto* to, auto n) {
           parallel_xts(executor, xts_key, direction, block, 0, in, to, n);
         }},
        {"XTS, many units",
         [&](auto* to, auto n) {
           parallel_xts(executor, xts_key, direction, block, 4096, in, to, n);
         }},
        {"GCM", [&](auto* to,
                    auto n) { parallel_gcm(executor, gcm_key, direction, {}, block, in, to, n); }},
    };
    for (const auto& [name, run] : modes) {
      calls = {};
      run(out, large);
      EXPECT_GT(calls.nontemporal, 0) << name;
      calls = {};
      run(in, large);
      EXPECT_EQ(calls.nontemporal, 0) << name << " in place";
      EXPECT_GT(calls.ordinary, 0) << name << " in place";
      calls = {};
      run(out, small);
      EXPECT_EQ(calls.nontemporal, 0) << name << ", small";
      EXPECT_GT(calls.ordinary, 0) << name << ", small";
    }
  }
  munmap(in, large);
  munmap(out, large);
}

// A kernel that only counts whole messages, as a library's: nothing touches their bytes.
Kernel library_kernel() {
  Kernel row = *kernel_table().back();
  row.gcm_encrypt = row.gcm_decrypt = nullptr;
  row.gcm_encrypt_nontemporal = row.gcm_decrypt_nontemporal = nullptr;
  row.gcm_expand = nullptr;
  row.gcm_seal_short = nullptr;
  row.gcm_open_short = nullptr;
  row.gcm_seal_many = row.gcm_open_many = nullptr;
  row.gcm_seal = count_call<&Calls::ordinary>;
  row.gcm_open = [](const KeySchedule&, const GhashKey&, const GcmMessage&) {
    ++calls.ordinary;
    return true;
  };
  return row;
}

TEST(GcmOnOneThread, ALibrarySealsAndOpensMessagesOfEverySizeWhole) {
  const Kernel row = library_kernel();
  const std::array<std::uint8_t, 16> key{};
  const auto cipher = detail::make_cpu_gcm(row, key, Executor(1), {});
  const std::array<std::uint8_t, 12> nonce{};
  std::array<std::uint8_t, 16> tag{};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 20, std::size_t{1} << 33}) {
    const GcmMessage message{nonce.data(), nonce.size(), nullptr,    0,          key.data(),
                             tag.data(),   bytes,        tag.data(), tag.data(), tag.size()};
    calls = {};
    cipher->seal(message);
    EXPECT_TRUE(cipher->open(message));
    EXPECT_EQ(calls.ordinary, 2) << bytes;
  }
}

TEST(LastLevelCache, SizeMatchesSysfs) {
  if (support::posix_only()) GTEST_SKIP() << "POSIX does not describe caches";
  const std::filesystem::path caches = "/sys/devices/system/cpu/cpu0/cache";
  std::uint64_t largest = 0;
  for (int index = 0; index < 16; ++index) {
    std::ifstream file(caches / ("index" + std::to_string(index)) / "size");
    std::uint64_t kib = 0;
    if (file >> kib) largest = std::max(largest, kib << 10);
  }
  if (largest == 0) GTEST_SKIP() << "/sys does not list the sizes of the caches";
  EXPECT_EQ(last_level_cache_bytes(1), largest);
  EXPECT_EQ(last_level_cache_bytes(0), largest);
  // More threads than processors do not reach more caches.
  const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_EQ(last_level_cache_bytes(4096), last_level_cache_bytes(online));
  EXPECT_EQ(last_level_cache_bytes(online) % largest, 0U);
}

}  // namespace
}  // namespace paraes
