#include "bench/rivals/rivals.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "bench/harness/case.hpp"
#include "src/core/checked_path.hpp"

namespace paraes::bench {
namespace {

std::vector<MemoryRival>& all_rivals() {
  static std::vector<MemoryRival> rows = {openssl_rival(), ipsec_mb_rival(), gcrypt_rival(),
                                          c_api_rival(),   memcpy_rival(),   stream_copy_rival()};
  return rows;
}

}  // namespace

MemoryRival absent_rival(const char* name, const char* reason, bool copies) {
  return {name, name,
          [reason](const Job&) -> std::unique_ptr<Implementation> { throw Skip(reason); },
          [] { return std::string(); }, copies};
}

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
