#include "src/gpu/programs.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "paraes/error.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/device/sizes.h"
#include "src/gpu/embedded.hpp"

namespace paraes::gpu {
namespace {

using Digest = std::array<std::uint8_t, 32>;

constexpr std::string_view magic = "paraes program 1\n";

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    if (context_ == nullptr || EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) != 1) {
      EVP_MD_CTX_free(context_);
      throw Error("libcrypto has no SHA-256");
    }
  }
  ~Sha256() { EVP_MD_CTX_free(context_); }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  // A part of what is hashed, with its length, so that no two lists of parts are alike.
  Sha256& add(std::string_view part) {
    const std::uint64_t bytes = part.size();
    EVP_DigestUpdate(context_, &bytes, sizeof bytes);
    EVP_DigestUpdate(context_, part.data(), part.size());
    return *this;
  }
  Digest digest() {
    Digest digest{};
    EVP_DigestFinal_ex(context_, digest.data(), nullptr);
    return digest;
  }

 private:
  EVP_MD_CTX* context_;
};

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string in_folder(std::string folder, std::string_view name) {
  folder.append("/").append(name);
  return folder;
}

// What goes into a file's name: letters and digits of it, the rest as '-'.
std::string for_file_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '.';
    name += plain ? c : '-';
  }
  return name.substr(0, 64);
}

void add_program(Sha256& hash, const Variant& variant) {
  hash.add(source_of(*variant.row));
  for (const std::string& option : options_of(variant)) hash.add(option);
}

std::string runtime_of(const DeviceInfo& device) {
  return device.id.substr(0, device.id.find(':'));
}

std::string cached_name(const Variant& variant, const DeviceInfo& device) {
  Sha256 hash;
  add_program(hash, variant);
  hash.add(runtime_of(device))
      .add(device.name)
      .add(device.target)
      .add(device.driver)
      .add(device.compiler);
  return std::string(variant.row->name) + "." + runtime_of(device) + "." +
         for_file_name(device.target) + "." + hex(hash.digest()).substr(0, 32);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Where programs are kept; empty if nowhere.
std::string cache_folder() {
  std::string base = environment("XDG_CACHE_HOME");
  // The XDG base directory specification takes absolute paths alone.
  if (base.empty() || base[0] != '/') {
    base = environment("HOME");
    if (base.empty() || base[0] != '/') return "";
    base += "/.cache";
  }
  static_cast<void>(mkdir(base.c_str(), 0700));
  std::string folder = base + "/paraes";
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  // Machine code that others could write would be theirs to run.
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid() || (status.st_mode & 022) != 0) {
    return "";
  }
  return folder;
}

std::vector<std::string> prepared_folders() {
  std::vector<std::string> folders;
  std::string rest = environment("PARAES_PROGRAM_PATH");
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    if (colon != 0) folders.push_back(rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return folders;
}

// The whole file; nothing if it cannot be read.
std::vector<std::uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// To a temporary name and renamed, so that another process never reads half of it. False, with
// errno set, if that fails.
bool write_file(const std::string& folder, const std::string& name,
                std::span<const std::uint8_t> bytes) {
  std::string temporary = folder + "/." + name + ".XXXXXX";
  const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return false;
  bool whole = true;
  while (whole && !bytes.empty()) {
    const ssize_t n = write(descriptor, bytes.data(), bytes.size());
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      whole = false;
    }
  }
  whole = close(descriptor) == 0 && whole;
  const std::string target = folder + "/" + name;
  if (whole && rename(temporary.c_str(), target.c_str()) == 0) return true;
  const int error = errno;
  unlink(temporary.c_str());
  errno = error;
  return false;
}

// Shared memory of a group on the chips that programs can be prepared for: what a GPU of this
// target says of itself.
std::uint64_t shared_bytes_of(std::string_view target) {
  struct Chip {
    std::string_view target;
    std::uint64_t kib;
  };
  // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
  constexpr Chip chips[] = {{"sm_70", 96},   {"sm_72", 96},   {"sm_75", 64},  {"sm_80", 163},
                            {"sm_86", 99},   {"sm_87", 163},  {"sm_89", 99},  {"sm_90", 227},
                            {"sm_100", 227}, {"sm_103", 227}, {"sm_120", 99}, {"sm_121", 99}};
  for (const Chip& chip : chips) {
    if (chip.target == target) return chip.kib << 10;
  }
  // All of AMD's have as much; of a chip that is newer than this list at least that can be said.
  return std::uint64_t{64} << 10;
}

