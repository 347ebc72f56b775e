// Texts in page-locked memory of the caller are copied between it and the device directly. The
// stand-ins for CUDA and HIP count the bytes of copies, and know which ones nobody has waited for.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "src/cipher/gpu.hpp"
#include "src/cipher/gpu_gcm.hpp"
#include "src/cipher/open.hpp"
#include "src/kernels/registry.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/gpu/fake_programs.hpp"
#include "tests/gpu/secret_work.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::gpu {
namespace {

using detail::GpuGcm;
using detail::GpuUse;
using support::Buffer;
using Segment = SegmentCipher::Segment;

constexpr std::size_t guard = 64;
constexpr std::uint8_t untouched = 0xe7;
constexpr long most_descriptions = 100'000;  // bytes of what a call copies besides its texts

// Memory of the caller between guards, page-locked by a device or not.
class Text {
 public:
  Text(Device* device, std::size_t bytes) : bytes_(bytes) {
    if (device != nullptr) {
      pinned_ = device->allocate_pinned(bytes + 2 * guard, false);
    } else {
      plain_.resize(bytes + 2 * guard);
    }
    std::fill(all().begin(), all().end(), untouched);
  }

  [[nodiscard]] std::uint8_t* data() { return all().data() + guard; }
  [[nodiscard]] std::size_t size() const { return bytes_; }
  [[nodiscard]] MutableBytes bytes() { return all().subspan(guard, bytes_); }
  [[nodiscard]] Buffer copy() { return {data(), data() + bytes_}; }
  void fill(const Buffer& with) { std::copy(with.begin(), with.end(), data()); }
  [[nodiscard]] bool has_its_guards() {
    const auto is_untouched = [](std::uint8_t byte) { return byte == untouched; };
    const MutableBytes first = all().first(guard);
    const MutableBytes last = all().last(guard);
    return std::all_of(first.begin(), first.end(), is_untouched) &&
           std::all_of(last.begin(), last.end(), is_untouched);
  }

 private:
  [[nodiscard]] MutableBytes all() { return pinned_ ? pinned_->host() : MutableBytes(plain_); }

  std::size_t bytes_;
  std::unique_ptr<PinnedMemory> pinned_;
  Buffer plain_;
};

// The output of the stand-in's kernels for a text.
Buffer echo_of(Buffer text) {
  for (std::uint8_t& byte : text) byte ^= 0x5c;
  return text;
}

// Processes a text.
using Work = std::function<void(const std::uint8_t* in, std::uint8_t* out, std::size_t bytes)>;

void seal(const detail::GcmCipher& cipher, const std::uint8_t* in, std::uint8_t* out,
          std::size_t bytes) {
  const Buffer nonce(12, 4);
  Buffer tag(16);
  cipher.seal({nonce.data(), 12, nullptr, 0, in, out, bytes, tag.data(), nullptr, 0});
}

// In each mode. The last is GCM.
std::vector<Work> works(const detail::BlockCipher& block, const detail::XtsCipher& xts,
                        const detail::GcmCipher& gcm) {
  static const Buffer unit(16, 4);
  return {[&](auto in, auto out, auto bytes) { block.ecb(Direction::encrypt, in, out, bytes); },
          [&](auto in, auto out, auto bytes) { block.ctr(unit.data(), 0, in, out, bytes); },
          [&](auto in, auto out, auto bytes) {
            Buffer iv(16, 9);
            block.cbc_decrypt(iv.data(), in, out, bytes);
          },
          [&](auto in, auto out, auto bytes) {
            xts.xts(Direction::decrypt, unit.data(), 32, in, out, bytes);
          },
          [&](auto in, auto out, auto bytes) {
            xts.xts(Direction::encrypt, unit.data(), 32, in, out, bytes);
          },
          [&](auto in, auto out, auto bytes) {
            xts.xts(Direction::encrypt, unit.data(), 0, in, out, bytes);
          },
          [&](auto in, auto out, auto bytes) { seal(gcm, in, out, bytes); }};
}

class DirectCopies : public WithEachDriver {
 protected:
  void SetUp() override {
    WithEachDriver::SetUp();
    if (IsSkipped()) return;
    programs_ = std::make_unique<Programs>(vendor_);
    tell();
    pool_ = support::make_pool(vendor_.id, "reference");
    device_ = open(0);
  }
  void TearDown() override {
    pool_.reset();
    EXPECT_EQ(fake_.unwiped(), 0);
    EXPECT_EQ(fake_.uninitialised(), 0);
  }

