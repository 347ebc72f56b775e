// Base64, by libcrypto.

#include <openssl/evp.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/streams.hpp"

namespace paraes {
namespace {

constexpr std::size_t step = std::size_t{64} << 10;

[[noreturn]] void refuse(const char* what) {
  throw IntegrityError(std::string("the input begins as base64, but ") + what);
}

bool is_space(std::uint8_t c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; }

}  // namespace

struct Base64Source::Decoder {
  std::unique_ptr<EVP_ENCODE_CTX, decltype(&EVP_ENCODE_CTX_free)> context{EVP_ENCODE_CTX_new(),
                                                                          EVP_ENCODE_CTX_free};
  std::vector<std::uint8_t> characters;  // read, and not decoded
  std::vector<std::uint8_t> bytes;       // decoded, of which `used` were read
  std::size_t used = 0;
  bool padded = false;  // a group ended with '='
  bool ended = false;
};

Base64Source::Base64Source(Bytes start, std::unique_ptr<Source> rest)
    : rest_(std::move(rest)), decoder_(std::make_unique<Decoder>()) {
  if (!decoder_->context) throw std::bad_alloc();
  EVP_DecodeInit(decoder_->context.get());
  decoder_->characters.assign(start.begin(), start.end());
}

Base64Source::~Base64Source() = default;

bool Base64Source::decode_more(std::size_t least) {
  Decoder& d = *decoder_;
  if (d.characters.empty()) {
    d.characters.resize(step);
    const Ready ready = rest_->read_ready(d.characters, least);
    d.characters.resize(ready.bytes);
    d.ended = ready.ended;
    if (ready.bytes == 0 && !ready.ended) return false;
  }
  // libcrypto takes what follows a padding, and a hyphen, for the end of the text, and says
  // nothing.
  for (const std::uint8_t c : d.characters) {
    if (is_space(c)) continue;
    if (d.padded && c != '=') refuse("other characters follow its end");
    if (c == '-') refuse("it has other characters");
    d.padded = d.padded || c == '=';
  }
  const auto count = static_cast<int>(d.characters.size());
  d.bytes.resize(d.characters.size() + 64);  // libcrypto holds a part of a line
  int made = 0;
  if (EVP_DecodeUpdate(d.context.get(), d.bytes.data(), &made, d.characters.data(), count) < 0) {
    refuse("it has other characters");
  }
  d.characters.clear();
  auto total = static_cast<std::size_t>(made);
  if (d.ended) {
    if (EVP_DecodeFinal(d.context.get(), d.bytes.data() + total, &made) != 1) {
      refuse("it ends within four characters");
    }
    total += static_cast<std::size_t>(made);
  }
  d.bytes.resize(total);
  d.used = 0;
  return true;
}

std::size_t Base64Source::read(MutableBytes buffer) {
  return read_ready(buffer, buffer.size()).bytes;
}

Source::Ready Base64Source::read_ready(MutableBytes buffer, std::size_t least) {
  Decoder& d = *decoder_;
  std::size_t done = 0;
  bool waits = true;  // for characters that are not needed; each read waits for them
  while (done < buffer.size()) {
    if (d.used == d.bytes.size()) {
      if (d.ended) return {.bytes = done, .ended = true};
      const bool needs = done < least;
      if (!needs && !waits) break;
      waits = false;
      if (!decode_more(needs ? 1 : 0)) break;
      continue;
    }
    const std::size_t n = std::min(buffer.size() - done, d.bytes.size() - d.used);
    std::copy_n(d.bytes.begin() + static_cast<std::ptrdiff_t>(d.used), n,
                buffer.begin() + static_cast<std::ptrdiff_t>(done));
    d.used += n;
    done += n;
  }
  return {.bytes = done, .ended = false};
}

}  // namespace paraes
