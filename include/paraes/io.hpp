// Where bytes come from and where they go: files and pipes, over POSIX calls.
//
// Common to all classes here:
//   sizes      are bytes, and so are offsets;
//   errors     IoError with the system's errno and the name of the file. A read or write that a
//              signal interrupts, or that moves fewer bytes than were asked for, goes on by itself;
//   threads    read and write are for one caller at a time; read_at and write_at for any number.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

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

  // For after the last read: throws IoError if the source has changed since it was opened, so that
  // what was read may be a mixture of old and new. A pipe cannot change.
  virtual void check_unchanged() const {}
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

  // Here: throws if there is a byte behind size().
  void check_unchanged() const override;
};

// Fills `buffer` from `offset` on. Throws IoError if the source has become too short for that.
void read_exactly(const PositionalSource& source, std::uint64_t offset, MutableBytes buffer);

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

// Which file it is, by whatever name, while it exists.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;

  FileId() = default;
  explicit FileId(const struct stat& status) noexcept
      : device(status.st_dev), inode(status.st_ino) {}
  [[nodiscard]] bool operator==(const FileId& other) const noexcept = default;
  [[nodiscard]] bool operator<(const FileId& other) const noexcept {
    return device != other.device ? device < other.device : inode < other.inode;
  }
};

// Which file, and which contents as far as the file system tells. A program that writes through a
// shared memory mapping, or sets the modification time back, can change contents without it. The
// time of the last change of status (ctime) is left out: it changes when another hard link of the
// file is removed.
struct FileVersion {
  FileId id;
  std::uint64_t size = 0;
  timespec modified = {};

  FileVersion() = default;
  explicit FileVersion(const struct stat& status) noexcept;
  [[nodiscard]] bool operator==(const FileVersion& other) const noexcept;
};

// A regular file.
class FileSource : public PositionalSource {
 public:
  // Takes an open descriptor of a regular file; `name` is what errors call it.
  FileSource(Descriptor descriptor, std::string name);

  // Opens the regular file `path`, following symbolic links, for reading (O_RDONLY | O_CLOEXEC);
  // errors call it `path`. Throws IoError with the errno of open(2). A FIFO of that name does not
  // make it wait for a writer; reads of it fail.
  [[nodiscard]] static FileSource open(const std::string& path);

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override;
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override;
  [[nodiscard]] std::uint64_t size() const noexcept override { return version_.size; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  // Compares version() with what the file is now.
  void check_unchanged() const override;

  // When it was opened.
  [[nodiscard]] const FileVersion& version() const noexcept { return version_; }

 private:
  Descriptor descriptor_;
  std::string name_;
  FileVersion version_;
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
  // Where standard input is a file.
  void check_unchanged() const override;

 private:
  Descriptor descriptor_;
  Descriptor cancelled_;  // an event to wait for beside the data; none for a file
  std::string name_;
  std::optional<std::uint64_t> remaining_;
  std::optional<FileVersion> version_;  // of a file
};

// An open folder. What is reached from it is reached in this very folder, also when its name leads
// elsewhere later: somebody may put a symbolic link in its place while a program runs.
class Folder {
 public:
  // Follows symbolic links.
  explicit Folder(const std::string& path);
  // Takes an open descriptor, O_PATH or any other; `name` is what errors call it.
  Folder(Descriptor descriptor, std::string name);

  // The folder or file `path` below this one: names with '/' between them, "" for the folder
  // itself. None of them may be a symbolic link (IoError with ELOOP) or lead out (EXDEV). `flags`
  // and `mode` are those of open(2).
  [[nodiscard]] Folder open_folder(const std::string& path) const;
  [[nodiscard]] Descriptor open_file(const std::string& path, int flags, mode_t mode = 0) const;

  // Makes the names in it permanent: a rename is on the disk only when the folder is. A folder that
  // may be written but not read (mode 0300) cannot be synced, which is an error if it is `needed`.
  void sync(bool needed = false) const;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The name of `path` below it, for errors.
  [[nodiscard]] std::string name_of(const std::string& path) const;

