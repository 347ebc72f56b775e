// Runs the program `age`.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/recipients.hpp"
#include "src/core/system/descriptors.hpp"
#include "src/core/system/memory.hpp"
#include "src/core/system/process.hpp"
#include "src/core/system/program.hpp"
#include "src/core/system/program_path.hpp"
#include "src/io/calls.hpp"

namespace paraes {
namespace {

constexpr std::string_view variable = "PARAES_AGE";

std::string find_program(const AgeProgram& program) {
  std::string name = program.name;
  if (name.empty()) {
    // Whoever started a process with more rights than their own would choose what it runs.
    if (system::has_more_rights_than_caller()) {
      throw Unavailable("a process with more rights than its caller does not run age");
    }
    const char* const value = std::getenv(variable.data());
    name = value != nullptr && *value != '\0' ? value : "age";
  }
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), X_OK) == 0) return name;
    throw Unavailable(name + ": cannot start it: " + std::generic_category().message(errno) + "; " +
                      std::string(variable) + " names the program to use as age");
  }
  std::string path = system::find_in_path(name);
  if (path.empty()) {
    throw Unavailable("recipients and identities need the program " + name +
                      ", which is not in PATH: install age (age-encryption.org), or name another "
                      "program in " +
                      std::string(variable));
  }
  if (path.front() != '/') {
    throw Unavailable("the first " + name + " in PATH is " + path +
                      ", in a relative folder, where others may have put it: name its absolute "
                      "path in " +
                      std::string(variable));
  }
  return path;
}

// A call of age, with the pipes that it inherits.
class AgeCall {
 public:
  explicit AgeCall(const AgeProgram& program) {
    call.hidden = program.hidden_variables;
    call.on_process = program.on_process;
  }

  void add(std::string flag, std::string value) {
    call.arguments.push_back(std::move(flag));
    call.arguments.push_back(std::move(value));
  }

  void add_file(const char* flag, const AgeInput& file) {
    if (file.contents().empty()) {
      // age must not take the name for a flag.
      add(flag, (file.path().starts_with('-') ? "./" : "") + file.path());
      return;
    }
    pipes_.push_back(system::pipe_with(file.contents().span()));
    call.inherited.push_back(pipes_.back().get());
    std::string name = "/dev/fd/" + std::to_string(pipes_.back().get());
    names_.emplace_back(name, file.path());
    add(flag, std::move(name));
  }

  // `words` of age, with the names of files as the user knows them.
  [[nodiscard]] std::string with_names(std::string words) const {
    for (const auto& [name, path] : names_) {
      for (std::size_t at = 0; (at = words.find(name, at)) != std::string::npos;) {
        words.replace(at, name.size(), path);
        at += path.size();
      }
    }
    return words;
  }

  system::ProgramCall call;

 private:
  std::vector<Descriptor> pipes_;
  std::vector<std::pair<std::string, std::string>> names_;  // those for age, and the user's
};

void refuse_standard_input(const std::vector<std::string>& files, const char* kind) {
  for (const std::string& file : files) {
    if (file.empty()) throw InvalidArgument(std::string(kind) + " has an empty name");
    if (holds_private_key(file)) {
      throw InvalidArgument(std::string(kind) +
                            " is named by its path, but a private key was given: anybody may have "
                            "seen it, so make a new one");
    }
    if (file != "-") continue;
    throw InvalidArgument(std::string(kind) + " cannot be standard input (-): name a file");
  }
}

// The lines that age writes to standard error.
class Words {
 public:
  explicit Words(const AgeProgram& program) : program_(program) {}

  void add(Bytes data) {
    constexpr std::size_t most = 8192;
    const std::size_t n = std::min(data.size(), most - std::min(most, text_.size()));
    text_.append(reinterpret_cast<const char*>(data.data()), n);
  }

  // Passes on what was not passed on yet, also a line that has not ended: it may be a question.
  void pass_on() {
    while (passed_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', passed_), text_.size());
      const std::string_view line = std::string_view(text_).substr(passed_, end - passed_);
      if (!line.empty() && program_.on_message) program_.on_message(line);
      passed_ = std::min(end + 1, text_.size());
    }
  }

