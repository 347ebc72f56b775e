#include "cli/secrets/tink_message.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "paraes/ciphers.hpp"
#include "paraes/segments.hpp"

namespace paraes::cli {
namespace {

// Reads up to `most` bytes with memory for as many as there are.
std::vector<std::uint8_t> read_growing(Source& source, std::size_t most) {
  std::vector<std::uint8_t> bytes;
  std::size_t held = 0;
  while (held == bytes.size() && held < most) {
    bytes.resize(std::min(most, std::max<std::size_t>(2 * held, 65536)));
    held += source.read(MutableBytes(bytes).subspan(held));
  }
  bytes.resize(held);
  return bytes;
}

// A source whose first bytes were already read: it returns them again, then the rest.
class PrefixedSource : public Source {
 public:
  PrefixedSource(std::vector<std::uint8_t> start, std::unique_ptr<Source> rest)
      : start_(std::move(start)), rest_(std::move(rest)) {}

  std::size_t read(MutableBytes buffer) override { return read_ready(buffer, buffer.size()).bytes; }

  Ready read_ready(MutableBytes buffer, std::size_t least) override {
    const std::size_t n = std::min(buffer.size(), start_.size() - used_);
    std::copy_n(start_.begin() + static_cast<std::ptrdiff_t>(used_), n, buffer.begin());
    used_ += n;
    if (n == buffer.size()) return {.bytes = n, .ended = false};
    const Ready rest = rest_->read_ready(buffer.subspan(n), least - std::min(least, n));
    return {.bytes = n + rest.bytes, .ended = rest.ended};
  }

  [[nodiscard]] std::optional<std::uint64_t> remaining() const override {
    const auto rest = rest_->remaining();
    return rest ? std::optional(*rest + start_.size() - used_) : std::nullopt;
  }

  void cancel() noexcept override { rest_->cancel(); }
  void check_unchanged() const override { rest_->check_unchanged(); }

 private:
  std::vector<std::uint8_t> start_;
  std::size_t used_ = 0;
  std::unique_ptr<Source> rest_;
};

// Whether `sealed` is the whole segment `index` of a message with these parts. A segment that is
// not full is the last one. The size of a full one does not tell: the end of the message may be
// missing, or other bytes may follow it. Uses the CPU, because one segment is too little work for a
// GPU.
bool opens(const Message::Parts& parts, std::uint64_t index, Bytes sealed) {
  if (sealed.size() < segment_tag_bytes) return false;
  std::vector<std::uint8_t> plain(sealed.size() - segment_tag_bytes);
  const SegmentCipher cipher(parts.secret.key.span(), parts.secret.base_nonce, parts.secret.nonces,
                             {});
  const std::uint64_t full =
      parts.layout.sealed_offset(index + 1) - parts.layout.sealed_offset(index);
  SegmentCipher::Segment segment{
      .index = index, .last = sealed.size() < full, .in = sealed, .out = plain};
  cipher.crypt(Direction::decrypt, {&segment, 1});
  if (!segment.intact) {
    segment.last = !segment.last;
    cipher.crypt(Direction::decrypt, {&segment, 1});
  }
  secure_zero(plain.data(), plain.size());
  return segment.intact;
}

// Whether the file has one of some dozens of its later segments from a message with these parts:
// segments 1, 2, 4, 8, …, and as many counted from the end. Only damage to all of them hides a key.
bool opens_later(const Message::Parts& parts, const PositionalSource& file) {
  const SegmentLayout& layout = parts.layout;
  const auto opens_at = [&](std::uint64_t index) {
    const std::uint64_t begin = layout.sealed_offset(index);
    std::vector<std::uint8_t> sealed(
        static_cast<std::size_t>(std::min(file.size(), layout.sealed_offset(index + 1)) - begin));
    sealed.resize(file.read_at(begin, sealed));
    return opens(parts, index, sealed);
  };
  const std::uint64_t begin = layout.sealed_offset(1);
  if (file.size() <= begin) return false;
  const std::uint64_t later =
      (file.size() - begin - 1) / (layout.segment_bytes + segment_tag_bytes) + 1;
  if (later >= layout.max_segments) return false;
  for (std::uint64_t n = 1; n <= later; n *= 2) {
    if (opens_at(n) || opens_at(later + 1 - n)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::uint8_t> read_start(Source& source, std::size_t bytes) {
  std::vector<std::uint8_t> start(bytes);
  start.resize(source.read(start));
  return start;
}

Message::Parts open_tink_message(const std::vector<TinkKey>& keys, std::unique_ptr<Source>& source,
                                 Bytes context) {
  std::vector<std::uint8_t> header = read_start(*source, 1);
  std::vector<const TinkKey*> fitting;
  for (const TinkKey& key : keys) {
    if (!header.empty() && key.parameters.header_bytes() == header[0]) fitting.push_back(&key);
  }
  // If no key fits, the error comes from opening with the first one.
  if (fitting.empty()) fitting.push_back(keys.data());
  const std::vector<std::uint8_t> more =
      read_start(*source, fitting[0]->parameters.header_bytes() - 1);
  header.insert(header.end(), more.begin(), more.end());
  const auto open = [&](const TinkKey& key) {
    return open_tink_message(key.parameters, header, key.value.span(), context);
  };
  if (fitting.size() == 1) return open(*fitting[0]);

  // Several keys fit the header: only segment 0 tells which one it is.
  std::uint64_t most = 0;
  for (const TinkKey* key : fitting) most = std::max(most, key->parameters.segment_bytes);
  const auto* file = dynamic_cast<const PositionalSource*>(source.get());
  most -= header.size();
  std::vector<std::uint8_t> start;
  if (file != nullptr) {
    const std::uint64_t rest = file->size() - std::min<std::uint64_t>(file->size(), header.size());
    start.resize(static_cast<std::size_t>(std::min(most, rest)));
    start.resize(file->read_at(header.size(), start));
  } else {
    start = read_growing(*source, static_cast<std::size_t>(most));
  }
  const auto has_first = [&](const Message::Parts& parts) {
    const std::uint64_t full = parts.layout.first_bytes + segment_tag_bytes;
    return opens(parts, 0, Bytes(start).first(std::min<std::size_t>(start.size(), full)));
  };
  const auto find = [&](const auto& fits) -> std::optional<Message::Parts> {
    for (const TinkKey* key : fitting) {
      Message::Parts parts = open(*key);
      if (fits(parts)) return parts;
    }
    return std::nullopt;
  };
  std::optional<Message::Parts> found = find(has_first);
  if (!found && file != nullptr) {
    start = {};  // it may have 2 GiB
    found = find([&](const Message::Parts& parts) { return opens_later(parts, *file); });
  }
  if (file == nullptr)
    source = std::make_unique<PrefixedSource>(std::move(start), std::move(source));
  return found ? std::move(*found) : open(*fitting[0]);
}

}  // namespace paraes::cli
