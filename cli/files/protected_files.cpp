#include "cli/files/protected_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <string_view>

#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "paraes/keys.hpp"

namespace paraes::cli {
namespace {

// The --exclude flag that skips `path`, which -r found; empty for a file that was an argument.
std::string how_to_exclude(const std::string& path) {
  if (path.empty()) return "";
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-";
  const bool is_plain = path.find_first_not_of(plain) == std::string::npos;
  return fmt::format(" (--exclude {})", is_plain ? "/" + path : "GLOB");
}

[[noreturn]] void refuse_target(const std::string& shown, const std::string& flag,
                                const std::string& input, const std::string& found_as) {
  throw refusal(
      "{}: its output would be {}, but it holds the secret of {} and is never overwritten; leave "
      "the input out{}, or write elsewhere with -o",
      input, shown, flag, how_to_exclude(found_as));
}

}  // namespace

const ProtectedFile* ProtectedFiles::find_named(const struct stat& status) const {
  for (const ProtectedFile& secret : named_) {
    if (secret.id == FileId(status)) return &secret;
  }
  return nullptr;
}

void ProtectedFiles::check_input(const struct stat& status, const std::string& shown,
                                 const std::string& found_as) const {
  const ProtectedFile* secret = find_named(status);
  if (secret == nullptr || (secret->is_public && !removes_)) return;
  throw refusal(
      "{}: it is the file of {}, and {}; leave it out{} or move it elsewhere", shown, secret->flag,
      secret->is_public ? "--rm would remove it" : "a secret of a run cannot be one of its inputs",
      how_to_exclude(found_as));
}

void ProtectedFiles::check_named_target(const struct stat& status, const std::string& shown,
                                        const std::string& input,
                                        const std::string& found_as) const {
  const ProtectedFile* secret = find_named(status);
  if (secret == nullptr) return;
  throw refusal(
      "{}: its output would be {}, which is the file of {} and is never overwritten; leave the "
      "input out{}, or write elsewhere with -o",
      input, shown, secret->flag, how_to_exclude(found_as));
}

std::optional<std::string> ProtectedFiles::secret_in(const Folder& folder, const std::string& name,
                                                     bool follow) const {
  const auto status = status_in(folder, name, follow);
  if (!status || !S_ISREG(status->st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(status->st_size);
  if (!known_.may_be_in(size)) return std::nullopt;
  const Descriptor file(
      openat(folder.descriptor(), name.c_str(),
             O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | (follow ? 0 : O_NOFOLLOW)));
  if (file.get() >= 0) return known_.find_in(file.get());
  const bool is_hidden = errno == EACCES || errno == EPERM;
  // It could be a key that only root can read, through sudo.
  if (is_hidden && known_.may_be_in(size, KnownSecrets::Part::all) && size <= max_key_file_bytes) {
    throw refusal(
        "{}: it cannot be read, and has a size that a secret of this run could have: it is neither "
        "replaced nor removed; write elsewhere, or move it",
        name);
  }
  return std::nullopt;
}

std::optional<std::string> ProtectedFiles::secret_at(const Place& place) const try {
  return secret_in(*place.open_folder(), place.name(), place.follow);
} catch (const IoError&) {
  return std::nullopt;  // the folder is no longer there
}

void ProtectedFiles::check_input_contents(const Place& place, const std::string& found_as) const {
  const auto flag = secret_at(place);
  if (!flag) return;
  throw refusal(
      "{}: it holds the secret of {}, and --rm would remove it; leave it out{} or move it "
      "elsewhere",
      place.shown, *flag, how_to_exclude(found_as));
}

void ProtectedFiles::check_target_contents(const Place& place, const std::string& input,
                                           const std::string& found_as) const {
  if (const auto flag = secret_at(place)) {
    refuse_target(place.shown, *flag, input, found_as);
  }
}

void ProtectedFiles::check_output_contents(int descriptor, const std::string& shown,
                                           const std::string& input) const {
  // Its own descriptor may be for writing alone, as one of >>. A log may have a secret among other
  // lines: it is written on, and loses nothing.
  const Descriptor again(open(fmt::format("/dev/fd/{}", descriptor).c_str(),
                              O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (again.get() < 0) return;
  if (const auto flag = known_.find_in(again.get(), KnownSecrets::Part::all)) {
    refuse_target(shown, *flag, input, {});
  }
}

void ProtectedFiles::check_target(const struct stat& status, const std::string& shown) const {
  if (const ProtectedFile* secret = find_named(status); secret != nullptr) {
    throw refusal("{}: it is the file of {}, which is never overwritten; write elsewhere with -o",
                  shown, secret->flag);
  }
  if (is_input(FileId(status))) {
    throw refusal("{}: it is an input of this run; write elsewhere with -o", shown);
  }
  check_not_output_now(status, shown);
}

void ProtectedFiles::check_not_output(const struct stat& status, const std::string& shown) const {
  const std::lock_guard lock(mutex_);
  check_not_output_now(status, shown);
}

// Call it with mutex_ held.
void ProtectedFiles::check_not_output_now(const struct stat& status,
                                          const std::string& shown) const {
  if (outputs_.contains(FileId(status))) {
    throw refusal(
        "{}: it is the output of another input of this run, by this or another name; write "
        "elsewhere with -o",
        shown);
  }
}

std::optional<WrittenFile> ProtectedFiles::commit(FileSink& sink, const Place& place,
                                                  const std::string& shown,
                                                  const struct stat* replaced) {
  sink.prepare();
  if (!replaces_) {
    sink.commit();
    return removes_ ? std::optional(sink.written()) : std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  const auto target = sink.target();
  if (replaced != nullptr) {
    if (const char* how = change_of(target, *replaced)) {
      throw IoError(fmt::format("{}: it was {} while its contents were read; that was left as it "
                                "is: try again when no other program works on the file",
                                shown, how),
                    EIO);
    }
  } else if (target) {
    check_target(*target, shown);
  }
  if (target && known_.may_be_in(static_cast<std::uint64_t>(target->st_size))) {
    if (const auto flag = secret_in(*place.open_folder(), place.name(), false)) {
      throw refusal(
          "{}: it holds the secret of {}, which is never overwritten; write elsewhere with -o",
          shown, *flag);
    }
  }
  outputs_.reserve(sink.id());  // what follows the commit must not fail
  sink.commit();
  WrittenFile written = sink.written();
  if (written.id) outputs_.insert(*written.id);
  return written;
}

}  // namespace paraes::cli
