// Sources and sinks of bytes: files and pipes, over POSIX calls.
//
// Common to all classes here:
//   sizes      and offsets are in bytes; buffers need no alignment;
//   errors     IoError with the system's errno, see io_error. A read or write that is
//              interrupted by a signal or incomplete is continued;
//   names      that are passed with a descriptor are used in error messages only;
//   threads    read and write are for one caller at a time; read_at and write_at for any number.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
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
#include <vector>

#include "paraes/attributes.hpp"
#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/export.hpp"
#include "paraes/forks.hpp"

namespace paraes {

namespace calls {
class WriteBack;
}

// The error of a system call that failed with errno `code`: "NAME: cannot VERB it: DESCRIPTION",
// and advice for some codes. Every text about a file begins with the file's name.
[[nodiscard]] PARAES_EXPORT IoError io_error(std::string_view name, std::string_view verb,
                                             int code);

// Owns a file descriptor and closes it on destruction. Movable, not copyable.
class PARAES_EXPORT Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();

  [[nodiscard]] int get() const noexcept { return number_; }  // -1 if it owns none
  [[nodiscard]] int release() noexcept;  // the same, which the caller then owns

  // Closes it now and returns the errno of close(2), or 0: some file systems report a failed write
  // only then.
  int close() noexcept;

 private:
  int number_ = -1;
};

class PARAES_EXPORT Source {
 public:
  virtual ~Source() = default;

  // Fills `buffer` with the next bytes, and returns how many there were: fewer than buffer.size()
  // only at the end of the input.
  virtual std::size_t read(MutableBytes buffer) = 0;

  // How many bytes are left, by the size when the source was opened; nothing for a pipe. A file may
  // have changed since, so the end is where read() finds it.
  [[nodiscard]] virtual std::optional<std::uint64_t> remaining() const = 0;

  // Makes later reads, and one in which another thread waits for data, throw IoError with
  // ECANCELED. Does nothing for sources whose reads never wait, such as files.
  virtual void cancel() noexcept {}

  // To be called after the last read: throws IoError if the source has changed since it was opened,
  // so that the bytes read may be a mixture of old and new ones. A pipe never changes.
  virtual void check_unchanged() const {}

  struct Ready {
    std::size_t bytes = 0;
    bool ended = false;  // there are no more; otherwise there may be some
  };
  // Reads like read(), for data that should be passed on while its writer pauses: once it has
  // `least` bytes, it waits only some milliseconds for more. Returns fewer than `least` only at the
  // end. Sources that do not know whether they would wait fill the buffer.
  virtual Ready read_ready(MutableBytes buffer, std::size_t least);
};

// A source that can be read at any offset.
class PARAES_EXPORT PositionalSource : public Source {
 public:
  // Fills `buffer` with the bytes from `offset` on, and returns how many there were: fewer than
  // buffer.size() only at the end of the source.
  [[nodiscard]] virtual std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const = 0;

  // The size when the source was opened.
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

  // The name by which errors call the source.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;

  // Throws if there are bytes after size().
  void check_unchanged() const override;
};

// Fills `buffer` with the bytes from `offset` on. Throws IoError if the source ends before.
PARAES_EXPORT void read_exactly(const PositionalSource& source, std::uint64_t offset,
                                MutableBytes buffer);

class PARAES_EXPORT Sink {
 public:
  virtual ~Sink() = default;

  // Appends all of `data`.
  virtual void write(Bytes data) = 0;

  // Writes data in pages that nobody ever writes to again, although the caller may unmap them: a
  // sink may pass on references to such pages instead of copies. It is faster than write() only if
  // takes_pages() is true.
  virtual void write_pages(Bytes data) { write(data); }
  // Whether it passes on references to pages.
  [[nodiscard]] virtual bool takes_pages() const noexcept { return false; }

  // Completes the output. A file sink that is destroyed without commit leaves no file.
  virtual void commit() = 0;
};

// A sink that can be written at any offset. Bytes that are never written are zero.
class PARAES_EXPORT PositionalSink : public Sink {
 public:
  // Writes all of `data` from `offset` on. Several threads may write at once, to ranges that do not
  // overlap.
  virtual void write_at(std::uint64_t offset, Bytes data) = 0;
};

// Identifies a file, under any name, as long as it exists.
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

// Identifies a file and its contents, as far as size and modification time tell. A program can
// change contents unnoticed if it writes through a shared memory mapping or resets the modification
// time. The time of the last status change (ctime) is not compared, because removing another hard
// link of the file changes it.
struct PARAES_EXPORT FileVersion {
  FileId id;
  std::uint64_t size = 0;
  timespec modified = {};

  FileVersion() = default;
  explicit FileVersion(const struct stat& status) noexcept;
  [[nodiscard]] bool operator==(const FileVersion& other) const noexcept;
};

