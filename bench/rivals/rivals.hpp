// The rivals of memory scope: other libraries behind the interface that paraes itself has in the
// bench. To add a rival, add a file in this folder and a row in rivals.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "bench/memory/job.hpp"

namespace paraes::bench {

struct MemoryRival {
  std::string_view name;  // never that of a kernel
  std::string_view library;
  // Throws Skip, with the reason, if the library is missing or cannot do the job.
  std::unique_ptr<Implementation> (*make)(const Job& job);
  // The version of the installed library; empty if there is none.
  std::string (*version)();
  bool copies;  // has no mode, key or direction
};

[[nodiscard]] std::span<const MemoryRival> memory_rivals();

[[nodiscard]] std::unique_ptr<Implementation> make_openssl(const Job& job);
[[nodiscard]] std::string openssl_version();
[[nodiscard]] std::unique_ptr<Implementation> make_ipsec_mb(const Job& job);
[[nodiscard]] std::string ipsec_mb_version();
[[nodiscard]] std::unique_ptr<Implementation> make_gcrypt(const Job& job);
[[nodiscard]] std::string gcrypt_version();
[[nodiscard]] std::unique_ptr<Implementation> make_memcpy(const Job& job);
[[nodiscard]] std::string memcpy_version();

}  // namespace paraes::bench
