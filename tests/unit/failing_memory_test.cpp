// Allocations that fail, one or all from one on, at every place in the library: it throws, leaves
// no key in locked memory, and works again afterwards; or it goes on, and the result is right.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/secret.hpp"
#include "paraes/segments.hpp"
#include "paraes/threads.hpp"
#include "src/core/locked_memory.hpp"
#include "src/core/system/program.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/memory_io.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::RandomSink;
using support::RandomSource;

constexpr long none = std::numeric_limits<long>::max();
const Buffer key = support::make_key(32, 1);
const Buffer other_key = support::make_key(32, 2);
const Buffer nonce = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
const Buffer plain = support::pattern(300000);

bool locked_memory_is_zero() {
  for (const auto arena : locked_arenas()) {
    if (std::any_of(arena.begin(), arena.end(), [](std::uint8_t byte) { return byte != 0; })) {
      return false;
    }
  }
  return true;
}

struct End {
  enum class How { right, wrong, out_of_memory, other } how = How::right;
  std::string text;
};

// `work` returns whether its result is right.
End run_once(const std::function<bool()>& work) {
  try {
    return {work() ? End::How::right : End::How::wrong, ""};
  } catch (const std::bad_alloc&) {
    return {End::How::out_of_memory, ""};
  } catch (const std::exception& error) {
    const auto* const io = dynamic_cast<const IoError*>(&error);
    if (io != nullptr && io->code() == ENOMEM) return {End::How::out_of_memory, ""};
    support::fail_allocations(none, 0);  // for the text
    return {End::How::other, error.what()};
  }
}

// Repeats `work` until the allocation that is to fail is beyond its last one. Returns how often it
// threw.
long exhaust(const std::function<bool()>& work) {
  long thrown = 0;
  for (const long most : {1L, none}) {
    for (long first = 1;; ++first) {
      support::fail_allocations(first, most);
      const End end = run_once(work);
      const long failed = support::failed_allocations();
      support::fail_allocations(none, 0);
      if (end.how != End::How::out_of_memory && end.how != End::How::right) {
        ADD_FAILURE() << "allocation " << first << ", " << most
                      << " of them: " << (end.how == End::How::wrong ? "wrong result" : end.text);
      }
      EXPECT_TRUE(locked_memory_is_zero()) << "allocation " << first << ", " << most;
      if (failed == 0) {
        EXPECT_EQ(end.how, End::How::right);
        break;
      }
      if (end.how == End::How::out_of_memory) ++thrown;
    }
  }
  return thrown;
}

