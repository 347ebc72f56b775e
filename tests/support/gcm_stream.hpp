// GCM with nonces of any length and messages in several calls, on the functions of
// src/modes/gcm.hpp.
#pragma once

#include "src/modes/gcm.hpp"

namespace paraes::support {

// One message: first all AAD, then all text, in calls of any size, then the tag. Decryption returns
// plaintext before the tag is known, so the caller must compare the tags.
class GcmStream {
 public:
  GcmStream(const GcmKey& key, Direction direction, Bytes nonce);
  ~GcmStream();
  GcmStream(const GcmStream&) = delete;
  GcmStream& operator=(const GcmStream&) = delete;

  void aad(Bytes data);
  void update(Bytes in, MutableBytes out);
  void tag(std::uint8_t tag[16]);

 private:
  void finish_hash_block();

  const GcmKey& key_;
  Direction direction_;
  GcmCounter j0_;
  GcmCounter counter_;
  std::uint8_t state_[16] = {};
  std::uint8_t pending_[16] = {};  // AAD or ciphertext that does not fill a block yet
  std::uint8_t stream_[16] = {};   // key stream of the block that the last update left open
  std::uint64_t aad_bytes_ = 0;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace paraes::support
