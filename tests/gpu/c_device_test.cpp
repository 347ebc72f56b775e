// The device calls of the C API, on the device that PARAES_TEST_DEVICE names (opencl:0).

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/c/c_api.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/callers_device.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/test_device.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::difference;
using support::pattern;
using support::Release;
using support::test_device;

using GcmOnDevice =
    std::unique_ptr<paraes_device_gcm, Release<paraes_device_gcm, paraes_device_gcm_free>>;
using CtrOnDevice =
    std::unique_ptr<paraes_device_ctr, Release<paraes_device_ctr, paraes_device_ctr_free>>;
using Verdict = std::unique_ptr<paraes_device_verdict,
                                Release<paraes_device_verdict, paraes_device_verdict_free>>;
using Work =
    std::unique_ptr<paraes_device_work, Release<paraes_device_work, paraes_device_work_free>>;

// Structures of a later version.
struct LargerMessage {
  paraes_device_message message;
  std::uint64_t more;
};

class DeviceByC : public testing::Test {
 protected:
  static constexpr std::size_t sizes[] = {0, 1, 100, 5000, 33};
  static constexpr std::size_t count = std::size(sizes);

  void SetUp() override {
    options_.kernel = "reference";  // which compiles in a second
    PARAES_NEEDS_DEVICE(test_device());
    device_ = support::open_callers_device(test_device());
    name_ = device_->stream().device;
    stream_.device = name_.c_str();
    stream_.handle = device_->stream().handle;
    std::size_t at = 0;
    for (const std::size_t bytes : sizes) {
      const auto number = static_cast<unsigned>(messages_.size());
      LargerMessage made = {};
      made.message.in = made.message.out = at;
      made.message.bytes = bytes;
      made.message.tag = at + bytes;
      made.message.key = number % 2;
      made.message.aad = aad_.data();
      made.message.aad_bytes = number;
      const Buffer iv = pattern(16, 7 * number);
      std::copy(iv.begin(), iv.end(), std::begin(made.message.iv));
      messages_.push_back(made);
      plain_.push_back(pattern(bytes, number));
      at += bytes + 32;
    }
    in_ = buffer(device_->allocate(at));
    out_ = buffer(device_->allocate(at));
    total_ = at;
  }

  static paraes_device_buffer buffer(const DeviceBuffer& made) {
    return {made.memory, made.offset, made.bytes};
  }
  static DeviceBuffer buffer(const paraes_device_buffer& made) {
    return {made.memory, made.offset, made.bytes};
  }
  void write_plain() {
    Buffer all(total_, 0xee);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy(plain_[i].begin(), plain_[i].end(),
                all.begin() + static_cast<std::ptrdiff_t>(messages_[i].message.in));
    }
    device_->write(buffer(in_), all);
  }
  [[nodiscard]] const Buffer& key(std::size_t message) const { return keys_[message % 2]; }
  [[nodiscard]] Buffer nonce(std::size_t message, std::size_t bytes) const {
    const auto& iv = messages_[message].message.iv;
    return {std::begin(iv), std::begin(iv) + bytes};
  }
  GcmOnDevice new_gcm() {
    paraes_device_gcm* made = nullptr;
    EXPECT_DONE(paraes_device_gcm_new(&made, &stream_, key_list_, 2, 32, &options_));
    return GcmOnDevice(made);
  }

  std::unique_ptr<support::CallersDevice> device_;
  std::string name_;
  paraes_stream stream_ = PARAES_STREAM;
  paraes_device_options options_ = PARAES_DEVICE_OPTIONS;
  std::vector<LargerMessage> messages_;
  std::vector<Buffer> plain_;
  Buffer aad_ = pattern(20);
  Buffer keys_[2] = {support::make_key(32, 1), support::make_key(32, 2)};
  const void* key_list_[2] = {keys_[0].data(), keys_[1].data()};
  paraes_device_buffer in_ = {};
  paraes_device_buffer out_ = {};
  std::size_t total_ = 0;
};

