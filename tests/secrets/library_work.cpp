// Uses the library with a key, and stops (SIGSTOP) where a test may look into its memory while the
// objects exist. After all of them were destroyed it waits for SIGUSR1. library_work USE KERNEL
// THREADS reads the key from standard input. What it writes to standard output begins with the
// header of a message.

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/kdf.hpp"
#include "paraes/messages.hpp"
#include "paraes/secret.hpp"

namespace {

using paraes::Bytes;
using paraes::Execution;
using paraes::MutableBytes;

// More than one thread takes without others, and not whole blocks.
constexpr std::size_t text_bytes = (std::size_t{2} << 20) + 13;
constexpr std::size_t block = 16;
constexpr std::size_t whole_bytes = text_bytes / block * block;

struct Work {
  Bytes key;
  Execution execution;
  std::vector<std::uint8_t> text = std::vector<std::uint8_t>(text_bytes, 1);
  std::vector<std::uint8_t> result = std::vector<std::uint8_t>(2 * text_bytes);

  [[nodiscard]] Bytes in(std::size_t bytes) const { return Bytes(text).first(bytes); }
  [[nodiscard]] MutableBytes out(std::size_t bytes) { return MutableBytes(result).first(bytes); }
};

void stop() { raise(SIGSTOP); }

void print(Bytes bytes) {
  if (write(STDOUT_FILENO, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::exit(2);
  }
}

void use_gcm(Work& work) {
  paraes::Gcm gcm(work.key, work.execution);
  const std::vector<std::uint8_t> nonce(12);
  const std::vector<std::uint8_t> hashed_nonce(33, 7);
  std::vector<std::uint8_t> tag(block);
  for (const std::vector<std::uint8_t>& each : {nonce, hashed_nonce}) {
    // Nothing, less than a block, some blocks, and so many that all threads take part.
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{5}, std::size_t{1000}, text_bytes}) {
      gcm.encrypt(each, each, work.in(bytes), work.out(bytes), tag);
      gcm.decrypt(each, each, work.out(bytes), work.out(bytes), tag);
    }
  }
  stop();
}

void use_ctr(Work& work) {
  paraes::Ctr ctr(work.key, work.in(block), work.execution);
  ctr.process(work.in(text_bytes), work.out(text_bytes));
  ctr.process(work.in(5), work.out(5));
  stop();
}

void use_cbc(Work& work) {
  paraes::Cbc cbc(work.key, work.in(block), work.execution);
  cbc.encrypt(work.in(whole_bytes), work.out(whole_bytes));
  cbc.reset(work.in(block));
  cbc.decrypt(work.in(whole_bytes), work.out(whole_bytes));
  stop();
}

void use_ecb(Work& work) {
  paraes::Ecb ecb(work.key, work.execution);
  ecb.encrypt(work.in(whole_bytes), work.out(whole_bytes));
  ecb.decrypt(work.in(whole_bytes), work.out(whole_bytes));
  stop();
}

// Units of 4096 bytes; the last one takes ciphertext stealing.
void use_xts(Work& work) {
  paraes::Xts xts(work.key, 4096, work.execution);
  const std::vector<std::uint8_t> first_unit(block);
  xts.encrypt(first_unit, work.in(text_bytes), work.out(text_bytes));
  xts.decrypt(first_unit, work.in(text_bytes), work.out(text_bytes));
  stop();
}

void use_message(Work& work) {
  const paraes::Message message(
      paraes::new_paraes_message(paraes::Preface::for_key(work.key.size()), work.key, {}),
      work.execution);
  print(message.header());
  const std::uint64_t sealed = message.layout().sealed_bytes(text_bytes);
  paraes::seal_segments(message, 0, true, work.in(text_bytes),
                        work.out(sealed - message.header().size()), work.execution.threads);
  stop();
}

// Many at once, on the CPU one after another.
void use_messages(Work& work) {
  constexpr std::size_t count = 40;
  constexpr std::size_t bytes = 3000;
  std::vector<paraes::Message> messages;
  for (std::size_t i = 0; i < count; ++i) {
    messages.emplace_back(
        paraes::new_paraes_message(paraes::Preface::for_key(work.key.size()), work.key, {}),
        work.execution);
  }
  print(messages.back().header());
  const std::uint64_t sealed = messages.front().layout().sealed_bytes(bytes);
  std::vector<paraes::WholeMessage> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    list[i].message = &messages[i];
    list[i].in = work.in(bytes);
    list[i].out = MutableBytes(work.result).subspan(i * sealed, sealed);
  }
  paraes::seal_messages(list);
  stop();
}

const std::map<std::string, void (*)(Work&)> uses = {
    {"cbc", use_cbc}, {"ctr", use_ctr},         {"ecb", use_ecb},           {"gcm", use_gcm},
    {"xts", use_xts}, {"message", use_message}, {"messages", use_messages},
};

// Reads all of standard input.
paraes::SecretBytes read_key() {
  paraes::SecretBytes key(64);
  const ssize_t n = read(STDIN_FILENO, key.data(), key.size());
  if (n <= 0) std::exit(2);
  key.truncate(static_cast<std::size_t>(n));
  return key;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &end, nullptr);
  // The environment of some machines makes OpenSSL load modules.
  paraes::ignore_openssl_configuration();
  {
    const paraes::SecretBytes key = read_key();
    Work work;
    work.key = key.span();
    work.execution = {.kernel = argv[2], .threads = std::atoi(argv[3])};
    uses.at(argv[1])(work);
  }
  int signal = 0;
  return sigwait(&end, &signal);
}
