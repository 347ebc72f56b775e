// Single steps in QEMU's user mode for AArch64, through its gdb stub.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "tests/ct/steps/machine.hpp"
#include "tests/support/hex.hpp"

namespace paraes::steps {
namespace {

constexpr std::size_t general_registers = 32;  // x0 to x30 and sp, then the program counter
constexpr std::size_t number_of_pc = 32;

// Packets of gdb's remote serial protocol over a socket.
class Connection {
 public:
  explicit Connection(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) throw Trouble("the path of the socket is too long");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (int attempt = 0; attempt < 1000; ++attempt) {  // until QEMU listens
      if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return;
      usleep(10000);
    }
    throw Trouble("cannot connect to QEMU's stub within 10 seconds");
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  std::string ask(const std::string& request) {
    send_packet(request);
    return receive();
  }

  void send_packet(const std::string& body) {
    std::uint8_t sum = 0;
    for (const char c : body) sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(c));
    // Acknowledges the last answer, without a packet of its own.
    send_text((answered_ ? "+$" : "$") + body + "#" + support::to_hex({&sum, 1}));
  }

 private:
  void send_text(const std::string& text) const {
    if (write(socket_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw Trouble("cannot write to QEMU's stub");
    }
  }

  char next() {
    if (at_ == have_) {
      const ssize_t n = read(socket_, buffer_, sizeof buffer_);
      if (n <= 0) throw Trouble("QEMU closed the connection");
      at_ = 0;
      have_ = static_cast<std::size_t>(n);
    }
    return buffer_[at_++];
  }

  // The local connection loses nothing, so that the check sum is skipped.
  std::string receive() {
    while (next() != '$') continue;
    std::string body;
    for (char c = next(); c != '#'; c = next()) body += c;
    next();
    next();
    answered_ = true;
    return body;
  }

  int socket_;
  bool answered_ = false;
  char buffer_[8192];
  std::size_t at_ = 0;
  std::size_t have_ = 0;
};

class Emulated final : public Machine {
 public:
  Emulated(const Command& command, const std::string& socket)
      : child_(start_process(command, [] {})), connection_(socket) {
    process_ = child_.number;
  }

  // Before the connection closes, upon which QEMU would continue the program.
  ~Emulated() override { kill(process_, SIGKILL); }

  bool run_to_mark() override {
    const std::string stop = connection_.ask("c");
    if (stop == "W00") return false;
    expect_trap(stop);
    fetch();
    pass_mark();
    return true;
  }

  void step() override {
    expect_trap(connection_.ask("s"));
    fetch();
  }

  void pass_mark() override {
    program_counter_ += 4;  // brk
    // All registers: QEMU's stub writes a single one only for clients that read its descriptions.
    std::uint8_t bytes[8];
    std::memcpy(bytes, &program_counter_, 8);
    all_registers_.replace(std::size_t{2} * 8 * number_of_pc, 16, support::to_hex(bytes));
    if (connection_.ask("G" + all_registers_) != "OK") {
      throw Trouble("QEMU's stub does not set the program counter");
    }
  }

  std::vector<std::uint8_t> code() override {
    std::ostringstream request;
    request << 'm' << std::hex << program_counter_ << ",4";
    return support::from_hex(connection_.ask(request.str()));
  }

 private:
  // Ends QEMU also if the constructor of Emulated throws.
  struct Child {
    explicit Child(int process) : number(process) {}
    ~Child() {
      kill(number, SIGKILL);
      waitpid(number, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    int number;
  };

  static void expect_trap(const std::string& stop) {
    if (stop.size() < 3 || stop[0] != 'T' || stop.compare(1, 2, "05") != 0) {
      throw Trouble("QEMU's stub reports '" + stop + "' instead of a trap");
    }
  }

  void fetch() {
    all_registers_ = connection_.ask("g");
    const std::vector<std::uint8_t> values = support::from_hex(all_registers_);
    if (values.size() < 8 * (general_registers + 1)) {
      throw Trouble("QEMU's stub sends too few registers");
    }
    std::memcpy(registers_.data(), values.data(), 8 * general_registers);
    std::memcpy(&program_counter_, values.data() + 8 * number_of_pc, 8);
  }

  Child child_;
  Connection connection_;
  std::string all_registers_;  // in hexadecimal digits
};

}  // namespace

std::unique_ptr<Machine> trace_emulated(const Command& command, const std::string& socket) {
  return std::make_unique<Emulated>(command, socket);
}

}  // namespace paraes::steps