TEST_F(DeviceByC, GcmMessages_AreOpenSsls) {
  const GcmOnDevice gcm = new_gcm();
  write_plain();
  paraes_device_work* made = nullptr;
  ASSERT_DONE(paraes_device_gcm_encrypt(gcm.get(), &in_, &out_, &messages_[0].message, count,
                                        sizeof(LargerMessage), nullptr, &made));
  const Work work(made);
  device_->synchronize();
  int ready = 0;
  ASSERT_DONE(paraes_device_work_ready(work.get(), &ready));
  EXPECT_EQ(ready, 1);
  const Buffer sealed = device_->read(buffer(out_));
  for (std::size_t i = 0; i < count; ++i) {
    const paraes_device_message& message = messages_[i].message;
    const auto expected =
        support::evp_gcm_encrypt(key(i), nonce(i, 12), Bytes(aad_).first(i), plain_[i]);
    EXPECT_EQ(difference(Bytes(sealed).subspan(message.out, sizes[i]), expected.text), "") << i;
    EXPECT_EQ(difference(Bytes(sealed).subspan(message.tag, 16), Bytes(expected.tag)), "") << i;
  }

  // Back, with one tag that is wrong.
  Buffer damaged(sealed);
  damaged[messages_[2].message.tag] ^= 1;
  device_->write(buffer(out_), damaged);
  paraes_device_verdict* judged = nullptr;
  ASSERT_DONE(paraes_device_gcm_decrypt(gcm.get(), &out_, &in_, &messages_[0].message, count,
                                        sizeof(LargerMessage), &stream_, &judged));
  const Verdict verdict(judged);
  device_->synchronize();
  ASSERT_DONE(paraes_device_verdict_ready(verdict.get(), &ready));
  EXPECT_EQ(ready, 1);
  EXPECT_FAILS(PARAES_INTEGRITY_ERROR, paraes_device_verdict_all(verdict.get()));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_device_verdict_at(verdict.get(), count));
  const Buffer opened = device_->read(buffer(in_));
  for (std::size_t i = 0; i < count; ++i) {
    const int code = paraes_device_verdict_at(verdict.get(), i);
    EXPECT_EQ(code, i == 2 ? PARAES_INTEGRITY_ERROR : PARAES_OK) << i;
    const Buffer expected = i == 2 ? Buffer(sizes[i]) : plain_[i];
    EXPECT_EQ(difference(Bytes(opened).subspan(messages_[i].message.in, sizes[i]), expected), "");
  }
}

TEST_F(DeviceByC, GcmTextsInMemoryOfTheirOwn) {
  const GcmOnDevice gcm = new_gcm();
  std::vector<paraes_device_text> texts(count);
  std::vector<DeviceBuffer> outs;
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceBuffer in = device_->allocate(sizes[i] + 1);
    if (sizes[i] != 0) device_->write({in.memory, 0, sizes[i]}, plain_[i]);
    outs.push_back(device_->allocate(sizes[i] + 16));
    texts[i].in = {in.memory, 0, sizes[i]};
    texts[i].out = {outs[i].memory, 0, sizes[i]};
    texts[i].tag = {outs[i].memory, sizes[i], 16};
    texts[i].key = static_cast<std::uint32_t>(i % 2);
    const Buffer iv = nonce(i, 12);
    std::copy(iv.begin(), iv.end(), std::begin(texts[i].iv));
  }
  ASSERT_DONE(paraes_device_gcm_encrypt_texts(gcm.get(), texts.data(), count, sizeof texts[0],
                                              nullptr, nullptr));
  device_->synchronize();
  for (std::size_t i = 0; i < count; ++i) {
    const auto expected = support::evp_gcm_encrypt(key(i), nonce(i, 12), {}, plain_[i]);
    const Buffer sealed = device_->read(outs[i]);
    EXPECT_EQ(difference(Bytes(sealed).first(sizes[i]), expected.text), "") << i;
    EXPECT_EQ(difference(Bytes(sealed).last(16), Bytes(expected.tag)), "") << i;
    std::swap(texts[i].in, texts[i].out);
  }
  paraes_device_verdict* judged = nullptr;
  ASSERT_DONE(paraes_device_gcm_decrypt_texts(gcm.get(), texts.data(), count, sizeof texts[0],
                                              nullptr, &judged));
  const Verdict verdict(judged);
  device_->synchronize();
  EXPECT_DONE(paraes_device_verdict_all(verdict.get()));
  for (std::size_t i = 0; i < count; ++i) {
    if (sizes[i] == 0) continue;
    EXPECT_EQ(difference(device_->read(buffer(texts[i].out)), plain_[i]), "");
  }
}

