// Data in the memory of a GPU.

#include <vector>

#include "paraes/devices.hpp"
#include "src/c/common.hpp"

struct paraes_device_work {
  paraes::DeviceWork work;
};
struct paraes_device_verdict {
  paraes::DeviceVerdict verdict;
};
struct paraes_device_gcm {
  paraes::DeviceGcm cipher;
};
struct paraes_device_ctr {
  paraes::DeviceCtr cipher;
};

namespace paraes::c {
namespace {

// NULL: that of the constructor.
DeviceStream stream_at(const paraes_stream* stream) {
  if (stream == nullptr) return {};
  const auto given = options_at(stream, "stream", sizeof(paraes_stream));
  return {text_of(given.device), given.handle};
}

DeviceBuffer buffer_of(const paraes_device_buffer& buffer) {
  return {buffer.memory, buffer.offset, buffer.bytes};
}

DeviceBuffer buffer_at(const paraes_device_buffer* buffer, const char* name) {
  return buffer_of(require(buffer, name));
}

DeviceMessage described(const paraes_device_message& given) {
  DeviceMessage message;
  message.in = given.in;
  message.out = given.out;
  message.bytes = given.bytes;
  message.key = given.key;
  std::copy(std::begin(given.iv), std::end(given.iv), message.iv.begin());
  message.tag = given.tag;
  message.aad = bytes_at(given.aad, given.aad_bytes, "aad of a message");
  return message;
}

DeviceText described(const paraes_device_text& given) {
  DeviceText text;
  text.in = buffer_of(given.in);
  text.out = buffer_of(given.out);
  text.key = given.key;
  std::copy(std::begin(given.iv), std::end(given.iv), text.iv.begin());
  text.tag = buffer_of(given.tag);
  text.aad = bytes_at(given.aad, given.aad_bytes, "aad of a text");
  return text;
}

// The messages or texts of an array, which is the argument `name`.
template <class Element>
auto list_at(const Element* first, std::size_t count, const char* name, std::size_t stride) {
  const Elements<const Element> given(first, count, name, stride);
  std::vector<decltype(described(*first))> list;
  list.reserve(count);
  for (std::size_t i = 0; i < count; ++i) list.push_back(described(given[i]));
  return list;
}

// Makes a handle of a cipher.
template <class Cipher, class Handle>
int new_cipher(Handle** place, const paraes_stream* stream, const void* const* keys,
               std::size_t key_count, std::size_t key_bytes, const paraes_device_options* options) {
  return make_handle(place, [&] {
    require(stream, "stream");
    if (keys == nullptr) refuse_null("keys");
    std::vector<Bytes> list;
    for (std::size_t i = 0; i < key_count; ++i) {
      list.push_back(bytes_at(keys[i], key_bytes, "a key"));
    }
    const auto given = options_at(options, "options", sizeof(paraes_device_options));
    DeviceOptions made;
    made.kernel = c::text_of(given.kernel);
    made.allow_leaky = given.allow_leaky != 0;
    made.any_address = given.any_address != 0;
    return new Handle{Cipher(stream_at(stream), list, made)};
  });
}

// Makes a call that enqueues work, and the handle of this work if the caller wants it. The memory
// of the handle comes first: the work is not taken back.
template <class Handle, class Enqueue>
int enqueue(Handle** place, const Enqueue& work) noexcept {
  if (place != nullptr) *place = nullptr;
  return call([&] {
    std::unique_ptr<Handle> made;
    if (place != nullptr) made = std::make_unique<Handle>();
    auto enqueued = work();
    if (place == nullptr) return;
    made->work = std::move(enqueued);
    *place = made.release();
  });
}

[[noreturn]] void refuse_messages() {
  throw IntegrityError(
      "the GCM tag does not match: wrong key, nonce or associated data, or damaged data");
}

}  // namespace
}  // namespace paraes::c

using paraes::c::buffer_at;
using paraes::c::call;
using paraes::c::enqueue;
using paraes::c::list_at;
using paraes::c::require;
using paraes::c::stream_at;

