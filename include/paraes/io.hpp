// Where bytes come from and where they go: files and pipes, over POSIX calls.
//
// Common to all classes here:
//   sizes      are bytes, and so are offsets;
//   errors     IoError with the system's errno and the name of the file. A read or write that a
//              signal interrupts, or that moves fewer bytes than were asked for, goes on by itself;
//   threads    read and write are for one caller at a time; read_at and write_at for any number.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "paraes/ciphers.hpp"

namespace paraes {

// A descriptor that is closed with the object. Movable, not copyable.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] int release() noexcept;

  // Closes it now and returns the errno of that, 0 for none: some file systems report a failed
  // write only here.
  int close() noexcept;

 private:
  int number_ = -1;
};

class Source {
 public:
  virtual ~Source() = default;

  // The next bytes in order. Fills `buffer` unless the input ends first; fewer bytes than asked
  // for, or none, mean the end.
  virtual std::size_t read(MutableBytes buffer) = 0;

  // How many bytes are left, by the size that the source had when it was opened. Unknown for a
  // pipe. A file may grow or shrink since: only the end that read finds counts.
  [[nodiscard]] virtual std::optional<std::uint64_t> remaining() const = 0;

  // Makes a read that waits for data on another thread, and every later one, throw IoError with
  // ECANCELED. Does nothing where reads do not wait for others.
  virtual void cancel() noexcept {}
};

// A source that can be read at any offset.
class PositionalSource : public Source {
 public:
  // Fills `buffer` from `offset` on unless the source ends first; returns how many bytes there
  // were.
  [[nodiscard]] virtual std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const = 0;

  // Its size when it was opened.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  [[nodiscard]] virtual const std::string& name() const noexcept = 0;  // for errors
};

// Fills `buffer` from `offset` on. Throws IoError if the source has become too short for that.
void read_exactly(const PositionalSource& source, std::uint64_t offset, MutableBytes buffer);

// Throws IoError if the source has become longer than it was when it was opened.
void check_end(const PositionalSource& source);

class Sink {
 public:
  virtual ~Sink() = default;

  // Appends all of `data`.
  virtual void write(Bytes data) = 0;

  // Says that the output is whole. Without it a file sink leaves nothing behind.
  virtual void commit() = 0;
};

// A sink that can be written at any offset; bytes that nobody writes are zero.
class PositionalSink : public Sink {
 public:
  virtual void write_at(std::uint64_t offset, Bytes data) = 0;
};

// A regular file.
class FileSource : public PositionalSource {
 public:
  // Takes an open descriptor of a regular file; `name` is what errors call it.
  FileSource(Descriptor descriptor, std::string name);

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override;
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override;
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  Descriptor descriptor_;
  std::string name_;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

// Anything that can be read in order: a pipe, a terminal, a device, standard input (also where
// that is a file, which starts at its present position then).
class PipeSource : public Source {
 public:
  PipeSource(Descriptor descriptor, std::string name);

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return remaining_; }
  void cancel() noexcept override;

 private:
  Descriptor descriptor_;
  Descriptor cancelled_;  // an event to wait for beside the data; none for a file
  std::string name_;
  std::optional<std::uint64_t> remaining_;
};

// A part of a file that another process has made and will name. Its commit says that what was
// written is on its way to where that process can see it, and names nothing.
class SharedSink : public PositionalSink {
 public:
  // `name` is what errors call it. Throws IoError if there is no such file.
  SharedSink(const std::string& path, std::string name);

  void write(Bytes data) override;
  void commit() override;
  void write_at(std::uint64_t offset, Bytes data) override;

  // By which the processes compare that it is one file.
  [[nodiscard]] std::uint64_t inode() const;

 private:
  Descriptor descriptor_;
  std::string name_;
  std::uint64_t position_ = 0;
};

// A file that appears under its name only when it is whole. Until then its bytes are in a file of
// the same folder without a name, which goes with the process, or, where the file system has no
// such files, in one named temporary_name(path), readable by its owner alone. commit sets mode and
// time, syncs the file, gives it its name and syncs the folder. A sink that is destroyed before
// that leaves nothing. A temporary that a killed run left is removed by the next sink of that name.
class FileSink : public PositionalSink {
 public:
  struct Options {
    bool overwrite = false;            // else an existing target is InvalidArgument
    mode_t mode = 0600;                // of the finished file, not changed by the umask
    std::optional<timespec> modified;  // its modification time; now if not given
    bool named = false;                // the temporary has a name, so that others can write too
    bool sync_folder = true;           // else the caller calls sync_folder, once for many files
    // Is told the name of the temporary just before that is made, and an empty string when there
    // is none any more: for callers that must remove it when a signal ends the process.
    std::function<void(const std::string&)> on_temporary;
  };

  FileSink(std::string path, Options options);
  FileSink(FileSink&&) = delete;
  FileSink& operator=(FileSink&&) = delete;
  ~FileSink() override;

  void write(Bytes data) override;
  void commit() override;
  void write_at(std::uint64_t offset, Bytes data) override;

  // The name of the temporary, empty if it has none.
  [[nodiscard]] const std::string& temporary() const noexcept { return temporary_; }

 private:
  [[nodiscard]] bool open_unnamed();
  void open_named();
  void announce(std::string temporary);
  void give_name();
  void discard() noexcept;

  std::string path_;
  std::string folder_;
  std::string temporary_;  // the name of the temporary; empty: it has none
  Options options_;
  Descriptor descriptor_;
  std::uint64_t position_ = 0;
};

// Where a sink for `path` keeps bytes until they are whole, if it needs a name for that.
[[nodiscard]] std::string temporary_name(const std::string& path);

// The folder that holds `path`.
[[nodiscard]] std::string folder_of(const std::string& path);

// Makes the names in `folder` permanent: a rename is on the disk only when the folder is.
void sync_folder(const std::string& folder);

// Anything that can be written in order: a pipe, a terminal, a device, standard output. What was
// written stays, whatever happens later.
class PipeSink : public Sink {
 public:
  PipeSink(Descriptor descriptor, std::string name);

  void write(Bytes data) override;
  void commit() override;

 private:
  Descriptor descriptor_;
  std::string name_;
};

// A large buffer for reading and writing: page-aligned, not initialised.
class IoBuffer {
 public:
  explicit IoBuffer(std::size_t size);

  [[nodiscard]] std::uint8_t* data() noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] MutableBytes span() noexcept { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::uint8_t* data) const noexcept;
  };
  std::unique_ptr<std::uint8_t[], Free> data_;
  std::size_t size_;
};

// Nanoseconds that threads spent in each phase, summed over threads.
struct TransferTimes {
  std::uint64_t read = 0;
  std::uint64_t kernel = 0;
  std::uint64_t write = 0;
  std::uint64_t scatter = 0;  // sending pieces to other processes, and fetching them
  std::uint64_t gather = 0;
};

}  // namespace paraes