  [[nodiscard]] std::shared_ptr<const detail::BlockCipher> block_cipher(GpuUse use = {}) const {
    const Buffer key = support::make_key(32, 1);
    return detail::make_gpu_block(
        pool_, std::make_unique<CipherKey>(find_kernel("auto"), key.data(), 32U), Executor(1), use);
  }
  [[nodiscard]] std::unique_ptr<GpuGcm> gcm(GpuUse use = {}) const {
    const Buffer key = support::make_key(32, 5);
    return std::make_unique<GpuGcm>(
        pool_, std::make_shared<GcmKey>(find_kernel("auto"), key.data(), 32U), Executor(1), use);
  }

  static void tell(const std::string& more = "") { Fake::tell("kernels:1,echo:1" + more); }
  // Lets the call fail at this use; 0: at every one.
  static void fail(const std::string& call, int use = 0, int code = 1) {
    tell(",fail:" + call + ":" + std::to_string(use) + ":" + std::to_string(code));
  }

  // Calls work() while this memory of the test is page-locked.
  template <class Action>
  void while_locked(MutableBytes memory, const Action& work) {
    const auto lock = fake_.function<int(void*, std::size_t, unsigned)>(
        name("cuMemHostRegister_v2", "hipHostRegister"));
    const auto unlock =
        fake_.function<int(void*)>(name("cuMemHostUnregister", "hipHostUnregister"));
    device_->while_current([&] { EXPECT_EQ(lock(memory.data(), memory.size(), 0), 0); });
    work();
    device_->while_current([&] { EXPECT_EQ(unlock(memory.data()), 0); });
  }

  // Calls work(in, out, bytes) and checks that each side was copied directly or not, whole and
  // nothing else, and that nothing is still to be copied.
  void expect_copies(Text& in, Text& out, bool in_directly, bool out_directly, const Work& work) {
    const Buffer plain = in.copy();
    const long up = fake_.uploaded(in.data());
    const long down = fake_.downloaded(out.data());
    const long all_up = fake_.uploaded();
    const long all_down = fake_.downloaded();
    work(in.data(), out.data(), in.size());
    const auto bytes = static_cast<long>(in.size());
    EXPECT_EQ(fake_.uploaded(in.data()) - up, in_directly ? bytes : 0);
    EXPECT_EQ(fake_.downloaded(out.data()) - down, out_directly ? bytes : 0);
    EXPECT_LT(fake_.uploaded() - all_up, bytes + most_descriptions) << "the text was copied twice";
    EXPECT_LT(fake_.downloaded() - all_down, bytes + most_descriptions);
    EXPECT_EQ(fake_.pending(in.data()) + fake_.pending(out.data()), 0);
    EXPECT_EQ(fake_.unpinned(), 0);
    EXPECT_EQ(support::difference(out.copy(), echo_of(plain)), "");
    EXPECT_TRUE(in.has_its_guards() && out.has_its_guards());
  }