// How a file has changed since it had the status `before`: "removed", "replaced", "written to", or
// "changed", also by a change of its mode, owner or access list. nullptr if it has not.
[[nodiscard]] PARAES_EXPORT const char* change_of(const std::optional<struct stat>& now,
                                                  const struct stat& before) noexcept;

// A file that was written, to be found again: by device and inode, and by its length and its first
// bytes, because some file systems make up inode numbers, and others take two names for one.
struct PARAES_EXPORT WrittenFile {
  std::optional<FileId> id;  // none where they are made up
  std::uint64_t size = 0;
  std::size_t beginning = 0;        // a hash of the first bytes
  std::size_t beginning_bytes = 0;  // how many these are, at most 64

  // Whether it is at `name` in the folder with this descriptor. With `follow`, a symbolic link may
  // lead to it. Of a file that may not be read, device and inode alone are compared. Throws IoError
  // if too many files are open.
  [[nodiscard]] bool is_at(int folder, const char* name, bool follow) const;
};

// A regular file.
class PARAES_EXPORT FileSource : public PositionalSource {
 public:
  // Opens the file like open(path).
  explicit FileSource(const std::string& path);
  // Takes an open descriptor of a regular file, or of a block device, whose size is that of its
  // data.
  FileSource(Descriptor descriptor, std::string name);
  // Takes an open descriptor, and the status that fstat(2) has just returned for it.
  FileSource(Descriptor descriptor, std::string name, const struct stat& status);

  // Opens the regular file `path` for reading, following symbolic links. Throws IoError with the
  // errno of open(2). If `path` is a FIFO, it does not wait for a writer, and reads fail.
  [[nodiscard]] static FileSource open(const std::string& path);

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override;
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override;
  [[nodiscard]] std::uint64_t size() const noexcept override { return version_.size; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  // Compares the file with version().
  void check_unchanged() const override;
  // Reads the whole file, and throws IoError if it has changed since it was opened: read_at() and
  // check_unchanged() in fewer calls. `buffer` has size() + 1 bytes: the last one is for growth.
  void read_whole(MutableBytes buffer) const;

  // The version when the file was opened.
  [[nodiscard]] const FileVersion& version() const noexcept { return version_; }

  // Locks the file (flock(2)) until this object is destroyed, and returns false if another object
  // or process has locked it. True on file systems without locks.
  [[nodiscard]] bool lock() const noexcept;

 private:
  friend class FileSink;  // see FileSink::copy_at

  Descriptor descriptor_;
  std::string name_;
  FileVersion version_;
  std::uint64_t position_ = 0;
};

// Anything that can be read in order: a pipe, a terminal, a device, or standard input. A file is
// read from its present position on.
class PARAES_EXPORT PipeSource : public Source {
 public:
  PipeSource(Descriptor descriptor, std::string name);

  std::size_t read(MutableBytes buffer) override;
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return remaining_; }
  void cancel() noexcept override;
  // Throws only if the source is a file.
  void check_unchanged() const override;
  Ready read_ready(MutableBytes buffer, std::size_t least) override;

 private:
  Descriptor descriptor_;
  Descriptor cancelled_;  // becomes readable to wake a waiting read; none for a file
  Descriptor cancel_;     // sets `cancelled_`, where it cannot be set itself
  std::string name_;
  std::optional<std::uint64_t> remaining_;
  std::optional<FileVersion> version_;  // of a file
};

// The source that reads an open file best: a FileSource of a regular file and of a block device,
// and else a PipeSource. Files of /proc and /sys, which have not the size that their status says,
// are read in order to their end. `status`: what fstat(2) has just returned.
[[nodiscard]] PARAES_EXPORT std::unique_ptr<Source> source_of(Descriptor descriptor,
                                                              std::string name,
                                                              const struct stat& status);

// An open folder. Files are opened relative to its descriptor, so that they are in this folder even
// if somebody replaces its name by a symbolic link while the program runs.
class PARAES_EXPORT Folder {
 public:
  // Follows symbolic links.
  explicit Folder(const std::string& path);
  // Takes an open descriptor, which may be one that cannot be read (O_PATH).
  Folder(Descriptor descriptor, std::string name);

  // Opens the folder or file `path` below this one; "" is the folder itself. No component of the
  // path may be a symbolic link (IoError with ELOOP) or lead out of the folder (EXDEV). `flags` and
  // `mode` are those of open(2).
  [[nodiscard]] Folder open_folder(const std::string& path) const;
  [[nodiscard]] Descriptor open_file(const std::string& path, int flags, mode_t mode = 0) const;