// ---- The table

// The texts of a program: what all have, and its own of AES and of counters.
template <std::size_t Aes, std::size_t Counters>
constexpr auto texts(const std::string_view (&aes)[Aes],
                     const std::string_view (&counters)[Counters]) {
  constexpr std::string_view before[] = {"dialect.h", "job.h", "sizes.h", "entry.h", "sbox.h"};
  constexpr std::string_view after[] = {"xts.cl", "modes.cl", "gf128.cl", "ghash.cl", "keys.cl"};
  std::array<std::string_view, std::size(before) + Aes + Counters + std::size(after)> all;
  auto at = std::copy(std::begin(before), std::end(before), all.begin());
  at = std::copy(std::begin(aes), std::end(aes), at);
  at = std::copy(std::begin(counters), std::end(counters), at);
  std::copy(std::begin(after), std::end(after), at);
  return all;
}

constexpr auto reference_files = texts({"aes_reference.cl"}, {"counters.cl"});
constexpr auto ttable_simple_files =
    texts({"aes_reference.cl", "aes_ttable_simple.cl"}, {"counters.cl"});
constexpr auto ttable_files =
    texts({"aes_reference.cl", "aes_ttable.cl"}, {"counters.cl", "ttable_counters.cl"});
constexpr auto bitslice_files = texts({"aes_bitslice.cl"}, {"counters.cl", "bitslice_counters.cl"});

constexpr std::string_view reference_options[] = {
    "-DPARAES_KERNEL_REFERENCE", "-DPARAES_BLOCKS_PER_THREAD=1", "-DPARAES_BATCH=1"};
constexpr std::string_view reference_shared_options[] = {
    "-DPARAES_KERNEL_REFERENCE", "-DPARAES_STATE_SHARED", "-DPARAES_BLOCKS_PER_THREAD=1",
    "-DPARAES_BATCH=1"};
constexpr std::string_view ttable_simple_options[] = {
    "-DPARAES_HASH_TABLES", "-DPARAES_BLOCKS_PER_THREAD=1", "-DPARAES_BATCH=1"};
constexpr std::string_view ttable_options[] = {"-DPARAES_HASH_TABLES", "-DPARAES_OWN_COUNTERS",
                                               "-DPARAES_BLOCKS_PER_THREAD=32", "-DPARAES_BATCH=2"};
constexpr std::string_view bitslice_options[] = {"-DPARAES_KEYS_SLICED", "-DPARAES_OWN_COUNTERS",
                                                 "-DPARAES_BLOCKS_PER_THREAD=32",
                                                 "-DPARAES_BATCH=32"};

constexpr KernelRow rows[] = {
    {.name = "ttable",
     .timing = Timing::leaky,
     .files = ttable_files,
     .options = ttable_options,
     .blocks_per_thread = 32,
     .group_threads = 256,
     .sliced_keys = false,
     .tables = true,
     .hash_tables = true},
    {.name = "bitslice",
     .timing = Timing::constant,
     .files = bitslice_files,
     .options = bitslice_options,
     .blocks_per_thread = 32,
     .group_threads = 256,
     .sliced_keys = true,
     .tables = false,
     .hash_tables = false},
    {.name = "ttable-simple",
     .timing = Timing::leaky,
     .files = ttable_simple_files,
     .options = ttable_simple_options,
     .blocks_per_thread = 1,
     .group_threads = 256,
     .sliced_keys = false,
     .tables = false,
     .hash_tables = true},
    {.name = "reference-shared",
     .timing = Timing::leaky,
     .files = reference_files,
     .options = reference_shared_options,
     .blocks_per_thread = 1,
     .group_threads = 256,
     .sliced_keys = false,
     .tables = false,
     .hash_tables = false},
    {.name = "reference",
     .timing = Timing::leaky,
     .files = reference_files,
     .options = reference_options,
     .blocks_per_thread = 1,
     .group_threads = 256,
     .sliced_keys = false,
     .tables = false,
     .hash_tables = false},
};

// What to install so that programs can be compiled.
std::string missing_compiler(const std::string& runtime) {
  if (runtime == "cuda") {
    return "install NVRTC (the CUDA toolkit, or PyPI's nvidia-cuda-nvrtc)";
  }
  if (runtime == "hip") return "install hipRTC (ROCm; Debian: libamdhip64-dev)";
  return "its OpenCL driver has no compiler";
}

}  // namespace

