#include <fmt/format.h>

#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "cli/run/file_task.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {
namespace {

// The notes that are reported once the file has been replaced.
struct Rekeyed {
  const char* what = "";
  std::vector<std::pair<std::once_flag*, const char*>> notes;
};

void add_notes(OpenFile& file, const Rekeyed& rekeyed, bool is_repeated) {
  std::vector<std::string>& messages = file.outcome().messages;
  for (const auto& note : rekeyed.notes) {
    std::call_once(*note.first, [&] { messages.emplace_back(note.second); });
  }
  if (const auto names = file.input().status.st_nlink; names > 1 && !is_repeated) {
    messages.push_back(
        fmt::format("note: {}: the file had {} names (hard links); only this one was rekeyed, and "
                    "the others lead to the old file",
                    file.job().input.shown, names));
  }
}

void give_to_recipients(OpenFile& file, FileSource& source, MessageFactory::OpenHeader old) {
  RunContext& run = file.run();
  if (const unsigned bits = run.plan.key_bits; bits != 0 && bits != old.preface.key_bits) {
    throw refusal("{}: --key-bits {} needs --new-key: the data stays encrypted with AES-{}",
                  file.job().input.shown, bits, old.preface.key_bits);
  }
  const std::vector<std::uint8_t> header = run.new_messages.header_for_recipients(old);
  auto& sink = dynamic_cast<FileSink&>(file.open_output(false));
  if (!run.plan.verify_segments) {
    const TransferResult result =
        replace_header(source, old.parts.layout, header, sink, file.transfer_options());
    file.report_copy(result.plain_bytes, result.times);
    return;
  }
  const Message message(std::move(old.parts), run.plan.execution);
  file.say_what_runs(message);
  const TransferResult result =
      verify_and_replace_header(source, message, header, sink, file.transfer_options());
  file.report_times(result.plain_bytes, result.times, message.cipher());
}

void seal_again(OpenFile& file, FileSource& source, MessageFactory::OpenHeader old) {
  RunContext& run = file.run();
  const Message from(std::move(old.parts), run.plan.execution);
  const Message to = run.new_messages.new_message();
  file.say_what_runs(to);
  auto& sink = dynamic_cast<FileSink&>(file.open_output(false));
  const TransferResult result = reseal_message(source, from, to, sink, file.transfer_options());
  file.report_times(result.plain_bytes, result.times, to.cipher());
}

Rekeyed transfer(OpenFile& file, FileSource& source) {
  RunContext& run = file.run();
  MessageFactory::OpenHeader old = file.open_header(source);
  // Refuse an impossible length before the output exists.
  static_cast<void>(old.parts.layout.extent_of(source.size()));
  const bool from_recipients = old.preface.kdf == Kdf::recipients;
  const bool to_recipients = run.new_messages.kind() == SecretKind::recipients;
  if (from_recipients && to_recipients && !run.plan.new_key) {
    give_to_recipients(file, source, std::move(old));
    return {"header",
            {{&run.kept_keys,
              "note: the data stays encrypted with the same keys, which whoever could open the "
              "files may have kept; --new-key encrypts it again"}}};
  }
  seal_again(file, source, std::move(old));
  if (!from_recipients || to_recipients) return {"data", {}};
  return {"data",
          {{&run.unknown_origin,
            "note: anybody who knows the recipients could have made the files: a key or a "
            "passphrase now vouches for data of unknown origin"}}};
}

}  // namespace

void rekey_file(OpenFile& file, bool is_repeated) {
  const std::string& shown = file.job().input.shown;
  auto* const source = dynamic_cast<FileSource*>(file.input().source.get());
  if (source == nullptr || !file.input().is_regular()) {
    throw refusal("{}: it is not a regular file, and rekey replaces files", shown);
  }
  // A second run would begin with the data that the first is about to replace.
  if (!source->lock()) {
    throw IoError(
        fmt::format("{}: it is locked: another process works on it; try again when that has ended",
                    shown),
        EWOULDBLOCK);
  }
  Rekeyed rekeyed;
  try {
    rekeyed = transfer(file, *source);
  } catch (const Error& error) {
    file.check_input_after(error);
    throw;
  }
  file.finish();
  file.outcome().report.rekeyed = rekeyed.what;
  if (!file.run().plan.reporting.quiet)
    add_if_memory_lasts([&] { add_notes(file, rekeyed, is_repeated); });
}

}  // namespace paraes::cli
