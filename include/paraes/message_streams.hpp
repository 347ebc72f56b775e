// Messages piece by piece: SegmentStream seals or opens what comes in order, from memory to memory;
// MessageReader reads the plaintext of a message at any offset; MessageWriter encrypts what is
// written to it. Sizes and offsets are in bytes. For a whole message, seal_message and open_message
// (messages.hpp) are faster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "paraes/export.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "paraes/secret.hpp"

namespace paraes {

// Seals or opens the segments of one message in order, from pieces of any size. The header is the
// caller's business. After an exception, the object cannot be used any more. One caller at a time.
class PARAES_EXPORT SegmentStream final {
 public:
  // threads: 0 for as many as available_cores().
  SegmentStream(Message message, Direction direction, int threads);

  // The message whose segments these are.
  [[nodiscard]] const Message& message() const noexcept { return message_; }

  // The bytes of the next segment that have come.
  [[nodiscard]] std::size_t held() const noexcept { return held_; }

  // The bytes that update writes for `bytes` bytes.
  [[nodiscard]] std::size_t output_bytes(std::size_t bytes) const noexcept;

  // out: output_bytes(in.size()) bytes that do not overlap `in`. Throws as seal_segments and
  // open_segments do.
  void update(Bytes in, MutableBytes out);

  // The bytes that finish writes. Throws IntegrityError if a message cannot end here.
  [[nodiscard]] std::size_t final_bytes() const;

  // Ends the message. out: final_bytes() bytes. Errors as in update.
  void finish(MutableBytes out);

 private:
  [[nodiscard]] std::size_t size_of(std::size_t segments, bool plain) const noexcept;
  [[nodiscard]] std::size_t whole_segments(std::size_t bytes) const noexcept;
  void hold(Bytes in);
  void crypt(bool ends, Bytes in, MutableBytes out) const;

  Message message_;
  bool encrypts_;
  int threads_;
  bool keeps_full_;
  std::uint64_t next_ = 0;  // the next segment
  SecretBytes pending_;     // the start of it: plaintext, when it is sealed
  std::size_t held_ = 0;
};

// Reads the plaintext of a message at any offset. For a caller that reads in order, a thread opens
// what comes next. In a forked child it works on without the thread. One caller at a time.
class PARAES_EXPORT MessageReader final {
 public:
  // source: holds the message from offset 0 on. threads: 0 for as many as available_cores().
  // in_threads: whether several threads may read from the source. Opens the last segment, so that
  // size() can be trusted. Throws IntegrityError if no message has the source's size, and as read
  // does.
  MessageReader(std::unique_ptr<PositionalSource> source, Message message, int threads = 0,
                bool in_threads = true);
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  // Bytes of plaintext.
  [[nodiscard]] std::uint64_t size() const noexcept;

  // For other readers of the message, which this object must outlive.
  [[nodiscard]] const PositionalSource& source() const noexcept;
  [[nodiscard]] const Message& message() const noexcept;
  // How many threads may read from the source; 0 for as many as there are cores.
  [[nodiscard]] int source_threads() const noexcept;

  // Fills `out` from `offset` on, and returns how many bytes there were: fewer only at the end.
  // Throws as open_segments does, and what the source throws; nothing that is not authentic is in
  // `out`.
  std::size_t read(std::uint64_t offset, MutableBytes out);

  // Overwrites the plaintext that it has.
  void forget() noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Encrypts what is written to it, in order. It belongs to the process that made it (forks.hpp): in
// a child, write and finish throw WrongProcess. After another exception, it cannot be used any
// more. One caller at a time.
class PARAES_EXPORT MessageWriter final {
 public:
  // sink: gets the message; a PositionalSink from several threads at once. threads: 0 for as many
  // as available_cores(). commit: completes the output, for callers who check something before;
  // without it, the sink is committed.
  MessageWriter(std::unique_ptr<Sink> sink, Message message, int threads = 0,
                std::function<void()> commit = {});
  ~MessageWriter();
  MessageWriter(const MessageWriter&) = delete;
  MessageWriter& operator=(const MessageWriter&) = delete;

  // Whether this process made it.
  [[nodiscard]] bool is_ours() const noexcept;
  // The message that it writes.
  [[nodiscard]] const Message& message() const noexcept;

  // Throws InvalidArgument if the message would have too many segments, before anything is sealed,
  // and what cipher and sink throw.
  void write(Bytes plain);
  // Ends the message and commits the sink. Without it, the output is incomplete.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paraes
