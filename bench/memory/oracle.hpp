// Checks results against OpenSSL's EVP, which computes them again for each row, on one thread.
#pragma once

#include <array>
#include <cstdint>

#include "bench/memory/job.hpp"

namespace paraes::bench {

// The tag with which the pattern, taken as GCM ciphertext, is authentic.
[[nodiscard]] std::array<std::uint8_t, 16> gcm_tag_of_pattern(const Job& job);

// Writes the tags with which the pattern, taken as the ciphertexts of the job's many messages, is
// authentic, each behind its text in `in`.
void write_tags_of_pattern(const Job& job, std::uint8_t* in);

// Whether every byte of `out` is the job's result for pattern(0, …) as input, and in GCM encryption
// whether `tag` is its tag. `tag` is used in that case only. Of many messages, every text and, in
// encryption, every tag beside it. Ignores Job::offset.
[[nodiscard]] bool is_answer(const Job& job, const std::uint8_t* out, const std::uint8_t* tag);

// Does the same as is_answer() for a GCM job in segments, each a message with segment_nonce().
// `tags` has 16 bytes for each segment: the tags that encryption made, or that decryption computed
// from the ciphertext.
[[nodiscard]] bool is_answer_in_segments(const Job& job, const std::uint8_t* out,
                                         const std::uint8_t* tags);

}  // namespace paraes::bench
