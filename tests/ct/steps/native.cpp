// Single steps on this processor, by ptrace.
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "tests/ct/steps/machine.hpp"

namespace paraes::steps {

#if defined(__x86_64__)
namespace {

// The component of the masks k0 to k7 in what XSAVE writes (Intel SDM volume 1, section 13.5.5).
constexpr unsigned mask_component = 5;

std::size_t mask_offset() {
  unsigned a = 0xd;
  unsigned b = 0;
  unsigned c = mask_component;
  unsigned d = 0;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b;
}

class Native final : public Machine {
 public:
  explicit Native(const Command& command) : mask_offset_(mask_offset()) {
    process_ = start_process(command, [] {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(126);
    });
    wait();
    if (WIFEXITED(status_)) {
      if (WEXITSTATUS(status_) == 126) throw NotPermitted("ptrace is not permitted here");
      throw NotPermitted("the program does not start without address randomisation");
    }
    // The child ends with the tracer.
    call(PTRACE_SETOPTIONS, PTRACE_O_EXITKILL);
  }

  ~Native() override {
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, &status_, 0);
  }

  bool run_to_mark() override {
    call(PTRACE_CONT, 0);
    wait();
    if (WIFEXITED(status_)) {
      process_ = -1;
      if (WEXITSTATUS(status_) == 0) return false;
      throw Trouble("the program ended with status " + std::to_string(WEXITSTATUS(status_)));
    }
    fetch();  // the program counter is behind the mark
    return true;
  }

  void step() override {
    call(PTRACE_SINGLESTEP, 0);
    wait();
    if (WIFEXITED(status_)) throw Trouble("the program ended within an operation");
    fetch();
  }

  void pass_mark() override {
    user_.rip += 1;  // int3
    call(PTRACE_SETREGS, reinterpret_cast<std::uintptr_t>(&user_));
    program_counter_ = user_.rip;
  }

  void read_masks() override {
    alignas(64) static std::uint8_t state[16384];
    iovec area = {state, sizeof state};
    if (ptrace(PTRACE_GETREGSET, process_, NT_X86_XSTATE, &area) != 0) fail("PTRACE_GETREGSET");
    for (std::size_t k = 0; k < 8; ++k) {
      std::memcpy(&registers_[first_mask + k], state + mask_offset_ + 8 * k, 8);
    }
  }

  std::vector<std::uint8_t> code() override {
    std::vector<std::uint8_t> bytes(15);  // the longest instruction
    std::ifstream memory("/proc/" + std::to_string(process_) + "/mem", std::ios::binary);
    memory.seekg(static_cast<std::streamoff>(program_counter_));
    memory.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (memory.gcount() == 0) fail("/proc/PID/mem");
    bytes.resize(static_cast<std::size_t>(memory.gcount()));
    return bytes;
  }

 private:
  [[noreturn]] static void fail(const char* what) {
    throw Trouble(std::string(what) + ": " + std::strerror(errno));
  }

  void call(__ptrace_request request, std::uintptr_t data) const {
    if (ptrace(request, process_, nullptr, data) != 0) fail("ptrace");
  }

  void wait() {
    while (waitpid(process_, &status_, 0) < 0) {
      if (errno != EINTR) fail("waitpid");
    }
    if (WIFSIGNALED(status_) || (WIFSTOPPED(status_) && WSTOPSIG(status_) != SIGTRAP)) {
      const int signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : WSTOPSIG(status_);
      throw Trouble("the program got signal " + std::to_string(signal));
    }
  }

  void fetch() {
    call(PTRACE_GETREGS, reinterpret_cast<std::uintptr_t>(&user_));
    program_counter_ = user_.rip;
    const unsigned long long values[first_mask] = {
        user_.rax, user_.rcx, user_.rdx, user_.rbx, user_.rsp,     user_.rbp,
        user_.rsi, user_.rdi, user_.r8,  user_.r9,  user_.r10,     user_.r11,
        user_.r12, user_.r13, user_.r14, user_.r15, user_.fs_base, user_.gs_base};
    for (std::size_t i = 0; i < first_mask; ++i) registers_[i] = values[i];
  }

  std::size_t mask_offset_;
  int status_ = 0;
  user_regs_struct user_ = {};
};

}  // namespace

std::unique_ptr<Machine> trace_native(const Command& command) {
  return std::make_unique<Native>(command);
}
#else
std::unique_ptr<Machine> trace_native(const Command&) {
  throw Trouble("this tracer knows the registers of x86-64 only");
}
#endif

}  // namespace paraes::steps
