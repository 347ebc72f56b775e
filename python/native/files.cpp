// Whole files: encrypt_file, decrypt_file, verify_file, rekey_file.

#include <fcntl.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "python/native/places.hpp"
#include "python/native/secrets.hpp"

namespace paraes::python {
namespace {

// Ends the work: its progress function throws it.
class Cancelled : public Error {
 public:
  Cancelled() : Error("cancelled") {}
};

// Runs work in a thread of its own, while the caller's thread handles signals and reports progress.
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

// See paraes.files.FileResult.
using Result =
    std::tuple<nb::str, std::uint64_t, std::optional<std::string>, std::optional<std::string>>;

Result result_of(const std::string& output, std::uint64_t bytes, const Cipher* cipher) {
  Result result(nb::steal<nb::str>(PyUnicode_DecodeFSDefaultAndSize(
                    output.data(), static_cast<Py_ssize_t>(output.size()))),
                bytes, std::nullopt, std::nullopt);
  if (cipher != nullptr) {
    std::get<2>(result) = cipher->device();
    std::get<3>(result) = std::string(cipher->kernel());
  }
  return result;
}

// The arguments that all functions have.
struct FileCall {
  FileCall(const nb::dict& options, Role role)
      : where(take_where(options)),
        use(where),
        task(take_option(options, "progress")),
        secrets(options, role) {
    task.on_cancel = [this] { secrets.cancel(); };
  }

  [[nodiscard]] TransferOptions transfer() {
    TransferOptions transfer;
    transfer.threads = where.threads;
    transfer.progress = [this](std::uint64_t done) { task.report(done); };
    return transfer;
  }

  Execution where;
  DeviceUse use;
  Task task;
  Secrets secrets;
};

// A file that has changed while it was read may have been intact.
template <class F>
void blaming_changes(const Source& source, const F& open) {
  try {
    open();
  } catch (const IntegrityError&) {
    source.check_unchanged();
    throw;
  } catch (const WrongKey&) {
    source.check_unchanged();
    throw;
  }
}

Descriptor copy_of_regular(const OpenedFile& file) {
  if (!file.is_regular()) {
    throw InvalidArgument(file.path +
                          ": it is not a regular file; paraes.open reads pipes and devices");
  }
  Descriptor copy(fcntl(file.descriptor.get(), F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) throw io_error(file.path, "open", errno);
  return copy;
}

FileSource regular_source(const OpenedFile& file) {
  return {copy_of_regular(file), file.path, file.status};
}

constexpr std::string_view suffix = ".paes";

enum class Work { encrypt, decrypt, verify };

// The output that is meant if none is given.
std::string default_output(const std::string& input, Work work) {
  if (work == Work::encrypt) return input + std::string(suffix);
  if (work == Work::verify) return input;
  const std::string name = file_name_of(input);
  if (name.size() > suffix.size() && name.ends_with(suffix)) {
    return input.substr(0, input.size() - suffix.size());
  }
  throw InvalidArgument(input +
                        ": its name does not end in .paes, so its output has no name: pass "
                        "target");
}

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
  const std::string target =
      target_path.is_none() ? default_output(path, work) : path_of(target_path);
  std::unique_ptr<Message> message;
  std::uint64_t bytes = 0;
  call.task.run([&] {
    OpenedFile input = open_for_reading(path, call.secrets, false);
    const OutputOptions output = {
        .overwrite = overwrite, .is_encrypted = encrypts, .input = &input};
    if (encrypts) {
      const auto source = source_of(copy_of_regular(input), input.path, input.status);
      call.task.set_total(source->remaining().value_or(0));
      // Refuses the output before a passphrase takes its time, or age asks for something.
      auto sink = create(target, call.secrets, output);
      message = std::make_unique<Message>(call.secrets.new_message(), call.where);
      bytes = seal_message(*source, *message, *sink, call.transfer()).plain_bytes;
      commit(*sink, target, call.secrets, output);
      return;
    }
    FileSource source = regular_source(input);
    blaming_changes(source, [&] {
      const auto sink = work == Work::verify ? nullptr : create(target, call.secrets, output);
      message = std::make_unique<Message>(call.secrets.open_header(source).parts, call.where);
      call.task.set_total(message->layout().extent_of(source.size()).plain_bytes);
      OpenOptions open;
      static_cast<TransferOptions&>(open) = call.transfer();
      bytes = open_message(source, *message, sink.get(), open).plain_bytes;
      if (sink) commit(*sink, target, call.secrets, output);
    });
  });
  call.task.call_progress();
  return result_of(target, bytes, &message->cipher());
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
  const Secrets to(of_new, Role::rekey_to);
  check_all_taken(options, "rekey_file");
  call.task.on_cancel = [&] {
    call.secrets.cancel();
    to.cancel();
  };
  const std::string path = path_of(file_path);
  std::unique_ptr<Message> message;
  std::uint64_t bytes = 0;
  call.task.run([&] {
    OpenedFile input = open_for_reading(path, call.secrets, false);
    to.check_not_secret(input.status, path);
    to.check_contents(path);
    call.secrets.check_contents(path);
    FileSource source = regular_source(input);
    // Of two calls, the second would begin with what the first is about to replace.
    if (!source.lock()) {
      throw IoError(path +
                        ": it is locked: another process works on it; try again when that has "
                        "ended",
                    EWOULDBLOCK, path);
    }
    blaming_changes(source, [&] {
      Secrets::Opened old = call.secrets.open_header(source);
      call.task.set_total(old.parts.layout.extent_of(source.size()).plain_bytes);
      const bool keeps_data = old.preface.kdf == Kdf::recipients && to.to_recipients() && !new_key;
      std::vector<std::uint8_t> header;
      std::unique_ptr<Message> sealed;
      if (keeps_data) {
        header = to.header_for_recipients(old);
      } else {
        sealed = std::make_unique<Message>(to.new_message(), call.where);
      }
      const auto sink = create_replacement(input);
      if (keeps_data && !verify) {
        bytes =
            replace_header(source, old.parts.layout, header, *sink, call.transfer()).plain_bytes;
      } else {
        const Message from(std::move(old.parts), call.where);
        bytes = keeps_data
                    ? verify_and_replace_header(source, from, header, *sink, call.transfer())
                          .plain_bytes
                    : reseal_message(source, from, *sealed, *sink, call.transfer()).plain_bytes;
        message = std::move(sealed);
      }
      source.check_unchanged();
      commit_replacement(*sink, input);
    });
  });
  call.task.call_progress();
  return result_of(path, bytes, message ? &message->cipher() : nullptr);
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