std::span<const KernelRow> kernel_rows() { return rows; }

const KernelRow& fastest_kernel_row() { return rows[0]; }

const KernelRow& fastest_constant_kernel_row() {
  return *std::find_if(std::begin(rows), std::end(rows),
                       [](const KernelRow& row) { return row.timing == Timing::constant; });
}

const KernelRow& find_kernel_row(std::string_view name) {
  std::string names;
  for (const KernelRow& row : rows) {
    if (row.name == name) return row;
    names.append(names.empty() ? "" : ", ").append(row.name);
  }
  throw InvalidArgument("no GPU kernel has the name '" + std::string(name) + "'; there are " +
                        names);
}

Variant variant_for(const KernelRow& row, const DeviceInfo& device) {
  Variant variant{.row = &row};
  variant.compact = device.is_cpu || is_pocl(device);
  const auto fits = [&](std::uint32_t bytes) { return bytes <= device.shared_bytes; };
  if (row.tables) {
    // With two tables look-ups are the limit and not arithmetic; four would halve the groups that a
    // processor holds at once.
    variant.tables = 2;
    if (!fits(mode_shared_bytes(variant))) variant.tables = 1;
  }
  if (row.hash_tables) {
    variant.hash_copies = 8;
    while (variant.hash_copies > 1 && !fits(hash_shared_bytes(variant))) variant.hash_copies /= 2;
  }
  const std::uint32_t needed = std::max(mode_shared_bytes(variant), hash_shared_bytes(variant));
  if (!fits(needed)) {
    throw Unavailable("the kernel " + std::string(row.name) + " needs " + std::to_string(needed) +
                      " bytes of shared memory, and " + device.id + " (" + device.name + ") has " +
                      std::to_string(device.shared_bytes));
  }
  return variant;
}

Variant for_many_keys(const Variant& variant) {
  Variant many = variant;
  many.many_keys = !variant.row->sliced_keys;
  return many;
}

std::uint32_t mode_shared_bytes(const Variant& variant) {
  if (variant.tables != 0) return PARAES_TTABLE_SHARED_BYTES(variant.tables);
  if (variant.row->name == "ttable-simple") return PARAES_TTABLE_SIMPLE_SHARED_BYTES;
  if (variant.row->name == "reference-shared") {
    return PARAES_REFERENCE_SHARED_SHARED_BYTES(variant.row->group_threads);
  }
  return 0;
}

std::uint32_t hash_shared_bytes(const Variant& variant) {
  return variant.hash_copies != 0
             ? PARAES_HASH_TABLES_SHARED_BYTES(hash_threads, variant.hash_copies)
             : PARAES_HASH_SHARED_BYTES(hash_threads);
}

std::uint32_t hash_key_shared_bytes(const Variant& /*variant*/) {
  return PARAES_HASH_SHARED_BYTES(hash_threads);
}

std::size_t key_bytes(const Variant& variant) {
  return variant.row->sliced_keys ? PARAES_SLICED_KEY_WORDS * sizeof(paraes_u32) : 16;
}

std::size_t hash_key_bytes(const Variant& /*variant*/) {
  return PARAES_HASH_KEY_WORDS(hash_threads) * sizeof(paraes_u32);
}

std::string source_of(const KernelRow& row) {
  std::string source;
  for (const std::string_view file : row.files) {
    const EmbeddedFile* const end = embedded_files + embedded_file_count;
    const EmbeddedFile* const found =
        std::find_if(embedded_files, end, [&](const EmbeddedFile& e) { return e.name == file; });
    if (found == end) throw Error("the library was built without " + std::string(file));
    // So that a compiler's messages name the file.
    source.append("#line 1 \"").append(file).append("\"\n").append(found->text).append("\n");
  }
  return source;
}

std::vector<std::string> options_of(const Variant& variant) {
  std::vector<std::string> options(variant.row->options.begin(), variant.row->options.end());
  const auto define = [&](const char* name, unsigned value) {
    options.push_back(std::string("-DPARAES_") + name + "=" + std::to_string(value));
  };
  define("GROUP_THREADS", variant.row->group_threads);
  define("HASH_THREADS", hash_threads);
  if (variant.tables != 0) define("TABLES", variant.tables);
  if (variant.hash_copies != 0) define("HASH_COPIES", variant.hash_copies);
  if (variant.compact) define("COMPACT", 1);
  if (variant.many_keys) define("MANY_KEYS", 1);
  return options;
}

