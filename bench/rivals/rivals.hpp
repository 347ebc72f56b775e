// The rivals of memory scope: other libraries behind the interface that paraes itself has in the
// bench. To add a rival, add a file in this folder and a row in rivals.cpp.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bench/memory/job.hpp"

namespace paraes::bench {

struct DeviceRival;

struct MemoryRival {
  std::string name;  // never that of a kernel
  std::string library;
  // Throws Skip, with the reason, if the library is missing or cannot do the job.
  std::function<std::unique_ptr<Implementation>(const Job& job)> make;
  // The version of the installed library; empty if there is none.
  std::function<std::string()> version;
  bool copies = false;  // has no mode, key or direction
  bool on_cpu = true;
  std::shared_ptr<const DeviceRival> on_gpus = nullptr;  // its functions there, if it has any
};

// The built-in rivals, then those that add_libcrypto() and add_own() added.
[[nodiscard]] std::span<const MemoryRival> memory_rivals();

// The name of a rival that is another libcrypto file starts with this; its version follows, and
// "#2" for the second file that says it has this version.
inline constexpr std::string_view libcrypto_prefix = "openssl-evp@";

// Opens a libcrypto file (see Evp) as a rival for the rest of the process, and returns its name. A
// file is added once only. Spans of memory_rivals() are no longer valid then.
std::string add_libcrypto(const std::string& path);

// Opens a shared library with AES (`NAME=FILE`) as a rival for the rest of the process, and returns
// its name. Throws InvalidArgument with the reason, also for a name that something else has. Spans
// of memory_rivals() are no longer valid then.
std::string add_own(const std::string& text);

[[nodiscard]] MemoryRival openssl_rival();
[[nodiscard]] MemoryRival ipsec_mb_rival();
[[nodiscard]] MemoryRival gcrypt_rival();
[[nodiscard]] MemoryRival c_api_rival();  // paraes itself
[[nodiscard]] MemoryRival memcpy_rival();
[[nodiscard]] MemoryRival stream_copy_rival();  // its version: the instruction set that it uses
[[nodiscard]] MemoryRival open_libcrypto(const std::string& path);
[[nodiscard]] MemoryRival open_own(const std::string& text);
// The row of a library that this build does not know.
[[nodiscard]] MemoryRival absent_rival(const char* name, const char* reason, bool copies = false);

}  // namespace paraes::bench
