#include "bench/rivals/rivals.hpp"

namespace paraes::bench {

std::span<const MemoryRival> memory_rivals() {
  static constexpr MemoryRival rows[] = {
      {"openssl-evp", "openssl", make_openssl, openssl_version, false},
      {"ipsec-mb", "ipsec-mb", make_ipsec_mb, ipsec_mb_version, false},
      {"gcrypt", "gcrypt", make_gcrypt, gcrypt_version, false},
      {"memcpy", "memcpy", make_memcpy, memcpy_version, true},
  };
  return rows;
}

}  // namespace paraes::bench
