// The C library's memcpy on the same number of threads, to compare a cipher with a copy. The rate
// counts each byte once, though it is read and written. This is no upper bound: work in place and
// kernels with non-temporal stores can be faster.
#include <gnu/libc-version.h>

#include <algorithm>
#include <cstring>

#include "bench/harness/case.hpp"
#include "bench/rivals/rivals.hpp"
#include "src/core/executor.hpp"

namespace paraes::bench {
namespace {

class Memcpy : public Implementation {
 public:
  explicit Memcpy(const Job& job) : bytes_(job.bytes), executor_(job.threads) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    executor_.run(grains(bytes_), min_grains,
                  [&](unsigned, std::uint64_t begin, std::uint64_t end) {
                    const std::uint64_t from = begin * grain_bytes;
                    const std::uint64_t to = std::min(end * grain_bytes, bytes_);
                    std::memcpy(out + from, in + from, to - from);
                  });
  }

 private:
  std::uint64_t bytes_;
  Executor executor_;
};

}  // namespace

std::unique_ptr<Implementation> make_memcpy(const Job& job) {
  if (job.in_place) throw Skip("memcpy cannot work in place");
  return std::make_unique<Memcpy>(job);
}

std::string memcpy_version() { return std::string("glibc ") + gnu_get_libc_version(); }

}  // namespace paraes::bench
