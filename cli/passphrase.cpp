// Reads passphrases: their bytes without one final LF or CRLF.

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/input.hpp"
#include "cli/keys.hpp"
#include "cli/report.hpp"
#include "cli/signals.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::cli {
namespace {

// Far more than a passphrase needs. The limit catches a wrong file before all of it is read.
constexpr std::size_t most_bytes = 65536;

[[noreturn]] void fail(std::string_view action) {
  const int code = errno;
  throw IoError(fmt::format("{}: {}", action, std::generic_category().message(code)), code);
}

SecretBytes trimmed(SecretBytes text) {
  std::size_t n = text.size();
  if (n != 0 && text.data()[n - 1] == '\n') {
    --n;
    if (n != 0 && text.data()[n - 1] == '\r') --n;
  }
  text.truncate(n);
  return text;
}

SecretBytes read_all(Source& source, std::string_view name) {
  SecretBytes text(most_bytes + 2 + 1);
  const std::size_t n = source.read(text.span());
  if (n == text.size()) {
    throw InvalidArgument(fmt::format("{}: it holds more than {} bytes: too many for a passphrase",
                                      name, most_bytes));
  }
  text.truncate(n);
  return trimmed(std::move(text));
}

SecretBytes from_file(const std::string& path) {
  const std::string name = input_name(path);
  return read_all(*open_input(path, name).source, name);
}

SecretBytes from_descriptor(int number) {
  const std::string name = fmt::format("--passphrase-fd {}", number);
  // A duplicate: if 1 or 2 were closed, the output file could get that number.
  Descriptor descriptor(number < 0 ? -1 : fcntl(number, F_DUPFD_CLOEXEC, 3));
  if (descriptor.get() < 0) {
    throw InvalidArgument(fmt::format("{}: there is no such open file descriptor", name));
  }
  PipeSource source(std::move(descriptor), name);
  return read_all(source, name);
}

SecretBytes from_environment(const std::string& variable) {
  char* value = std::getenv(variable.c_str());
  if (value == nullptr) {
    throw InvalidArgument(
        fmt::format("--passphrase-env: the variable {} is not in the environment", variable));
  }
  return trimmed(
      SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(value), std::strlen(value))));
}

SecretBytes from_command(const std::string& command, bool keep_stdin) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("--passphrase-command: cannot make a pipe");
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  if (!keep_stdin) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  std::string shell = "/bin/sh";
  std::string flag = "-c";
  std::string text = command;
  const std::array<char*, 4> arguments = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t child = 0;
  errno = posix_spawn(&child, shell.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) fail("--passphrase-command: cannot start /bin/sh");
  writing.close();
  SecretBytes passphrase;
  {
    PipeSource source(std::move(reading), "--passphrase-command");
    passphrase = read_all(source, "--passphrase-command");
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) fail("--passphrase-command: cannot wait for it");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(
        WIFEXITED(status)
            ? fmt::format("--passphrase-command failed with exit status {}", WEXITSTATUS(status))
            : fmt::format("--passphrase-command was ended by signal {}", WTERMSIG(status)));
  }
  return passphrase;
}

void print_on(int terminal, std::string_view text) {
  // Errors are ignored: there is no other place to report them.
  static_cast<void>(!write(terminal, text.data(), text.size()));
}

SecretBytes ask(int terminal, std::string_view prompt) {
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
  if (!ended) throw InvalidArgument("no passphrase was typed");
  line.truncate(n);
  return trimmed(std::move(line));
}

SecretBytes from_terminal(bool confirm) {
  const Descriptor terminal(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (terminal.get() < 0) {
    throw InvalidArgument(
        "no passphrase was given and there is no terminal to ask on: use --passphrase-file, "
        "--passphrase-fd, --passphrase-env or --passphrase-command");
  }
  SecretBytes passphrase = ask(terminal.get(), "Passphrase: ");
  if (confirm && !passphrase.empty()) {
    const SecretBytes again = ask(terminal.get(), "The same again: ");
    if (!constant_time_equal(passphrase.span(), again.span())) {
      throw InvalidArgument("the two passphrases differ; nothing was encrypted");
    }
  }
  return passphrase;
}

SecretBytes load(const KeyOptions& options, bool confirm, bool data_on_stdin) {
  if (options.passphrase_file_option->count() != 0) return from_file(options.passphrase_file);
  if (options.passphrase_fd) return from_descriptor(*options.passphrase_fd);
  if (options.passphrase_env_option->count() != 0) return from_environment(options.passphrase_env);
  if (options.passphrase_command_option->count() != 0) {
    return from_command(options.passphrase_command, !data_on_stdin);
  }
  return from_terminal(confirm);
}

}  // namespace

SecretBytes load_passphrase(const KeyOptions& options, bool confirm, bool data_on_stdin) {
  SecretBytes passphrase = load(options, confirm, data_on_stdin);
  // Nearly always the mistake of an unset variable or a command that prints nothing.
  if (passphrase.empty()) throw InvalidArgument("the passphrase is empty");
  return passphrase;
}

}  // namespace paraes::cli
