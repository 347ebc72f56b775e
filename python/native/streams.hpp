// Sources and sinks that are Python file objects, and bytes in memory.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "paraes/io.hpp"
#include "paraes/memory.hpp"
#include "python/native/common.hpp"

namespace paraes::python {

// The number of bytes that a method of a file object returned. Raises TypeError, which names the
// method, for anything but an int that is not negative.
[[nodiscard]] std::uint64_t number_returned(nb::handle value, const char* method);

// Memory that is lent to file objects. They may keep views of it: these keep the memory alive, and
// see no later contents. Needs the GIL.
class LentMemory {
 public:
  // A writable memoryview of `bytes` bytes of memory that nobody else has a view of.
  [[nodiscard]] nb::object lend(std::size_t bytes);
  // The object whose memory the view shows.
  [[nodiscard]] const nb::object& owner() const noexcept { return memory_; }

 private:
  nb::object memory_;  // a bytearray
};

// A binary file object. All but the destructor need the GIL.
class FileObject {
 public:
  explicit FileObject(nb::object file) : file_(std::move(file)) {}
  ~FileObject();
  FileObject(const FileObject&) = delete;
  FileObject& operator=(const FileObject&) = delete;

  [[nodiscard]] const nb::object& get() const noexcept { return file_; }
  // Fills `buffer` with what file.readinto or file.read gives, and returns how many bytes came:
  // fewer only at the end.
  [[nodiscard]] std::size_t read(MutableBytes buffer);

 private:
  nb::object file_;
  LentMemory memory_;
};

// A binary file object that can seek. The message begins where the file stands. Acquires the GIL
// for each call; nobody else may use the file meanwhile. Errors of the file are thrown as they are.
class FileObjectSource final : public PositionalSource {
 public:
  // Needs the GIL.
  explicit FileObjectSource(nb::object file);

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return size_ - at_; }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override;
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  mutable std::mutex mutex_;
  mutable FileObject file_;
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;
  std::string name_;
};

// The start of a message, with all of its header. It is no PositionalSource: its size says nothing
// about that of the message.
class StartSource final : public Source {
 public:
  explicit StartSource(Bytes start) : start_(start, "the start of the message") {}

  std::size_t read(MutableBytes buffer) override { return start_.read(buffer); }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override {
    return start_.remaining();
  }

 private:
  MemorySource start_;
};

// A binary file object that is read in order, such as a pipe. Acquires the GIL as above.
class StreamObjectSource final : public Source {
 public:
  explicit StreamObjectSource(nb::object file) : file_(std::move(file)) {}

  std::size_t read(MutableBytes buffer) override {
    const nb::gil_scoped_acquire held;
    return file_.read(buffer);
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return std::nullopt; }

 private:
  FileObject file_;
};

}  // namespace paraes::python
