// Ciphers of one message in one call.

#include "paraes/ciphers.hpp"

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

void check_into(std::size_t out_bytes, std::size_t right) {
  if (out_bytes != right) refuse_size("out", out_bytes, (std::to_string(right) + " bytes").c_str());
}

// `in` and `out` begin at the same byte or do not overlap.
void check_in_place(Bytes in, Bytes out) {
  if (in.data() != out.data()) check_apart(in, out);
}

GcmText text_of(const paraes_gcm_message& message, Direction direction) {
  GcmText text = {.nonce = bytes_at(message.nonce, message.nonce_bytes, "nonce of a message"),
                  .aad = bytes_at(message.aad, message.aad_bytes, "aad of a message"),
                  .in = bytes_at(message.in, message.bytes, "in of a message"),
                  .out = room_at(message.out, message.bytes, "out of a message")};
  if (direction == Direction::encrypt) {
    if (message.tag_bytes != 0 && message.tag_bytes != tag_bytes) {
      refuse_size("tag of a message", message.tag_bytes, "0 or 16 bytes");
    }
    text.tag = room_at(message.tag, tag_bytes, "tag of a message");
  } else {
    text.expected_tag = bytes_at(message.tag, message.tag_bytes, "tag of a message");
  }
  return text;
}

using MessageArray = Elements<paraes_gcm_message>;

std::vector<GcmText> texts_of(const MessageArray& messages, Direction direction) {
  std::vector<GcmText> texts;
  texts.reserve(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    texts.push_back(text_of(messages[i], direction));
  }
  return texts;
}

}  // namespace
}  // namespace paraes::c

using paraes::c::bytes_at;
using paraes::c::call;
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
        .gcm.encrypt(bytes_at(nonce, nonce_bytes, "nonce"), bytes_at(aad, aad_bytes, "aad"),
                     bytes_at(in, bytes, "in"), room_at(out, bytes, "out"),
                     room_at(tag, paraes::c::tag_bytes, "tag"));
  });
}

int paraes_gcm_decrypt(const paraes_gcm_key* gcm, const void* nonce, std::size_t nonce_bytes,
                       const void* aad, std::size_t aad_bytes, const void* in, std::size_t bytes,
                       void* out, const void* tag, std::size_t tag_bytes) {
  return call([&] {
    require(gcm, "gcm")
        .gcm.decrypt(bytes_at(nonce, nonce_bytes, "nonce"), bytes_at(aad, aad_bytes, "aad"),
                     bytes_at(in, bytes, "in"), room_at(out, bytes, "out"),
                     bytes_at(tag, tag_bytes, "tag"));
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
  return call([&] {
    const paraes_gcm_key& key = require(gcm, "gcm");
    const paraes::c::MessageArray array(messages, count, "messages", message_bytes);
    auto texts = paraes::c::texts_of(array, paraes::Direction::encrypt);
    key.gcm.encrypt(texts);
  });
}

int paraes_gcm_decrypt_many(const paraes_gcm_key* gcm, paraes_gcm_message* messages,
                            std::size_t count, std::size_t message_bytes) {
  return call([&] {
    const paraes_gcm_key& key = require(gcm, "gcm");
    const paraes::c::MessageArray array(messages, count, "messages", message_bytes);
    auto texts = paraes::c::texts_of(array, paraes::Direction::decrypt);
    key.gcm.decrypt(texts);
    std::size_t damaged = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      array[i].code = texts[i].intact ? PARAES_OK : PARAES_INTEGRITY_ERROR;
      damaged += texts[i].intact ? 0 : 1;
    }
    if (damaged != 0) {
      throw paraes::IntegrityError(std::to_string(damaged) + " of " + std::to_string(count) +
                                   " GCM tags do not match: see the code of each message");
    }
  });
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
