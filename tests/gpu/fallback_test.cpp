// The CPU takes over when a GPU fails. The GPU is the first OpenCL device (PoCL), and its launches
// fail from a chosen one on.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/segments.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/one_segment.hpp"
#include "tests/support/opencl_buffers.hpp"
#include "tests/support/test_device.hpp"
#include "tests/support/whole_message.hpp"

namespace paraes {
namespace {

using support::Buffer;

constexpr int out_of_resources = -5;  // which paraes reports as OutOfMemory
constexpr int invalid_operation = -59;

// Makes all launches fail from number `first` on; 0: none.
void fail_from(unsigned first, int code = invalid_operation) {
  if (first == 0) {
    unsetenv("PARAES_FAKE_OPENCL");
    return;
  }
  // A different text each time restarts the count of launches.
  static unsigned number = 0;
  const std::string text = "fail:" + std::to_string(first) + ':' + std::to_string(code) + ",run" +
                           std::to_string(++number);
  setenv("PARAES_FAKE_OPENCL", text.c_str(), 1);
}

Execution gpu(bool fall_back) {
  Execution how;
  how.device = "opencl:0";
  how.device_memory = 16 * (std::uint64_t{64} << 10);  // launches of 64 KiB
  how.fall_back = fall_back;
  return how;
}

class Fallback : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE("opencl:0"); }
  void TearDown() override { fail_from(0); }
};

constexpr unsigned key_number = 7;
// More launches than any of these tests makes: with this value none fails.
constexpr unsigned last_launch = 60;

// Whether a launch failed in work().
template <class Work>
bool meets_failure(const Work& work) {
  const unsigned long before = paraes_failed_launches();
  work();
  return paraes_failed_launches() != before;
}

// Repeats `work` with failures from launch 1, 2, … on, until no launch fails. work(execution)
// returns the fallback() of its cipher. Repetitions may differ in the number of launches: each
// stream that takes part expands the key, and the scheduler decides how many streams do.
template <class Work>
void fail_in_turn(const Work& work, int code = invalid_operation) {
  unsigned failures = 0;
  unsigned errors = 0;
  for (unsigned first = 1; first <= last_launch; ++first) {
    SCOPED_TRACE(first);
    fail_from(first, code);
    std::string fallback;
    const bool failed = meets_failure([&] { fallback = work(gpu(true)); });
    if (testing::Test::HasFailure()) return;
    EXPECT_EQ(failed, !fallback.empty());
    if (failed) {
      ++failures;
      EXPECT_HAS(fallback, "clEnqueueNDRangeKernel failed");
    }
    fail_from(first, code);
    bool threw = false;
    const bool failed_again = meets_failure([&] {
      try {
        static_cast<void>(work(gpu(false)));
      } catch (const DeviceError&) {
        threw = true;
      }
    });
    if (testing::Test::HasFailure()) return;
    EXPECT_EQ(failed_again, threw);
    if (threw) ++errors;
    if (!failed && !failed_again) break;
  }
  EXPECT_GT(failures, 3U);
  EXPECT_LT(failures, last_launch);
  EXPECT_GT(errors, 3U);
}

TEST_F(Fallback, CpuFinishesAGcmMessage) {
  const Buffer key = support::make_key(32, key_number);
  const Buffer nonce(12, 3);
  const Buffer aad(20, 9);
  const Buffer plain = support::pattern(5 * 65536 + 777);
  Buffer sealed(plain.size());
  Buffer tag(16);
  Gcm(key).encrypt(nonce, aad, plain, sealed, tag);
  fail_in_turn([&](const Execution& how) {
    Gcm gcm(key, how);
    Buffer data = plain;  // in place
    Buffer own_tag(16);
    gcm.encrypt(nonce, aad, data, data, own_tag);
    EXPECT_EQ(support::difference(data, sealed), "");
    EXPECT_EQ(own_tag, tag);
    return gcm.fallback();
  });
  fail_in_turn([&](const Execution& how) {
    Gcm gcm(key, how);
    Buffer data(plain.size());
    gcm.decrypt(nonce, aad, sealed, data, tag);
    EXPECT_EQ(support::difference(data, plain), "");
    return gcm.fallback();
  });
  // Data that the CPU decrypts is authenticated as well.
  fail_from(3);
  Gcm gcm(key, gpu(true));
  sealed[70000] ^= 1;
  Buffer data(plain.size());
  EXPECT_THROW(gcm.decrypt(nonce, aad, sealed, data, tag), IntegrityError);
  EXPECT_NE(gcm.fallback(), "");
}

