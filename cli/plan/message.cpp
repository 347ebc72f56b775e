#include "cli/plan/message.hpp"

#include <fmt/format.h>

#include "cli/arguments/options.hpp"
#include "cli/words/choices.hpp"
#include "paraes/error.hpp"

namespace paraes::cli {

void plan_message(const CryptOptions& options, Plan& plan) {
  plan.format_named = options.format.has_value();
  plan.key_bits = options.key_bits.value_or(0);
  plan.mode = options.mode.value_or(plan.format == Format::openssl ? BlockMode::cbc : plan.mode);
  if (options.iv) plan.iv = *options.iv;
  plan.padding = !options.no_padding;
  if (options.unit) plan.unit_bytes = static_cast<std::size_t>(*options.unit);
  if (options.iterations) plan.iterations = *options.iterations;
  if (options.context) plan.context = *options.context;
  if (options.segment_bytes) plan.segment_bytes = *options.segment_bytes;
  if (options.tink_hash) plan.tink_hash = *options.tink_hash;
  plan.tink_flags = options.segment_bytes || options.tink_hash;
  if (options.scrypt_log2n) plan.scrypt_log2n = *options.scrypt_log2n;
  if (options.max_scrypt_log2n) plan.max_scrypt_log2n = *options.max_scrypt_log2n;
  plan.offset = options.offset.value_or(0);
  plan.length = options.length;
  plan.salvage = options.salvage;

  if (options.iv && options.iv->size() != block_bytes) {
    throw InvalidArgument(fmt::format(
        "--iv-hex has {} hex digits; it must have exactly 32 (16 bytes)", 2 * options.iv->size()));
  }
  const std::size_t most = plan.format == Format::c2sp ? max_c2sp_context_bytes : max_context_bytes;
  if (plan.context.size() > most) {
    throw InvalidArgument(fmt::format("--context-hex has {} bytes; at most {} are allowed",
                                      plan.context.size(), most));
  }
}

}  // namespace paraes::cli
