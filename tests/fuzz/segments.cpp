// Fuzzes segments in memory: ranges of one message, and many whole messages at once. What is sealed
// is OpenSSL's; what is opened is what OpenSSL opens, or refused and zeroed, with the first bad
// segment named. Calls with sizes that do not fit are refused.

#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "tests/fuzz/any_message.hpp"
#include "tests/support/evp_oracle.hpp"

namespace paraes::fuzz {
namespace {

// A range of the segments of a message.
struct Part {
  std::uint64_t first = 0;
  bool ends = false;
  Bytes plain;
  Buffer sealed;
  std::vector<std::size_t> sizes;  // of the segments' plaintexts
};

// Segments [first, first + count) of `plain`, of which `all` are the sizes.
Part make_part(Input& input, const Derived& derived, const Buffer& plain,
               const std::vector<std::size_t>& all) {
  Part part;
  part.first = number(input, 0, all.size() - 1);
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(part.first);
  const std::size_t count = number(input, 1, all.size() - static_cast<std::size_t>(part.first));
  part.sizes.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  part.ends = part.first + count == all.size();
  std::size_t at = 0;
  for (auto size = all.begin(); size != begin; ++size) at += *size;
  const std::size_t from = at;
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = part.ends && i + 1 == count;
    const support::Sealed segment =
        support::evp_gcm_encrypt(derived.key, nonce_of(derived, part.first + i, last), {},
                                 Bytes(plain).subspan(at, part.sizes[i]));
    part.sealed = joined(joined(part.sealed, segment.text), segment.tag);
    at += part.sizes[i];
  }
  part.plain = Bytes(plain).subspan(from, at - from);
  return part;
}

void check_opening(const Derived& derived, const Message& message, const Part& part,
                   const Buffer& sealed, int threads) {
  Buffer plain(part.plain.size(), 0xd5);
  const Opened opened = open_by_evp(derived, sealed, part.first, part.ends);
  const auto bad = std::find_if(opened.segments.begin(), opened.segments.end(),
                                [](const auto& segment) { return !segment.opens; });
  try {
    open_segments(message, part.first, part.ends, sealed, plain, threads);
    require(opened.intact() && equal(plain, opened.plain));
  } catch (const BadSegment& error) {
    require(!opened.intact() && all_zero(plain));
    require(error.segment() ==
            part.first + static_cast<std::uint64_t>(bad - opened.segments.begin()));
    require(error.plain_offset() == message.layout().plain_offset(error.segment()));
  }
}

// Sizes as they come: what fits no segments is refused.
void check_sizes(Input& input, const Derived& derived, const Message& message, const Part& part) {
  const Buffer in = text(input, number(input, 0, 2 * part.sealed.size() + 40));
  Buffer out(number(input, 0, in.size() + 40));
  const std::uint64_t first =
      input.ConsumeBool() ? part.first : input.ConsumeIntegral<std::uint64_t>() >> 26;
  const bool ends = input.ConsumeBool();
  try {
    if (input.ConsumeBool()) {
      seal_segments(message, first, ends, in, out, 1);
    } else {
      open_segments(message, first, ends, in, out, 1);
      require(in.empty() || open_by_evp(derived, in, first, ends).intact());
    }
  } catch (const InvalidArgument&) {
    return;
  } catch (const IntegrityError&) {
    return;
  }
}

void check_ranges(Input& input, const Derived& derived, const Execution& execution) {
  const Message message(parts_of(derived), execution);
  const Buffer plain = any_text(input, derived, 100000);
  const Part part = make_part(input, derived, plain, segments_of(derived, plain.size()));
  const int threads = static_cast<int>(number(input, 0, 3));
  Buffer sealed(part.sealed.size());
  const bool refused = throws<InvalidArgument>(
      [&] { seal_segments(message, part.first, part.ends, part.plain, sealed, threads); });
  require(refused == (part.first + part.sizes.size() > derived.max_segments));
  if (refused) return;
  require(equal(sealed, part.sealed));
  for (std::size_t changes = number(input, 0, 2); changes != 0; --changes) {
    sealed[number(input, 0, sealed.size() - 1)] ^= input.ConsumeIntegral<std::uint8_t>();
  }
  check_opening(derived, message, part, sealed, threads);
  if (input.ConsumeBool()) check_sizes(input, derived, message, part);
}

struct Whole {
  explicit Whole(const Derived& from, const Execution& execution)
      : derived(from), message(parts_of(from), execution) {}

  Derived derived;
  Message message;
  Buffer plain;
  Buffer sealed;
  Buffer given;  // what is opened
  Buffer out;
};

void check_sealing(std::vector<std::unique_ptr<Whole>>& all) {
  std::vector<WholeMessage> list;
  for (const auto& whole : all) {
    whole->out.assign(whole->sealed.size(), 0xd5);
    list.push_back(
        {.message = &whole->message, .in = whole->plain, .out = whole->out, .error = {}});
  }
  seal_messages(list);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Whole& whole = *all[i];
    const std::size_t segments = segments_of(whole.derived, whole.plain.size()).size();
    const bool refused = segments > whole.derived.max_segments;
    require(refused == (list[i].error != nullptr));
    if (refused) {
      require(all_zero(whole.out));
      require(throws<InvalidArgument>([&] { std::rethrow_exception(list[i].error); }));
    } else {
      require(equal(whole.out, whole.sealed));
    }
  }
}

// The size of the plaintext of a message of this size; zero if there is none.
std::size_t plain_bytes(const Whole& whole) {
  std::uint64_t bytes = 0;
  static_cast<void>(throws<IntegrityError>(
      [&] { bytes = whole.message.layout().extent_of(whole.given.size()).plain_bytes; }));
  return static_cast<std::size_t>(bytes);
}

void check_opening(Input& input, std::vector<std::unique_ptr<Whole>>& all) {
  std::vector<WholeMessage> list;
  for (const auto& whole : all) {
    whole->given = whole->sealed;
    if (input.ConsumeBool()) damage(input, whole->given);
    whole->out.assign(plain_bytes(*whole), 0xd5);
    list.push_back(
        {.message = &whole->message, .in = whole->given, .out = whole->out, .error = {}});
  }
  open_messages(list);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Whole& whole = *all[i];
    // The header is not looked at: it was, when the message was made.
    const std::size_t header = std::min(whole.given.size(), whole.message.header().size());
    const Opened opened = open_by_evp(whole.derived, Bytes(whole.given).subspan(header));
    require(opened.intact() == (list[i].error == nullptr));
    if (opened.intact()) {
      require(equal(whole.out, opened.plain));
    } else {
      require(all_zero(whole.out));
      require(throws<IntegrityError>([&] { std::rethrow_exception(list[i].error); }));
    }
  }
}

void check_batch(Input& input, const Execution& execution) {
  std::vector<std::unique_ptr<Whole>> all;
  for (std::size_t count = number(input, 1, 5); count != 0; --count) {
    const Derived derived = any_derived(input);
    auto whole = std::make_unique<Whole>(derived, execution);
    whole->plain = any_text(input, derived, 20000);
    whole->sealed = joined(derived.header, seal_by_evp(derived, whole->plain));
    all.push_back(std::move(whole));
  }
  check_sealing(all);
  check_opening(input, all);
}

}  // namespace

void fuzz(Input& input) {
  const AnyKernel kernel(input);
  if (input.ConsumeBool()) {
    check_batch(input, kernel.execution());
  } else {
    check_ranges(input, any_derived(input),
                 kernel.execution(static_cast<int>(number(input, 1, 2))));
  }
}

}  // namespace paraes::fuzz
