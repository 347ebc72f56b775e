// The progress of a run: a bar on the terminal, and a line for SIGUSR1.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "cli/terminal/status_line.hpp"

namespace paraes::cli {

// Only one object may exist at a time. Time counts while data is transferred: not while all threads
// that work on files wait for the run's key.
class Progress {
 public:
  // From now on, SIGUSR1 prints a line instead of ending the process.
  static void listen();

  enum class Bar {
    none,
    when_slow,  // once data has been transferred, or a key derived, for half a second
    always,
  };

  // `total`: how many bytes there are to process, if known.
  Progress(Bar bar, std::optional<std::uint64_t> total);
  ~Progress();  // leaves nothing of the bar, unless finish has

  // Neither waits for the terminal. `more`: how much more there is to process than was said, or how
  // much less.
  static void update(std::uint64_t bytes) noexcept;
  static void change_total(std::int64_t more) noexcept;

  // Ends the transfer. A bar that has appeared stays, on a line of its own. `complete`: nothing is
  // left to do, whatever the total was.
  void finish(bool complete);

  // While one exists, its thread works on a file.
  class Work {
   public:
    Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work();
  };

  // While one exists, its thread waits for the run's key.
  class KeyWait {
   public:
    KeyWait();
    KeyWait(const KeyWait&) = delete;
    KeyWait& operator=(const KeyWait&) = delete;
    ~KeyWait();
  };

  enum class KeyStep {
    reading,   // perhaps from a prompt on the terminal: the bar is hidden
    deriving,  // the bar says so
  };
  // While one exists, the run's key is being read or derived.
  class KeyActivity {
   public:
    explicit KeyActivity(KeyStep step);
    ~KeyActivity();

   private:
    KeyWait wait_;
    KeyStep step_;
  };

 private:
  void run_ticker();
  void stop_ticker();
  void tick();
  [[nodiscard]] std::string transfer_text(double seconds) const;
  [[nodiscard]] std::string key_text() const;
  [[nodiscard]] std::string end_text(double seconds, bool complete) const;

  const Bar bar_;
  const std::optional<std::uint64_t> total_;
  StatusLine line_;
  bool shown_ = false;  // whether the transfer has been shown, not only the key's derivation
  bool stop_ = false;
  std::condition_variable stopped_;
  std::thread ticker_;
};

}  // namespace paraes::cli
