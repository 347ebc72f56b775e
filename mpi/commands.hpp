// The commands that rank 0 sends to the other ranks, and their replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi/same_files.hpp"
#include "mpi/serializer.hpp"
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
  // Without WrongKey: rank 0 alone opens headers.
  enum class Kind : std::uint64_t {
    good,
    stopped,  // because another rank failed
    invalid_argument,
    unavailable,
    device,
    integrity,
    io,
    other
  };
  Kind kind = Kind::good;
  std::uint64_t number = 0;  // of the command; 0: the rank is ready
  unsigned threads = 1;      // of a rank that is ready: how many it computes with
  std::string text;
  int code = 0;  // errno, for Kind::io
  OpenResult result;
  std::vector<BadRange> bad;
};

// Says that a rank has failed in a command, so that the others stop.
struct Stop {
  std::uint64_t command = 0;
};

// Says how many more bytes of a command a rank has done. The first one says that its token is in
// the sink.
struct ProgressReport {
  std::uint64_t command = 0;
  std::uint64_t bytes = 0;
};

template <>
struct EnumTraits<Task> {
  static constexpr Task last = Task::measure;
  static constexpr const char* unexpected = "unexpected command";
};

template <>
struct EnumTraits<Reply::Kind> {
  static constexpr Reply::Kind last = Reply::Kind::other;
  static constexpr const char* unexpected = "unexpected reply";
};

template <>
struct EnumTraits<SegmentLayout::Last> {
  static constexpr SegmentLayout::Last last = SegmentLayout::Last::any;
  static constexpr const char* unexpected = "unexpected layout of segments";
};

template <>
struct EnumTraits<SegmentCipher::Nonces> {
  static constexpr SegmentCipher::Nonces last = SegmentCipher::Nonces::prefixed;
  static constexpr const char* unexpected = "unexpected kind of nonces";
};

template <class Archive, MaybeConst<SegmentLayout> T>
void serialize(Archive& archive, T& layout) {
  archive(layout.header_bytes, layout.first_bytes, layout.segment_bytes, layout.max_segments,
          layout.last);
}

template <class Archive, MaybeConst<SegmentKey> T>
void serialize(Archive& archive, T& secret) {
  archive(secret.key, secret.base_nonce, secret.nonces);
}

template <class Archive, MaybeConst<Message::Parts> T>
void serialize(Archive& archive, T& parts) {
  archive(parts.header, parts.layout, parts.secret, parts.commits);
}

template <class Archive, MaybeConst<FileId> T>
void serialize(Archive& archive, T& id) {
  archive(id.device, id.inode);
}

template <class Archive, MaybeConst<FileVersion> T>
void serialize(Archive& archive, T& version) {
  archive(version.id, version.size, version.modified.tv_sec, version.modified.tv_nsec);
}

template <class Archive, MaybeConst<Samples> T>
void serialize(Archive& archive, T& samples) {
  archive(samples.nonce, samples.offsets, samples.digest);
}

template <class Archive, MaybeConst<Tokens> T>
void serialize(Archive& archive, T& tokens) {
  archive(tokens.seed, tokens.begin);
}

template <class Archive, MaybeConst<Command> T>
void serialize(Archive& archive, T& command) {
  archive(command.task, command.number, command.exit_status, command.session, command.parts,
          command.seals, command.source, command.version, command.samples, command.sink,
          command.shown, command.sink_id, command.tokens, command.overlap, command.salvages,
          command.offset, command.length);
}

template <class Archive, MaybeConst<PhaseTimes> T>
void serialize(Archive& archive, T& times) {
  archive(times.read, times.kernel, times.write, times.scatter, times.gather);
}

template <class Archive, MaybeConst<OpenResult> T>
void serialize(Archive& archive, T& result) {
  archive(result.plain_bytes, result.sealed_bytes, result.segments, result.times, result.empty_last,
          result.intact, result.truncated);
}

template <class Archive, MaybeConst<BadRange> T>
void serialize(Archive& archive, T& range) {
  archive(range.offset, range.bytes);
}

template <class Archive, MaybeConst<Reply> T>
void serialize(Archive& archive, T& reply) {
  archive(reply.kind, reply.number, reply.threads, reply.text, reply.code, reply.result, reply.bad);
}

template <class Archive, MaybeConst<Stop> T>
void serialize(Archive& archive, T& stop) {
  archive(stop.command);
}

template <class Archive, MaybeConst<ProgressReport> T>
void serialize(Archive& archive, T& report) {
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
