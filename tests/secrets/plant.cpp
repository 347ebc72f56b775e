// Holds a secret in one kind of memory, and nowhere else, so that tests see whether the search
// finds it: plant PLACE reads up to 32 bytes from standard input right into that place, prints a
// line, and waits for the end of standard input.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "paraes/secret.hpp"

namespace {

constexpr std::size_t bytes = 32;
constexpr std::size_t page = 4096;

void hold(std::uint8_t* place) {
  if (read(STDIN_FILENO, place, bytes) != static_cast<ssize_t>(bytes)) std::exit(2);
  __asm__ volatile("" : : "r"(place) : "memory");
  std::puts("ready");
  std::fflush(stdout);
  char end = 0;
  if (read(STDIN_FILENO, &end, 1) != 0) std::exit(2);
}

void hold_on_the_stack() {
  std::uint8_t place[bytes];
  hold(place);
}

std::uint8_t* mapped() {
  void* const memory =
      mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(2);
  return static_cast<std::uint8_t*>(memory);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view place = argc == 2 ? argv[1] : "";
  if (place == "heap") {
    hold(std::make_unique<std::uint8_t[]>(bytes).get());
  } else if (place == "stack") {
    hold_on_the_stack();
  } else if (place == "thread") {
    std::thread(hold_on_the_stack).join();
  } else if (place == "data") {
    static std::uint8_t data[bytes] = {1};
    hold(data);
  } else if (place == "bss") {
    static std::uint8_t bss[bytes];
    hold(bss);
  } else if (place == "mapping") {
    hold(mapped());
  } else if (place == "dumped") {
    // Locked, but not left out of core dumps.
    std::uint8_t* const memory = mapped();
    if (mlock(memory, page) != 0) return 2;
    hold(memory);
  } else if (place == "locked") {
    paraes::SecretBytes secret(bytes);
    hold(secret.data());
  } else if (place == "end") {
    // Freed, and found at the end of the process.
    auto* const secret = new std::uint8_t[64];
    hold(secret + 32);
    delete[] secret;
  } else {
    return 2;
  }
  return 0;
}
