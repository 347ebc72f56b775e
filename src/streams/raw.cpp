// Format raw: the output of a mode, without a header.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "paraes/error.hpp"
#include "src/core/counter.hpp"
#include "src/streams/raw.hpp"

namespace paraes {
namespace {

// For a length that the mode does not allow: the caller's error when encrypting, damage when
// decrypting.
[[noreturn]] void bad_length(Direction direction, const std::string& text) {
  if (direction == Direction::encrypt) throw InvalidArgument(text);
  throw IntegrityError(text);
}

// Appends PKCS#7 padding (RFC 5652 section 6.3) to `bytes` bytes; returns the new size.
std::size_t pad(std::uint8_t* data, std::size_t bytes) {
  const std::size_t n = block_bytes - bytes % block_bytes;
  std::memset(data + bytes, static_cast<int>(n), n);
  return bytes + n;
}

// Returns the size without padding. `suspects`, `derived`: see detail::raw_stream. Always examines
// all 16 bytes of the last block, so that the time reveals no more than the result does.
std::size_t unpad(const std::uint8_t* data, std::size_t bytes, const std::string& suspects,
                  bool derived) {
  const std::uint8_t* block = data + bytes - block_bytes;
  const unsigned n = block[block_bytes - 1];
  unsigned wrong = static_cast<unsigned>(n - 1U >= block_bytes);
  for (unsigned i = 0; i < block_bytes; ++i) {
    const unsigned inside = static_cast<unsigned>(i + n >= block_bytes);
    wrong |= inside & static_cast<unsigned>(block[i] != n);
  }
  if (wrong != 0) {
    throw BadPadding("bad padding at the end: a wrong " + suspects +
                         ", or damaged data, or data that was written without padding",
                     derived);
  }
  return bytes - n;
}

// ECB and CBC: whole blocks, with or without padding.
template <class Mode>
class BlockStream final : public StreamTransform {
 public:
  BlockStream(Direction direction, bool padding, std::string suspects, bool derived, Mode mode)
      : direction_(direction),
        padding_(padding),
        suspects_(std::move(suspects)),
        derived_(derived),
        mode_(std::move(mode)) {}

  [[nodiscard]] std::size_t granule() const noexcept override { return block_bytes; }
  // To decrypt without the last block's padding, one has to know which block is the last.
  [[nodiscard]] std::size_t least_last() const noexcept override {
    return padding_ && direction_ == Direction::decrypt ? block_bytes : 0;
  }

  void check_length(std::uint64_t bytes) const override {
    if (padding_ && direction_ == Direction::encrypt) return;
    if (bytes % block_bytes != 0) {
      bad_length(direction_, "the input has " + std::to_string(bytes) +
                                 " bytes, which is not a whole number of 16-byte blocks" +
                                 (padding_ ? "" : ", and padding is off"));
    }
    if (padding_ && bytes == 0) {
      bad_length(direction_, "the input is empty; even an empty message has one block of padding");
    }
  }

  void update(MutableBytes chunk) override {
    transform(chunk);
    done_ += chunk.size();
  }

  std::size_t finish(std::uint8_t* data, std::size_t bytes) override {
    check_length(done_ + bytes);
    if (direction_ == Direction::encrypt) {
      const std::size_t size = padding_ ? pad(data, bytes) : bytes;
      transform({data, size});
      return size;
    }
    transform({data, bytes});
    return padding_ ? unpad(data, bytes, suspects_, derived_) : bytes;
  }

  [[nodiscard]] const Cipher& cipher() const noexcept override { return mode_; }

 private:
  void transform(MutableBytes chunk) {
    if (direction_ == Direction::encrypt) {
      owner_.check("a message that is being encrypted");
      mode_.encrypt(chunk, chunk);
    } else {
      mode_.decrypt(chunk, chunk);
    }
  }

  Direction direction_;
  bool padding_;
  std::string suspects_;
  bool derived_;
  Mode mode_;
  std::uint64_t done_ = 0;
  OwnerProcess owner_;
};

class CtrStream final : public StreamTransform {
 public:
  explicit CtrStream(Ctr mode) : mode_(std::move(mode)) {}

  [[nodiscard]] std::size_t granule() const noexcept override { return 1; }
  [[nodiscard]] std::size_t least_last() const noexcept override { return 0; }
  void check_length(std::uint64_t) const override {}
  void update(MutableBytes chunk) override { mode_.process(chunk, chunk); }