TEST_F(DeviceByC, CtrMessages_AreOpenSsls) {
  paraes_device_ctr* made = nullptr;
  ASSERT_DONE(paraes_device_ctr_new(&made, &stream_, key_list_, 2, 32, &options_));
  const CtrOnDevice ctr(made);
  write_plain();
  const DeviceStream other = device_->make_stream();
  paraes_stream waits = PARAES_STREAM;
  waits.device = other.device.c_str();
  waits.handle = other.handle;
  ASSERT_DONE(paraes_device_ctr_wait_for(ctr.get(), &waits, nullptr));
  ASSERT_DONE(paraes_device_ctr_process(ctr.get(), &in_, &out_, &messages_[0].message, count,
                                        sizeof(LargerMessage), nullptr, nullptr));
  device_->synchronize();
  const Buffer processed = device_->read(buffer(out_));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(difference(Bytes(processed).subspan(messages_[i].message.out, sizes[i]),
                         support::evp_ctr(key(i), nonce(i, 16), plain_[i])),
              "");
  }
  paraes_device_text text = {};
  text.in = {out_.memory, messages_[3].message.out, sizes[3]};
  text.out = text.in;
  text.key = 1;
  const Buffer iv = nonce(3, 16);
  std::copy(iv.begin(), iv.end(), std::begin(text.iv));
  ASSERT_DONE(paraes_device_ctr_process_texts(ctr.get(), &text, 1, sizeof text, nullptr, nullptr));
  device_->synchronize();
  EXPECT_EQ(difference(device_->read(buffer(text.out)), plain_[3]), "");
  device_->destroy_stream(other);
}

TEST_F(DeviceByC, WrongArguments_EnqueueNothing) {
  const GcmOnDevice gcm = new_gcm();
  write_plain();
  const Buffer before = device_->read(buffer(in_));
  paraes_device_message wrong = messages_[3].message;
  const auto encrypt = [&](paraes_device_buffer* out, std::size_t size) {
    return paraes_device_gcm_encrypt(gcm.get(), &in_, out, &wrong, 1, size, nullptr, nullptr);
  };
  wrong.bytes = total_;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, encrypt(&in_, sizeof wrong));
  wrong = messages_[3].message;
  wrong.key = 2;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, encrypt(&in_, sizeof wrong));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, encrypt(nullptr, sizeof wrong));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, encrypt(&in_, 5));
  paraes_device_verdict* judged = nullptr;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT, paraes_device_gcm_decrypt(gcm.get(), &in_, &in_, &wrong, 1,
                                                                  sizeof wrong, nullptr, &judged));
  EXPECT_EQ(judged, nullptr);
  EXPECT_EQ(device_->read(buffer(in_)), before);
  paraes_device_gcm* made = nullptr;
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_device_gcm_new(&made, &stream_, key_list_, 2, 31, nullptr));
  EXPECT_FAILS(PARAES_INVALID_ARGUMENT,
               paraes_device_gcm_new(&made, &stream_, key_list_, 0, 32, nullptr));
  paraes_device_options options = PARAES_DEVICE_OPTIONS;
  options.kernel = "none";
  EXPECT_FAILS(PARAES_UNKNOWN_KERNEL,
               paraes_device_gcm_new(&made, &stream_, key_list_, 2, 32, &options));
}

}  // namespace
}  // namespace paraes
