// Real kernels leave nothing in device memory when their cipher is destroyed. The device is the
// first OpenCL device (PoCL), and failing_opencl.cpp looks into its buffers.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "paraes/error.hpp"
#include "tests/gpu/secret_work.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/opencl_buffers.hpp"
#include "tests/support/test_device.hpp"

namespace paraes {
namespace {

using support::Buffer;

// A kernel, and where it expands keys.
struct Case {
  const char* kernel;
  KeyExpansion expansion;
};

class Buffers : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    PARAES_NEEDS_DEVICE("opencl:0");
    paraes_watch_buffers();
    pool_ = support::make_pool("opencl", GetParam().kernel);
    use_.key_expansion = GetParam().expansion;
  }
  void TearDown() override {
    unsetenv("PARAES_FAKE_OPENCL");
    pool_.reset();
    EXPECT_EQ(paraes_unwiped_buffers(), 0U) << "when the buffers were freed";
  }

  void expect_not_pinned(Bytes secret) const {
    for (const auto& stream : pool_->contexts()[0]->streams()) {
      const std::span<const std::uint8_t> pinned(stream->output(), pool_->launch_bytes());
      EXPECT_EQ(memmem(pinned.data(), pinned.size(), secret.data(), secret.size()), nullptr);
    }
  }

  std::shared_ptr<gpu::DevicePool> pool_;
  detail::GpuUse use_;
};

TEST_P(Buffers, AreWipedWithTheirCipher) {
  EXPECT_EQ(paraes_buffers_in_use(), 0U);
  const support::Look look = [](const char* cipher) {
    EXPECT_GT(paraes_buffers_in_use(), 3U) << cipher;
  };
  support::work_in_block_modes(pool_, use_, look);
  EXPECT_EQ(paraes_buffers_in_use(), 0U) << "after the block modes";
  support::work_in_xts(pool_, use_, look);
  EXPECT_EQ(paraes_buffers_in_use(), 0U) << "after XTS";
  support::work_in_gcm(pool_, use_, look);
  EXPECT_EQ(paraes_buffers_in_use(), 0U) << "after GCM";
}

TEST_P(Buffers, AreWipedWithCiphersOfCallersMemory) {
  for (const unsigned keys : {1U, 3U}) {
    const support::Look look = [](const char* cipher) {
      EXPECT_GT(paraes_buffers_in_use(), 5U) << cipher;
    };
    support::work_in_callers_memory("opencl", GetParam().kernel, use_, keys, look);
    EXPECT_EQ(paraes_buffers_in_use(), 0U) << keys << " keys";
  }
}

TEST_P(Buffers, AreWipedAfterManyKeys) {
  support::work_with_many_keys(pool_, use_, 3);
  EXPECT_EQ(paraes_buffers_in_use(), 0U);
  support::work_with_many_keys(pool_, use_, 100);
  EXPECT_EQ(paraes_buffers_in_use(), 0U);
}

// A driver keeps arguments by value in memory that paraes cannot wipe.
TEST_P(Buffers, HoldAllKeysOfKernels) {
  const support::Look look = [](const char*) {};
  support::work_in_block_modes(pool_, use_, look);
  support::work_in_xts(pool_, use_, look);
  support::work_in_gcm(pool_, use_, look);
  support::work_with_many_keys(pool_, use_, 3);
  EXPECT_EQ(paraes_largest_argument(), sizeof(std::uint64_t));  // a pointer or a number
}

// Nothing is left of a key that another one replaced, although its cipher lives on.
TEST_P(Buffers, HoldNothingOfAReplacedKey) {
  const auto old_key =
      detail::make_key_material(support::make_key(64, 11), 2, false, use_.key_expansion);
  const auto new_key =
      detail::make_key_material(support::make_key(16, 12), 1, false, use_.key_expansion);
  const Buffer tweak_key = support::make_key(64, 11);
  const Buffer plain = support::pattern(4096);
  const Buffer zeros(16);
  // Round keys for encryption, for decryption, and for the tweaks.
  KeySchedule data_schedule;
  KeySchedule tweak_schedule;
  find_kernel("ttable").expand(data_schedule, tweak_key.data(), 32);
  find_kernel("ttable").expand(tweak_schedule, &tweak_key[32], 32);
  const std::array round_keys = {data_schedule.encrypt[9], data_schedule.decrypt[5],
                                 tweak_schedule.encrypt[7]};
  const Buffer tweak = support::evp_ecb(Direction::encrypt, Bytes(tweak_key).last(32), zeros);
  gpu::DevicePool::Lease lease(*pool_);
  gpu::Stream& stream = lease.stream();
  stream.use_key(*old_key);
  std::copy(plain.begin(), plain.end(), stream.input());
  stream.stage_in(plain.size());
  paraes_message message = gpu::make_message(0, 0, plain.size(), zeros.data());
  stream.launch_xts(Direction::encrypt, message, 16, nullptr);
  stream.stage_out(plain.size());
  stream.finish();
  // The tweak key in memory order, and the tweak of the first unit.
  EXPECT_GT(paraes_buffers_with(&tweak_key[32], 32), 0U);
  for (const std::uint8_t* key : round_keys) EXPECT_GT(paraes_buffers_with(key, 16), 0U);
  EXPECT_GT(paraes_buffers_with(tweak.data(), tweak.size()), 0U);
  EXPECT_GT(paraes_buffers_with(plain.data(), plain.size()), 0U);
  stream.use_key(*new_key);
  stream.finish();
  EXPECT_EQ(paraes_buffers_with(&tweak_key[32], 16), 0U);
  EXPECT_EQ(paraes_buffers_with(&tweak_key[48], 16), 0U);
  for (const std::uint8_t* key : round_keys) EXPECT_EQ(paraes_buffers_with(key, 16), 0U);
  EXPECT_EQ(paraes_buffers_with(tweak.data(), tweak.size()), 0U);
  EXPECT_EQ(paraes_buffers_with(plain.data(), 256), 0U);
  stream.forget_key(new_key->id);
  EXPECT_EQ(paraes_buffers_in_use(), 0U);
}

