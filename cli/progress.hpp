// How far a run has come: a bar on the terminal, and a line for SIGUSR1.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace paraes::cli {

// One at a time.
class Progress {
 public:
  // Lets SIGUSR1 print a line from now on instead of ending the process.
  static void listen();

  enum class Bar {
    none,
    when_slow,  // once the run has lasted half a second
    always,
  };

  // `total`: how many bytes there will be, if known.
  Progress(Bar bar, std::optional<std::uint64_t> total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // takes the bar away, so that what is printed next starts on an empty line

  void update(std::uint64_t bytes);
  void clear();  // takes the bar away until it is drawn again, for a line in between
  [[nodiscard]] double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::uint64_t bytes, double elapsed);

  Bar bar_;
  std::optional<std::uint64_t> total_;
  Clock::time_point start_ = Clock::now();
  double next_draw_;
  bool drawn_ = false;
};

}  // namespace paraes::cli
