// Reads and writes sizes for people. The bench reads its --size axis with the same function.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace paraes::cli {

// Reads "4096", "64K", "64KiB" (both 65536) or "64kB" (64000); K M G T and KiB MiB GiB TiB are
// binary, kB MB GB TB decimal, and B is bytes. Throws InvalidArgument, with the flag's
// name first, for anything else and for a size over 2^63 - 1.
[[nodiscard]] std::uint64_t parse_size(std::string_view text, std::string_view flag);

// For sizes that are powers of two, such as segments and memory: 4096 becomes "4.0 KiB", and 17
// becomes "17 B".
[[nodiscard]] std::string format_size(std::uint64_t bytes);

// For data that a run has processed: 1234567 becomes "1.23 MB", and 17 becomes "17 B".
[[nodiscard]] std::string format_amount(std::uint64_t bytes);

// The text of format_amount without allocation, for signal handlers.
using AmountText = std::array<char, 12>;
[[nodiscard]] AmountText amount_text(std::uint64_t bytes) noexcept;

// A rate in the units of format_amount: "1.25 GB/s".
[[nodiscard]] std::string format_rate(double bytes_per_second);

}  // namespace paraes::cli