  std::unique_ptr<Programs> programs_;
  std::shared_ptr<DevicePool> pool_;
  Device* device_ = nullptr;
};
PARAES_FOR_EACH_DRIVER(DirectCopies);

constexpr std::size_t text_bytes = 200'000;  // several launches

TEST_P(DirectCopies, AreMadeOnEachSideThatIsPageLocked) {
  const auto cipher = block_cipher();
  const auto xts = [&] {
    const Buffer key = support::make_key(64, 3);
    return detail::make_gpu_xts(
        pool_, std::make_unique<XtsKey>(find_kernel("auto"), key.data(), 32U), Executor(1), {});
  }();
  const auto gcm_cipher = gcm();
  for (const bool in_locked : {true, false}) {
    for (const bool out_locked : {true, false}) {
      for (const bool in_place : {true, false}) {
        if (in_place && in_locked != out_locked) continue;
        SCOPED_TRACE(std::string(in_locked ? "in " : "") + (out_locked ? "out " : "") +
                     (in_place ? "in place" : ""));
        Text in(in_locked ? device_ : nullptr, text_bytes);
        Text other(out_locked ? device_ : nullptr, text_bytes);
        Text& out = in_place ? in : other;
        for (const Work& work : works(*cipher, *xts, *gcm_cipher)) {
          in.fill(support::pattern(text_bytes));
          expect_copies(in, out, in_locked, out_locked, work);
        }
      }
    }
  }
}

// Neither the bytes that the CPU computes nor those behind the text are part of a copy.
TEST_P(DirectCopies, OfTextsOfAnySizeLeaveTheBytesAroundThemAlone) {
  const auto cipher = block_cipher();
  const Buffer counter(16, 1);
  for (const std::size_t bytes : {1U, 15U, 17U, 4097U, 65'537U}) {
    Text in(device_, bytes);
    Text out(device_, bytes);
    in.fill(support::pattern(bytes));
    SCOPED_TRACE(bytes);
    expect_copies(in, out, true, true, [&](auto from, auto to, auto n) {
      cipher->ctr(counter.data(), 32, from, to, n);
    });
  }
  Text in(device_, 5000);
  Text out(device_, 5000);
  cipher->ctr(counter.data(), 5, in.data(), out.data(), 5000);
  EXPECT_EQ(fake_.uploaded(in.data()), 5000 - 11) << "the CPU does the head";
  EXPECT_EQ(fake_.downloaded(out.data()), 5000 - 11);
  EXPECT_TRUE(out.has_its_guards());
}

// ---- Memory that must be staged

TEST_P(DirectCopies, AreNotMadeWithMemoryThatIsPageLockedInPart) {
  const auto cipher = block_cipher();
  const Buffer plain = support::pattern(text_bytes);
  const auto copied = [&](std::size_t begin, std::size_t bytes) {
    Buffer in = plain;
    Buffer out(text_bytes);
    long uploaded = 0;
    while_locked(MutableBytes(in).subspan(begin, bytes), [&] {
      cipher->ecb(Direction::encrypt, in.data(), out.data(), text_bytes);
      EXPECT_EQ(support::difference(out, echo_of(plain)), "");
      uploaded = fake_.uploaded(in.data() + begin);
    });
    return uploaded;
  };
  EXPECT_EQ(copied(0, text_bytes), static_cast<long>(text_bytes));
  EXPECT_EQ(copied(0, text_bytes - 1), 0);
  EXPECT_EQ(copied(1, text_bytes - 1), 0);
  EXPECT_EQ(copied(0, 4096), 0);
}

TEST_P(DirectCopies, AreNotMadeWithMemoryOfAnotherDeviceOrThatMigratesOrIsUnknown) {
  const auto cipher = block_cipher();
  const Work work = [&](auto from, auto to, auto bytes) {
    cipher->ecb(Direction::encrypt, from, to, bytes);
  };
  const auto platform = vendor_.open();
  const auto other = platform->open(1);
  {
    Text in(other.get(), text_bytes);
    Text out(other.get(), text_bytes);
    in.fill(support::pattern(text_bytes));
    expect_copies(in, out, false, false, work);
  }
  Text in(device_, text_bytes);
  Text out(device_, text_bytes);
  in.fill(support::pattern(text_bytes));
  tell(",managed:1");
  expect_copies(in, out, false, false, work);
  // A query that fails is not an error.
  const std::string query = name("cuPointerGetAttributes", "hipDrvPointerGetAttributes");
  fail(query);
  expect_copies(in, out, false, false, work);
  tell();
  expect_copies(in, out, true, true, work);
  EXPECT_EQ(fake_.calls(query.c_str()), 2) << "a call asks once for each side";
}

// ---- GCM

TEST_P(DirectCopies, OfForgedMessagesLeaveZeros) {
  const auto cipher = gcm();
  const Buffer nonce(12, 3);
  const Buffer plain = support::pattern(text_bytes);
  Text in(device_, text_bytes);
  Text out(device_, text_bytes);
  in.fill(plain);
  Buffer tag(16);
  std::array<GcmText, 1> texts = {
      GcmText{.nonce = nonce, .in = in.bytes(), .out = out.bytes(), .tag = tag}};
  cipher->crypt_texts(Direction::encrypt, texts);
  // As without direct copies.
  Buffer staged = plain;
  Buffer staged_tag(16);
  texts[0] = {.nonce = nonce, .in = staged, .out = staged, .tag = staged_tag};
  cipher->crypt_texts(Direction::encrypt, texts);
  EXPECT_EQ(tag, staged_tag);
  EXPECT_EQ(support::difference(out.copy(), staged), "");

  in.fill(staged);
  texts[0] = {.nonce = nonce, .in = in.bytes(), .out = out.bytes(), .expected_tag = tag};
  cipher->crypt_texts(Direction::decrypt, texts);
  EXPECT_TRUE(texts[0].intact);
  EXPECT_EQ(support::difference(out.copy(), plain), "");
  tag[5] ^= 1;
  const long before = fake_.downloaded(out.data());
  cipher->crypt_texts(Direction::decrypt, texts);
  EXPECT_FALSE(texts[0].intact);
  EXPECT_EQ(support::difference(out.copy(), Buffer(text_bytes)), "");
  EXPECT_EQ(fake_.downloaded(out.data()) - before, static_cast<long>(text_bytes));
  EXPECT_EQ(fake_.pending(out.data()), 0);
}

// The CPU needs the input of a launch that has failed.
TEST_P(DirectCopies, InPlaceLeaveTheInputToTheCpu) {
  const auto cipher = gcm({.falls_back = true});
  Text text(device_, text_bytes);
  const Work work = [&](auto from, auto to, auto bytes) { seal(*cipher, from, to, bytes); };
  text.fill(support::pattern(text_bytes));
  expect_copies(text, text, true, false, work);
  Text out(device_, text_bytes);
  expect_copies(text, out, true, true, work);
}

// Only GCM falls back after a launch that fails: the other modes have no use for their input then.
TEST_P(DirectCopies, InPlaceThatOnlyGcmStagesForTheCpu) {
  const Execution execution{.kernel = "reference", .device = vendor_.id, .fall_back = true};
  const Buffer key = support::make_key(32, 1);
  const Buffer xts_key = support::make_key(64, 3);
  Text text(device_, text_bytes);
  const auto block = detail::open_block_cipher(key, execution);
  const auto xts = detail::open_xts_cipher(xts_key, execution);
  const auto gcm_cipher = detail::open_gcm_cipher(key, execution, detail::Pairs::refuse);
  const std::vector<Work> all = works(*block, *xts, *gcm_cipher);
  for (const Work& work : all) {
    text.fill(support::pattern(text_bytes));
    expect_copies(text, text, true, &work != &all.back(), work);
  }
}

// ---- Segments

class DirectSegments : public DirectCopies {
 protected:
  static constexpr std::size_t count = 13;
  static constexpr std::size_t plain_bytes = 16'384;
  static constexpr std::size_t sealed_bytes = plain_bytes + segment_tag_bytes;
  static constexpr long last_bytes = 1003;

  // Segments of plain_bytes bytes of text, the last of which is shorter.
  static std::vector<Segment> segments(Direction direction, Text& in, std::size_t in_step,
                                       Text& out, std::size_t out_step) {
    std::vector<Segment> all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t plain = i + 1 == count ? last_bytes : plain_bytes;
      const bool seals = direction == Direction::encrypt;
      all.push_back({.index = i,
                     .last = i + 1 == count,
                     .in = in.bytes().subspan(i * in_step, plain + (seals ? 0 : 16)),
                     .out = out.bytes().subspan(i * out_step, plain + (seals ? 16 : 0))});
    }
    return all;
  }

  // The stand-in's tag.
  static bool has_tag(Bytes sealed) {
    const Bytes tag = sealed.last(segment_tag_bytes);
    return std::all_of(tag.begin(), tag.end(), [](std::uint8_t byte) { return byte == 0x77; });
  }

  const SegmentNonces nonces_{};
};
PARAES_FOR_EACH_DRIVER(DirectSegments);

TEST_P(DirectSegments, ThatLieOneBehindTheOtherAreOneCopyOfALaunch) {
  const auto cipher = gcm();
  constexpr std::size_t plain_size = (count - 1) * plain_bytes + last_bytes;
  constexpr std::size_t sealed_size = (count - 1) * sealed_bytes + last_bytes + segment_tag_bytes;
  Text plain(device_, plain_size);
  Text sealed(device_, sealed_size);
  const Buffer original = support::pattern(plain_size);
  plain.fill(original);
  auto sealing = segments(Direction::encrypt, plain, plain_bytes, sealed, sealed_bytes);
  cipher->crypt(Direction::encrypt, nonces_, sealing);
  EXPECT_EQ(fake_.uploaded(plain.data()), static_cast<long>(plain_size));
  // The last tag is not at a multiple of 4 bytes, which the GPU needs.
  EXPECT_EQ(fake_.downloaded(sealed.data()), static_cast<long>(sealed_size - 16));
  for (const Segment& segment : sealing) {
    EXPECT_TRUE(segment.done);
    EXPECT_TRUE(has_tag(segment.out)) << segment.index;
    const Buffer text(segment.out.begin(), segment.out.end() - 16);
    EXPECT_EQ(support::difference(text, echo_of({segment.in.begin(), segment.in.end()})), "")
        << segment.index;
  }
  EXPECT_TRUE(sealed.has_its_guards());

  sealed.data()[3 * sealed_bytes + plain_bytes] ^= 1;  // a tag
  std::fill(plain.bytes().begin(), plain.bytes().end(), untouched);
  auto opening = segments(Direction::decrypt, sealed, sealed_bytes, plain, plain_bytes);
  cipher->crypt(Direction::decrypt, nonces_, opening);
  EXPECT_EQ(fake_.downloaded(plain.data()), static_cast<long>(plain_size));
  Buffer expected = original;
  std::fill_n(expected.begin() + 3 * plain_bytes, plain_bytes, std::uint8_t{0});
  EXPECT_EQ(support::difference(plain.copy(), expected), "");
  for (const Segment& segment : opening) EXPECT_EQ(segment.intact, segment.index != 3);
  EXPECT_TRUE(plain.has_its_guards());
  EXPECT_EQ(fake_.pending(plain.data()) + fake_.pending(sealed.data()), 0);
}

// In slots, each with room for its tag, texts are read in one copy, but not written: a copy would
// overwrite what lies between them.
TEST_P(DirectSegments, WithGapsBetweenOutputsAreStagedOnThatSide) {
  const auto cipher = gcm();
  Text slots(device_, count * sealed_bytes);
  Text sealed(device_, count * sealed_bytes);
  Text opened(device_, count * sealed_bytes);
  slots.fill(support::pattern(slots.size()));
  auto sealing = segments(Direction::encrypt, slots, sealed_bytes, sealed, sealed_bytes);
  cipher->crypt(Direction::encrypt, nonces_, sealing);
  EXPECT_GT(fake_.uploaded(slots.data()), 0);
  EXPECT_GT(fake_.downloaded(sealed.data()), 0);
  auto opening = segments(Direction::decrypt, sealed, sealed_bytes, opened, sealed_bytes);
  cipher->crypt(Direction::decrypt, nonces_, opening);
  EXPECT_GT(fake_.uploaded(sealed.data()), 0);
  EXPECT_EQ(fake_.downloaded(opened.data()), last_bytes) << "it is alone in its launch";
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(opening[i].intact) << i;
    EXPECT_TRUE(std::equal(opening[i].out.begin(), opening[i].out.end(), sealing[i].in.begin()));
    const MutableBytes gap = opened.bytes().subspan(i * sealed_bytes + opening[i].out.size(), 16);
    EXPECT_TRUE(std::all_of(gap.begin(), gap.end(), [](auto byte) { return byte == untouched; }));
  }
  // In another order they are no stretch.
  std::swap(sealing[0], sealing[1]);
  const long up = fake_.uploaded(slots.data());
  const long down = fake_.downloaded(sealed.data());
  cipher->crypt(Direction::encrypt, nonces_, std::span(sealing).first(2));
  EXPECT_EQ(fake_.uploaded(slots.data()), up);
  EXPECT_EQ(fake_.downloaded(sealed.data()), down);
}

