// Fuzzes messages of the format tink with any parameters: one that was made with OpenSSL is opened,
// one of paraes' own has OpenSSL's bytes, and a damaged one is opened if and only if OpenSSL opens
// it.

#include "tests/fuzz/formats.hpp"

namespace paraes::fuzz {
namespace {

constexpr std::size_t most_bytes = 40000;

TinkParameters any_parameters(Input& input) {
  constexpr std::uint64_t segments[] = {0, 41, 57, 58, 100, 4096, 1 << 20, 0x7fffffff, 0x80000000};
  constexpr std::size_t keys[] = {16, 32, 16, 32, 16, 32, 0, 24, 64};
  constexpr TinkHash hashes[] = {TinkHash::sha1, TinkHash::sha256, TinkHash::sha512};
  TinkParameters parameters;
  parameters.segment_bytes =
      input.ConsumeBool() ? one_of(input, segments) : number(input, 40, 6000);
  parameters.derived_key_bytes = one_of(input, keys);
  parameters.hash = one_of(input, hashes);
  return parameters;
}

bool is_valid(const TinkParameters& parameters, const Buffer& key, const Buffer& associated) {
  const std::size_t d = parameters.derived_key_bytes;
  return (d == 16 || d == 32) && parameters.segment_bytes > d + 24 &&
         parameters.segment_bytes < std::uint64_t{1} << 31 && key.size() >= 16 && key.size() >= d &&
         associated.size() <= max_context_bytes;
}

void check_own(const TinkParameters& parameters, const Buffer& key, const Buffer& associated,
               const Buffer& plain, const Execution& execution) {
  const Message message(new_tink_message(parameters, key, associated), execution);
  require(message.header()[0] == parameters.header_bytes());
  check_sealing(message, derive_tink(parameters, key, message.header(), associated), plain);
}

void check_others(Input& input, const TinkParameters& parameters, const Buffer& key,
                  const Buffer& associated, const Buffer& plain, const Execution& execution) {
  Buffer header = take(input, parameters.header_bytes());
  header[0] = static_cast<std::uint8_t>(header.size());
  const Derived made = derive_tink(parameters, key, header, associated);
  Buffer given = joined(header, seal_by_evp(made, plain));
  damage(input, given);
  const auto open = [&](Bytes start) {
    return Message(open_tink_message(parameters, start, key, associated), execution);
  };
  const auto derive = [&](Bytes start) -> std::optional<Derived> {
    if (start[0] != start.size()) return std::nullopt;
    return derive_tink(parameters, key, start, associated);
  };
  check_opening(given, parameters.header_bytes(), open, derive);
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  const TinkParameters parameters = any_parameters(input);
  const Buffer key = take(input, number(input, 12, 70));
  const Buffer associated = take(
      input, input.ConsumeBool() ? number(input, 0, 20) : number(input, 0, max_context_bytes + 1));
  if (!is_valid(parameters, key, associated)) {
    return require(throws<InvalidArgument>(
        [&] { static_cast<void>(new_tink_message(parameters, key, associated)); }));
  }
  const std::size_t most = std::min<std::size_t>(most_bytes, 200 * parameters.segment_bytes);
  const Buffer plain = text(input, size_of_text(input, most));
  if (plain.size() > 400 * (parameters.segment_bytes - parameters.derived_key_bytes - 24)) return;
  if (input.ConsumeBool()) {
    check_own(parameters, key, associated, plain, kernel.execution());
  } else {
    check_others(input, parameters, key, associated, plain, kernel.execution());
  }
}

}  // namespace paraes::fuzz