  // Syncs the folder, which makes a rename in it permanent. A folder that may be written but not
  // read (mode 0300) cannot be synced: that is ignored unless `needed`.
  void sync(bool needed = false) const;
  // Does what sync() does, but returns the system's errno, or 0.
  [[nodiscard]] int try_sync(bool needed) const noexcept;

  // The open descriptor, which stays the object's.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  // Device and inode, and the name that the constructor got.
  [[nodiscard]] const FileId& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // The name of `path` below this folder, for error messages.
  [[nodiscard]] std::string name_of(const std::string& path) const;

 private:
  Descriptor descriptor_;
  std::string name_;
  FileId id_;
};

// Whether `name` is that of a temporary file of a FileSink, on any host.
[[nodiscard]] PARAES_EXPORT bool is_temporary_name(std::string_view name) noexcept;

// The permission bits of an open file. If it has an access control list, the group bits are those
// of the owning group's entry, whereas `status` has the list's mask in their place.
[[nodiscard]] PARAES_EXPORT mode_t permissions(int descriptor, const struct stat& status) noexcept;

// The path up to the last '/', or "." if there is none; and the name after it.
[[nodiscard]] PARAES_EXPORT std::string folder_of(const std::string& path);
[[nodiscard]] PARAES_EXPORT std::string file_name_of(const std::string& path);

// A file that another process has created and will commit. commit() only syncs what was written, so
// that the other process sees it. The descriptor cannot read: if it could, NFS would read a page
// before it writes a part of it, and write back old bytes of the rest.
class PARAES_EXPORT SharedSink : public PositionalSink {
 public:
  // Opens the existing file `path`; error messages call it `name`.
  SharedSink(const std::string& path, std::string name);
  SharedSink(SharedSink&& other) noexcept;
  SharedSink& operator=(SharedSink&& other) noexcept;
  ~SharedSink() override;

  void write(Bytes data) override;
  void commit() override;
  void write_at(std::uint64_t offset, Bytes data) override;

  // Writes what was written so far to the file system.
  void sync();

  // Cuts the file off after `bytes` bytes, or extends it with zeros.
  void resize(std::uint64_t bytes);

  // Lets the processes check that they have the same file.
  [[nodiscard]] FileId id() const;

 private:
  Descriptor descriptor_;
  std::string name_;
  std::unique_ptr<calls::WriteBack> write_back_;
  std::uint64_t position_ = 0;
};

// Removes temporary files that killed processes have left behind. Reads each folder only once,
// however many outputs it gets. Any number of threads may use an object at once.
class PARAES_EXPORT Leftovers {
 public:
  // Removes the temporary files of the target `name` in `folder` that were made on this host and
  // that no process has locked.
  void remove(const Folder& folder, const std::string& name);

 private:
  std::mutex mutex_;
  std::set<FileId> folders_;                                          // already read
  std::multimap<std::pair<FileId, std::string>, std::string> found_;  // by folder and target
};

// A file that gets its name only when it is complete. Until then the data is in an unnamed file of
// the same folder (O_TMPFILE), which the system removes when the process ends. Where the system or
// the file system has no unnamed files, it is in `.NAME.HOST.PROCESS.RANDOM.paraes-tmp`, which only
// the owner can read and which is locked with flock(2). A sink that is destroyed before commit
// removes its file. Temporary files that killed processes on this host left for the same target are
// removed first; from a folder of ten thousand names or more, which takes long to list, only if the
// file needs a temporary name or replaces a target. A target that cannot be written, such as a
// folder or a name that is too long, is an IoError in the constructor; so is a file system that
// cannot rename files (CannotRename), where the file needs a temporary name. What else a file
// system does not have (modes, times, links) is left out or done in another way.
//
// It belongs to the process that made it (forks.hpp): in a child, whatever writes or names the file
// throws WrongProcess, and the destructor leaves the file alone.
class PARAES_EXPORT FileSink : public PositionalSink {
 public:
  struct Options {
    // Replace an existing target; without it, an existing target is TargetExists: in the
    // constructor, and in commit() if it appears meanwhile. A regular file's owner and group are
    // kept; if that is not permitted, only the owner gets access. A target on which something is
    // mounted cannot be replaced: the constructor throws InvalidArgument.
    bool overwrite = false;
    mode_t mode = 0600;       // of the finished file; the umask does not apply
    bool narrow = false;      // clear the bits that a replaced regular file did not have
    bool keep_owner = false;  // fail at once if the owner of the replaced file cannot be kept
    // Owner and group of a file that replaces none, where the system permits that.
    std::optional<std::pair<uid_t, gid_t>> owner;
    // Extended attributes that the file gets, where its file system has them: see
    // lost_attributes(). An access control list comes after the mode, and is left out with `narrow`
    // where a file is replaced: it could let in whom that kept out.
    std::vector<FileAttribute> attributes;
    std::optional<timespec> modified;  // modification time; if not set, the time of writing
    bool sparse = false;               // blocks of 4 KiB that are zero become holes, where possible
    bool named = false;                // the temporary file has a name, so that others can open it
    bool needs_sync = false;           // see Folder::sync
    bool sync_folder = true;           // if false, the caller syncs it, once for many files
    Leftovers* leftovers = nullptr;    // shared with other sinks; if not set, the sink uses its own
    // Called with the folder's descriptor and the name of the temporary file just before it is
    // created, and with an empty name once it no longer exists. Callers can thus remove it when a
    // signal ends the process.
    std::function<void(int folder, const std::string& name)> on_temporary;
  };

