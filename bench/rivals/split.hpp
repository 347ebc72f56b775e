// Spreads the work of a rival that has no threads itself. The message is cut into ranges as paraes
// cuts it, and each range has its own state of the library.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/memory/job.hpp"
#include "src/core/executor.hpp"

namespace paraes::bench {

class Split {
 public:
  // Throws Skip if a message of this mode cannot be cut. `name` is the name of the rival.
  Split(const Job& job, const std::string& name)
      : job_(job), executor_(job.threads), units_(1, 0), chains_(1) {
    if (job.message != 0) {
      const Messages messages(job);
      granules_ = messages.count;
      min_granules_ = (min_grains * grain_bytes + messages.slot - 1) / messages.slot;
      nonces_.reserve(messages.count);
      for (std::uint64_t m = 0; m < messages.count; ++m) nonces_.push_back(segment_nonce(m));
      if (job.keys != Keys::once) return;
      for (std::uint64_t m = 0; m < messages.count; ++m) keys_.push_back(message_key(m));
      return;
    }
    if (job.threads > 1) {
      if (job.mode == Mode::gcm) throw Skip(name + " cannot spread one GCM message over threads");
      if (job.mode == Mode::cbc && job.direction == Direction::encrypt) {
        throw Skip("CBC encryption is serial");
      }
    }
    if (job.mode == Mode::xts) {
      units_ = Units(job.bytes, job.unit);
      granules_ = units_.count;
      min_granules_ = (min_grains * grain_bytes + units_.unit - 1) / units_.unit;
    } else {
      granules_ = grains(job.bytes);
      min_granules_ = min_grains;
    }
    chains_.resize(ranges());
  }

  [[nodiscard]] unsigned ranges() const { return executor_.ranges_for(granules_, min_granules_); }

  // Calls body(range, from, bytes, iv) for each range, concurrently. `iv` is the block that CBC
  // starts with, or the first counter block in CTR.
  void run(const std::uint8_t* in, auto body) {
    const bool chained = job_.mode == Mode::cbc;
    if (chained) save_chains(in);
    executor_.run(granules_, min_granules_,
                  [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
                    const std::uint64_t from = begin * granule_bytes();
                    const std::uint64_t to = end == granules_ ? job_.bytes : end * granule_bytes();
                    if (chained) {
                      body(r, from, to - from, chains_[r].data());
                    } else {
                      const auto iv = job_.mode == Mode::ctr ? ctr_block(from / 16) : material().iv;
                      body(r, from, to - from, iv.data());
                    }
                  });
  }

  struct GcmMessage {
    std::uint64_t index = 0;
    const std::uint8_t* nonce = nullptr;  // 12 bytes
    const std::uint8_t* in = nullptr;
    std::uint8_t* out = nullptr;
    std::uint64_t bytes = 0;
    std::uint8_t* tag = nullptr;  // as in Implementation::run()
    const std::uint8_t* key =
        nullptr;  // to be expanded in the call; nullptr if that was done before
  };

  // Calls body(range, message) for the GCM message of the job or for each of many; different ranges
  // concurrently.
  void each_message(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag, auto body) const {
    if (job_.message == 0) {
      body(0U, GcmMessage{0, material().nonce.data(), in, out, job_.bytes, tag});
      return;
    }
    const bool encrypts = job_.direction == Direction::encrypt;
    executor_.run(
        granules_, min_granules_, [&](unsigned r, std::uint64_t begin, std::uint64_t end) {
          const Messages messages(job_);
          for (std::uint64_t m = begin; m < end; ++m) {
            const std::uint64_t at = messages.offset(m);
            const std::uint64_t bytes = messages.size(m);
            // Decryption only reads its tag.
            std::uint8_t* const own = (encrypts ? out : const_cast<std::uint8_t*>(in)) + at + bytes;
            const std::uint8_t* const key = keys_.empty() ? nullptr : keys_[m].data();
            body(r, GcmMessage{m, nonces_[m].data(), in + at, out + at, bytes, own, key});
          }
        });
  }

  // The number of states of the library that hold a key, and the state that a message needs: one
  // for each range, or for each message if these have own keys.
  [[nodiscard]] std::uint64_t key_states() const { return keys_each() ? granules_ : ranges(); }
  [[nodiscard]] std::uint64_t state_of(unsigned range, const GcmMessage& message) const {
    return keys_each() ? message.index : range;
  }
  [[nodiscard]] std::array<std::uint8_t, 64> key_of(std::uint64_t state) const {
    return keys_each() ? message_key(state) : material().key;
  }

