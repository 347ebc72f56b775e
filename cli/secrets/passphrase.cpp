// Reads passphrases.

#include <fcntl.h>
#include <fmt/format.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/secrets/keys.hpp"
#include "cli/streams/input.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/status_line.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

// Far more than a passphrase needs. The limit catches a wrong file before all of it is read.
constexpr std::size_t most_passphrase_bytes = 65536;

[[noreturn]] void fail(std::string_view action) {
  const int code = errno;
  throw IoError(fmt::format("{}: {}", action, std::generic_category().message(code)), code);
}

// `openssl enc -pass` uses no more of a line.
constexpr std::size_t most_openssl_bytes = 1023;

// The contents of a source, before a rule takes the passphrase from them.
struct Raw {
  std::string name;  // of the source, in errors
  SecretBytes text;
  bool is_variable = false;
};

// PassphraseRule::whole.
SecretBytes trimmed(SecretBytes text) {
  std::size_t n = text.size();
  if (n != 0 && text.data()[n - 1] == '\n') {
    --n;
    if (n != 0 && text.data()[n - 1] == '\r') --n;
  }
  text.truncate(n);
  return text;
}

// PassphraseRule::openssl. Refuses what `openssl enc` would cut: it would be another passphrase
// than the user means, and other versions might cut it elsewhere.
SecretBytes first_line(Raw raw) {
  if (raw.is_variable) return std::move(raw.text);
  const Bytes text = raw.text.span();
  const auto end = std::find(text.begin(), text.end(), '\n');
  const auto n = static_cast<std::size_t>(end - text.begin());
  const auto refuse = [&](const std::string& why) {
    throw refusal("{}: the first line is the passphrase of --format openssl, {}", raw.name, why);
  };
  if (n == 0 && !text.empty()) refuse("but it is empty");
  if (std::find(text.begin(), end, '\0') != end) {
    refuse("but it has a NUL byte, at which `openssl enc` would end it: use one without");
  }
  if (n > most_openssl_bytes) {
    refuse(
        fmt::format("but it has {} bytes, of which `openssl enc` would use the first {}: use a "
                    "shorter one",
                    n, most_openssl_bytes));
  }
  raw.text.truncate(n);
  return std::move(raw.text);
}

Raw read_all(Source& source, std::string name) {
  SecretBytes text(most_passphrase_bytes + 2 + 1);
  const std::size_t n = source.read(text.span());
  if (n == text.size()) {
    throw refusal("{}: it holds more than {} bytes: too many for a passphrase", name,
                  most_passphrase_bytes);
  }
  text.truncate(n);
  return {.name = std::move(name), .text = std::move(text)};
}

Raw from_file(const std::string& path, const std::string& flag) {
  const std::string name = fmt::format("{} {}", flag, input_name(path));
  return read_all(*open_secret(path, name).source, name);
}

Raw from_descriptor(int number, const std::string& flag) {
  const std::string name = fmt::format("{} {}", flag, number);
  // A duplicate: if 1 or 2 were closed, the output file could get that number.
  Descriptor descriptor(fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (descriptor.get() < 0) {
    throw refusal("{}: there is no such open file descriptor", name);
  }
  PipeSource source(std::move(descriptor), name);
  return read_all(source, name);
}

Raw from_environment(const std::string& variable, const std::string& flag) {
  char* value = std::getenv(variable.c_str());
  if (value == nullptr) {
    throw refusal("{}: the variable {} is not in the environment", flag, variable);
  }
  return {
      .name = flag,
      .text = SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(value), std::strlen(value))),
      .is_variable = true};
}

void print_on(int terminal, std::string_view text) {
  // Errors are ignored: there is no other place to report them.
  static_cast<void>(!write(terminal, text.data(), text.size()));
}

Raw ask(int terminal, const char* prompt) {
  termios settings = {};
  if (tcgetattr(terminal, &settings) != 0) fail("cannot read the terminal's settings");
  SecretBytes line(4096 + 1);  // longer than the longest line of a terminal
  std::size_t n = 0;
  bool ended = false;
  {
    const RestoreTerminal restore(terminal, settings);
    termios silent = settings;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ECHONL | ICANON | ISIG;
    if (tcsetattr(terminal, TCSAFLUSH, &silent) != 0) fail("cannot turn off the terminal's echo");
    const PromptShown shown(prompt);
    print_on(terminal, prompt);
    while (!ended && n < line.size()) {
      const ssize_t got = read(terminal, line.data() + n, line.size() - n);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("cannot read the passphrase from the terminal");
      if (got == 0) break;
      n += static_cast<std::size_t>(got);
      ended = line.data()[n - 1] == '\n';
    }
  }
  if (!ended) {
    print_on(terminal, "\n");
    throw InvalidArgument("no passphrase was typed");
  }
  line.truncate(n);
  return {.name = "the terminal", .text = std::move(line)};
}

Raw from_terminal(const SecretSources& sources) {
  const bool is_other = sources.role == KeyRole::rekey_to;
  const bool confirm = is_other || sources.role == KeyRole::seal;
  const Descriptor terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal.get() < 0) {
    throw refusal(
        "no passphrase was given and there is no terminal to ask on: use {}, {}, {} or {}",
        sources.flag("passphrase-file"), sources.flag("passphrase-fd"),
        sources.flag("passphrase-env"), sources.flag("passphrase-command"));
  }
  Raw passphrase = ask(terminal.get(), is_other ? "New passphrase: " : "Passphrase: ");
  const bool is_empty = passphrase.text.size() == 1;  // a newline
  if (confirm && !is_empty) {
    const Raw again = ask(terminal.get(), "The same again: ");
    if (!constant_time_equal(passphrase.text.span(), again.text.span())) {
      throw InvalidArgument("the two passphrases differ; nothing was encrypted");
    }
  }
  return passphrase;
}

Raw load(const SecretSources& sources, const SecretReading& reading) {
  if (sources.passphrase_file) {
    return from_file(*sources.passphrase_file, sources.flag("passphrase-file"));
  }
  if (sources.passphrase_fd) {
    return from_descriptor(*sources.passphrase_fd, sources.flag("passphrase-fd"));
  }
  if (sources.passphrase_env) {
    return from_environment(*sources.passphrase_env, sources.flag("passphrase-env"));
  }
  if (sources.passphrase_command) {
    const std::string flag = sources.flag("passphrase-command");
    return {.name = flag,
            .text = output_of_command(*sources.passphrase_command, flag, "passphrase",
                                      most_passphrase_bytes + 2, reading)};
  }
  return from_terminal(sources);
}

}  // namespace

SecretBytes load_passphrase(const SecretSources& sources, PassphraseRule rule,
                            const SecretReading& reading) {
  Raw raw = load(sources, reading);
  const std::string name = raw.name;
  SecretBytes passphrase =
      rule == PassphraseRule::openssl ? first_line(std::move(raw)) : trimmed(std::move(raw.text));
  // Nearly always the mistake of an unset variable or a command that prints nothing.
  if (passphrase.empty()) throw InvalidArgument(name + ": the passphrase is empty");
  return passphrase;
}

}  // namespace paraes::cli
