// Fuzzes headers of paraes messages: bytes are refused as damaged, or they are a header whose parts
// fit together. They come from a file and from a pipe, whose size is unknown.

#include <optional>

#include "paraes/error.hpp"
#include "paraes/recipients.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/support/memory_io.hpp"

namespace paraes::fuzz {
namespace {

// Whether `part` lies in `whole`, which begins with other bytes.
bool is_within(Bytes part, Bytes whole) {
  return part.data() > whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

// Nothing if it is refused.
std::optional<Buffer> header_in(Source& source) {
  try {
    return read_paraes_header(source);
  } catch (const IntegrityError&) {
    return std::nullopt;
  }
}

void check_age_file(Bytes age_file) {
  try {
    const std::vector<AgeStanza> stanzas = parse_age_header(age_file);
    require(!stanzas.empty());
    for (const AgeStanza& stanza : stanzas) {
      require(!stanza.type.empty() && stanza.type != "scrypt");
      for (const std::string& argument : stanza.arguments) require(!argument.empty());
    }
  } catch (const IntegrityError&) {
    return;
  }
}

void check_header(Bytes header) {
  try {
    const Preface preface = Preface::parse(header.first(std::min(header.size(), Preface::bytes)));
    const auto start = preface.encode();
    require(equal(start, header.first(start.size())));
    require(preface.wrap_bytes <= max_wrap_bytes);
  } catch (const IntegrityError&) {
    // age_file_of refuses it as well.
  }
  try {
    const Bytes age_file = age_file_of(header);
    require(is_within(age_file, header));
    check_age_file(age_file);
  } catch (const IntegrityError&) {
    return;
  } catch (const InvalidArgument&) {
    // It has no recipients.
    require(Preface::parse(header.first(Preface::bytes)).kdf != Kdf::recipients);
  }
}

}  // namespace

void fuzz(Input& input) {
  const Buffer bytes = input.ConsumeRemainingBytes<std::uint8_t>();
  support::RandomSource file(bytes);
  support::OrderedSource pipe(bytes);
  const auto from_file = header_in(file);
  const auto from_pipe = header_in(pipe);
  // Only a file shows that the wrap does not fit.
  require(!from_file || from_file == from_pipe);
  if (from_pipe) {
    require(from_pipe->size() <= bytes.size());
    require(equal(*from_pipe, Bytes(bytes).first(from_pipe->size())));
    require(from_pipe->size() <= paraes_header_bytes + max_wrap_bytes);
    check_header(*from_pipe);
  }
  check_header(bytes);
  check_age_file(bytes);
}

}  // namespace paraes::fuzz