  // Calls f(tweak, from, bytes) for each data unit in [from, from + bytes).
  void each_unit(std::uint64_t from, std::uint64_t bytes, auto f) const {
    const std::uint64_t end = from + bytes;
    for (std::uint64_t u = from / units_.unit; from < end; ++u) {
      const std::size_t size = units_.size(u);
      f(xts_tweak(material().first_unit + u), from, size);
      from += size;
    }
  }

 private:
  [[nodiscard]] bool keys_each() const { return job_.keys == Keys::each; }
  [[nodiscard]] std::uint64_t granule_bytes() const {
    return job_.mode == Mode::xts ? units_.unit : grain_bytes;
  }

  // Copies the ciphertext block before each range, since decryption in place may overwrite it
  // before another thread reads it.
  void save_chains(const std::uint8_t* in) {
    const unsigned n = ranges();
    for (unsigned r = 0; r < n; ++r) {
      const std::uint64_t first = r * (granules_ / n) + std::min<std::uint64_t>(r, granules_ % n);
      std::memcpy(chains_[r].data(), r == 0 ? material().iv.data() : in + first * grain_bytes - 16,
                  16);
    }
  }

  Job job_;
  Executor executor_;
  Units units_;
  // Ranges end at borders of granules: data units in XTS, messages if there are many, else grains.
  std::uint64_t granules_ = 1;
  std::uint64_t min_granules_ = 1;                    // of a range
  std::vector<std::array<std::uint8_t, 12>> nonces_;  // of many messages
  std::vector<std::array<std::uint8_t, 64>> keys_;    // of many messages, for Keys::once
  std::vector<std::array<std::uint8_t, 16>> chains_;  // the block before each range, in CBC
};

// A rival that computes any range of blocks alone: range(in, out, bytes).
template <class Range>
class RangesRival : public Implementation {
 public:
  RangesRival(const Job& job, const std::string& name, Range range)
      : split_(job, name), range_(std::move(range)) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    split_.run(in, [&](unsigned, std::uint64_t from, std::uint64_t bytes, const std::uint8_t*) {
      range_(in + from, out + from, bytes);
    });
  }

 private:
  Split split_;
  Range range_;
};

// A rival whose library has states with a key, each used by one thread at a time: handles of
// libgcrypt, contexts of OpenSSL. `Library` derives from it and has, without virtual calls that
// would be timed:
//   State open_state(key)              a state with this key, expanded
//   void set_key(state, key)           expands another key, before start()
//   void start(state, iv)              begins a message, or data unit, with its IV, nonce or tweak
//   void crypt(state, in, out, bytes)
//   void end(state, tag)               ends a GCM message: writes the tag, or checks it
template <class Library, class State>
class SplitRival : public Implementation {
 public:
  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    const auto& library = static_cast<const Library&>(*this);
    if (job_.mode == Mode::gcm) {
      split_.each_message(in, out, tag, [&](unsigned r, const Split::GcmMessage& message) {
        const State& state = states_[split_.state_of(r, message)];
        if (message.key != nullptr) library.set_key(state, message.key);
        library.start(state, message.nonce);
        library.crypt(state, message.in, message.out, message.bytes);
        library.end(state, message.tag);
      });
      return;
    }
    split_.run(in, [&](unsigned r, std::uint64_t from, std::uint64_t bytes,
                       const std::uint8_t* iv) {
      const State& state = states_[r];
      if (job_.mode == Mode::xts) {
        split_.each_unit(from, bytes, [&](const auto& tweak, std::uint64_t at, std::size_t size) {
          library.start(state, tweak.data());
          library.crypt(state, in + at, out + at, size);
        });
        return;
      }
      if (job_.mode != Mode::ecb) library.start(state, iv);
      library.crypt(state, in + from, out + from, bytes);
    });
  }

  // With a state of its own.
  bool expand_key() override {
    static_cast<const Library&>(*this).set_key(spare_, material().key.data());
    return true;
  }

 protected:
  SplitRival(const Job& job, const std::string& name) : job_(job), split_(job, name) {}

  void open_states() {
    const auto& library = static_cast<const Library&>(*this);
    for (std::uint64_t s = 0; s < split_.key_states(); ++s) {
      states_.push_back(library.open_state(split_.key_of(s).data()));
    }
    spare_ = library.open_state(material().key.data());
  }
  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] bool encrypts() const { return job_.direction == Direction::encrypt; }

 private:
  Job job_;
  Split split_;
  std::vector<State> states_;
  State spare_;
};

}  // namespace paraes::bench
