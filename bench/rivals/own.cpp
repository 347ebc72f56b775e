// AES of a shared library that the user named with --rival: docs/benchmarking.md has its
// interfaces, for the CPU and for GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>

#include "bench/harness/case.hpp"
#include "bench/rivals/device.hpp"
#include "bench/rivals/library_file.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"
#include "paraes/error.hpp"
#include "paraes/sha256.hpp"

namespace paraes::bench {
namespace {

struct OwnFunctions {
  // Returns 0 for success.
  int (*ecb)(const std::uint8_t* key, std::size_t key_bytes, const std::uint8_t* in,
             std::uint8_t* out, std::size_t blocks, int decrypt) = nullptr;
  const char* (*version)() = nullptr;  // may be missing
};

// Computes the bytes of one thread.
struct OwnRange {
  std::string name;
  decltype(OwnFunctions::ecb) ecb;
  std::size_t key_size;
  int decrypt;

  void operator()(const std::uint8_t* in, std::uint8_t* out, std::size_t bytes) const {
    const int status = call(in, out, bytes / 16);
    if (status != 0) {
      throw std::runtime_error(fmt::format("rival_ecb of {} returned {}", name, status));
    }
  }

  int call(const std::uint8_t* in, std::uint8_t* out, std::size_t blocks) const try {
    return ecb(material().key.data(), key_size, in, out, blocks, decrypt);
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw std::runtime_error("rival_ecb of " + name + " threw an exception");
  }
};

// 16 digits of the file's SHA-256 tell files apart, and fit beside a name.
std::string digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 hash;
  std::array<char, 1 << 16> buffer;
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    hash.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  return fmt::format("{:02x}", fmt::join(hash.digest(), "")).substr(0, 16);
}

// The library's own version, and the file's digest, since files of one version can differ.
std::string version_of_file(const LibraryFile& file, const OwnFunctions& functions) {
  const char* const own = functions.version != nullptr ? functions.version() : "";
  if (own == nullptr) file.refuse("rival_version returns a null pointer");
  std::string text = own;
  const auto is_plain = [](unsigned char c) { return c >= 0x20 && c < 0x7f; };
  if (text.size() > 64 || !std::all_of(text.begin(), text.end(), is_plain)) {
    file.refuse("rival_version returns more than 64 bytes, or other than printable ASCII");
  }
  text += text.empty() ? "SHA-256 " : ", SHA-256 ";
  text += digest_of(file.path());
  // Its calls of AES_encrypt() and the like may then have reached the libcrypto of this process.
  if (!LibraryFile::can_be_apart()) text += ", not kept apart from the libraries of paraes";
  return text;
}

void check_name(const std::string& name) {
  const auto is_allowed = [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || name.size() > 32 || !std::all_of(name.begin(), name.end(), is_allowed) ||
      std::islower(static_cast<unsigned char>(name.front())) == 0) {
    throw InvalidArgument("--rival: '" + name +
                          "' is no name: 1 to 32 of a-z 0-9 - _ . that begin with a letter");
  }
  if (name.rfind("ports-", 0) == 0) {
    throw InvalidArgument("--rival: names that begin with ports- are those of limits");
  }
}

}  // namespace

MemoryRival open_own(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw InvalidArgument("--rival: '" + text +
                          "' is not NAME=FILE, such as mine=./mine.so; --rivals takes the names of "
                          "those that are built in");
  }
  const std::string name = text.substr(0, equals);
  check_name(name);
  const LibraryFile file("--rival", text.substr(equals + 1), Apart::if_possible);
  OwnFunctions functions;
  file.find(functions.ecb, "rival_ecb");
  file.find(functions.version, "rival_version");
  const auto on_gpus = device_rival_of(name, file);
  const bool on_cpu = functions.ecb != nullptr;
  if (!on_cpu && on_gpus == nullptr) {
    file.refuse(
        "it defines neither rival_ecb (CPU) nor rival_device_open (GPUs): declare them extern "
        "\"C\" in C++, and build with -shared");
  }
  const auto make = [name, functions](const Job& job) {
    if (job.mode != Mode::ecb) throw Skip("its library has rival_ecb only: use --mode ecb");
    const int decrypt = job.direction == Direction::decrypt ? 1 : 0;
    return std::make_unique<RangesRival<OwnRange>>(
        job, name, OwnRange{name, functions.ecb, key_bytes(job), decrypt});
  };
  return {.name = name,
          .library = name,
          .make = make,
          .version = [version = version_of_file(file, functions)] { return version; },
          .on_cpu = on_cpu,
          .on_gpus = on_gpus};
}

}  // namespace paraes::bench
