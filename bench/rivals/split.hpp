// How rivals without threads of their own are spread over the cores: the message is cut as ours is,
// and each run has its own state of the library.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/harness/variant.hpp"
#include "bench/memory/job.hpp"
#include "src/core/executor.hpp"

namespace paraes::bench {

class Split {
 public:
  // Throws Skip for modes that cannot be cut. `name` is the rival's.
  Split(const Job& job, const std::string& name)
      : job_(job), executor_(job.threads), units_(1, 0), before_(1) {
    if (job.threads > 1) {
      if (job.mode == Mode::gcm) throw Skip(name + " has no way to spread one GCM message");
      if (job.mode == Mode::cbc && job.direction == Direction::encrypt) {
        throw Skip("CBC encryption is serial");
      }
    }
    if (job.mode == Mode::xts) {
      units_ = Units(job.bytes, job.unit);
      pieces_ = units_.count;
      min_pieces_ = (min_grains * grain_bytes + units_.unit - 1) / units_.unit;
    } else {
      pieces_ = grains(job.bytes);
      min_pieces_ = min_grains;
    }
    before_.resize(runs());
  }

  [[nodiscard]] unsigned runs() const { return executor_.ranges_for(pieces_, min_pieces_); }

  // body(run, from, bytes, iv): `iv` is what CBC decryption or CTR of these bytes starts with.
  template <class Body>
  void run(const std::uint8_t* in, Body body) {
    const bool chained = job_.mode == Mode::cbc;
    if (chained) save_chain(in);
    executor_.run(pieces_, min_pieces_, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
      const std::uint64_t from = begin * piece_bytes();
      const std::uint64_t to = end == pieces_ ? job_.bytes : end * piece_bytes();
      if (chained) {
        body(r, from, to - from, before_[r].data());
      } else {
        const auto iv = job_.mode == Mode::ctr ? ctr_block(from / 16) : material().iv;
        body(r, from, to - from, iv.data());
      }
    });
  }

  // f(tweak, from, bytes) for each data unit in [from, from + bytes).
  template <class F>
  void each_unit(std::uint64_t from, std::uint64_t bytes, F f) const {
    const std::uint64_t end = from + bytes;
    for (std::uint64_t u = from / units_.unit; from < end; ++u) {
      const std::size_t size = units_.size(u);
      f(xts_tweak(material().first_unit + u), from, size);
      from += size;
    }
  }

 private:
  [[nodiscard]] std::uint64_t piece_bytes() const {
    return job_.mode == Mode::xts ? units_.unit : grain_bytes;
  }

  // Ciphertext blocks that in-place decryption would overwrite before another thread reads them.
  void save_chain(const std::uint8_t* in) {
    const unsigned n = runs();
    for (unsigned r = 0; r < n; ++r) {
      const std::uint64_t piece = r * (pieces_ / n) + std::min<std::uint64_t>(r, pieces_ % n);
      std::memcpy(before_[r].data(), r == 0 ? material().iv.data() : in + piece * grain_bytes - 16,
                  16);
    }
  }

  Job job_;
  Executor executor_;
  Units units_;
  std::uint64_t pieces_ = 1;
  std::uint64_t min_pieces_ = 1;
  std::vector<std::array<std::uint8_t, 16>> before_;
};

}  // namespace paraes::bench
