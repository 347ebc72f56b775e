#include "bench/rivals/rivals.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "bench/harness/case.hpp"
#include "src/core/checked_path.hpp"

namespace paraes::bench {
namespace {

// A row for a library that this build does not know.
[[maybe_unused]] MemoryRival absent(const char* name, const char* reason, bool copies = false) {
  return {name, name,
          [reason](const Job&) -> std::unique_ptr<Implementation> { throw Skip(reason); },
          [] { return std::string(); }, copies};
}

std::vector<MemoryRival>& all_rivals() {
  static std::vector<MemoryRival> rows = {
      {"openssl-evp", "openssl", make_openssl, openssl_version, false},
#ifdef PARAES_HAVE_IPSEC_MB
      {"ipsec-mb", "ipsec-mb", make_ipsec_mb, ipsec_mb_version, false},
#else
      absent("ipsec-mb", "built without the headers of libipsec-mb 1.2 or later"),
#endif
#ifdef PARAES_HAVE_GCRYPT
      {"gcrypt", "gcrypt", make_gcrypt, gcrypt_version, false},
#else
      absent("gcrypt", "built without the headers of libgcrypt"),
#endif
      {"memcpy", "memcpy", make_memcpy, memcpy_version, true},
#ifdef __x86_64__
      {"stream-copy", "stream-copy", make_stream_copy, stream_copy_version, true},
#else
      absent("stream-copy", "stream-copy needs an x86-64 processor", true),
#endif
  };
  return rows;
}

}  // namespace

std::span<const MemoryRival> memory_rivals() { return all_rivals(); }

std::string add_libcrypto(const std::string& path) {
  static std::map<std::string, std::string> names;  // by path, without symbolic links
  const std::string file = check_path(path).path;
  const auto known = names.find(file);
  if (known != names.end()) return known->second;

  MemoryRival rival = open_libcrypto(path);
  const std::string version = rival.name;
  const auto is_taken = [&] {
    const auto rivals = memory_rivals();
    return std::any_of(rivals.begin(), rivals.end(),
                       [&](const MemoryRival& other) { return other.name == rival.name; });
  };
  for (int n = 2; is_taken(); ++n) rival.name = version + "#" + std::to_string(n);
  rival.library = rival.name;
  names.emplace(file, rival.name);
  all_rivals().push_back(rival);
  return rival.name;
}

std::string add_own(const std::string& text) {
  MemoryRival rival = open_own(text);
  all_rivals().push_back(rival);
  return rival.name;
}

}  // namespace paraes::bench