TEST_P(DirectSegments, WithoutTextAreSealedAndOpened) {
  const auto cipher = gcm();
  Text memory(device_, 64);
  std::vector<Segment> sealing = {
      {.index = 0, .in = memory.bytes().first(0), .out = memory.bytes().subspan(16, 16)},
      {.index = 1, .in = memory.bytes().first(5), .out = memory.bytes().subspan(32, 21)}};
  cipher->crypt(Direction::encrypt, nonces_, sealing);
  EXPECT_TRUE(has_tag(sealing[0].out) && has_tag(sealing[1].out));
  std::vector<Segment> opening = {{.index = 0, .in = sealing[0].out, .out = {}}};
  cipher->crypt(Direction::decrypt, nonces_, opening);
  EXPECT_TRUE(opening[0].intact);
  EXPECT_TRUE(memory.has_its_guards());
}

// Segments without text say nothing about the memory where they would be.
TEST_P(DirectSegments, WithoutTextBesidePageLockedMemoryCopyNothingFromThere) {
  const auto cipher = gcm();
  constexpr std::size_t bytes = 4096;
  for (const bool is_first : {true, false}) {
    SCOPED_TRACE(is_first ? "before it" : "behind it");
    Buffer memory = support::pattern(bytes + 32);
    const MutableBytes locked = MutableBytes(memory).subspan(16, bytes);
    const MutableBytes text = is_first ? locked : locked.first(bytes - 5);
    const MutableBytes none =
        is_first ? MutableBytes(memory).first(0) : MutableBytes(memory).subspan(16 + bytes + 10, 0);
    Buffer out(bytes + 32);
    const MutableBytes sealed = out;
    std::vector<Segment> segments = {
        {.index = 0, .in = text, .out = sealed.first(text.size() + 16)},
        {.index = 1, .in = none, .out = sealed.last(16)}};
    if (is_first) std::swap(segments[0], segments[1]);
    while_locked(locked, [&] { cipher->crypt(Direction::encrypt, nonces_, segments); });
    EXPECT_EQ(fake_.unpinned(), 0) << "bytes outside of the page-locked memory were copied";
    EXPECT_EQ(support::difference({out.begin(), out.begin() + static_cast<long>(text.size())},
                                  echo_of({text.begin(), text.end()})),
              "");
    EXPECT_TRUE(has_tag(segments[0].out) && has_tag(segments[1].out));
  }
}

