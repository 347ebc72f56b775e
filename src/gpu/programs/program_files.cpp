#include "src/gpu/programs/program_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/sha256.hpp"
#include "src/core/checked_path.hpp"

namespace paraes::gpu {
namespace {

constexpr std::string_view magic = "paraes program 1\n";

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

// `text` as part of a file name: letters, digits, '_' and '.' stay, everything else becomes '-'.
std::string for_file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '.';
    name += plain ? c : '-';
  }
  return name.substr(0, 64);
}

void add_program(Sha256& hash, const ProgramVariant& variant) {
  hash.add_part(source_of(*variant.kernel));
  for (const std::string& option : options_of(variant)) hash.add_part(option);
}

Sha256::Digest digest_of(const Binary& binary) {
  return Sha256().add_part({reinterpret_cast<const char*>(binary.data()), binary.size()}).digest();
}

}  // namespace

std::string runtime_of(const DeviceInfo& device) {
  return device.id.substr(0, device.id.find(':'));
}

std::string cached_name(const ProgramVariant& variant, const DeviceInfo& device) {
  Sha256 hash;
  add_program(hash, variant);
  hash.add_part(runtime_of(device))
      .add_part(device.name)
      .add_part(device.target)
      .add_part(device.driver);
  return std::string(variant.kernel->name) + "." + runtime_of(device) + "." +
         for_file_name(device.target) + "." + hex(hash.digest()).substr(0, 32);
}

std::string prepared_name(const ProgramVariant& variant, std::string_view target) {
  Sha256 hash;
  add_program(hash, variant);
  return std::string(variant.kernel->name) + "." + for_file_name(target) + "." +
         hex(hash.digest()).substr(0, 32) + ".program";
}

std::vector<std::uint8_t> pack(const Binary& binary) {
  const Sha256::Digest digest = digest_of(binary);
  std::vector<std::uint8_t> file(magic.size() + digest.size() + binary.size());
  std::uint8_t* at = std::copy(magic.begin(), magic.end(), file.data());
  at = std::copy(digest.begin(), digest.end(), at);
  std::copy(binary.begin(), binary.end(), at);
  return file;
}

Binary unpack(std::span<const std::uint8_t> file) {
  constexpr std::size_t header = magic.size() + sizeof(Sha256::Digest);
  if (file.size() <= header || std::memcmp(file.data(), magic.data(), magic.size()) != 0) {
    throw IntegrityError("this is not a program file of this version");
  }
  Binary binary(file.begin() + header, file.end());
  const Sha256::Digest digest = digest_of(binary);
  if (std::memcmp(digest.data(), file.data() + magic.size(), digest.size()) != 0) {
    throw IntegrityError("the program is damaged");
  }
  return binary;
}

Cache program_cache() {
  std::string base = trusted_environment("XDG_CACHE_HOME");
  // The XDG base directory specification allows only absolute paths.
  if (base.empty() || base[0] != '/') {
    base = trusted_environment("HOME");
    if (base.empty() || base[0] != '/') return {"", "neither XDG_CACHE_HOME nor HOME is a folder"};
    base += "/.cache";
  }
  static_cast<void>(mkdir(base.c_str(), 0700));
  std::string folder = base + "/paraes";
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return {"", "cannot make " + folder + ": " + std::generic_category().message(errno)};
  }
  // If others could write here, their machine code would run with this user's keys.
  const CheckedPath checked = check_path(folder);
  if (!checked.reason.empty()) return {"", checked.reason};
  struct stat status {};
  if (stat(checked.path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & 022) != 0) {
    return {"", folder + " is not a folder that only its owner, this user, can change"};
  }
  return {checked.path, ""};
}

std::vector<std::string> prepared_folders() {
  std::vector<std::string> folders;
  std::string rest = trusted_environment("PARAES_PROGRAM_PATH");
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (colon != 0) folders.push_back(rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return folders;
}

std::vector<std::uint8_t> read_program_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_program_file(const std::string& folder, const std::string& name,
                        std::span<const std::uint8_t> bytes, FileSink::Options options) {
  options.overwrite = true;
  FileSink sink(folder + "/" + name, std::move(options));
  sink.write(bytes);
  sink.commit();
}

}  // namespace paraes::gpu