  // All lines in one, without what age and rage add to every error.
  [[nodiscard]] std::string joined() const {
    constexpr std::string_view reports = "age: report unexpected";
    std::string all;
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const bool of_rage = line.starts_with("[ ") && line.ends_with("]");
      if (line.empty() || line.starts_with(reports) || of_rage) continue;
      for (const std::string_view start : {"age: ", "error: ", "Error: "}) {
        if (line.starts_with(start)) line.remove_prefix(start.size());
      }
      all.append(all.empty() ? "" : "; ").append(line);
    }
    constexpr std::size_t most = 1000;
    if (all.size() > most) all.replace(most, std::string::npos, "...");
    return all.empty() ? "it does not say why" : all;
  }

 private:
  const AgeProgram& program_;
  std::string text_;
  std::size_t passed_ = 0;
};

// Runs age. `refuse` throws the error for an exit status that is not 0.
void run_age(const AgeProgram& program, AgeCall& age, const auto& on_output, const auto& refuse) {
  system::ProgramCall& call = age.call;
  call.path = find_program(program);
  Words words(program);
  // Reads even more than a header takes: age must not be stopped by a pipe that nobody reads.
  constexpr std::size_t most = std::size_t{64} << 20;
  std::size_t written = 0;
  call.on_output = [&](Bytes data) {
    on_output(data);
    written += data.size();
    return written <= most;
  };
  call.on_errors = [&](Bytes data) {
    words.add(data);
    return true;
  };
  call.on_silence = [&] { words.pass_on(); };
  const system::ProgramEnd end = system::run_program(call);
  if (written > most) throw Error(call.path + ": it writes on and on; it was ended");
  if (!end.exited) throw Error(call.path + ": " + end.text());
  if (!end.succeeded()) refuse(age.with_names(words.joined()));
  words.pass_on();
}

// A file in memory that holds `data`, to be read from its beginning.
Descriptor memory_file(Bytes data) {
  const std::string name = "a file in memory";
  Descriptor file(system::open_memory_file("paraes-age-file"));
  if (file.get() < 0) throw io_error(name, "create", errno);
  calls::write_full_at(file.get(), 0, data, name);
  return file;
}

void check_recipient(const std::string& key) {
  // A refused recipient is not repeated, here or by age: it may be a secret.
  if (holds_private_key(key)) {
    throw InvalidArgument(
        "a recipient is a public key (age1...), but a private key was given: anybody may have seen "
        "it, so make a new one");
  }
  const auto is_printable = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != 127; };
  if (key.empty() || key.front() == '-' || key.front() == ' ' ||
      !std::all_of(key.begin(), key.end(), is_printable)) {
    throw InvalidArgument(
        "a recipient is one public key in one line, such as age1... or ssh-ed25519 AAAA...; "
        "several "
        "go into a file of recipients");
  }
}

}  // namespace

std::vector<std::uint8_t> encrypt_with_age(const AgeProgram& program, Bytes run_key,
                                           const AgeRecipients& recipients) {
  if (run_key.size() != run_key_bytes) {
    throw InvalidArgument("a run key has " + std::to_string(run_key_bytes) + " bytes");
  }
  if (recipients.keys.empty() && recipients.files.empty()) {
    throw InvalidArgument("there are no recipients");
  }
  refuse_standard_input(recipients.files, "a file of recipients");
  AgeCall age(program);
  for (const std::string& key : recipients.keys) {
    check_recipient(key);
    age.add("-r", key);
  }
  for (const std::string& file : recipients.files) age.add_file("-R", AgeInput(file));
  const Descriptor input = system::pipe_with(run_key);
  age.call.input = input.get();
  std::vector<std::uint8_t> age_file;
  constexpr std::size_t most = max_wrap_bytes + 1;  // one byte more shows that it does not fit
  const auto keep = [&](Bytes data) {
    const std::size_t n = std::min(data.size(), most - age_file.size());
    age_file.insert(age_file.end(), data.begin(), data.begin() + static_cast<std::ptrdiff_t>(n));
  };
  run_age(program, age, keep, [](const std::string& words) {
    throw InvalidArgument("age refuses the recipients: " + words);
  });
  if (age_file.size() > max_wrap_bytes - slot_bytes(256)) {
    throw InvalidArgument(
        "there are too many recipients: their part of the header would have more "
        "than 256 KiB");
  }
  try {
    check_run_key_file(age_file);
  } catch (const IntegrityError&) {
    throw Error(find_program(program) + ": what it wrote is no age file with a key");
  }
  return age_file;
}

