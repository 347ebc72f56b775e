// What libFuzzer calls, in every fuzzer.

#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  paraes::fuzz::Input input(data, size);
  paraes::fuzz::fuzz(input);
  return 0;
}
