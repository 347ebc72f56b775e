// A program outside the project: seals and opens a message, and catches the library's exceptions
// and its own by their types.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/kdf.hpp"
#include "paraes/kernels.hpp"
#include "paraes/messages.hpp"
#include "paraes/streams.hpp"
#include "paraes/version.hpp"

namespace {

using Data = std::vector<std::uint8_t>;

struct MemorySource final : paraes::Source {
  explicit MemorySource(Data contents) : data(std::move(contents)) {}
  std::size_t read(paraes::MutableBytes buffer) override {
    const std::size_t bytes = std::min(buffer.size(), data.size() - position);
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(position), bytes, buffer.begin());
    position += bytes;
    return bytes;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return {}; }

  Data data;
  std::size_t position = 0;
};

struct MemorySink : paraes::Sink {
  void write(paraes::Bytes bytes) override { data.insert(data.end(), bytes.begin(), bytes.end()); }
  void commit() override {}

  Data data;
};

struct Full : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct FullSink final : MemorySink {
  void write(paraes::Bytes) override { throw Full("full"); }
};

[[noreturn]] void fail(const char* what) {
  std::printf("failed: %s\n", what);
  std::exit(1);
}

template <typename Exception, typename Action>
std::string caught(const char* what, Action action) {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  } catch (const std::exception& error) {
    std::printf("another exception: %s\n", error.what());
  }
  fail(what);
}

void seal_and_open(Data key, const Data& plain) {
  MemorySource source(plain);
  MemorySink sealed;
  const paraes::Message message(
      paraes::new_paraes_message(paraes::Preface::for_key(key.size()), key, {}), {});
  paraes::seal_message(source, message, sealed);

  MemorySource again(sealed.data);
  const Data header = paraes::read_paraes_header(again);
  const paraes::Message opened(paraes::open_paraes_message(header, key, {}), {});
  MemorySink result;
  paraes::open_message(again, opened, &result);
  if (result.data != plain || sealed.data.size() <= plain.size()) fail("not the same bytes");

  // Threads of the library carry both from where they are thrown to here.
  sealed.data.back() ^= 1;
  MemorySource damaged(sealed.data);
  damaged.position = header.size();
  caught<paraes::BadSegment>("damaged", [&] { paraes::open_message(damaged, opened, &result); });
  MemorySource third(plain);
  FullSink full;
  caught<Full>("an exception of the program", [&] { paraes::seal_message(third, message, full); });

  key[0] ^= 1;
  caught<paraes::WrongKey>(
      "wrong key", [&] { static_cast<void>(paraes::open_paraes_message(header, key, {})); });
}

void classify_exceptions() {
  try {
    static_cast<void>(paraes::select_kernel("no such kernel"));
  } catch (const paraes::Error& error) {
    const auto* unknown = dynamic_cast<const paraes::UnknownKernel*>(&error);
    if (unknown == nullptr || unknown->name() != "no such kernel") fail("dynamic_cast of an error");
    if (dynamic_cast<const paraes::IoError*>(&error) != nullptr) fail("cast to another class");
    return;
  }
  fail("no exception");
}

// The library has made the object, and the program asks for its class.
void classify_cipher(const Data& key) {
  const Data iv(16);
  const auto stream =
      paraes::raw_stream(paraes::Direction::encrypt, {.key = key, .iv = iv, .execution = {}});
  if (dynamic_cast<const paraes::Ctr*>(&stream->cipher()) == nullptr) fail("dynamic_cast");
  if (typeid(stream->cipher()) != typeid(paraes::Ctr)) fail("typeid");
}

}  // namespace

int main() {
  Data key(32);
  Data plain(1000000);
  paraes::random_bytes(key);
  paraes::random_bytes(plain);
  seal_and_open(key, plain);
  classify_exceptions();
  classify_cipher(key);
  std::printf("paraes %s\n", paraes::version());
}
