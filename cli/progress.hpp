// The progress of a run: a bar on the terminal, and a line for SIGUSR1.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace paraes::cli {

// Only one object may exist at a time.
class Progress {
 public:
  // From now on, SIGUSR1 prints a line instead of ending the process.
  static void listen();

  enum class Bar {
    none,
    when_slow,  // once the run has lasted half a second
    always,
  };

  // `total`: how many bytes there are to process, if known.
  Progress(Bar bar, std::optional<std::uint64_t> total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // clears the bar

  void update(std::uint64_t bytes);
  void clear();  // removes the bar until the next update, so that a message can be printed
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