// A launch that fails while its cipher lives on, and could be used again.
TEST_P(Buffers, AreWipedWhenALeaseEndsWithAnError) {
  const auto key =
      detail::make_key_material(support::make_key(32, 13), 1, true, use_.key_expansion);
  const Buffer counter(16, 1);
  const auto launch = [&](const char* next) {
    gpu::DevicePool::Lease lease(*pool_);
    gpu::Stream& stream = lease.stream();
    stream.use_key(*key);
    stream.stage_in(4096);
    paraes_message message = gpu::make_message(0, 0, 4096, counter.data());
    message.tag = 4096;
    stream.launch("gcm_ctr", {&message, 1});
    stream.launch_hash(1);
    stream.launch(next, {&message, 1});
    stream.finish();
  };
  launch("ecb_encrypt");
  EXPECT_GT(paraes_buffers_in_use(), 3U);
  EXPECT_THROW(launch("no_such_entry"), DeviceError);
  EXPECT_EQ(paraes_buffers_in_use(), 0U);
}

// The tags that a GPU computes for decryption, and the hashes of ranges of a message, which reveal
// the hash key.
TEST_P(Buffers, PinnedMemoryKeepsNoTagsAndHashes) {
  const Buffer key = support::make_key(32, 14);
  const auto gcm_key = std::make_shared<GcmKey>(find_kernel("auto"), key.data(), 32U);
  const detail::GpuGcm cipher(pool_, gcm_key, Executor(1), use_);
  const SegmentNonces nonces;
  const auto nonce = nonces.nonce(0, false);
  const support::Sealed sealed = support::evp_gcm_encrypt(key, nonce, {}, support::pattern(1000));
  Buffer in = sealed.text;
  in.insert(in.end(), sealed.tag.begin(), sealed.tag.end());
  in.back() ^= 1;
  Buffer out(1000);
  std::array<SegmentCipher::Segment, 1> segment = {{{.in = in, .out = out}}};
  cipher.crypt(Direction::decrypt, nonces, segment);
  EXPECT_FALSE(segment[0].intact);
  expect_not_pinned(sealed.tag);
  Buffer tag(16);
  Buffer text(16000);
  text = support::pattern(text.size());
  cipher.seal({nonce.data(), nonce.size(), nullptr, 0, text.data(), text.data(), text.size(),
               tag.data(), nullptr, 0});
  // One range: its hash, from a state of zeros.
  Buffer hash(16);
  gcm_hash(*gcm_key, hash.data(), text.data(), text.size());
  expect_not_pinned(hash);
}

// The device works on after these failures.
TEST_P(Buffers, AreWipedAfterFailedLaunches) {
  unsigned failures = 0;
  for (unsigned first = 1; first < 60; ++first) {
    SCOPED_TRACE(first);
    const unsigned long before = paraes_failed_launches();
    setenv("PARAES_FAKE_OPENCL", ("fail:" + std::to_string(first) + ":-59").c_str(), 1);
    const support::Look look = [](const char*) {};
    const std::function<void()> works[] = {
        [&] { support::work_in_xts(pool_, use_, look); },
        [&] { support::work_in_gcm(pool_, use_, look); },
        [&] { support::work_with_many_keys(pool_, use_, 3); },
    };
    for (const auto& work : works) {
      if (!support::message_of<DeviceError>(work).empty()) ++failures;
      EXPECT_EQ(paraes_buffers_in_use(), 0U);
    }
    if (paraes_failed_launches() == before) break;
  }
  EXPECT_GT(failures, 20U);
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.kernel +
         std::string(test.param.expansion == KeyExpansion::device ? "OnDevice" : "");
}

INSTANTIATE_TEST_SUITE_P(, Buffers,
                         testing::Values(Case{"bitslice", KeyExpansion::host},
                                         Case{"bitslice", KeyExpansion::device},
                                         Case{"reference", KeyExpansion::host},
                                         Case{"reference", KeyExpansion::device}),
                         name_of);

}  // namespace
}  // namespace paraes
