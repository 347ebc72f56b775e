// seal_parts KEYFILE BYTES FILE PARTS PART...: writes these of the PARTS parts of a message to
// FILE, which is a sparse file of the whole message's size: one of any size is made at once. The
// plaintext has BYTES bytes: numbers of 8 bytes, little-endian, which are their own offsets. The
// header belongs to part 0. Exits with 2 after an error.

#include <unistd.h>

#include <algorithm>
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

namespace {

// The plaintext.
class Numbers : public paraes::PositionalSource {
 public:
  explicit Numbers(std::uint64_t bytes) : bytes_(bytes) {}

  std::size_t read(paraes::MutableBytes buffer) override {
    const std::size_t n = read_at(at_, buffer);
    at_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return bytes_ - at_; }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset,
                                    paraes::MutableBytes buffer) const override {
    const std::uint64_t rest = bytes_ - std::min(offset, bytes_);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(rest, buffer.size()));
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t at = offset + i;
      buffer[i] = static_cast<std::uint8_t>(at / 8 * 8 >> 8 * (at % 8));
    }
    return n;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  std::uint64_t bytes_;
  std::uint64_t at_ = 0;
  std::string name_ = "the numbers";
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
