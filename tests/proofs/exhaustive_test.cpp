// Bounded domains as a whole, against definitions that need no arithmetic: what CBMC proves for
// single layouts and windows, and headers of age files, whose reader it cannot read.

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "paraes/error.hpp"
#include "paraes/recipients.hpp"
#include "src/messages/segment_arithmetic.hpp"

namespace paraes::detail {
namespace {

// All messages of a layout that has small segments, made one segment after the other.
std::map<std::uint64_t, Contents> messages_of(const SegmentSizes& sizes) {
  std::map<std::uint64_t, Contents> found;
  std::uint64_t sealed = sizes.header_bytes;
  std::uint64_t plain = 0;
  for (std::uint64_t index = 0; index < sizes.max_segments; ++index) {
    const std::uint64_t full = index == 0 ? sizes.first_bytes : sizes.segment_bytes;
    for (std::uint64_t last = 0; last <= full; ++last) {
      if (last == full && sizes.shorter_last) break;
      const bool unusual = last == 0 && index != 0;
      found[sealed + last + tag_bytes] = {index + 1, plain + last, unusual};
    }
    sealed += full + tag_bytes;
    plain += full;
  }
  return found;
}

template <class Function>
void for_small_layouts(const Function& function) {
  for (std::uint64_t first = 1; first <= 5; ++first) {
    for (std::uint64_t segment = 1; segment <= 20; segment += segment < 5 ? 1 : 5) {
      for (std::uint64_t most = 1; most <= 4; ++most) {
        for (const bool shorter : {false, true}) function({3, first, segment, most, shorter});
      }
    }
  }
}

TEST(Exhaustive, EverySizeOfSmallSegmentsIsThatOfAMessageOrRefused) {
  for_small_layouts([](const SegmentSizes& sizes) {
    const auto messages = messages_of(sizes);
    for (std::uint64_t size = 0; size <= messages.rbegin()->first + 50; ++size) {
      Contents contents;
      const bool accepted = contents_of(sizes, size, contents) == SizeFault::none;
      const auto message = messages.find(size);
      ASSERT_EQ(accepted, message != messages.end()) << size;
      if (!accepted) continue;
      ASSERT_EQ(contents.segments, message->second.segments);
      ASSERT_EQ(contents.plain_bytes, message->second.plain_bytes);
      ASSERT_EQ(contents.empty_last, message->second.empty_last);
    }
  });
}

TEST(Exhaustive, EveryRangeOfSmallSegmentsOpensTheSegmentsThatHoldIt) {
  for_small_layouts([](const SegmentSizes& sizes) {
    for (const auto& [size, contents] : messages_of(sizes)) {
      // Which segment holds each byte.
      std::vector<std::uint64_t> segments;
      for (std::uint64_t index = 0; segments.size() < contents.plain_bytes; ++index) {
        segments.insert(segments.end(), index == 0 ? sizes.first_bytes : sizes.segment_bytes,
                        index);
      }
      for (std::uint64_t begin = 0; begin <= contents.plain_bytes; ++begin) {
        for (std::uint64_t end = begin; end <= contents.plain_bytes; ++end) {
          const SegmentInterval opened = segments_of_range(sizes, contents, begin, end);
          const bool to_end = end == contents.plain_bytes;
          if (begin != end) {
            ASSERT_EQ(opened.first, segments[begin]);
          }
          ASSERT_EQ(opened.end, to_end         ? contents.segments
                                : begin == end ? opened.first
                                               : segments[end - 1] + 1);
          ASSERT_LE(opened.first, opened.end);
          if (to_end) {
            ASSERT_LT(opened.first, opened.end);
          }
        }
      }
    }
  });
}

TEST(Exhaustive, SharesOfUpTo300ChunksDifferByAtMostOne) {
  for (std::uint32_t shares = 1; shares <= 40; ++shares) {
    for (std::uint64_t count = 0; count <= 300; ++count) {
      ASSERT_EQ(share_begin(count, 0, shares), 0U);
      ASSERT_EQ(share_begin(count, shares, shares), count);
      for (std::uint32_t index = 0; index < shares; ++index) {
        const std::uint64_t size =
            share_begin(count, index + 1, shares) - share_begin(count, index, shares);
        ASSERT_GE(size, count / shares);
        ASSERT_LE(size, count / shares + 1);
      }
    }
  }
}

bool is_age_header(const std::string& text) {
  static const std::regex grammar(
      "age-encryption\\.org/v1\n"
      "(-> [!-~]+( [!-~]+)*\n([A-Za-z0-9+/]{64}\n)*[A-Za-z0-9+/]{0,63}\n)+"
      "--- [A-Za-z0-9+/]{43}\n");
  static const std::regex with_scrypt("\n-> scrypt[ \n]");
  // The payload may follow.
  return std::regex_search(text, grammar, std::regex_constants::match_continuous) &&
         !std::regex_search(text, with_scrypt);
}

bool reads(const std::string& text) {
  try {
    static_cast<void>(
        parse_age_header({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    return true;
  } catch (const IntegrityError&) {
    return false;
  }
}

// Every sequence of up to five of these tokens between the first line and the MAC.
TEST(Exhaustive, AgeHeadersOfFiveTokensAreReadAsTheGrammarSays) {
  const std::string line(64, 'A');
  const std::string tokens[] = {"-> ", "--- ", "\n", " ", "a", "scrypt", line, "\x7f", "-"};
  const std::string mac = "--- " + std::string(43, 'M') + "\n";
  std::size_t accepted = 0;
  std::size_t all = 0;
  std::vector<std::string> texts = {""};
  for (int length = 0; length <= 5; ++length) {
    std::vector<std::string> longer;
    for (const std::string& middle : texts) {
      const std::string text = "age-encryption.org/v1\n" + middle + mac;
      const bool expected = is_age_header(text);
      ASSERT_EQ(reads(text), expected) << text;
      accepted += expected ? 1 : 0;
      ++all;
      if (length == 5) continue;
      for (const std::string& token : tokens) longer.push_back(middle + token);
    }
    texts = std::move(longer);
  }
  EXPECT_EQ(all, 66430U);
  EXPECT_GT(accepted, 10U);
  // Each beginning of a header, and each byte that is changed, inserted or removed.
  const std::string header =
      "age-encryption.org/v1\n-> X25519 b64\n" + line + "\nAAAA\n-> a\n\n" + mac;
  ASSERT_TRUE(reads(header));
  for (std::size_t n = 0; n < header.size(); ++n) {
    ASSERT_FALSE(reads(header.substr(0, n))) << n;
    std::string shorter = header;
    shorter.erase(n, 1);
    ASSERT_EQ(reads(shorter), is_age_header(shorter)) << n << " removed";
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = header;
      changed[n] = static_cast<char>(byte);
      ASSERT_EQ(reads(changed), is_age_header(changed)) << n << ": " << byte;
      std::string longer = header;
      longer.insert(n, 1, static_cast<char>(byte));
      ASSERT_EQ(reads(longer), is_age_header(longer)) << n << ": " << byte << " inserted";
    }
  }
}

}  // namespace
}  // namespace paraes::detail
