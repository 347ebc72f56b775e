#include "cli/plan/secrets.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "cli/terminal/messages.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/process.hpp"

namespace paraes::cli {
namespace {

// Throws InvalidArgument if there are two sources of secrets.
void refuse_two(const std::vector<std::string>& sources) {
  if (sources.size() < 2) return;
  throw refusal("give one of the two: {} or {}", sources[0], sources[1]);
}

// Which kinds of secrets a format takes.
struct SecretKinds {
  bool key = false;
  bool passphrase = false;
  bool recipients = false;
};

void check_kinds(const SecretSources& sources, std::string_view format, SecretKinds takes) {
  const auto keys = sources.given(SecretKind::key);
  const auto passphrases = sources.given(SecretKind::passphrase);
  const auto recipients = sources.given(SecretKind::recipients);
  if (!takes.recipients && !recipients.empty()) {
    throw refusal("{} goes with --format paraes, not with {}", recipients[0], format);
  }
  if (takes.key && takes.passphrase) {
    refuse_two(sources.given());
    return;
  }
  const auto& wrong = takes.key ? passphrases : keys;
  const auto& right = takes.key ? keys : passphrases;
  if (!wrong.empty()) {
    const char* const instead =
        takes.key ? "use --key-file"
                  : "use --passphrase-file, or give none to be asked for it on a terminal";
    throw refusal("{} does not go with --format {}, which takes a {}: {}", wrong[0], format,
                  takes.key ? "key" : "passphrase", right.empty() ? instead : "leave it out");
  }
  if (takes.key && keys.empty()) {
    throw refusal(
        "--format {} needs a key: use --key-file FILE (`paraes keygen -o FILE` makes a new one)",
        format);
  }
  refuse_two(right);
}

void check_passphrase_fd(const Plan& plan, const SecretSources& keys) {
  if (!keys.passphrase_fd) return;
  const int number = *keys.passphrase_fd;
  const auto refuse_it = [&](const char* why) {
    throw refusal("{0} {1}: {2}; open one to read the passphrase, as in `{0} 3 3< FILE`",
                  keys.flag("passphrase-fd"), number, why);
  };
  if (number == STDOUT_FILENO) refuse_it("this descriptor is standard output");
  if (number == STDERR_FILENO) refuse_it("this descriptor is standard error");
  const int flags = fcntl(number, F_GETFL);
  struct stat status = {};
  if (flags < 0 || fstat(number, &status) != 0) refuse_it("there is no such open file descriptor");
  const int access = flags & O_ACCMODE;
  if (access == O_WRONLY || system::only_names_a_file(flags))
    refuse_it("this descriptor is not open to read");
  if (S_ISDIR(status.st_mode)) refuse_it("this descriptor is a folder");
  // Other programs that the run starts must not get it.
  fcntl(number, F_SETFD, FD_CLOEXEC);
  // A pipe or socket must not be the output, too: the run would read back what it writes. Files
  // that hold a secret are never overwritten, and a terminal has two directions.
  if (!has_outputs(plan.verb) || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) return;
  const Output& output = plan.output;
  struct stat target = {};
  const bool found = output.data_on_stdout ? fstat(STDOUT_FILENO, &target) == 0
                     : output.descriptor   ? fstat(*output.descriptor, &target) == 0
                                         : output.path && stat(output.path->c_str(), &target) == 0;
  if (found && FileId(status) == FileId(target)) refuse_it("this descriptor is the output");
}

void add_if_file(int found, const struct stat& status, const SecretSources::File& file,
                 std::vector<ProtectedFile>& files) {
  if (found != 0 || !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode))) return;
  files.push_back(
      {FileId(status), file.flag, static_cast<mode_t>(status.st_mode & 07777), file.is_public});
}

void add_named_files(const std::vector<SecretSources::File>& named,
                     std::vector<ProtectedFile>& files) {
  for (const SecretSources::File& file : named) {
    struct stat status = {};
    const int found =
        file.path == "-" ? fstat(STDIN_FILENO, &status) : stat(file.path.c_str(), &status);
    add_if_file(found, status, file, files);
  }
}

void add_files_of(const SecretSources& sources, std::vector<ProtectedFile>& files) {
  add_named_files(sources.files(), files);
  if (!sources.passphrase_fd) return;
  struct stat status = {};
  const int found = fstat(*sources.passphrase_fd, &status);
  const std::string flag =
      fmt::format("{} {}", sources.flag("passphrase-fd"), *sources.passphrase_fd);
  add_if_file(found, status, {.path = "", .flag = flag}, files);
}

}  // namespace

void check_secrets(const CryptOptions& options, Format format) {
  const bool paraes = format == Format::paraes;
  // info needs no secret, and takes whichever the file was encrypted with.
  const bool any = options.verb == Verb::info;
  const std::vector<std::string> given = options.keys.given();
  if (any && !given.empty() && format != Format::paraes) {
    throw refusal("{} goes with --format paraes: info opens no other one", given[0]);
  }
  check_kinds(options.keys, format_name(format),
              {.key = any || format != Format::openssl,
               .passphrase = any || paraes || format == Format::openssl,
               .recipients = paraes});
  if (options.verb != Verb::rekey) return;
  if (options.new_keys.given().empty()) {
    throw InvalidArgument(
        "rekey needs new keys: --to-recipient KEY, --to-recipients-file FILE, --to-key-file FILE, "
        "--to-passphrase (asks) or --to-passphrase-file FILE");
  }
  check_kinds(options.new_keys, format_name(format),
              {.key = true, .passphrase = true, .recipients = true});
}

void check_passphrase_fds(const Plan& plan) {
  check_passphrase_fd(plan, plan.keys);
  check_passphrase_fd(plan, plan.new_keys);
}

std::vector<ProtectedFile> protected_files(const Plan& plan) {
  std::vector<ProtectedFile> files;
  add_files_of(plan.keys, files);
  add_files_of(plan.new_keys, files);
  add_named_files(plan.lists, files);
  return files;
}

void warn_of_open_files(const std::vector<ProtectedFile>& files) {
  for (const ProtectedFile& file : files) {
    const bool readable = !file.is_public && (file.mode & S_IROTH) != 0;
    if (!readable && (file.mode & S_IWOTH) == 0) continue;
    say("warning: the mode {:04o} of the file of {} lets all users {} it; `chmod {}` keeps them "
        "out",
        file.mode, file.flag, readable ? "read" : "change", file.is_public ? "o-w" : "600");
  }
}

}  // namespace paraes::cli
