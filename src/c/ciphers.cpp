// Ciphers of one message in one call.

#include "paraes/ciphers.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "src/c/common.hpp"

// const in the interface, because any number of threads may use one.
struct paraes_gcm_key {
  mutable paraes::Gcm gcm;
};
struct paraes_block_key {
  paraes::BlockKey block;
};
struct paraes_xts_key {
  mutable paraes::Xts xts;
};

namespace paraes::c {
namespace {

constexpr std::size_t tag_bytes = 16;

const std::uint8_t* octets(const void* data) noexcept {
  return static_cast<const std::uint8_t*>(data);
}
std::uint8_t* octets(void* data) noexcept { return static_cast<std::uint8_t*>(data); }

void check_into(std::size_t out_bytes, std::size_t right) {
  if (out_bytes != right) refuse_size("out", out_bytes, (std::to_string(right) + " bytes").c_str());
}

// `in` and `out` begin at the same byte or do not overlap.
void check_in_place(Bytes in, Bytes out) {
  if (in.data() != out.data()) check_apart(in, out);
}

using MessageArray = Elements<paraes_gcm_message>;

// So many messages are described at a time: for one thread, so that their descriptions stay in the
// caches; for several, so that their work is worth sharing out.
constexpr std::size_t texts_of_one_thread = 512;
constexpr std::size_t texts_of_threads = std::size_t{1} << 16;

void set_text(GcmText& text, const paraes_gcm_message& message, Direction direction) {
  text.nonce = bytes_at(message.nonce, message.nonce_bytes, "nonce");
  text.aad = bytes_at(message.aad, message.aad_bytes, "aad");
  text.in = bytes_at(message.in, message.bytes, "in");
  text.out = room_at(message.out, message.bytes, "out");
  if (direction == Direction::decrypt) {
    text.expected_tag = bytes_at(message.tag, message.tag_bytes, "tag");
    return;
  }
  if (message.tag_bytes != 0 && message.tag_bytes != tag_bytes) {
    refuse_size("tag", message.tag_bytes, "16 bytes");
  }
  text.tag = room_at(message.tag, tag_bytes, "tag");
}

// Many messages: sets the code of each.
class ManyMessages {
 public:
  ManyMessages(Gcm& gcm, const MessageArray& messages, Direction direction)
      : gcm_(gcm),
        messages_(messages),
        direction_(direction),
        texts_(std::min(messages.size(),
                        gcm.threads() == 1 ? texts_of_one_thread : texts_of_threads)) {}

  // Throws for the first message that failed, when all have been processed.
  void run() {
    for (std::size_t first = 0; first < messages_.size(); first += texts_.size()) {
      const std::size_t count = std::min(texts_.size(), messages_.size() - first);
      try {
        crypt_batch(first, count);
      } catch (...) {  // of the device
        for (std::size_t i = first; i < messages_.size(); ++i) {
          messages_.unchecked(i).code = PARAES_ERROR;
        }
        throw;
      }
    }
    if (failed_ == 0) return;
    const std::string what = std::to_string(failed_) + " of " + std::to_string(messages_.size()) +
                             " messages failed, of which number " + std::to_string(first_failed_) +
                             " is the first: ";
    if (first_error_.empty()) throw IntegrityError(what + "its GCM tag does not match");
    throw InvalidArgument(what + first_error_);
  }

 private:
  void crypt(std::size_t first, std::size_t count) {
    const std::span texts = std::span(texts_).first(count);
    for (std::size_t i = 0; i < count; ++i) set_text(texts[i], messages_[first + i], direction_);
    if (direction_ == Direction::encrypt) {
      gcm_.encrypt(texts);
    } else {
      gcm_.decrypt(texts);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const bool done = direction_ == Direction::encrypt || texts[i].intact;
      messages_.unchecked(first + i).code = done ? PARAES_OK : PARAES_INTEGRITY_ERROR;
      if (!done) note_failure(first + i);
    }
  }

  void crypt_batch(std::size_t first, std::size_t count) {
    try {
      crypt(first, count);
    } catch (const InvalidArgument&) {
      // Finds out which one it was, and processes the others.
      for (std::size_t i = first; i < first + count; ++i) crypt_alone(i);
    }
  }

