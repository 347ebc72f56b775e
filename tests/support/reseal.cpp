// reseal KEYFILE PLAIN SEALED: checks that PLAIN, sealed by one process, has exactly the bytes of
// SEALED. The key is in KEYFILE. The salt comes from the header of SEALED, which is why the
// commands cannot do this: they choose a new salt for every file. Exits with 0 if the bytes are
// equal, 1 if they differ, 2 after an error.

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "paraes/messages.hpp"
#include "tests/support/memory_io.hpp"

namespace {

std::vector<std::uint8_t> contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 4) throw std::runtime_error("usage: reseal KEYFILE PLAIN SEALED");
    const std::vector<std::uint8_t> key = contents(argv[1]);
    const std::vector<std::uint8_t> sealed = contents(argv[3]);
    if (sealed.size() < paraes::paraes_header_bytes) {
      throw std::runtime_error(std::string(argv[3]) + " is shorter than the header of a message");
    }
    const paraes::Message message =
        paraes::Message(paraes::open_paraes_message(
                            paraes::Bytes(sealed).first(paraes::paraes_header_bytes), key, {}),
                        {});
    paraes::support::RandomSource source(contents(argv[2]));
    paraes::support::OrderedSink sink;
    paraes::seal_message(source, message, sink, {});
    return sink.data == sealed ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reseal: %s\n", error.what());
    return 2;
  }
}
