// Runs work in a thread of its own, while the caller's thread handles signals and reports progress.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "python/native/common.hpp"

namespace paraes::python {

// Ends the work: its progress function throws it.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

class Task {
 public:
  // progress: called with the bytes done and the total, or nothing. It runs in the caller's thread,
  // about ten times a second and once at the end; an exception of it cancels the work.
  explicit Task(nb::object progress) : progress_(std::move(progress)) {}

  // For the work: called with the number of bytes done so far.
  void report(std::uint64_t done) {
    done_.store(done, std::memory_order_relaxed);
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }
  void set_total(std::uint64_t bytes) { total_.store(bytes, std::memory_order_relaxed); }

  // Called when the work is cancelled, by the caller's thread and without the GIL.
  std::function<void()> on_cancel;

  // Needs the GIL, which `work` does not have. Rethrows what it throws.
  void run(const std::function<void()>& work) {
    std::exception_ptr error;
    bool ended = false;
    std::mutex mutex;
    std::condition_variable changed;
    const auto body = [&] {
      std::exception_ptr thrown;
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      error = thrown;
      ended = true;
      changed.notify_all();
    };
    std::optional<nb::python_error> python_error;
    {
      std::optional<nb::gil_scoped_release> released(std::in_place);
      std::optional<std::thread> thread;
      try {
        const BlockedSignals blocked;
        thread.emplace(body);
      } catch (const std::system_error&) {
        body();  // the system has no more threads
      }
      std::unique_lock lock(mutex);
      while (!ended) {
        changed.wait_for(lock, std::chrono::milliseconds(100), [&] { return ended; });
        if (ended || python_error) continue;
        lock.unlock();
        released.reset();
        try {
          if (PyErr_CheckSignals() != 0) nb::raise_python_error();
          call_progress();
        } catch (nb::python_error& caught) {
          python_error.emplace(std::move(caught));
        }
        released.emplace();
        if (python_error) {
          cancelled_ = true;
          if (on_cancel) on_cancel();
        }
        lock.lock();
      }
      lock.unlock();
      if (thread) thread->join();
    }
    // Work that came to its end has been done, even if it should have been cancelled.
    if (python_error && error) throw nb::python_error(std::move(*python_error));
    if (error) std::rethrow_exception(error);
    if (python_error) throw nb::python_error(std::move(*python_error));
  }

  // Reports the end. An exception is the caller's.
  void call_progress() {
    if (!progress_) return;
    const std::uint64_t total = total_.load(std::memory_order_relaxed);
    progress_(done_.load(std::memory_order_relaxed),
              total == unknown ? nb::none() : nb::object(nb::int_(total)));
  }

 private:
  // The program's own threads handle its signals.
  class BlockedSignals {
   public:
    BlockedSignals() {
      sigset_t all;
      sigfillset(&all);
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
        sigdelset(&all, fault);
      }
      blocked_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
    }
    ~BlockedSignals() {
      if (blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    BlockedSignals(const BlockedSignals&) = delete;
    BlockedSignals& operator=(const BlockedSignals&) = delete;

   private:
    sigset_t before_ = {};
    bool blocked_ = false;
  };

  static constexpr std::uint64_t unknown = UINT64_MAX;

  nb::object progress_;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> total_ = unknown;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace paraes::python