AgeInput::AgeInput(std::string path) : path_(std::move(path)) {
  // Some descriptors cannot be opened again by their names: those of sockets, and of other users'
  // files.
  const auto number = system::descriptor_named(path_);
  Descriptor descriptor(number ? fcntl(*number, F_DUPFD_CLOEXEC, 3)
                               : open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status = {};
  if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0) {
    throw io_error(path_, "open", errno);
  }
  if (S_ISDIR(status.st_mode)) throw InvalidArgument(path_ + ": it is a folder");
  const bool is_file = S_ISREG(status.st_mode);
  if (is_file && !number && !system::depends_on_process(path_)) return;
  // A pipe holds as much.
  constexpr std::size_t most = 65536;
  SecretBytes contents(most + 1);
  // A file from its beginning, however often.
  const std::size_t n = is_file ? FileSource(std::move(descriptor), path_).read(contents.span())
                                : PipeSource(std::move(descriptor), path_).read(contents.span());
  if (n > most) throw InvalidArgument(path_ + ": it has more than 64 KiB: use a file");
  if (n == 0) throw InvalidArgument(path_ + ": it is empty");
  // Its own size: locked memory is scarce.
  contents_ = SecretBytes(Bytes(contents.span()).first(n));
}

bool holds_private_key(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 5> marks = {
      "AGE-SECRET-KEY-", "AGE-PLUGIN-", "PRIVATE KEY-----",
      // An age file with a passphrase, as protected identities are; and the same in base64.
      "AGE-ENCRYPTION.ORG/V1\n-> SCRYPT ", "YWDLLWVUY3J5CHRPB24UB3JNL3YXCI0+IHNJCNLWDC"};
  const auto same = [](char c, char mark) {
    return (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c) == mark;
  };
  return std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) {
    return std::search(text.begin(), text.end(), mark.begin(), mark.end(), same) != text.end();
  });
}

AgeIdentities::AgeIdentities(std::vector<std::string> files) {
  if (files.empty()) throw InvalidArgument("there are no identities");
  refuse_standard_input(files, "a file of identities");
  for (std::string& path : files) files_.emplace_back(std::move(path));
}

SecretBytes AgeIdentities::decrypt(const AgeProgram& program, Bytes age_file) const {
  check_run_key_file(age_file);
  AgeCall age(program);
  age.call.arguments.emplace_back("-d");
  for (const AgeInput& file : files_) age.add_file("-i", file);
  const Descriptor input = memory_file(age_file);
  age.call.input = input.get();
  SecretBytes run_key(run_key_bytes + 1);  // one byte more shows that there are too many
  std::size_t kept = 0;
  const auto keep = [&](Bytes data) {
    const std::size_t n = std::min(data.size(), run_key.size() - kept);
    std::copy_n(data.begin(), n, run_key.data() + kept);
    kept += n;
  };
  run_age(program, age, keep, [](const std::string& words) {
    throw WrongKey(WrongKey::Secret::identity, "age refuses the identities: " + words);
  });
  if (kept != run_key_bytes) {
    throw IntegrityError("the header is damaged: its age file does not hold a key of 32 bytes");
  }
  run_key.truncate(run_key_bytes);
  return run_key;
}

void AgeIdentities::add_to(KnownSecrets& secrets, const std::string& source) const {
  for (const AgeInput& file : files_) {
    if (!file.contents().empty()) {
      secrets.add_text(file.contents().span(), source);
      continue;
    }
    try {
      SecretBytes contents(KnownSecrets::most_file_bytes + 1);
      const std::size_t n = FileSource::open(file.path()).read_at(0, contents.span());
      if (n < contents.size()) secrets.add_text(Bytes(contents.span()).first(n), source);
    } catch (const IoError&) {  // NOLINT(bugprone-empty-catch): age reports it
    }
  }
}

}  // namespace paraes
