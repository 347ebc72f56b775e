#include "src/files/places.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "paraes/error.hpp"
#include "src/core/system/descriptors.hpp"
#include "src/core/system/outputs.hpp"
#include "src/core/system/process.hpp"

namespace paraes::detail {
namespace {

// A dangling link is its own path: it is replaced.
std::string without_links(const std::string& path) {
  const std::string found = system::path_without_links(path);
  return found.empty() ? path : found;
}

void check_replaced(const struct stat& status, const std::string& path, const MessageSecret& secret,
                    const OutputOptions& options) {
  if (options.input != nullptr && FileId(status) == FileId(options.input->status)) {
    throw InvalidArgument(path + ": it is the input itself; write to another file");
  }
  secret.check_not_secret(status, path);
  if (S_ISREG(status.st_mode)) secret.check_contents(path);
}

// Refuses a descriptor: its file is not what the user means.
void refuse_descriptor(const std::string& path) {
  if (system::descriptor_named(path)) {
    throw InvalidArgument(path +
                          ": it is a file descriptor, whose file is not replaced: write to it as "
                          "a stream");
  }
}

}  // namespace

OpenedFile open_for_reading(const std::string& path, const MessageSecret& secret, bool waits) {
  OpenedFile file;
  file.path = path;
  const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | (waits ? 0 : O_NONBLOCK);
  file.descriptor = Descriptor(::open(path.c_str(), flags));
  if (file.descriptor.get() < 0 || fstat(file.descriptor.get(), &file.status) != 0) {
    throw io_error(path, "open", errno);
  }
  if (S_ISDIR(file.status.st_mode)) throw io_error(path, "read", EISDIR);
  secret.check_not_secret(file.status, path);
  return file;
}

std::unique_ptr<FileSink> create(const std::string& path, const MessageSecret& secret,
                                 const OutputOptions& options) {
  struct stat status = {};
  struct stat link = {};
  const bool is_there = lstat(path.c_str(), &link) == 0;
  const bool exists = is_there && stat(path.c_str(), &status) == 0;
  refuse_descriptor(path);
  if (exists) {
    check_replaced(status, path, secret, options);
    if (S_ISDIR(status.st_mode)) throw io_error(path, "write", EISDIR);
    if (!S_ISREG(status.st_mode)) {
      throw InvalidArgument(path +
                            ": it is not a regular file, and is not replaced: write to it as a "
                            "stream");
    }
  }
  if (is_there && !options.overwrite) {
    throw TargetExists(path +
                           ": it exists already and was not replaced: allow to overwrite it, or "
                           "choose another output",
                       path);
  }
  if (exists) {
    system::refuse_mount_point(AT_FDCWD, without_links(path), path, "write to it as a stream");
  }
  FileSink::Options sink;
  sink.overwrite = is_there;
  sink.sparse = !options.is_encrypted;
  const mode_t umask = system::current_umask();
  if (options.input == nullptr) {
    sink.mode = exists ? status.st_mode & 0777 : 0666 & ~umask;
  } else {
    const mode_t mode = permissions(options.input->descriptor.get(), options.input->status);
    system::take_over(sink, options.input->status, mode, options.is_encrypted, umask);
  }
  return std::make_unique<FileSink>(exists ? without_links(path) : path, std::move(sink));
}

void commit(FileSink& sink, const std::string& path, const MessageSecret& secret,
            const OutputOptions& options) {
  sink.prepare();
  if (const auto target = sink.target()) check_replaced(*target, path, secret, options);
  sink.commit();
}

std::unique_ptr<FileSink> create_replacement(const OpenedFile& file) {
  refuse_descriptor(file.path);
  system::refuse_mount_point(AT_FDCWD, without_links(file.path), file.path,
                             "rekey a copy of it, and write that into it");
  FileSink::Options options;
  options.overwrite = true;
  options.keep_owner = true;
  options.mode = permissions(file.descriptor.get(), file.status);
  options.modified = FileVersion(file.status).modified;
  return std::make_unique<FileSink>(without_links(file.path), std::move(options));
}

void commit_replacement(FileSink& sink, const OpenedFile& file) {
  sink.prepare();
  if (const char* how = change_of(sink.target(), file.status)) {
    throw IoError(file.path + ": it was " + how +
                      " while its contents were read; that was left as it is: try again when no "
                      "other program works on the file",
                  EIO, file.path);
  }
  sink.commit();
}

}  // namespace paraes::detail