TEST_F(Fallback, CpuFinishesSegmentsOfOneMessage) {
  const Buffer key = support::make_key(32, key_number);
  const Buffer plain = support::pattern(300001);
  const auto opening = [&](const Buffer& sealed, const Execution& how) {
    return Message(open_c2sp_message(Bytes(sealed).first(c2sp_header_bytes), key, {}), how);
  };
  Buffer sealed;
  // Each message has a new salt, so it is checked by opening it on the CPU.
  const auto seal = [&](const Execution& how) {
    const Message fresh = Message(new_c2sp_message(key, {}), how);
    sealed = support::sealed(fresh, plain);
    EXPECT_EQ(support::difference(support::opened(opening(sealed, {}), sealed), plain), "");
    return fresh.cipher().fallback();
  };
  seal(gpu(false));
  const Buffer whole = sealed;
  fail_in_turn(seal);
  fail_in_turn([&](const Execution& how) {
    const Message message = opening(whole, how);
    EXPECT_EQ(support::difference(support::opened(message, whole), plain), "");
    return message.cipher().fallback();
  });
}

TEST_F(Fallback, CpuFinishesABatchOfMessages) {
  const Buffer plain = support::pattern(9000);
  const auto work = [&](const Execution& how) {
    std::deque<SegmentCipher> ciphers;
    std::deque<Buffer> sealed;
    std::vector<CipherSegment> segments;
    for (unsigned i = 0; i < 50; ++i) {
      ciphers.emplace_back(support::make_key(16, i), Buffer(12), SegmentCipher::Nonces::counted,
                           how);
      sealed.emplace_back(plain.size() + segment_tag_bytes);
      segments.push_back(
          {.cipher = &ciphers.back(), .segment = {.in = plain, .out = sealed.back()}});
    }
    SegmentCipher::crypt(Direction::encrypt, segments);
    std::string fallback;
    for (unsigned i = 0; i < 50; ++i) {
      const SegmentCipher cpu(support::make_key(16, i), Buffer(12), SegmentCipher::Nonces::counted,
                              {});
      Buffer opened(plain.size());
      EXPECT_TRUE(support::open_segment(cpu, 0, false, sealed[i], opened));
      EXPECT_EQ(support::difference(opened, plain), "");
      if (fallback.empty()) fallback = ciphers[i].fallback();
    }
    return fallback;
  };
  fail_in_turn(work);
  // With this code the segments are then processed one by one.
  fail_in_turn(work, out_of_resources);
}

TEST(FallbackOfAMissingDevice, CpuDoesTheWork) {
  Execution how = gpu(true);
  how.device = "opencl:9";
  const Buffer key = support::make_key(16, key_number);
  Ctr ctr(key, Buffer(16), how);
  EXPECT_NE(ctr.fallback(), "");
  EXPECT_EQ(ctr.device(), "cpu");
  const Buffer plain = support::pattern(1000);
  Buffer expected(plain.size());
  Buffer out(plain.size());
  Ctr(key, Buffer(16)).process(plain, expected);
  ctr.process(plain, out);
  EXPECT_EQ(out, expected);
  how.fall_back = false;
  EXPECT_THROW(Ctr(key, Buffer(16), how), Unavailable);
}

}  // namespace
}  // namespace paraes