  // The target is `name` in `folder`. Error messages call it `shown`, or folder->name_of(name) if
  // that is empty.
  FileSink(std::shared_ptr<const Folder> folder, std::string name, Options options,
           std::string shown = {});
  // Follows symbolic links in all components of `path` except the last one.
  FileSink(const std::string& path, Options options);
  explicit FileSink(const std::string& path);  // for a new file
  FileSink(FileSink&&) = delete;
  FileSink& operator=(FileSink&&) = delete;
  ~FileSink() override;

  void write(Bytes data) override;
  void write_at(std::uint64_t offset, Bytes data) override;
  // Copies `bytes` bytes from `begin` of a file to `offset` of this one, within the system where it
  // can do that. Throws IoError if the source ends before.
  void copy_at(std::uint64_t offset, const FileSource& from, std::uint64_t begin,
               std::uint64_t bytes);
  // Calls prepare(), gives the file its name and syncs the folder.
  void commit() override;

  // Sets owner, mode and time and syncs the file: the slow part of commit. Nothing may be written
  // afterwards.
  void prepare();

  // The present status of the target, if it exists. Does not follow symbolic links.
  [[nodiscard]] std::optional<struct stat> target() const;

  // Identifies the file that is being written. Not to be called after commit.
  [[nodiscard]] FileId id() const;

  // After prepare(): the names of the attributes that the file did not get.
  [[nodiscard]] const std::vector<std::string>& lost_attributes() const noexcept { return lost_; }

  // The file that commit() gave its name.
  [[nodiscard]] WrittenFile written() const;

  // The path of the temporary file; empty if it has no name.
  [[nodiscard]] std::string temporary() const;

 private:
  void check_target() const;
  [[nodiscard]] bool open_unnamed();
  void open_named();
  void check_rename();
  [[noreturn]] void fail_to_rename(int error) const;
  void copy_to_named();
  void note_beginning(std::uint64_t offset, Bytes data);
  void write_around_zeros(std::uint64_t offset, Bytes data);
  void write_data(std::uint64_t offset, Bytes data);
  [[nodiscard]] bool make_temporary(const std::function<bool(const char*)>& make);
  void announce(std::string temporary);
  [[nodiscard]] mode_t permissions_of_target(const struct stat& status) const;
  void keep_owner();
  void set_owner_and_mode();
  void set_attributes(bool lists);
  void set_size();
  void give_name();
  void check_owner() const;
  void discard() noexcept;

  std::shared_ptr<const Folder> folder_;
  std::string name_;
  std::string shown_;      // name in error messages
  std::string temporary_;  // name of the temporary file; empty if it has none
  Options options_;
  Descriptor descriptor_;
  std::unique_ptr<calls::WriteBack> write_back_;
  std::uint64_t position_ = 0;
  std::atomic<std::uint64_t> end_ = 0;  // of a sparse file, whose end may be a hole
  std::vector<std::string> lost_;
  bool prepared_ = false;
  OwnerProcess owner_;
  std::mutex beginning_mutex_;
  WrittenFile written_;
};

// Anything that can be written in order: a pipe, a terminal, a device, or standard output. Bytes
// that were written cannot be taken back.
class PARAES_EXPORT PipeSink : public Sink {
 public:
  PipeSink(Descriptor descriptor, std::string name);

  void write(Bytes data) override;
  // Puts references to the pages into the pipe, where the system can. Whoever reads them may keep
  // them for any time, or pass them on to other pipes.
  void write_pages(Bytes data) override;
  [[nodiscard]] bool takes_pages() const noexcept override { return takes_pages_; }
  void commit() override;

 private:
  Descriptor descriptor_;
  std::string name_;
  bool takes_pages_ = false;
};

// A large buffer for reading and writing: page-aligned and not initialised. From 2 MiB on, it asks
// the system for huge pages. Throws std::bad_alloc.
class PARAES_EXPORT IoBuffer {
 public:
  explicit IoBuffer(std::size_t size);

  // All of the buffer: size() is what the constructor got.
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
