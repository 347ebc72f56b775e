// The commands that rank 0 sends to the other ranks, and their replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi/same_files.hpp"
#include "mpi/serializer.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"

namespace paraes::mpi {

enum class Task : std::uint64_t {
  quit,     // exit with `exit_status`
  seal,     // encrypt this rank's share of a message, from file to file
  open,     // decrypt or verify this rank's share of a message
  compute,  // encrypt or decrypt the chunks that rank 0 sends, until `finish`
  finish,
  measure,  // run a row of bench: see bench_memory.hpp
};

struct Command {
  Task task = Task::quit;
  std::uint64_t number = 0;  // counts commands
  int exit_status = 0;       // for quit
  int session = 0;           // for measure: the slot of its steps
  // For seal, open and compute.
  Message::Parts parts{};
  bool seals = true;
  // For seal and open.
  std::string source;
  FileVersion version;  // of the source
  Samples samples;      // of the source
  std::string sink;     // empty: there is no output
  std::string shown;    // the sink's name in errors
  FileId sink_id;
  Tokens tokens;  // in the sink
  bool overlap = true;
  bool salvages = false;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

template <>
inline constexpr bool holds_keys<Command> = true;

// The sink's name in errors that name its file, too.
[[nodiscard]] inline std::string sink_of(const Command& command) {
  return command.shown + ": its temporary file " + command.sink;
}

// The names with which errors about the files of a command begin.
[[nodiscard]] inline std::vector<std::string> files_of(const Command& command) {
  return {command.source, command.shown};
}

// How a command ended, or whether a rank is ready for commands (then `number` is 0).
struct Reply {
  enum class Kind : std::uint64_t {
    good,
    stopped,  // because another rank failed
    failed
  };
  Kind kind = Kind::good;
  ErrorKind error = ErrorKind::other;  // of Kind::failed
  std::uint64_t number = 0;            // of the command; 0: the rank is ready
  unsigned threads = 1;                // of a rank that is ready: how many it computes with
  std::string text;
  int code = 0;  // errno, for ErrorKind::io_error
  OpenResult result;
  std::vector<BadRange> bad;
};

// Says how many more bytes of a command a rank has done. The first one says that its token is in
// the sink.
struct ProgressReport {
  std::uint64_t command = 0;
  std::uint64_t bytes = 0;
};

template <>
inline constexpr EnumRange<Task> enum_range<Task> = {Task::measure, "unexpected command"};

template <>
inline constexpr EnumRange<Reply::Kind> enum_range<Reply::Kind> = {Reply::Kind::failed,
                                                                   "unexpected reply"};

template <>
inline constexpr EnumRange<ErrorKind> enum_range<ErrorKind> = {last_error_kind,
                                                               "unexpected error of a rank"};

template <>
inline constexpr EnumRange<SegmentLayout::Last> enum_range<SegmentLayout::Last> = {
    SegmentLayout::Last::any, "unexpected layout of segments"};

template <>
inline constexpr EnumRange<SegmentCipher::Nonces> enum_range<SegmentCipher::Nonces> = {
    SegmentCipher::Nonces::prefixed, "unexpected kind of nonces"};

void serialize(auto& archive, MaybeConst<SegmentLayout> auto& layout) {
  archive(layout.header_bytes, layout.first_bytes, layout.segment_bytes, layout.max_segments,
          layout.last);
}

void serialize(auto& archive, MaybeConst<SegmentKey> auto& secret) {
  archive(secret.key, secret.base_nonce, secret.nonces);
}

void serialize(auto& archive, MaybeConst<Message::Parts> auto& parts) {
  archive(parts.header, parts.layout, parts.secret, parts.commits);
}

void serialize(auto& archive, MaybeConst<FileId> auto& id) { archive(id.device, id.inode); }

void serialize(auto& archive, MaybeConst<FileVersion> auto& version) {
  archive(version.id, version.size, version.modified.tv_sec, version.modified.tv_nsec);
}

void serialize(auto& archive, MaybeConst<Samples> auto& samples) {
  archive(samples.nonce, samples.offsets, samples.digest);
}

void serialize(auto& archive, MaybeConst<Tokens> auto& tokens) {
  archive(tokens.seed, tokens.begin);
}

void serialize(auto& archive, MaybeConst<Command> auto& command) {
  archive(command.task, command.number, command.exit_status, command.session, command.parts,
          command.seals, command.source, command.version, command.samples, command.sink,
          command.shown, command.sink_id, command.tokens, command.overlap, command.salvages,
          command.offset, command.length);
}

void serialize(auto& archive, MaybeConst<PhaseTimes> auto& times) {
  archive(times.read, times.kernel, times.write, times.scatter, times.gather);
}

void serialize(auto& archive, MaybeConst<OpenResult> auto& result) {
  archive(result.plain_bytes, result.sealed_bytes, result.segments, result.times, result.empty_last,
          result.intact, result.truncated);
}

void serialize(auto& archive, MaybeConst<BadRange> auto& range) {
  archive(range.offset, range.bytes);
}

void serialize(auto& archive, MaybeConst<Reply> auto& reply) {
  archive(reply.kind, reply.error, reply.number, reply.threads, reply.text, reply.code,
          reply.result, reply.bad);
}

void serialize(auto& archive, MaybeConst<ProgressReport> auto& report) {
  archive(report.command, report.bytes);
}

// How many threads a rank computes with.
[[nodiscard]] unsigned threads_of(const Execution& execution);

// Thrown to end this rank's share when another rank has failed. Not an Error: it is not reported.
struct Stopped {};

// The current exception, as a reply. Call it in a catch block.
[[nodiscard]] Reply reply_of_current_exception() noexcept;

// `text` with the name of its rank before it, or behind the name of a file, if it begins with one
// of `files`.
[[nodiscard]] std::string with_rank(const std::string& text, const std::string& rank,
                                    const std::vector<std::string>& files);

// Throws the error in a reply, with the name of its rank: see with_rank.
[[noreturn]] void throw_reply(const Reply& reply, const std::string& rank,
                              const std::vector<std::string>& files = {});

}  // namespace paraes::mpi