// ---- Failures

// No tag was compared with plaintext that has arrived when a call fails.
TEST_P(DirectSegments, ThatFailLeaveNoPlaintextThatIsNotAuthentic) {
  const std::string elapsed = name("cuEventElapsedTime", "hipEventElapsedTime");
  const std::string wait = name("cuEventSynchronize", "hipEventSynchronize");
  constexpr std::size_t plain_size = (count - 1) * plain_bytes + last_bytes;
  Text sealed(device_, (count - 1) * sealed_bytes + last_bytes + segment_tag_bytes);
  for (const std::string& call : {elapsed, wait}) {
    SCOPED_TRACE(call);
    const auto cipher = gcm();
    Text plain(device_, plain_size);
    sealed.fill(support::pattern(sealed.size()));
    auto opening = segments(Direction::decrypt, sealed, sealed_bytes, plain, plain_bytes);
    fail(call);
    EXPECT_THROW(cipher->crypt(Direction::decrypt, nonces_, opening), DeviceError);
    tell();
    EXPECT_GT(fake_.downloaded(plain.data()), 0);
    EXPECT_EQ(fake_.pending(plain.data()), 0);
    for (const Segment& segment : opening) {
      EXPECT_FALSE(segment.done);
      const auto& out = segment.out;
      // Nothing was copied to some of them.
      EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](auto byte) { return byte == 0; }) ||
                  std::all_of(out.begin(), out.end(), [](auto b) { return b == untouched; }))
          << segment.index;
    }
    EXPECT_TRUE(plain.has_its_guards());
  }
}