  std::size_t finish(std::uint8_t* data, std::size_t bytes) override {
    update({data, bytes});
    return bytes;
  }

  [[nodiscard]] const Cipher& cipher() const noexcept override { return mode_; }

 private:
  Ctr mode_;
};

class XtsStream final : public StreamTransform {
 public:
  XtsStream(Direction direction, Bytes first_unit, std::size_t unit_bytes, Xts mode)
      : direction_(direction), unit_bytes_(unit_bytes), mode_(std::move(mode)) {
    std::copy(first_unit.begin(), first_unit.end(), next_unit_.begin());
  }

  [[nodiscard]] std::size_t granule() const noexcept override { return unit_bytes_; }

  void check_length(std::uint64_t bytes) const override {
    if (bytes < block_bytes) {
      bad_length(direction_,
                 "the input has " + std::to_string(bytes) +
                     " bytes; XTS needs at least one block of 16 (IEEE 1619 section 5.1)");
    }
    // The rest after whole units is a unit of its own if it has a block, and otherwise joins the
    // last one.
    const std::uint64_t left = bytes % unit_bytes_;
    if (left < block_bytes && unit_bytes_ + left > max_xts_unit_bytes) {
      bad_length(
          direction_,
          "a data unit has at most 2^20 blocks (SP 800-38E section 4), but the last one of " +
              std::to_string(bytes) + " bytes would have " + std::to_string(unit_bytes_ + left) +
              (direction_ == Direction::encrypt ? ": use smaller units" : ""));
    }
  }

  void update(MutableBytes chunk) override {
    if (chunk.empty()) return;
    transform(chunk);
    add_le128(next_unit_.data(), chunk.size() / unit_bytes_);
    done_ += chunk.size();
  }

  std::size_t finish(std::uint8_t* data, std::size_t bytes) override {
    check_length(done_ + bytes);
    // No bytes are left only if every chunk so far ended with a whole unit.
    if (bytes != 0) transform({data, bytes});
    return bytes;
  }

  [[nodiscard]] const Cipher& cipher() const noexcept override { return mode_; }

 private:
  void transform(MutableBytes chunk) {
    if (direction_ == Direction::encrypt) {
      owner_.check("a message that is being encrypted");
      mode_.encrypt(next_unit_, chunk, chunk);
    } else {
      mode_.decrypt(next_unit_, chunk, chunk);
    }
  }

  Direction direction_;
  std::size_t unit_bytes_;
  std::array<std::uint8_t, block_bytes> next_unit_{};
  Xts mode_;
  std::uint64_t done_ = 0;
  OwnerProcess owner_;
};

}  // namespace

std::unique_ptr<StreamTransform> raw_stream(Direction direction, const RawOptions& options) {
  return detail::raw_stream(direction, options,
                            options.mode == BlockMode::ecb ? "key or mode" : "key, IV or mode",
                            false);
}

std::unique_ptr<StreamTransform> detail::raw_stream(Direction direction, const RawOptions& options,
                                                    std::string suspects, bool derived) {
  static constexpr std::array<std::uint8_t, block_bytes> zero{};
  switch (options.mode) {
    case BlockMode::ecb:
      if (!options.iv.empty()) throw InvalidArgument("ECB takes no IV (SP 800-38A section 6.1)");
      return std::make_unique<BlockStream<Ecb>>(direction, options.padding, std::move(suspects),
                                                derived, Ecb(options.key, options.execution));
    case BlockMode::cbc:
      return std::make_unique<BlockStream<Cbc>>(direction, options.padding, std::move(suspects),
                                                derived,
                                                Cbc(options.key, options.iv, options.execution));
    case BlockMode::ctr:
      return std::make_unique<CtrStream>(Ctr(options.key, options.iv, options.execution));
    case BlockMode::xts:
      break;
  }
  if (options.unit_bytes < block_bytes || options.unit_bytes > max_xts_unit_bytes) {
    throw InvalidArgument("an XTS data unit has 16 bytes to 16 MiB, not " +
                          std::to_string(options.unit_bytes) + " bytes");
  }
  if (!options.iv.empty() && options.iv.size() != block_bytes) {
    throw InvalidArgument("the number of the first XTS data unit has 16 bytes, not " +
                          std::to_string(options.iv.size()));
  }
  return std::make_unique<XtsStream>(direction, options.iv.empty() ? Bytes(zero) : options.iv,
                                     options.unit_bytes,
                                     Xts(options.key, options.unit_bytes, options.execution));
}

}  // namespace paraes
