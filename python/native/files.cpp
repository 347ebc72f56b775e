// Whole files: encrypt_file, decrypt_file, verify_file, rekey_file.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "python/native/secrets.hpp"
#include "src/core/system/blocked_signals.hpp"

namespace paraes::python {
namespace {

// Runs work in a thread of its own, while the caller's thread handles signals and reports progress.
class Task {
 public:
  // progress: called with the bytes done and the total, or nothing. It runs in the caller's thread,
  // about ten times a second and once at the end; an exception of it cancels the work.
  explicit Task(nb::object progress) : progress_(std::move(progress)) {}

  // For the work: called with the number of bytes done so far.
  void report(std::uint64_t done, std::optional<std::uint64_t> total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total.value_or(unknown), std::memory_order_relaxed);
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }

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
        const system::BlockedSignals blocked;
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
  static constexpr std::uint64_t unknown = UINT64_MAX;

  nb::object progress_;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> total_ = unknown;
  std::atomic<bool> cancelled_ = false;
};

// See paraes.files.FileResult.
using Result =
    std::tuple<nb::str, std::uint64_t, std::optional<std::string>, std::optional<std::string>>;

Result result_of(const std::string& output, const FileResult& done) {
  Result result(nb::steal<nb::str>(PyUnicode_DecodeFSDefaultAndSize(
                    output.data(), static_cast<Py_ssize_t>(output.size()))),
                done.plain_bytes, std::nullopt, std::nullopt);
  if (!done.device.empty()) {
    std::get<2>(result) = done.device;
    std::get<3>(result) = done.kernel;
  }
  return result;
}

// The arguments that all functions have.
struct FileCall {
  FileCall(const nb::dict& options, Role role)
      : where(take_where(options)),
        use(where),
        task(take_option(options, "progress")),
        secret(take_secret(options, role)) {
    task.on_cancel = [this] { secret->cancel(); };
  }

  template <class Options>
  void set(Options& file) {
    file.execution = where;
    file.progress = [this](std::uint64_t done, std::optional<std::uint64_t> total) {
      task.report(done, total);
    };
  }

  Execution where;
  DeviceUse use;
  Task task;
  std::unique_ptr<MessageSecret> secret;
};

enum class Work { encrypt, decrypt, verify };

template <Work work>
Result process_file(nb::handle source_path, nb::handle target_path, bool overwrite,
                    const Options& options) {
  const ForgottenOptions forgotten(options);
  constexpr bool encrypts = work == Work::encrypt;
  FileCall call(options, encrypts ? Role::seal : Role::open);
  check_all_taken(options, encrypts                ? "encrypt_file"
                           : work == Work::decrypt ? "decrypt_file"
                                                   : "verify_file");
  const std::string path = path_of(source_path);
  const std::string target = !target_path.is_none() ? path_of(target_path)
                             : encrypts             ? encrypted_name(path)
                             : work == Work::verify ? path
                                                    : decrypted_name(path);
  FileOptions file;
  file.overwrite = overwrite;
  call.set(file);
  FileResult done;
  call.task.run([&] {
    if constexpr (encrypts) {
      done = encrypt_file(path, target, *call.secret, file);
    } else if constexpr (work == Work::decrypt) {
      done = decrypt_file(path, target, *call.secret, file);
    } else {
      done = verify_file(path, *call.secret, file);
    }
  });
  call.task.call_progress();
  return result_of(target, done);
}

Result rekey_file(nb::handle file_path, bool new_key, bool verify, const Options& options) {
  const ForgottenOptions forgotten(options);
  if (options.contains("format")) {
    throw InvalidArgument("rekey_file takes the paraes format alone");
  }
  // Both sides have the same context.
  nb::dict of_new;
  for (const char* name : {"to_key", "to_key_file", "to_passphrase", "to_recipients",
                           "to_recipients_file", "key_bits", "scrypt_log2n"}) {
    if (const nb::object value = take_option(options, name)) of_new[name] = value;
  }
  if (options.contains("context")) of_new["context"] = options["context"];
  const ForgottenOptions forgotten_too(of_new);
  FileCall call(options, Role::open);
  const std::unique_ptr<MessageSecret> to = take_secret(of_new, Role::rekey_to);
  check_all_taken(options, "rekey_file");
  call.task.on_cancel = [&] {
    call.secret->cancel();
    to->cancel();
  };
  const std::string path = path_of(file_path);
  RekeyOptions file;
  file.new_key = new_key;
  file.verify = verify;
  call.set(file);
  FileResult done;
  call.task.run([&] { done = paraes::rekey_file(path, *call.secret, *to, file); });
  call.task.call_progress();
  return result_of(path, done);
}

}  // namespace

void bind_files(nb::module_& m) {
  m.def("encrypt_file", process_file<Work::encrypt>, nb::arg("source"), nb::arg("target").none(),
        nb::arg("overwrite"), nb::arg("options"));
  m.def("decrypt_file", process_file<Work::decrypt>, nb::arg("source"), nb::arg("target").none(),
        nb::arg("overwrite"), nb::arg("options"));
  m.def(
      "verify_file",
      [](nb::handle source, const Options& options) {
        return process_file<Work::verify>(source, nb::none(), false, options);
      },
      nb::arg("source"), nb::arg("options"));
  m.def("rekey_file", rekey_file, nb::arg("file"), nb::arg("new_key"), nb::arg("verify"),
        nb::arg("options"));
}

}  // namespace paraes::python
