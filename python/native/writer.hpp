// Encrypts what is written, in order, to a file or a Python file object.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "python/native/common.hpp"

namespace paraes::python {

// Not for callers that hold the GIL. One caller at a time.
class Writer {
 public:
  // To a file. `commit` gives it its name when the message is complete.
  using Commit = std::function<void(FileSink&)>;
  Writer(std::unique_ptr<FileSink> file, Commit commit, Message message, int threads);
  // To whatever takes the bytes in order.
  using Write = std::function<void(MutableBytes)>;
  Writer(Write write, Message message, int threads);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Whether this process made it. In a child, write and finish throw WrongProcess, and the
  // destructor changes nothing.
  [[nodiscard]] bool is_ours() const noexcept { return owner_.is_this(); }

  void write(Bytes plain);
  // Ends the message and commits the file.
  void finish();

 private:
  void seal(Bytes plain, bool ends);

  std::unique_ptr<FileSink> file_;
  Commit commit_;
  Write write_;
  Message message_;
  int threads_;
  OwnerProcess owner_;
  std::uint64_t next_ = 0;  // the next segment
  std::uint64_t written_ = 0;
  bool has_header_ = false;
  std::unique_ptr<IoBuffer> pending_;  // plaintext of segments that are not complete yet
  std::size_t pending_bytes_ = 0;
  std::vector<std::unique_ptr<IoBuffer>> sealed_;  // one for each thread
};

}  // namespace paraes::python
