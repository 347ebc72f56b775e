// seal_parts KEYFILE BYTES FILE PARTS PART...: writes these of the PARTS parts of a message to
// FILE, which is a sparse file of the whole message's size: one of any size is made at once. The
// plaintext has BYTES bytes: numbers of 8 bytes, little-endian, which are their own offsets. The
// header belongs to part 0. Exits with 2 after an error.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "tests/limits/simulated.hpp"

namespace {

class Numbers : public paraes::limits::SimulatedSource {
 public:
  explicit Numbers(std::uint64_t bytes) : SimulatedSource(bytes, "the numbers") {}

 private:
  void fill(std::uint64_t offset, paraes::MutableBytes buffer) const override {
    for (std::uint8_t& byte : buffer) {
      byte = static_cast<std::uint8_t>(offset / 8 * 8 >> 8 * (offset % 8));
      ++offset;
    }
  }
};

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 6) throw std::runtime_error("usage: seal_parts KEYFILE BYTES FILE PARTS PART...");
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<std::uint8_t> key{std::istreambuf_iterator<char>(file), {}};
    const paraes::Message message(
        paraes::new_paraes_message(paraes::Preface::for_key(key.size()), key, {}), {});
    Numbers source(number(argv[2]));
    const std::string path = argv[3];
    std::ofstream(path).close();
    const std::uint64_t size = message.layout().sealed_bytes(source.size());
    if (truncate(path.c_str(), static_cast<off_t>(size)) != 0) {
      std::perror(path.c_str());
      return 2;
    }
    paraes::SharedSink sink(path, path);
    for (int i = 5; i < argc; ++i) {
      paraes::TransferOptions options;
      options.share.count = static_cast<unsigned>(number(argv[4]));
      options.share.index = static_cast<unsigned>(number(argv[i]));
      paraes::seal_message(source, message, sink, options);
    }
    sink.commit();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "seal_parts: %s\n", error.what());
    return 2;
  }
}