extern "C" {

int paraes_device_work_ready(const paraes_device_work* work, int* ready) {
  return call([&] {
    require(ready, "ready") = 0;
    *ready = require(work, "work").work.ready() ? 1 : 0;
  });
}

void paraes_device_work_free(paraes_device_work* work) { delete work; }

int paraes_device_verdict_ready(const paraes_device_verdict* verdict, int* ready) {
  return call([&] {
    require(ready, "ready") = 0;
    *ready = require(verdict, "verdict").verdict.ready() ? 1 : 0;
  });
}

int paraes_device_verdict_at(const paraes_device_verdict* verdict, std::size_t index) {
  return call([&] {
    if (!require(verdict, "verdict").verdict.intact(index)) paraes::c::refuse_messages();
  });
}

int paraes_device_verdict_all(const paraes_device_verdict* verdict) {
  return call([&] {
    if (!require(verdict, "verdict").verdict.all_intact()) paraes::c::refuse_messages();
  });
}

void paraes_device_verdict_free(paraes_device_verdict* verdict) { delete verdict; }

int paraes_device_gcm_new(paraes_device_gcm** gcm, const paraes_stream* stream,
                          const void* const* keys, std::size_t key_count, std::size_t key_bytes,
                          const paraes_device_options* options) {
  return paraes::c::new_cipher<paraes::DeviceGcm>(gcm, stream, keys, key_count, key_bytes, options);
}

int paraes_device_gcm_wait_for(paraes_device_gcm* gcm, const paraes_stream* other,
                               const paraes_stream* stream) {
  return call([&] {
    require(gcm, "gcm").cipher.wait_for(stream_at(&require(other, "other")), stream_at(stream));
  });
}

int paraes_device_gcm_encrypt(paraes_device_gcm* gcm, const paraes_device_buffer* in,
                              const paraes_device_buffer* out,
                              const paraes_device_message* messages, std::size_t count,
                              std::size_t message_bytes, const paraes_stream* stream,
                              paraes_device_work** work) {
  return enqueue(work, [&] {
    return require(gcm, "gcm")
        .cipher.encrypt(buffer_at(in, "in"), buffer_at(out, "out"),
                        list_at(messages, count, "messages", message_bytes), stream_at(stream));
  });
}

int paraes_device_gcm_decrypt(paraes_device_gcm* gcm, const paraes_device_buffer* in,
                              const paraes_device_buffer* out,
                              const paraes_device_message* messages, std::size_t count,
                              std::size_t message_bytes, const paraes_stream* stream,
                              paraes_device_verdict** verdict) {
  return paraes::c::make_handle(verdict, [&] {
    return new paraes_device_verdict{
        require(gcm, "gcm")
            .cipher.decrypt(buffer_at(in, "in"), buffer_at(out, "out"),
                            list_at(messages, count, "messages", message_bytes),
                            stream_at(stream))};
  });
}

int paraes_device_gcm_encrypt_texts(paraes_device_gcm* gcm, const paraes_device_text* texts,
                                    std::size_t count, std::size_t text_bytes,
                                    const paraes_stream* stream, paraes_device_work** work) {
  return enqueue(work, [&] {
    return require(gcm, "gcm")
        .cipher.encrypt(list_at(texts, count, "texts", text_bytes), stream_at(stream));
  });
}

int paraes_device_gcm_decrypt_texts(paraes_device_gcm* gcm, const paraes_device_text* texts,
                                    std::size_t count, std::size_t text_bytes,
                                    const paraes_stream* stream, paraes_device_verdict** verdict) {
  return paraes::c::make_handle(verdict, [&] {
    return new paraes_device_verdict{
        require(gcm, "gcm")
            .cipher.decrypt(list_at(texts, count, "texts", text_bytes), stream_at(stream))};
  });
}

void paraes_device_gcm_free(paraes_device_gcm* gcm) { delete gcm; }

int paraes_device_ctr_new(paraes_device_ctr** ctr, const paraes_stream* stream,
                          const void* const* keys, std::size_t key_count, std::size_t key_bytes,
                          const paraes_device_options* options) {
  return paraes::c::new_cipher<paraes::DeviceCtr>(ctr, stream, keys, key_count, key_bytes, options);
}

int paraes_device_ctr_wait_for(paraes_device_ctr* ctr, const paraes_stream* other,
                               const paraes_stream* stream) {
  return call([&] {
    require(ctr, "ctr").cipher.wait_for(stream_at(&require(other, "other")), stream_at(stream));
  });
}

int paraes_device_ctr_process(paraes_device_ctr* ctr, const paraes_device_buffer* in,
                              const paraes_device_buffer* out,
                              const paraes_device_message* messages, std::size_t count,
                              std::size_t message_bytes, const paraes_stream* stream,
                              paraes_device_work** work) {
  return enqueue(work, [&] {
    return require(ctr, "ctr")
        .cipher.process(buffer_at(in, "in"), buffer_at(out, "out"),
                        list_at(messages, count, "messages", message_bytes), stream_at(stream));
  });
}

int paraes_device_ctr_process_texts(paraes_device_ctr* ctr, const paraes_device_text* texts,
                                    std::size_t count, std::size_t text_bytes,
                                    const paraes_stream* stream, paraes_device_work** work) {
  return enqueue(work, [&] {
    return require(ctr, "ctr")
        .cipher.process(list_at(texts, count, "texts", text_bytes), stream_at(stream));
  });
}

void paraes_device_ctr_free(paraes_device_ctr* ctr) { delete ctr; }

}  // extern "C"