std::string prepared_name(const Variant& variant, std::string_view target) {
  Sha256 hash;
  add_program(hash, variant);
  return std::string(variant.row->name) + "." + for_file_name(target) + "." +
         hex(hash.digest()).substr(0, 32) + ".program";
}

std::vector<std::uint8_t> pack(const Binary& binary) {
  const Digest digest =
      Sha256().add({reinterpret_cast<const char*>(binary.data()), binary.size()}).digest();
  std::vector<std::uint8_t> file(magic.size() + digest.size() + binary.size());
  std::uint8_t* at = std::copy(magic.begin(), magic.end(), file.data());
  at = std::copy(digest.begin(), digest.end(), at);
  std::copy(binary.begin(), binary.end(), at);
  return file;
}

Binary unpack(std::span<const std::uint8_t> file) {
  constexpr std::size_t header = magic.size() + sizeof(Digest);
  if (file.size() <= header || std::memcmp(file.data(), magic.data(), magic.size()) != 0) {
    throw IntegrityError("this is no program of this version");
  }
  Binary binary(file.begin() + header, file.end());
  const Digest digest =
      Sha256().add({reinterpret_cast<const char*>(binary.data()), binary.size()}).digest();
  if (std::memcmp(digest.data(), file.data() + magic.size(), digest.size()) != 0) {
    throw IntegrityError("the program is damaged");
  }
  return binary;
}

std::vector<std::string> prepare(const KernelRow& row, std::string_view target,
                                 const std::string& folder) {
  DeviceInfo device;
  device.id = target;
  device.target = target;
  device.shared_bytes = shared_bytes_of(target);
  const Variant variant = variant_for(row, device);
  const bool cuda = target.substr(0, 3) == "sm_";
  if (!cuda && target.substr(0, 3) != "gfx") {
    throw InvalidArgument("there is no target '" + std::string(target) +
                          "': it is sm_NN for NVIDIA's GPUs and gfxNNN for AMD's");
  }
  const std::unique_ptr<Compiler> compiler = cuda ? open_nvrtc() : open_hiprtc();
  std::vector<Variant> variants = {variant};
  if (const Variant many = for_many_keys(variant); many.many_keys) variants.push_back(many);
  std::vector<std::string> paths;
  for (const Variant& each : variants) {
    const Binary binary = compiler->compile(source_of(row), options_of(each), std::string(target));
    const std::string name = prepared_name(each, target);
    paths.push_back(in_folder(folder, name));
    if (!write_file(folder, name, pack(binary))) {
      const int code = errno;
      std::string what = "cannot write ";
      what.append(paths.back()).append(": ").append(std::generic_category().message(code));
      throw IoError(what, code);
    }
  }
  return paths;
}

LoadedProgram load_program(Device& device, const Variant& variant) {
  const DeviceInfo& info = device.info();
  const std::string prepared = prepared_name(variant, info.target);
  for (const std::string& folder : prepared_folders()) {
    const std::string path = in_folder(folder, prepared);
    const std::vector<std::uint8_t> file = read_file(path);
    if (file.empty()) continue;
    // It was put there on purpose, so that what is wrong with it is said.
    try {
      return {device.load(unpack(file)), path};
    } catch (const IntegrityError& error) {
      throw IntegrityError(path + ": " + error.what() +
                           "; make it again with paraes devices --compile");
    }
  }
  const std::string folder = cache_folder();
  const std::string name = cached_name(variant, info);
  if (!folder.empty()) {
    const std::vector<std::uint8_t> file = read_file(folder + "/" + name);
    if (!file.empty()) {
      try {
        return {device.load(unpack(file)), "cached"};
      } catch (const Error&) {
        // Damaged, or of a driver that says the same version and is another: compiled again below.
      }
    }
  }
  if (info.compiler.empty()) {
    throw Unavailable("nothing here compiles programs for " + info.id + " (" + info.name +
                      "): " + missing_compiler(runtime_of(info)) +
                      ", or put programs made elsewhere (paraes devices --compile --arch " +
                      info.target + " -o FOLDER) into a folder of PARAES_PROGRAM_PATH");
  }
  const Binary binary = device.compile(source_of(*variant.row), options_of(variant));
  auto program = device.load(binary);
  // What cannot be kept is compiled again the next time.
  if (!folder.empty()) static_cast<void>(write_file(folder, name, pack(binary)));
  return {std::move(program), "compiled"};
}

}  // namespace paraes::gpu