 private:
  Descriptor descriptor_;
  std::string name_;
};

// Whether a file of this name is, or was, the temporary of a FileSink, on whatever host.
[[nodiscard]] bool is_temporary_name(std::string_view name) noexcept;

// The permission bits of an open file. Where it has an access control list, those of its group are
// the group's own and not, as stat has them, the most that anybody in the list may do.
[[nodiscard]] mode_t permissions(int descriptor, const struct stat& status) noexcept;

// The folder that holds `path`, and the last name of `path`.
[[nodiscard]] std::string folder_of(const std::string& path);
[[nodiscard]] std::string file_name_of(const std::string& path);

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

// Temporaries that killed runs have left, and their removal. Reads each folder once, so that many
// outputs in one folder cost one look. For any number of threads.
class Leftovers {
 public:
  // Removes those of the target `name` in `folder` that name this host and that nobody has locked.
  void remove(const Folder& folder, const std::string& name);

 private:
  std::mutex mutex_;
  std::set<FileId> folders_;                                          // that were read
  std::multimap<std::pair<FileId, std::string>, std::string> found_;  // by folder and target
};

// A file that appears under its name only when it is whole. Until then its bytes are in a file of
// the same folder without a name, which goes with the process, or, where the file system has no
// such files, in one called `.NAME.HOST.PROCESS.RANDOM.paraes-tmp`, which its owner alone can read
// and which is locked (flock). commit sets owner, mode and time, syncs the file, gives it its name
// and syncs the folder. A sink that is destroyed before that leaves nothing. Temporaries that
// killed runs on this host left for the same target are removed.
class FileSink : public PositionalSink {
 public:
  struct Options {
    // Replace an existing target; else that is InvalidArgument. The owner and the group of a
    // regular file are kept; where that is not permitted, nobody but the owner gets access.
    bool overwrite = false;
    mode_t mode = 0600;                // of the finished file, not changed by the umask
    bool narrow = false;               // mode is also limited by that of a replaced regular file
    std::optional<timespec> modified;  // its modification time; now if not given
    bool named = false;                // the temporary has a name, so that others can write too
    bool needs_sync = false;           // see Folder::sync
    bool sync_folder = true;           // else the caller syncs it, once for many files
    Leftovers* leftovers = nullptr;    // shared by many sinks; the sink's own if not given
    // Is told the name of the temporary and the descriptor of its folder just before it is made,
    // and an empty string when there is none any more: for callers that must remove it when a
    // signal ends the process.
    std::function<void(int folder, const std::string& name)> on_temporary;
  };

  // The target `name` in `folder`; errors call it folder->name_of(name), or `shown`.
  FileSink(std::shared_ptr<const Folder> folder, std::string name, Options options,
           std::string shown = {});
  // Follows symbolic links in all but the last name of `path`.
  FileSink(const std::string& path, Options options);
  FileSink(FileSink&&) = delete;
  FileSink& operator=(FileSink&&) = delete;
  ~FileSink() override;

  void write(Bytes data) override;
  void write_at(std::uint64_t offset, Bytes data) override;
  void commit() override;

  // The part of commit that takes long: all but the name. Nothing may be written after it.
  void prepare();

  // The status of the target as it is now. Does not follow a symbolic link.
  [[nodiscard]] std::optional<struct stat> target() const;

  // The identity of the file. Not after commit.
  [[nodiscard]] FileId id() const;

  // The path of the temporary, empty if it has no name.
  [[nodiscard]] std::string temporary() const;

 private:
  [[nodiscard]] bool open_unnamed();
  void open_named();
  [[nodiscard]] bool make_temporary(const std::function<bool(const char*)>& make);
  void announce(std::string temporary);
  [[nodiscard]] mode_t permissions_of_target(const struct stat& status) const;
  void set_owner_and_mode();
  void give_name();
  void discard() noexcept;

  std::shared_ptr<const Folder> folder_;
  std::string name_;
  std::string shown_;      // for errors
  std::string temporary_;  // the name of the temporary; empty: it has none
  Options options_;
  Descriptor descriptor_;
  std::uint64_t position_ = 0;
  bool prepared_ = false;
};

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

}  // namespace paraes