  void crypt_alone(std::size_t number) {
    try {
      crypt(number, 1);
    } catch (const InvalidArgument& error) {
      messages_.unchecked(number).code = PARAES_INVALID_ARGUMENT;
      if (failed_ == 0) first_error_ = error.what();
      note_failure(number);
    }
  }

  void note_failure(std::size_t number) {
    if (failed_++ == 0) first_failed_ = number;
  }

  Gcm& gcm_;
  const MessageArray& messages_;
  Direction direction_;
  std::vector<GcmText> texts_;
  std::size_t failed_ = 0;
  std::size_t first_failed_ = 0;
  std::string first_error_;  // of an argument
};

int crypt_many(const paraes_gcm_key* gcm, paraes_gcm_message* messages, std::size_t count,
               std::size_t message_bytes, Direction direction) noexcept {
  return call([&] {
    const paraes_gcm_key& key = require(gcm, "gcm");
    const MessageArray array(messages, count, "messages", message_bytes);
    ManyMessages(key.gcm, array, direction).run();
  });
}

}  // namespace
}  // namespace paraes::c

using paraes::c::bytes_at;
using paraes::c::call;
using paraes::c::octets;
using paraes::c::require;
using paraes::c::room_at;

extern "C" {

int paraes_gcm_key_new(paraes_gcm_key** gcm, const void* key, std::size_t key_bytes,
                       const paraes_execution* execution) {
  return paraes::c::make_handle(gcm, [&] {
    return new paraes_gcm_key{
        paraes::Gcm(bytes_at(key, key_bytes, "key"), paraes::c::execution_of(execution, 1))};
  });
}

void paraes_gcm_key_free(paraes_gcm_key* gcm) { delete gcm; }

int paraes_gcm_encrypt(const paraes_gcm_key* gcm, const void* nonce, std::size_t nonce_bytes,
                       const void* aad, std::size_t aad_bytes, const void* in, std::size_t bytes,
                       void* out, void* tag) {
  return call([&] {
    require(gcm, "gcm")
        .gcm.encrypt(octets(nonce), nonce_bytes, octets(aad), aad_bytes, octets(in), bytes,
                     octets(out), octets(tag));
  });
}

int paraes_gcm_decrypt(const paraes_gcm_key* gcm, const void* nonce, std::size_t nonce_bytes,
                       const void* aad, std::size_t aad_bytes, const void* in, std::size_t bytes,
                       void* out, const void* tag, std::size_t tag_bytes) {
  return call([&] {
    require(gcm, "gcm")
        .gcm.decrypt(octets(nonce), nonce_bytes, octets(aad), aad_bytes, octets(in), bytes,
                     octets(out), octets(tag), tag_bytes);
  });
}

int paraes_gcm_encrypt_into(const paraes_gcm_key* gcm, const void* nonce, std::size_t nonce_bytes,
                            const void* aad, std::size_t aad_bytes, const void* in,
                            std::size_t bytes, void* out, std::size_t out_bytes) {
  return call([&] {
    const paraes::Bytes text = bytes_at(in, bytes, "in");
    const paraes::MutableBytes room = room_at(out, out_bytes, "out");
    if (bytes > SIZE_MAX - paraes::c::tag_bytes) {
      paraes::c::refuse_size("in", bytes, "room for a tag");
    }
    paraes::c::check_into(out_bytes, bytes + paraes::c::tag_bytes);
    // The tag is written last, and where no input may be left.
    paraes::c::check_in_place(text, room);
    paraes::c::check_apart(bytes_at(nonce, nonce_bytes, "nonce"), room);
    paraes::c::check_apart(bytes_at(aad, aad_bytes, "aad"), room);
    require(gcm, "gcm")
        .gcm.encrypt(bytes_at(nonce, nonce_bytes, "nonce"), bytes_at(aad, aad_bytes, "aad"), text,
                     room.first(bytes), room.subspan(bytes));
  });
}

int paraes_gcm_decrypt_into(const paraes_gcm_key* gcm, const void* nonce, std::size_t nonce_bytes,
                            const void* aad, std::size_t aad_bytes, const void* in,
                            std::size_t bytes, void* out, std::size_t out_bytes) {
  return call([&] {
    const paraes::Bytes sealed = bytes_at(in, bytes, "in");
    const paraes::MutableBytes room = room_at(out, out_bytes, "out");
    if (bytes < paraes::c::tag_bytes) paraes::c::refuse_size("in", bytes, "16 bytes or more");
    const std::size_t plain = bytes - paraes::c::tag_bytes;
    paraes::c::check_into(out_bytes, plain);
    paraes::c::check_in_place(sealed, room);
    require(gcm, "gcm")
        .gcm.decrypt(bytes_at(nonce, nonce_bytes, "nonce"), bytes_at(aad, aad_bytes, "aad"),
                     sealed.first(plain), room, sealed.subspan(plain));
  });
}

int paraes_gcm_encrypt_many(const paraes_gcm_key* gcm, paraes_gcm_message* messages,
                            std::size_t count, std::size_t message_bytes) {
  return paraes::c::crypt_many(gcm, messages, count, message_bytes, paraes::Direction::encrypt);
}

int paraes_gcm_decrypt_many(const paraes_gcm_key* gcm, paraes_gcm_message* messages,
                            std::size_t count, std::size_t message_bytes) {
  return paraes::c::crypt_many(gcm, messages, count, message_bytes, paraes::Direction::decrypt);
}

int paraes_block_key_new(paraes_block_key** block, const void* key, std::size_t key_bytes,
                         const paraes_execution* execution) {
  return paraes::c::make_handle(block, [&] {
    return new paraes_block_key{
        paraes::BlockKey(bytes_at(key, key_bytes, "key"), paraes::c::execution_of(execution, 1))};
  });
}

void paraes_block_key_free(paraes_block_key* block) { delete block; }

int paraes_ctr(const paraes_block_key* block, const void* counter, std::uint64_t offset,
               const void* in, std::size_t bytes, void* out) {
  return call([&] {
    require(block, "block")
        .block.ctr(bytes_at(counter, paraes::block_bytes, "counter"), offset,
                   bytes_at(in, bytes, "in"), room_at(out, bytes, "out"));
  });
}

int paraes_cbc_encrypt(const paraes_block_key* block, const void* iv, const void* in,
                       std::size_t bytes, void* out) {
  return call([&] {
    require(block, "block")
        .block.cbc_encrypt(bytes_at(iv, paraes::block_bytes, "iv"), bytes_at(in, bytes, "in"),
                           room_at(out, bytes, "out"));
  });
}

int paraes_cbc_decrypt(const paraes_block_key* block, const void* iv, const void* in,
                       std::size_t bytes, void* out) {
  return call([&] {
    require(block, "block")
        .block.cbc_decrypt(bytes_at(iv, paraes::block_bytes, "iv"), bytes_at(in, bytes, "in"),
                           room_at(out, bytes, "out"));
  });
}

int paraes_ecb_encrypt(const paraes_block_key* block, const void* in, std::size_t bytes,
                       void* out) {
  return call([&] {
    require(block, "block")
        .block.ecb_encrypt(bytes_at(in, bytes, "in"), room_at(out, bytes, "out"));
  });
}

int paraes_ecb_decrypt(const paraes_block_key* block, const void* in, std::size_t bytes,
                       void* out) {
  return call([&] {
    require(block, "block")
        .block.ecb_decrypt(bytes_at(in, bytes, "in"), room_at(out, bytes, "out"));
  });
}

int paraes_xts_key_new(paraes_xts_key** xts, const void* key, std::size_t key_bytes,
                       std::size_t unit_bytes, const paraes_execution* execution) {
  return paraes::c::make_handle(xts, [&] {
    return new paraes_xts_key{paraes::Xts(bytes_at(key, key_bytes, "key"), unit_bytes,
                                          paraes::c::execution_of(execution, 1))};
  });
}

void paraes_xts_key_free(paraes_xts_key* xts) { delete xts; }

int paraes_xts_encrypt(const paraes_xts_key* xts, const void* first_unit, const void* in,
                       std::size_t bytes, void* out) {
  return call([&] {
    require(xts, "xts")
        .xts.encrypt(bytes_at(first_unit, paraes::block_bytes, "first_unit"),
                     bytes_at(in, bytes, "in"), room_at(out, bytes, "out"));
  });
}

int paraes_xts_decrypt(const paraes_xts_key* xts, const void* first_unit, const void* in,
                       std::size_t bytes, void* out) {
  return call([&] {
    require(xts, "xts")
        .xts.decrypt(bytes_at(first_unit, paraes::block_bytes, "first_unit"),
                     bytes_at(in, bytes, "in"), room_at(out, bytes, "out"));
  });
}

}  // extern "C"