// Ciphertext in place stays as it is if no plaintext was copied over it.
TEST_P(DirectSegments, ThatFailBeforeTheyAreCopiedBackLeaveTheirInput) {
  const auto cipher = gcm();
  Text text(device_, sealed_bytes);
  text.fill(support::pattern(sealed_bytes));
  std::vector<Segment> opening = {
      {.index = 0, .last = true, .in = text.bytes(), .out = text.bytes().first(plain_bytes)}};
  fail(name("cuLaunchKernel", "hipModuleLaunchKernel"));
  EXPECT_THROW(cipher->crypt(Direction::decrypt, nonces_, opening), DeviceError);
  tell();
  EXPECT_EQ(support::difference(text.copy(), support::pattern(sealed_bytes)), "");
}

// Lets each call fail at its first, second, … use. When the error reaches the caller, no copy from
// or to its memory is under way.
TEST_P(DirectCopies, HaveEndedWhenACallFails) {
  static constexpr std::array of_cuda = {
      "cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemsetD8Async",
      "cuEventCreate",  "cuEventRecord",        "cuEventSynchronize",   "cuEventElapsedTime"};
  static constexpr std::array of_hip = {"hipModuleLaunchKernel",   "hipMemcpyHtoDAsync",
                                        "hipMemcpyDtoHAsync",      "hipMemsetD8Async",
                                        "hipEventCreateWithFlags", "hipEventRecord",
                                        "hipEventSynchronize",     "hipEventElapsedTime"};
  Text in(device_, text_bytes + 5);
  Text out(device_, text_bytes + 5);
  unsigned failures = 0;
  for (const char* call : is_cuda() ? of_cuda : of_hip) {
    for (int use = 1;; use += 1 + use / 8) {
      SCOPED_TRACE(std::string(call) + ", use " + std::to_string(use));
      const auto cipher = gcm();
      fail(call, use);
      const std::string message =
          message_of<DeviceError>([&] { seal(*cipher, in.data(), out.data(), in.size()); });
      const bool reached = fake_.calls(call) >= use;
      EXPECT_EQ(fake_.pending(in.data()), 0) << message;
      EXPECT_EQ(fake_.pending(out.data()), 0) << message;
      EXPECT_TRUE(out.has_its_guards());
      tell();
      if (!reached) break;
      if (!message.empty()) ++failures;
    }
  }
  EXPECT_GT(failures, 50U);
}