// With one thread and with four.
class FailingMemory : public testing::TestWithParam<int> {
 protected:
  Execution execution_ = {.threads = GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Threads, FailingMemory, testing::Values(1, 4),
                         [](const auto& given) { return std::to_string(given.param); });

TEST_P(FailingMemory, Gcm) {
  Buffer sealed(plain.size());
  Buffer opened(plain.size());
  Buffer tag(16);
  const long thrown = exhaust([&] {
    Gcm gcm(key, execution_);
    gcm.encrypt(nonce, {}, plain, sealed, tag);
    gcm.decrypt(nonce, {}, sealed, opened, tag);
    return opened == plain;
  });
  EXPECT_GT(thrown, 0);
}

TEST_P(FailingMemory, GcmRejectsAWrongTag) {
  Buffer out(plain.size());
  const Buffer tag(16);
  exhaust([&] {
    std::fill(out.begin(), out.end(), std::uint8_t{1});
    Gcm gcm(key, execution_);
    try {
      gcm.decrypt(nonce, {}, plain, out, tag);
    } catch (const IntegrityError&) {
      return std::all_of(out.begin(), out.end(), [](std::uint8_t byte) { return byte == 0; });
    }
    return false;
  });
}

TEST_P(FailingMemory, OtherModes) {
  const Buffer iv(16);
  const Buffer in(plain.begin(), plain.begin() + 262144);
  Buffer out(in.size());
  Buffer back(in.size());
  const long thrown = exhaust([&] {
    Ecb(key, execution_).encrypt(in, out);
    Ecb(key, execution_).decrypt(out, back);
    if (back != in) return false;
    Cbc(key, iv, execution_).encrypt(in, out);
    Cbc(key, iv, execution_).decrypt(out, back);
    if (back != in) return false;
    Ctr(key, iv, execution_).process(in, out);
    Ctr(key, iv, execution_).process(out, back);
    return back == in;
  });
  EXPECT_GT(thrown, 0);
}

TEST_P(FailingMemory, Segments) {
  constexpr std::size_t count = 18;
  Buffer sealed(plain.size() + count * segment_tag_bytes);
  Buffer opened(plain.size());
  const std::size_t each = plain.size() / count;
  const auto segments_of = [&](const Buffer& in, Buffer& out, std::size_t in_bytes,
                               std::size_t out_bytes) {
    std::vector<SegmentCipher::Segment> segments(count);
    for (std::size_t i = 0; i < count; ++i) {
      segments[i] = {.index = i,
                     .last = i + 1 == count,
                     .in = Bytes(in).subspan(i * in_bytes, in_bytes),
                     .out = MutableBytes(out).subspan(i * out_bytes, out_bytes)};
    }
    return segments;
  };
  const long thrown = exhaust([&] {
    const SegmentCipher cipher(key, nonce, SegmentCipher::Nonces::prefixed, execution_);
    auto seal = segments_of(plain, sealed, each, each + segment_tag_bytes);
    cipher.crypt(Direction::encrypt, seal);
    auto open = segments_of(sealed, opened, each + segment_tag_bytes, each);
    cipher.crypt(Direction::decrypt, open);
    return std::equal(opened.begin(), opened.begin() + static_cast<std::ptrdiff_t>(count * each),
                      plain.begin()) &&
           std::all_of(open.begin(), open.end(), [](const auto& s) { return s.intact; });
  });
  EXPECT_GT(thrown, 0);
}

TEST_P(FailingMemory, SealOpenAndReseal) {
  const auto new_message = [&](const Buffer& with) {
    return Message(new_paraes_message(Preface::for_key(with.size()), with, {}), {});
  };
  TransferOptions transfer;
  transfer.threads = GetParam();
  OpenOptions open;
  open.threads = GetParam();
  const long thrown = exhaust([&] {
    RandomSource source(plain);
    RandomSink sealed;
    const Message message = new_message(key);
    seal_message(source, message, sealed, transfer);
    RandomSource again(sealed.data);
    RandomSink resealed;
    const Message other = new_message(other_key);
    reseal_message(again, message, other, resealed, transfer);
    RandomSource last(resealed.data);
    RandomSink opened;
    open_message(last, other, &opened, open);
    return opened.data == plain;
  });
  EXPECT_GT(thrown, 20);
}

TEST_P(FailingMemory, Batch) {
  constexpr std::size_t count = 5;
  limit_threads(static_cast<unsigned>(GetParam()));
  // A message that could not be processed says why, and its output is all zero.
  const auto all_done = [](const std::vector<WholeMessage>& list) {
    for (const WholeMessage& whole : list) {
      if (whole.error) std::rethrow_exception(whole.error);
    }
  };
  const long thrown = exhaust([&] {
    std::vector<Message> messages;
    std::vector<Buffer> sealed;
    std::vector<Buffer> opened;
    std::vector<WholeMessage> to_seal;
    std::vector<WholeMessage> to_open;
    messages.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes in = Bytes(plain).first(1000 * i);
      messages.emplace_back(new_paraes_message(Preface::for_key(key.size()), key, {}), Execution{});
      sealed.emplace_back(static_cast<std::size_t>(messages[i].layout().sealed_bytes(in.size())));
      opened.emplace_back(in.size());
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes in = Bytes(plain).first(1000 * i);
      to_seal.push_back({.message = &messages[i], .in = in, .out = sealed[i], .error = nullptr});
      to_open.push_back(
          {.message = &messages[i], .in = sealed[i], .out = opened[i], .error = nullptr});
    }
    seal_messages(to_seal);
    all_done(to_seal);
    open_messages(to_open);
    all_done(to_open);
    for (std::size_t i = 0; i < count; ++i) {
      if (!std::equal(opened[i].begin(), opened[i].end(), plain.begin())) return false;
    }
    return true;
  });
  limit_threads(0);
  EXPECT_GT(thrown, 5);
}

TEST(FailingLockedMemory, BlocksOfItsArenas) {
  const long thrown = exhaust([] {
    std::vector<SecretBytes> secrets;
    for (std::size_t i = 0; i < 100; ++i) secrets.emplace_back(7500);
    secrets[3] = SecretBytes(100000);
    return secrets.size() == 100;
  });
  EXPECT_GT(thrown, 0);
}

TEST(FailingMemoryOfPrograms, SecretsStayInTheirPipe) {
  const std::string secret = "secret";
  testing::internal::CaptureStdout();
  const long thrown = exhaust([&] {
    Buffer seen;
    seen.reserve(100);
    system::ProgramCall call;
    call.path = "/bin/echo";
    call.arguments = {"-n", secret};
    call.on_output = [&seen](Bytes data) {
      seen.insert(seen.end(), data.begin(), data.end());
      return true;
    };
    return system::run_program(call).succeeded() &&
           std::equal(seen.begin(), seen.end(), secret.begin(), secret.end());
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_GT(thrown, 3);
}

}  // namespace
}  // namespace paraes
