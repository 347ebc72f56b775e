// The CPU and a GPU together: PairRates in simulated time, and messages on PoCL.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/messages.hpp"
#include "paraes/threads.hpp"
#include "src/cipher/pair.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/test_device.hpp"
#include "tests/support/whole_message.hpp"

namespace paraes {
namespace {

using detail::PairRates;
using support::Buffer;
using support::message_of;
using Choice = PairRates::Choice;
using Side = PairRates::Side;

// ---- How chunks are shared out

constexpr std::uint64_t chunk = std::uint64_t{1} << 20;

// A machine in simulated time. A core takes core_ns for a byte. The GPU takes gpu_ns for a byte,
// one chunk after another, and latency_ns more for each, during which it works on others.
struct Machine {
  unsigned cores = 1;
  double core_ns = 1;
  unsigned streams = 12;
  double gpu_ns = 1;
  double latency_ns = 0;
};

struct Shares {
  double time = 0;  // nanoseconds
  unsigned on_cpu = 0;
  unsigned on_gpu = 0;
};

// As many workers as cores and streams take chunks of a message, which all of them begin to do when
// they have done the one before.
Shares share_out(const Machine& machine, PairRates& rates, unsigned chunks) {
  struct Worker {
    double free = 0;
    std::unique_ptr<PairRates::Call> call;  // that it works on until then
    Side side = Side::cpu;
    double begun = 0;
  };
  std::vector<Worker> workers(machine.cores + machine.streams);
  std::vector<double> cores(machine.cores, 0);  // when each is free
  std::vector<double> streams(machine.streams, 0);
  double engine = 0;
  Shares shares;
  const auto end_call = [&](Worker& worker) {
    if (!worker.call) return;
    worker.call->done(chunk, static_cast<std::uint64_t>(worker.free - worker.begun));
    worker.call.reset();
  };
  const auto first = [](std::vector<double>& list) -> double& {
    return *std::min_element(list.begin(), list.end());
  };
  for (unsigned i = 0; i < chunks; ++i) {
    Worker& worker =
        *std::min_element(workers.begin(), workers.end(),
                          [](const auto& a, const auto& b) { return a.free < b.free; });
    const double now = worker.free;
    for (Worker& other : workers) {
      if (other.free <= now) end_call(other);
    }
    const std::uint64_t left = (chunks - 1 - i) * chunk;
    worker.side = rates.choose(chunk, left) == Choice::cpu ? Side::cpu : Side::gpu;
    worker.call = std::make_unique<PairRates::Call>(rates, worker.side);
    if (worker.side == Side::cpu) {
      ++shares.on_cpu;
      double& core = first(cores);
      worker.begun = now;
      core = std::max(core, now) + machine.core_ns * chunk;
      worker.free = core;
    } else {
      ++shares.on_gpu;
      double& stream = first(streams);
      worker.begun = std::max(stream, now);
      engine = std::max(engine, worker.begun) + machine.gpu_ns * chunk;
      stream = engine + machine.latency_ns;
      worker.free = stream;
    }
    shares.time = std::max(shares.time, worker.free);
  }
  for (Worker& worker : workers) end_call(worker);
  return shares;
}

// The times of one side alone, and of both if nothing had an end.
struct Bounds {
  double alone;
  double together;
};
Bounds bounds_of(const Machine& machine, unsigned chunks) {
  const double cpu = machine.core_ns / machine.cores;
  const double gpu =
      std::max(machine.gpu_ns, (machine.gpu_ns + machine.latency_ns / chunk) / machine.streams);
  return {.alone = std::min(cpu, gpu) * chunks * chunk,
          .together = chunks * chunk / (1 / cpu + 1 / gpu)};
}

TEST(PairRates, BothSidesWorkAsFastAsTheyCan) {
  // From 16 cores that are as fast as the GPU to a GPU that is 20 times as fast as one core.
  for (const Machine& machine :
       {Machine{.cores = 16, .core_ns = 0.32, .gpu_ns = 0.02, .latency_ns = 1e5},
        Machine{.cores = 2, .core_ns = 0.2, .gpu_ns = 0.1, .latency_ns = 1e5},
        Machine{.cores = 2, .core_ns = 0.4, .gpu_ns = 0.02, .latency_ns = 1e5},
        Machine{.cores = 64, .core_ns = 0.3, .gpu_ns = 0.1, .latency_ns = 5e5}}) {
    PairRates rates(machine.cores, machine.streams);
    for (int message = 0; message < 3; ++message) {
      const Shares shares = share_out(machine, rates, 4000);
      const Bounds bounds = bounds_of(machine, 4000);
      EXPECT_LT(shares.time, 1.05 * bounds.together);
      EXPECT_GT(shares.time, 0.99 * bounds.together);
    }
  }
}

TEST(PairRates, ASlowSideDoesNotKeepTheOtherWaiting) {
  for (const Machine& machine :
       {// A GPU that takes 50 ms for a chunk, beside 16 fast cores.
        Machine{.cores = 16, .core_ns = 0.1, .gpu_ns = 4, .latency_ns = 5e7},
        // A core of 20 MB/s beside a GPU of 50 GB/s.
        Machine{.cores = 4, .core_ns = 50, .gpu_ns = 0.02, .latency_ns = 1e5}}) {
    PairRates rates(machine.cores, machine.streams);
    for (int i = 0; i < 2; ++i) share_out(machine, rates, 1000);  // measures both
    for (const unsigned chunks : {1U, 20U, 100U, 1000U, 4000U}) {
      const Shares shares = share_out(machine, rates, chunks);
      // The time of the better side alone, and the time to fill the GPU.
      const double alone = bounds_of(machine, chunks).alone;
      EXPECT_LT(shares.time,
                1.35 * alone + 2 * std::min(machine.latency_ns + machine.gpu_ns * chunk,
                                            machine.core_ns * chunk))
          << chunks << " chunks: " << shares.on_cpu << " on the CPU, " << shares.on_gpu
          << " on the GPU";
    }
  }
}

// The last chunk of a file is short, and takes as long to begin as any.
TEST(PairRates, ShortCallsSayNothingOfASide) {
  PairRates rates(2, 12);
  const auto call = [&](Side side, std::uint64_t bytes, std::uint64_t nanoseconds) {
    PairRates::Call(rates, side).done(bytes, nanoseconds);
  };
  for (int i = 0; i < 3; ++i) {
    call(Side::gpu, 1, 100'000);
    call(Side::cpu, 17, 50'000);
    call(Side::gpu, chunk, 200'000);
    call(Side::cpu, chunk, 200'000);
    EXPECT_EQ(rates.choose(chunk, 100 * chunk), Choice::gpu);
  }
}

// Measures one call.
void call(PairRates& rates, Side side, std::uint64_t nanoseconds) {
  PairRates::Call(rates, side).done(chunk, nanoseconds);
}

TEST(PairRates, ASideThatHasBecomeSlowIsTriedAgain) {
  constexpr std::uint64_t fast = 100'000;
  constexpr std::uint64_t slow = 100'000'000'000;
  const auto places = [](PairRates& rates) {
    std::array<unsigned, 3> counts{};
    for (int i = 0; i < 640; ++i) {
      ++counts[static_cast<std::size_t>(rates.choose(chunk, 1000 * chunk))];
    }
    return counts;
  };
  using Places = std::array<unsigned, 3>;
  for (const bool was_fast : {false, true}) {
    const auto rates_with = [&](PairRates& rates, Side slower, Side faster) {
      for (int i = 0; i < 2; ++i) {
        call(rates, faster, fast);
        call(rates, slower, was_fast ? fast : slow);
      }
      call(rates, slower, slow);
    };
    PairRates slow_gpu(16, 12);
    rates_with(slow_gpu, Side::gpu, Side::cpu);
    EXPECT_EQ(places(slow_gpu), was_fast ? (Places{630, 10, 0}) : (Places{640, 0, 0}));
    PairRates slow_cpu(16, 12);
    rates_with(slow_cpu, Side::cpu, Side::gpu);
    EXPECT_EQ(places(slow_cpu), was_fast ? (Places{10, 630, 0}) : (Places{0, 640, 0}));
  }
}

TEST(PairRates, ASideThatWasNotMeasuredIsTried) {
  PairRates rates(2, 2);
  for (int i = 0; i < 2; ++i) {  // the first call does not count
    EXPECT_EQ(rates.choose(chunk, 0), Choice::gpu);
    PairRates::Call first(rates, Side::gpu);
    EXPECT_EQ(rates.choose(chunk, 0), Choice::cpu) << "one call shows how fast the GPU is";
    first.done(chunk, 1000);
  }
  EXPECT_EQ(rates.choose(chunk, 0), Choice::gpu);
  PairRates::Call first(rates, Side::gpu);
  PairRates::Call second(rates, Side::gpu);
  EXPECT_EQ(rates.choose(chunk, 0), Choice::cpu) << "its rate is still to be measured";
  for (int i = 0; i < 2; ++i) call(rates, Side::cpu, 100000);
  EXPECT_EQ(rates.choose(chunk, 0), Choice::next_gpu) << "waiting for a stream is faster";
  EXPECT_EQ(rates.choose(chunk, 1000 * chunk), Choice::cpu) << "there is enough for both";
}

// ---- Messages

class Pair : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE(support::test_device()); }

  static Execution execution(unsigned streams = 2) {
    Execution how;
    how.device = "cpu+" + support::test_device();
    how.kernel = "reference";
    how.gpu_tuning.streams = streams;
    return how;
  }

  // The message that begins with the header of `sealed`.
  [[nodiscard]] Message opened(const Buffer& sealed, const Execution& how) const {
    return Message(open_c2sp_message(Bytes(sealed).first(c2sp_header_bytes), key_, {}), how);
  }
  static void expect_opens(const Buffer& sealed, const Message& message, const Buffer& plain) {
    EXPECT_EQ(support::difference(support::opened(message, sealed), plain), "");
  }

  const Buffer key_ = support::make_key(32, 21);
};

TEST_F(Pair, SharesOutAFileAndGivesTheSameBytes) {
  const Buffer plain = support::pattern((std::size_t{40} << 20) + 12345);
  // Nothing else has measured a GPU with three streams: it gets a chunk even if it is slow.
  const Message sealing(new_c2sp_message(key_, {}), execution(3));
  EXPECT_EQ(sealing.cipher().device(), "cpu+" + support::test_device());
  EXPECT_HAS(sealing.cipher().kernel(), "+reference");
  Buffer sealed = support::sealed(sealing, plain);
  const std::uint64_t busy = sealing.cipher().take_device_times().host_to_device;
  EXPECT_GT(busy, 0U) << "the GPU has done some of it";

  for (const bool on_pair : {false, true}) {
    const Message opening = opened(sealed, on_pair ? execution() : Execution{});
    expect_opens(sealed, opening, plain);
    support::OrderedSource pipe(Buffer(sealed.begin() + c2sp_header_bytes, sealed.end()));
    support::OrderedSink stream;
    open_message(pipe, opening, stream);
    EXPECT_EQ(support::difference(stream.data, plain), "");
  }
  sealed[sealed.size() / 2] ^= 1;
  const Message opening = opened(sealed, execution());
  EXPECT_THROW(static_cast<void>(support::opened(opening, sealed)), BadSegment);
}

// Where the GPU has no memory for chunks, texts are copied to it.
TEST_F(Pair, WithMappedMemoryTheTextIsCopied) {
  Execution how = execution(4);
  how.transfer = Transfer::mapped;
  const Buffer plain = support::pattern((std::size_t{20} << 20) + 5);
  const Message sealing(new_c2sp_message(key_, {}), how);
  EXPECT_EQ(sealing.cipher().stage(1, 16384), nullptr);
  const Buffer sealed = support::sealed(sealing, plain);
  EXPECT_GT(sealing.cipher().take_device_times().kernel, 0U) << "the GPU has done some of it";
  expect_opens(sealed, opened(sealed, {}), plain);
}

TEST_F(Pair, ThreadsBoundTheHelpOfTheCpu) {
  const SegmentCipher cipher(key_, Buffer(12), SegmentCipher::Nonces::counted, execution());
  EXPECT_EQ(cipher.cpu_threads(), static_cast<unsigned>(available_cores()));
  EXPECT_EQ(cipher.launch_threads(), 2 + cipher.cpu_threads());
  Execution gpu = execution();
  gpu.device = support::test_device();
  EXPECT_EQ(SegmentCipher(key_, Buffer(12), SegmentCipher::Nonces::counted, gpu).cpu_threads(), 0U);
}

// Both sides get chunks of one message, as often as they can.
TEST_F(Pair, BothSidesTakePart) {
  const SegmentCipher cipher(key_, Buffer(12), SegmentCipher::Nonces::counted, execution());
  constexpr std::size_t bytes = 16384;
  constexpr std::size_t count = 16;
  const auto work = [&](SegmentStaging& staging) {
    std::vector<SegmentCipher::Segment> segments;
    segments.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t sealed = bytes + segment_tag_bytes;
      segments.push_back({.index = i,
                          .in = staging.in().subspan(i * bytes, bytes),
                          .out = staging.out().subspan(i * sealed, sealed)});
    }
    staging.crypt(Direction::encrypt, segments);
    EXPECT_TRUE(segments.back().done);
  };
  // The GPU is measured, and may be busy on all streams.
  for (int i = 0; i < 2; ++i) work(*cipher.stage(count, bytes));
  static_cast<void>(cipher.take_device_times());
  std::vector<std::unique_ptr<SegmentStaging>> held;
  std::array<unsigned, 2> sides{};
  held.reserve(3);
  for (int i = 0; i < 3; ++i) held.push_back(cipher.stage(count, bytes));
  for (const auto& staging : held) {
    ASSERT_NE(staging, nullptr);
    work(*staging);
    // A launch has times.
    ++sides[cipher.take_device_times().host_to_device == 0 ? 0 : 1];
  }
  EXPECT_EQ(sides[0], 1U) << "the streams are busy, and the CPU helps";
  EXPECT_EQ(sides[1], 2U);
}

TEST_F(Pair, IsForSegmentsOnly) {
  const std::string device = support::test_device();
  const auto refusal = [&](const auto& make) { return message_of<InvalidArgument>(make); };
  const std::string expected = "'cpu+" + device +
                               "' shares out the segments of a message: here, use '" + device +
                               "' or 'cpu'";
  EXPECT_EQ(refusal([&] { Ctr(key_, Buffer(16), execution()); }), expected);
  EXPECT_EQ(refusal([&] { Gcm(key_, execution()); }), expected);
  EXPECT_EQ(refusal([&] { Xts(support::make_key(64), 4096, execution()); }), expected);
  Execution wrong = execution();
  wrong.device = "cpu+cpu";
  EXPECT_HAS(refusal([&] { Gcm(key_, wrong); }), "there is no device 'cpu+cpu'");
}

TEST_F(Pair, WithoutTheGpuTheCpuDoesTheWork) {
  Execution how = execution();
  how.device = "cpu+opencl:9";
  EXPECT_THROW(Message(new_c2sp_message(key_, {}), how), Unavailable);
  how.fall_back = true;
  const Message message(new_c2sp_message(key_, {}), how);
  EXPECT_NE(message.cipher().fallback(), "");
  EXPECT_EQ(message.cipher().device(), "cpu");
}

}  // namespace
}  // namespace paraes
