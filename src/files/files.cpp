// Whole files: encrypt_file, decrypt_file, verify_file, rekey_file.

#include "paraes/files.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "paraes/error.hpp"
#include "src/files/places.hpp"

namespace paraes {
namespace {

constexpr std::string_view suffix = ".paes";

// Reports progress with the total, once that is known.
class Progress {
 public:
  explicit Progress(const FileOptions& options) : options_(options) {}

  void set_total(std::optional<std::uint64_t> total) {
    total_ = total;
    report(0);
  }
  void report(std::uint64_t done) const {
    if (options_.progress) options_.progress(done, total_);
  }
  [[nodiscard]] TransferOptions transfer() const {
    TransferOptions transfer;
    transfer.threads = options_.execution.threads;
    if (options_.progress) transfer.progress = [this](std::uint64_t done) { report(done); };
    return transfer;
  }

 private:
  const FileOptions& options_;
  std::optional<std::uint64_t> total_;
};

FileResult result_of(std::uint64_t bytes, const Cipher* cipher) {
  if (cipher == nullptr) return {.plain_bytes = bytes, .device = {}, .kernel = {}};
  return {
      .plain_bytes = bytes, .device = cipher->device(), .kernel = std::string(cipher->kernel())};
}

// A file that has changed while it was read may have been intact.
void blaming_changes(const Source& source, const auto& open) try {
  open();
} catch (const IntegrityError&) {
  source.check_unchanged();
  throw;
} catch (const WrongKey&) {
  source.check_unchanged();
  throw;
}

// The descriptor stays open in `file`, which says what its output takes over.
Descriptor copy_of(const detail::OpenedFile& file) {
  Descriptor copy(fcntl(file.descriptor.get(), F_DUPFD_CLOEXEC, 3));
  if (copy.get() < 0) throw io_error(file.path, "open", errno);
  return copy;
}

void require_regular(const detail::OpenedFile& file) {
  if (!S_ISREG(file.status.st_mode)) {
    throw InvalidArgument(file.path + ": it is not a regular file: read it as a stream");
  }
}

FileSource regular_source(const detail::OpenedFile& file) {
  require_regular(file);
  return {copy_of(file), file.path, file.status};
}

// Without `to`, verifies the file.
FileResult open_file(const std::string& from, const std::string* to, const MessageSecret& secret,
                     const FileOptions& options) {
  const detail::OpenedFile input = detail::open_for_reading(from, secret, false);
  const detail::OutputOptions output = {
      .overwrite = options.overwrite, .is_encrypted = false, .input = &input};
  FileSource source = regular_source(input);
  Progress progress(options);
  FileResult result;
  blaming_changes(source, [&] {
    // Refuses the output before a passphrase takes its time, or age asks for something.
    const auto sink = to == nullptr ? nullptr : detail::create(*to, secret, output);
    const Message message(secret.open_header(source).parts, options.execution);
    progress.set_total(message.layout().extent_of(source.size()).plain_bytes);
    OpenOptions open;
    static_cast<TransferOptions&>(open) = progress.transfer();
    const std::uint64_t bytes = open_message(source, message, sink.get(), open).plain_bytes;
    if (sink) detail::commit(*sink, *to, secret, output);
    result = result_of(bytes, &message.cipher());
  });
  return result;
}

}  // namespace

std::string encrypted_name(const std::string& input) { return input + std::string(suffix); }

std::string decrypted_name(const std::string& input) {
  const std::string name = file_name_of(input);
  if (name.size() > suffix.size() && name.ends_with(suffix)) {
    return input.substr(0, input.size() - suffix.size());
  }
  throw InvalidArgument(input +
                        ": its name does not end in .paes, so its output has no name: name the "
                        "output");
}

FileResult encrypt_file(const std::string& from, const std::string& to, const MessageSecret& secret,
                        const FileOptions& options) {
  const detail::OpenedFile input = detail::open_for_reading(from, secret, false);
  require_regular(input);
  const detail::OutputOptions output = {
      .overwrite = options.overwrite, .is_encrypted = true, .input = &input};
  // The input may be a file of /proc, whose size its status does not have.
  const auto source = source_of(copy_of(input), input.path, input.status);
  Progress progress(options);
  // Refuses the output, and lets the caller cancel, before a passphrase takes its time.
  const auto sink = detail::create(to, secret, output);
  progress.set_total(source->remaining());
  const Message message(secret.new_message(), options.execution);
  const std::uint64_t bytes =
      seal_message(*source, message, *sink, progress.transfer()).plain_bytes;
  detail::commit(*sink, to, secret, output);
  return result_of(bytes, &message.cipher());
}

FileResult decrypt_file(const std::string& from, const std::string& to, const MessageSecret& secret,
                        const FileOptions& options) {
  return open_file(from, &to, secret, options);
}

FileResult verify_file(const std::string& from, const MessageSecret& secret,
                       const FileOptions& options) {
  return open_file(from, nullptr, secret, options);
}

FileResult rekey_file(const std::string& path, const MessageSecret& from, const MessageSecret& to,
                      const RekeyOptions& options) {
  if (from.format() != Format::paraes || to.format() != Format::paraes) {
    throw InvalidArgument("only files in the format paraes can be rekeyed");
  }
  if (!to.context().empty() && !std::ranges::equal(to.context(), from.context())) {
    throw InvalidArgument(
        "context: it stays as it is, so that of the new secret is the same or none");
  }
  const detail::OpenedFile input = detail::open_for_reading(path, from, false);
  to.check_not_secret(input.status, path);
  to.check_contents(path);
  from.check_contents(path);
  FileSource source = regular_source(input);
  // A second call at the same time would read the file that the first is about to replace.
  if (!source.lock()) {
    throw IoError(path +
                      ": it is locked: another process works on it; try again when that has "
                      "ended",
                  EWOULDBLOCK, path);
  }
  Progress progress(options);
  FileResult result;
  blaming_changes(source, [&] {
    MessageSecret::Opened old = from.open_header(source);
    progress.set_total(old.parts.layout.extent_of(source.size()).plain_bytes);
    const TransferOptions transfer = progress.transfer();
    const bool keeps_data =
        old.preface.kdf == Kdf::recipients && to.has_recipients() && !options.new_key;
    std::vector<std::uint8_t> header;
    std::optional<Message> sealed;
    if (keeps_data) {
      header = to.header_for_recipients(old);
    } else {
      sealed.emplace(to.new_message(from.context()), options.execution);
    }
    const auto sink = detail::create_replacement(input);
    TransferResult done;
    if (keeps_data && !options.verify) {
      done = replace_header(source, old.parts.layout, header, *sink, transfer);
    } else {
      const Message opened(std::move(old.parts), options.execution);
      done = keeps_data ? verify_and_replace_header(source, opened, header, *sink, transfer)
                        : reseal_message(source, opened, *sealed, *sink, transfer);
    }
    source.check_unchanged();
    detail::commit_replacement(*sink, input);
    result = result_of(done.plain_bytes, sealed ? &sealed->cipher() : nullptr);
  });
  return result;
}

std::unique_ptr<Source> open_input(const std::string& path, const MessageSecret& secret,
                                   bool waits) {
  detail::OpenedFile file = detail::open_for_reading(path, secret, waits);
  return source_of(std::move(file.descriptor), file.path, file.status);
}

std::unique_ptr<MessageWriter> create_message(const std::string& path, const MessageSecret& secret,
                                              const FileOptions& options) {
  const detail::OutputOptions output = {.overwrite = options.overwrite, .input = nullptr};
  auto sink = detail::create(path, secret, output);
  FileSink& file = *sink;
  return std::make_unique<MessageWriter>(
      std::move(sink), Message(secret.new_message(), options.execution), options.execution.threads,
      [&file, path, kept = &secret, output] { detail::commit(file, path, *kept, output); });
}

}  // namespace paraes