// A queue whose events no longer work waits in another way.
TEST_P(DirectCopies, HaveEndedWhenTheWaitForThemFails) {
  const std::string record = name("cuEventRecord", "hipEventRecord");
  const std::string wait = name("cuEventSynchronize", "hipEventSynchronize");
  for (const auto& [call, code] :
       {std::pair(record, 1), {wait, 1}, {record, 700}, {wait, 700}, {record, 719}, {wait, 719}}) {
    SCOPED_TRACE(call + ": " + std::to_string(code));
    device_ = open(0);  // 700 and 719 lose a device
    Text text(device_, 100);
    const auto queue = device_->make_queue();
    const Memory memory = device_->allocate(100);
    queue->clear(memory, 0, 100);
    queue->download(text.data(), memory, 0, 100);
    EXPECT_EQ(fake_.pending(text.data()), 1);
    fail(call, 0, code);
    EXPECT_THROW(queue->finish(), DeviceError);
    EXPECT_EQ(fake_.pending(text.data()), 0);
    // It also throws if another queue has lost the device before.
    const auto other = device_->make_queue();
    EXPECT_THROW(other->finish(), DeviceError);
    queue->download(text.data(), memory, 0, 100);
    EXPECT_EQ(fake_.pending(text.data()), 1);
    EXPECT_THROW(queue->finish(), DeviceError);
    EXPECT_EQ(fake_.pending(text.data()), 0);
    tell();
  }
}

TEST_P(DirectCopies, HaveEndedWhenTheDeviceIsLost) {
  for (const int code : {700, 719}) {
    SCOPED_TRACE(code);
    pool_ = support::make_pool(vendor_.id, "reference");
    Text in(device_, text_bytes);
    Text out(device_, text_bytes);
    const auto cipher = gcm();
    fail(name("cuEventSynchronize", "hipEventSynchronize"), 0, code);
    EXPECT_THROW(seal(*cipher, in.data(), out.data(), in.size()), DeviceError);
    EXPECT_GT(fake_.uploaded(in.data()), 0);
    EXPECT_GT(fake_.downloaded(out.data()), 0);
    EXPECT_EQ(fake_.pending(in.data()), 0);
    EXPECT_EQ(fake_.pending(out.data()), 0);
    tell();
  }
}

}  // namespace
}  // namespace paraes::gpu
