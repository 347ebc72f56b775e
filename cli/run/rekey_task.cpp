#include "cli/run/rekey_task.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "paraes/error.hpp"

namespace paraes::cli {

void RekeyTask::run() {
  auto* const source = dynamic_cast<FileSource*>(file_.input().source.get());
  if (source == nullptr) {
    throw InvalidArgument(
        fmt::format("{}: it is not a regular file, and rekey replaces files", job_.input.shown));
  }
  // Of two runs, the second would begin with what the first is about to replace.
  if (!source->lock()) {
    throw IoError(
        fmt::format("{}: it is locked: another process works on it; try again when that has ended",
                    job_.input.shown),
        EWOULDBLOCK);
  }
  try {
    transfer(*source);
  } catch (const Error&) {
    file_.check_input_after_error();
    throw;
  }
  file_.finish();
  outcome_.report.rekeyed = what_;
  if (!run_.plan.reporting.quiet) add_if_memory_lasts([&] { add_notes(); });
}

void RekeyTask::add_notes() {
  for (const auto& note : notes_) {
    std::call_once(*note.first, [&] { outcome_.messages.emplace_back(note.second); });
  }
  if (const auto names = file_.input().status.st_nlink; names > 1) {
    outcome_.messages.push_back(
        fmt::format("note: {}: the file had {} names (hard links); only this one was rekeyed, and "
                    "the others lead to the old file",
                    job_.input.shown, names));
  }
}

void RekeyTask::transfer(FileSource& source) {
  MessageFactory::OpenHeader old = file_.open_header(source);
  // Refuse an impossible length before the output exists.
  static_cast<void>(old.parts.layout.extent_of(source.size()));
  const bool from_recipients = old.preface.kdf == Kdf::recipients;
  const bool to_recipients = run_.new_messages.kind() == SecretKind::recipients;
  if (from_recipients && to_recipients && !run_.plan.new_key) {
    give_to_recipients(source, std::move(old));
    notes_.emplace_back(
        &run_.kept_keys,
        "note: the data stays encrypted with the same keys, which whoever could open the files "
        "may have kept; --new-key encrypts it again");
    return;
  }
  seal_again(source, std::move(old));
  if (from_recipients && !to_recipients) {
    notes_.emplace_back(
        &run_.unknown_origin,
        "note: anybody who knows the recipients could have made the files: a key or a passphrase "
        "now vouches for data of unknown origin");
  }
}

void RekeyTask::give_to_recipients(FileSource& source, MessageFactory::OpenHeader old) {
  if (const unsigned bits = run_.plan.key_bits; bits != 0 && bits != old.preface.key_bits) {
    throw InvalidArgument(
        fmt::format("{}: --key-bits {} needs --new-key: the data stays encrypted with AES-{}",
                    job_.input.shown, bits, old.preface.key_bits));
  }
  const std::vector<std::uint8_t> header = run_.new_messages.header_for_recipients(old);
  auto& sink = dynamic_cast<FileSink&>(file_.open_output(false));
  what_ = "header";
  if (!run_.plan.verify_segments) {
    const TransferResult result =
        replace_header(source, old.parts.layout, header, sink, transfer_options());
    file_.report_bytes(result.plain_bytes);
    file_.report_copy(result.times);
    return;
  }
  const Message message(std::move(old.parts), run_.plan.execution);
  file_.say_what_runs(message);
  const TransferResult result =
      verify_and_replace_header(source, message, header, sink, transfer_options());
  file_.report_bytes(result.plain_bytes);
  file_.report_times(result.times, message.cipher());
}

void RekeyTask::seal_again(FileSource& source, MessageFactory::OpenHeader old) {
  const Message from(std::move(old.parts), run_.plan.execution);
  const Message to = run_.new_messages.new_message();
  file_.say_what_runs(to);
  auto& sink = dynamic_cast<FileSink&>(file_.open_output(false));
  const TransferResult result = reseal_message(source, from, to, sink, transfer_options());
  file_.report_bytes(result.plain_bytes);
  what_ = "data";
  file_.report_times(result.times, to.cipher());
}

TransferOptions RekeyTask::transfer_options() {
  TransferOptions options;
  options.threads = job_.threads;
  options.overlap = run_.plan.overlap;
  options.progress = [this](std::uint64_t done) { file_.report_progress(done); };
  return options;
}

}  // namespace paraes::cli
