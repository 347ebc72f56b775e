// The salts of a million messages differ, drawn by several threads and processes at once, before
// and after fork(2).

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "paraes/messages.hpp"

namespace paraes {
namespace {

constexpr std::size_t salt_bytes = 24;
constexpr unsigned threads = 4;
constexpr unsigned children = 4;
using Salt = std::array<std::uint8_t, salt_bytes>;
using Draw = std::function<Salt()>;

// Salts in memory that child processes write to as well.
class SharedSalts {
 public:
  explicit SharedSalts(std::size_t count)
      : count_(count),
        data_(static_cast<Salt*>(mmap(nullptr, count * sizeof(Salt), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedSalts(const SharedSalts&) = delete;
  SharedSalts& operator=(const SharedSalts&) = delete;
  ~SharedSalts() { munmap(data_, count_ * sizeof(Salt)); }

  [[nodiscard]] std::span<Salt> all() const { return {data_, count_}; }

 private:
  std::size_t count_;
  Salt* data_;
};

// Threads that fill their parts of `salts`.
std::vector<std::thread> start_drawing(std::span<Salt> salts, const Draw& draw) {
  std::vector<std::thread> started;
  for (unsigned i = 0; i < threads; ++i) {
    const std::size_t first = salts.size() * i / threads;
    const std::size_t end = salts.size() * (i + 1) / threads;
    started.emplace_back([part = salts.subspan(first, end - first), &draw] {
      std::generate(part.begin(), part.end(), draw);
    });
  }
  return started;
}

void join(std::vector<std::thread>& started) {
  for (std::thread& thread : started) thread.join();
}

void draw_on_threads(std::span<Salt> salts, const Draw& draw) {
  std::vector<std::thread> started = start_drawing(salts, draw);
  join(started);
}

pid_t fork_and_draw(std::span<Salt> salts, const Draw& draw) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    draw_on_threads(salts, draw);
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

// Draws in this process before it forks, at the same time as its children, and after they ended.
void draw_everywhere(std::span<Salt> salts, const Draw& draw) {
  const std::size_t part = salts.size() / (children + 3);
  draw_on_threads(salts.first(part), draw);
  std::vector<std::thread> meanwhile = start_drawing(salts.subspan(part, part), draw);
  std::vector<pid_t> forked;
  for (unsigned i = 0; i < children; ++i) {
    forked.push_back(fork_and_draw(salts.subspan((2 + i) * part, part), draw));
  }
  join(meanwhile);
  for (const pid_t child : forked) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  draw_on_threads(salts.subspan((2 + children) * part), draw);
}

void check_all_differ(std::size_t count, const Draw& draw) {
  const SharedSalts salts(count);
  draw_everywhere(salts.all(), draw);
  std::sort(salts.all().begin(), salts.all().end());
  const auto twice = std::adjacent_find(salts.all().begin(), salts.all().end());
  EXPECT_EQ(twice, salts.all().end()) << "a salt was drawn twice";
  EXPECT_NE(salts.all().front(), Salt{}) << "a salt was not drawn";
}

// `bytes` bytes of a header from `first` on; the rest stays zero.
Salt salt_of(Bytes header, std::size_t first, std::size_t bytes = salt_bytes) {
  Salt salt{};
  std::copy_n(header.begin() + static_cast<std::ptrdiff_t>(first), bytes, salt.begin());
  return salt;
}

const std::vector<std::uint8_t> key(32, 7);

TEST(Salts, MillionParaesMessages_AllDiffer) {
  check_all_differ(1'000'000, [] {
    return salt_of(new_paraes_message(Preface::for_key(key.size()), key, {}).header,
                   Preface::bytes);
  });
}

TEST(Salts, C2spMessages_AllDiffer) {
  check_all_differ(70'000, [] { return salt_of(new_c2sp_message(key, {}).header, 0); });
}

TEST(Salts, TinkMessages_AllDiffer) {
  check_all_differ(70'000, [] { return salt_of(new_tink_message({}, key, {}).header, 1); });
}

TEST(Salts, SaltsOfScrypt_AllDiffer) {
  check_all_differ(70'000, [] {
    const Preface preface = Preface::for_passphrase(256, 4);
    return salt_of(preface.kdf_salt, 0, preface.kdf_salt.size());
  });
}

}  // namespace
}  // namespace paraes
