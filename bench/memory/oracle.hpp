// The right answer, from OpenSSL's EVP, one thread, computed afresh for every row.
#pragma once

#include <array>
#include <cstdint>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// The tag under which the job's input, taken as GCM ciphertext, decrypts.
[[nodiscard]] std::array<std::uint8_t, 16> gcm_tag_of_pattern(const Job& job);

// Whether `out` is what the job makes of pattern(0, …), every byte; GCM encryption: and `tag` is
// its tag.
[[nodiscard]] bool is_answer(const Job& job, const std::uint8_t* out, const std::uint8_t* tag);

// The same for a GCM job in segments, each a message with segment_nonce(): encryption made the tags
// that `tags` has, 16 bytes each; decryption found that these would be right.
[[nodiscard]] bool is_answer_in_segments(const Job& job, const std::uint8_t* out,
                                         const std::uint8_t* tags);

}  // namespace paraes::bench
