// Whole files: encrypt_file, decrypt_file, verify_file, rekey_file.

#include <fcntl.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cerrno>
#include <memory>
#include <tuple>
#include <utility>

#include "python/native/places.hpp"
#include "python/native/secrets.hpp"
#include "python/native/task.hpp"

namespace paraes::python {
namespace {

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

FileSource regular_source(OpenedFile& file) {
  if (!file.is_regular()) {
    throw InvalidArgument(file.path +
                          ": it is not a regular file; paraes.open reads pipes and devices");
  }
  Descriptor copy(fcntl(file.descriptor.get(), F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) throw io_error(file.path, "open", errno);
  return {std::move(copy), file.path, file.status};
}

constexpr std::string_view suffix = ".paes";

// The output that is meant if none is given.
std::string default_output(const std::string& input, Direction direction) {
  if (direction == Direction::encrypt) return input + std::string(suffix);
  const std::string name = file_name_of(input);
  if (name.size() > suffix.size() && name.ends_with(suffix)) {
    return input.substr(0, input.size() - suffix.size());
  }
  throw InvalidArgument(input +
                        ": its name does not end in .paes, so its output has no name: pass "
                        "target");
}

// Authenticates a whole file, and writes its plaintext to `sink` if there is one.
std::uint64_t open_file(FileCall& call, FileSource& source, std::unique_ptr<Message>& message,
                        Sink* sink) {
  message = std::make_unique<Message>(call.secrets.open_header(source).parts, call.where);
  call.task.set_total(message->layout().extent_of(source.size()).plain_bytes);
  OpenOptions open;
  static_cast<TransferOptions&>(open) = call.transfer();
  return open_message(source, *message, sink, open).plain_bytes;
}

template <Direction direction>
Result crypt_file(nb::handle source_path, nb::handle target_path, bool overwrite,
                  const Options& options) {
  const ForgottenOptions forgotten(options);
  constexpr bool encrypts = direction == Direction::encrypt;
  FileCall call(options, encrypts ? Role::seal : Role::open);
  check_all_taken(options, encrypts ? "encrypt_file" : "decrypt_file");
  const std::string path = path_of(source_path);
  const std::string target =
      target_path.is_none() ? default_output(path, direction) : path_of(target_path);
  std::unique_ptr<Message> message;
  std::uint64_t bytes = 0;
  call.task.run([&] {
    OpenedFile input = open_for_reading(path, call.secrets, false);
    FileSource source = regular_source(input);
    const OutputOptions output = {.overwrite = overwrite, .keep_mode = encrypts, .input = &input};
    if (encrypts) {
      call.task.set_total(source.size());
      // Refuses the output before a passphrase takes its time, or age asks for something.
      auto sink = create(target, call.secrets, output);
      message = std::make_unique<Message>(call.secrets.new_message(), call.where);
      bytes = seal_message(source, *message, *sink, call.transfer()).plain_bytes;
      commit(*sink, target, call.secrets, output);
      return;
    }
    blaming_changes(source, [&] {
      auto sink = create(target, call.secrets, output);
      bytes = open_file(call, source, message, sink.get());
      commit(*sink, target, call.secrets, output);
    });
  });
  call.task.call_progress();
  return result_of(target, bytes, &message->cipher());
}

Result verify_file(nb::handle source_path, const Options& options) {
  const ForgottenOptions forgotten(options);
  FileCall call(options, Role::open);
  check_all_taken(options, "verify_file");
  const std::string path = path_of(source_path);
  std::unique_ptr<Message> message;
  std::uint64_t bytes = 0;
  call.task.run([&] {
    OpenedFile input = open_for_reading(path, call.secrets, false);
    FileSource source = regular_source(input);
    blaming_changes(source, [&] { bytes = open_file(call, source, message, nullptr); });
  });
  call.task.call_progress();
  return result_of(path, bytes, &message->cipher());
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
  m.def("encrypt_file", crypt_file<Direction::encrypt>, nb::arg("source"), nb::arg("target").none(),
        nb::arg("overwrite"), nb::arg("options"));
  m.def("decrypt_file", crypt_file<Direction::decrypt>, nb::arg("source"), nb::arg("target").none(),
        nb::arg("overwrite"), nb::arg("options"));
  m.def("verify_file", verify_file, nb::arg("source"), nb::arg("options"));
  m.def("rekey_file", rekey_file, nb::arg("file"), nb::arg("new_key"), nb::arg("verify"),
        nb::arg("options"));
}

}  // namespace paraes::python
