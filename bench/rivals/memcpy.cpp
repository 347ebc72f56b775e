// The C library's memcpy on the same number of threads, to compare a cipher with a copy. The rate
// counts each byte once, though it is read and written. This is no upper bound: work in place and
// kernels with non-temporal stores can be faster.
#include <cstring>

#include "bench/harness/case.hpp"
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"
#include "bench/system/machine.hpp"

namespace paraes::bench {
namespace {

class Memcpy : public Implementation {
 public:
  explicit Memcpy(const Job& job) : split_(job, "memcpy") {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    split_.run(in, [&](unsigned, std::uint64_t from, std::uint64_t bytes, const std::uint8_t*) {
      std::memcpy(out + from, in + from, bytes);
    });
  }

 private:
  Split split_;
};

}  // namespace

std::unique_ptr<Implementation> make_memcpy(const Job& job) {
  if (job.in_place) throw Skip("memcpy cannot work in place");
  return std::make_unique<Memcpy>(job);
}

std::string memcpy_version() { return c_library(); }

}  // namespace paraes::bench
