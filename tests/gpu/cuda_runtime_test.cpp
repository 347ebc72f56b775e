// Tests of CUDA and HIP without a GPU, with the stand-ins of fake_cuda.cpp, whose folder is in
// LD_LIBRARY_PATH. The Bare suites use the stand-ins that lack the optional functions.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "paraes/error.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/hip_api.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/support/environment.hpp"

namespace paraes::gpu {
namespace {

struct Pattern {
  std::array<std::uint8_t, 480> bytes;
};

Pattern make_pattern() {
  Pattern pattern{};
  for (std::size_t i = 0; i < pattern.bytes.size(); ++i) {
    pattern.bytes[i] = static_cast<std::uint8_t>(7 * i + 1);
  }
  return pattern;
}

Binary fake_program() {
  const std::string text = "fake program";
  return {text.begin(), text.end()};
}

std::vector<std::uint8_t> numbers(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i % 251);
  return data;
}

// Makes every call of the interface and checks the results. Uses the second device, so that it has
// to be made current.
void use_everything(const Vendor& vendor) {
  const auto platform = vendor.open();
  const auto device = platform->open(1);
  EXPECT_EQ(device->free_bytes(), device->info().memory_bytes);
  constexpr std::size_t bytes = 10000;
  const auto input = numbers(bytes);
  Memory memory = device->allocate(bytes);
  EXPECT_EQ(memory.bytes(), bytes);
  const auto pinned = device->allocate_pinned(bytes, false);
  const auto mapped = device->allocate_pinned(bytes, true);
  ASSERT_EQ(pinned->host().size(), bytes);
  const auto program = device->load(fake_program());
  const auto kernel = program->function("paraes_xor");
  const auto queue = device->make_queue();
  std::copy(input.begin(), input.end(), pinned->host().begin());
  std::copy(input.begin(), input.end(), mapped->host().begin());
  const auto begin = queue->mark();
  queue->upload(memory, 0, pinned->host().data(), bytes);
  queue->clear(memory, 100, 50);
  {
    const Pattern pattern = make_pattern();
    const std::uint64_t count = bytes;
    const std::array<Argument, 3> arguments = {memory, Argument::by_value(count),
                                               Argument::by_value(pattern)};
    queue->launch(*kernel, {.groups = 3, .threads = 64, .shared_bytes = 1000}, arguments);
    const std::array<Argument, 3> on_host = {mapped->device_view(), Argument::by_value(count),
                                             Argument::by_value(pattern)};
    queue->launch(*kernel, {}, on_host);
  }
  Memory second = device->allocate(bytes + 64);
  queue->copy(second, 64, memory, 0, bytes);
  queue->download(pinned->host().data(), second, 64, bytes);
  const auto end = queue->mark();
  queue->finish();
  EXPECT_TRUE(end->passed());
  const auto default_stream = device->borrow_queue(nullptr);
  default_stream->finish();
  EXPECT_FALSE(default_stream->is_captured());
  EXPECT_LT(queue->nanoseconds(*begin, *end), 60'000'000'000U);
  const Pattern pattern = make_pattern();
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto plain = i >= 100 && i < 150 ? std::uint8_t{0} : input[i];
    const auto mask = pattern.bytes[i % pattern.bytes.size()];
    ASSERT_EQ(pinned->host()[i], plain ^ mask) << i;
    ASSERT_EQ(mapped->host()[i], input[i] ^ mask) << i;
  }
}

// ---- Streams of the caller

// Of the driver, not of this library.
void* create_stream(const Fake& fake, const Vendor& vendor) {
  const bool is_cuda = &vendor == &cuda;
  void* stream = nullptr;
  const auto create =
      fake.function<int(void**, unsigned)>(is_cuda ? "cuStreamCreate" : "hipStreamCreateWithFlags");
  EXPECT_EQ(create(&stream, 1), 0);
  return stream;
}

void expect_callers_stream(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const bool is_cuda = &vendor == &cuda;
  void* context = nullptr;
  if (is_cuda) {
    fake.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 1);
    fake.function<int(void*)>("cuCtxSetCurrent")(context);
  } else {
    fake.function<int(int)>("hipSetDevice")(1);
  }
  void* const stream = create_stream(fake, vendor);
  const long objects = fake.live();
  for (void* const handle : {stream, static_cast<void*>(nullptr)}) {
    const auto device = vendor.open()->open(1);
    const auto queue = device->borrow_queue(handle);
    const std::vector<std::uint8_t> in = numbers(100);
    std::vector<std::uint8_t> out(100);
    const Memory memory = device->allocate(100);
    queue->upload(memory, 0, in.data(), in.size());
    queue->download(out.data(), Memory::view(memory.handle(), 100), 0, 100);
    EXPECT_EQ(out, in);
    const auto mark = queue->mark();
    EXPECT_TRUE(mark->passed());
    Fake::tell("pending:1");
    EXPECT_FALSE(mark->passed());
    Fake::tell("");
  }
  const char* const wait = is_cuda ? "cuStreamSynchronize" : "hipStreamSynchronize";
  const char* const wait_for_event = is_cuda ? "cuEventSynchronize" : "hipEventSynchronize";
  EXPECT_EQ(fake.calls(wait) + fake.calls(wait_for_event), 0) << "nobody asked it to wait";
  EXPECT_EQ(fake.live(), objects) << "the caller's stream is gone, or something was left";
  if (is_cuda) {
    fake.function<int(void*)>("cuCtxSetCurrent")(nullptr);
  } else {
    fake.function<int(int)>("hipSetDevice")(0);
  }
  fake.function<void()>("paraes_fake_reset")();
}

TEST(CudaRuntime, CallersStreamIsUsedAndLeftAlone) { expect_callers_stream(cuda); }
TEST(HipRuntime, CallersStreamIsUsedAndLeftAlone) { expect_callers_stream(hip); }

TEST(CudaRuntime, DefaultStreamOfOneThreadIsRefused) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto device = open_cuda()->open(0);
  void* const per_thread = reinterpret_cast<void*>(driver::stream_per_thread);
  EXPECT_NE(message_of<InvalidArgument>([&] {
              static_cast<void>(device->borrow_queue(per_thread));
            }).find("default stream of each thread"),
            std::string::npos);
}

TEST(CudaRuntime, StreamOfAnotherDeviceIsRefused) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  void* context = nullptr;
  fake.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 1);
  fake.function<int(void*)>("cuCtxSetCurrent")(context);
  void* const stream = create_stream(fake, cuda);
  const auto borrow = [&](unsigned device) {
    static_cast<void>(open_cuda()->open(device)->borrow_queue(stream));
  };
  EXPECT_NE(message_of<InvalidArgument>([&] {
              borrow(0);
            }).find("not one of the primary context of cuda:0"),
            std::string::npos);
  EXPECT_NO_THROW(borrow(1));
  fake.function<int(void*)>("cuCtxSetCurrent")(nullptr);
  fake.function<void()>("paraes_fake_reset")();
}

// ---- Calls that succeed

void expect_every_call_works(const Vendor& vendor, bool bare) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, bare);
  use_everything(vendor);
  EXPECT_EQ(fake.live(), 0);
  EXPECT_EQ(fake.dirty(), 0) << "pinned memory was not overwritten before it was freed";
}

TEST(CudaRuntime, EveryCallWorksAndFreesItsObjects) { expect_every_call_works(cuda, false); }
TEST(HipRuntime, EveryCallWorksAndFreesItsObjects) { expect_every_call_works(hip, false); }

TEST(CudaRuntime, DevicesAreDescribed) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  Fake::tell("devices:3,version:13010");
  const auto infos = open_cuda()->devices();
  ASSERT_EQ(infos.size(), 3U);
  EXPECT_EQ(infos[2].id, "cuda:2");
  EXPECT_EQ(infos[2].name, "Fake GPU 2");
  EXPECT_EQ(infos[2].bus, "0000:4c:00.0");
  EXPECT_EQ(infos[2].memory_bytes, 64U << 20);
  EXPECT_EQ(infos[2].driver, "CUDA 13.1");
  EXPECT_EQ(infos[2].target, "sm_90");
  EXPECT_EQ(infos[2].processors, 7U);
  EXPECT_EQ(infos[2].shared_bytes, 227U << 10);
  EXPECT_EQ(infos[2].max_threads, 1024U);
  EXPECT_TRUE(infos[2].available) << infos[2].reason;
  EXPECT_EQ(infos[2].reason, "");
  EXPECT_FALSE(infos[2].is_cpu);
  EXPECT_EQ(fake.live(), 0) << "listing devices retained a context";
  EXPECT_EQ(fake.calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST(HipRuntime, DevicesAreDescribed) {
  const Fake fake(hip);
  NEEDS_FAKE(fake, false);
  const auto infos = open_hip()->devices();
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_EQ(infos[1].id, "hip:1");
  EXPECT_EQ(infos[1].name, "Fake GPU 1");
  EXPECT_EQ(infos[1].bus, "0000:4b:00.0");
  EXPECT_EQ(infos[1].driver, "HIP 6.3.42131");
  EXPECT_EQ(infos[1].target, "gfx90a");
  EXPECT_EQ(infos[1].processors, 7U);
  EXPECT_EQ(infos[1].shared_bytes, 64U << 10);
  EXPECT_EQ(infos[1].max_threads, 1024U);
  EXPECT_TRUE(infos[1].available) << infos[1].reason;
}

TEST(CudaRuntime, DeviceWithoutCompilerSaysWhy) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const support::ScopedEnvironment nvrtc("PARAES_NVRTC", "/nowhere/libnvrtc.so");
  const auto platform = open_cuda();
  DeviceInfo info = platform->devices().at(0);
  platform->describe_compiler(info);
  EXPECT_EQ(info.compiler, "");
  EXPECT_NE(info.compiler_reason.find("cannot open /nowhere/libnvrtc.so: No such file"),
            std::string::npos)
      << info.compiler_reason;
  EXPECT_TRUE(info.available);
  EXPECT_EQ(info.reason, "");
}

TEST(CudaRuntime, BrokenDeviceDoesNotHideTheOthers) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  Fake::tell("fail:cuDeviceGetName:1:999");
  const auto infos = open_cuda()->devices();
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_FALSE(infos[0].available);
  EXPECT_EQ(infos[0].id, "cuda:0");
  EXPECT_EQ(infos[0].reason, "cuDeviceGetName failed: an error (999)");
  EXPECT_TRUE(infos[1].available);
}

void expect_threads_share_device(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  const auto platform = vendor.open();
  const auto device = platform->open(1);
  // Several threads, on none of which a device is current.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const auto program = device->load(fake_program());
      const auto kernel = program->function("paraes_xor");
      for (int round = 0; round < 50; ++round) {
        const auto queue = device->make_queue();
        const Memory memory = device->allocate(480);
        const auto pinned = device->allocate_pinned(480, false);
        queue->clear(memory, 0, 480);
        const Pattern pattern = make_pattern();
        const std::uint64_t count = 480;
        const std::array<Argument, 3> arguments = {memory, Argument::by_value(count),
                                                   Argument::by_value(pattern)};
        queue->launch(*kernel, {.groups = 1, .threads = 1, .shared_bytes = 0}, arguments);
        queue->download(pinned->host().data(), memory, 0, 480);
        queue->finish();
        ASSERT_EQ(std::memcmp(pinned->host().data(), pattern.bytes.data(), 480), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CudaRuntime, SeveralThreadsShareADevice) { expect_threads_share_device(cuda); }
TEST(HipRuntime, SeveralThreadsShareADevice) { expect_threads_share_device(hip); }

TEST(CudaRuntime, CallsRestoreTheContextOfTheThread) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(1);
  void* before = nullptr;
  fake.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&before, 0);
  fake.function<int(void*)>("cuCtxSetCurrent")(before);
  {
    const auto queue = device->make_queue();
    queue->finish();
    EXPECT_THROW(static_cast<void>(device->allocate(std::size_t{1} << 40)), OutOfMemory);
  }
  void* after = nullptr;
  fake.function<int(void**)>("cuCtxGetCurrent")(&after);
  EXPECT_EQ(after, before);
  fake.function<int(void*)>("cuCtxSetCurrent")(nullptr);
  fake.function<int(int)>("cuDevicePrimaryCtxRelease_v2")(0);
}

TEST(HipRuntime, CallsRestoreTheDeviceOfTheThread) {
  const Fake fake(hip);
  NEEDS_FAKE(fake, false);
  const auto platform = open_hip();
  const auto device = platform->open(1);
  device->make_queue()->finish();
  int current = -1;
  fake.function<int(int*)>("hipGetDevice")(&current);
  EXPECT_EQ(current, 0);
}

TEST(CudaRuntime, LaunchRaisesTheLimitOfSharedMemory) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  const auto program = device->load(fake_program());
  const auto first = program->function("paraes_nothing");
  const auto second = program->function("paraes_nothing");
  const auto queue = device->make_queue();
  const Grid large = {.groups = 1, .threads = 1, .shared_bytes = 200U << 10};
  const Grid small = {.groups = 1, .threads = 1, .shared_bytes = 100U << 10};
  queue->launch(*first, large, {});
  // Must not lower the limit that the other object of the same kernel has raised.
  queue->launch(*second, small, {});
  queue->launch(*first, large, {});
  EXPECT_EQ(fake.calls("cuFuncSetAttribute"), 1);
  const Grid too_large = {.groups = 1, .threads = 1, .shared_bytes = 228U << 10};
  const std::string message =
      message_of<DeviceError>([&] { queue->launch(*first, too_large, {}); });
  EXPECT_EQ(message, "cuFuncSetAttribute failed: CUDA_ERROR_INVALID_VALUE (1), invalid argument");
}

// What the tests of device memory rely on.
class StandInCounts : public testing::Test {
 protected:
  void SetUp() override {
    NEEDS_FAKE(fake_, false);
    platform_ = open_cuda();
    device_ = platform_->open(0);
    memory_ = device_->allocate(100);
    pinned_ = device_->allocate_pinned(100, false);
    queue_ = device_->make_queue();
  }

  const Fake fake_{cuda};
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Device> device_;
  Memory memory_;
  std::unique_ptr<PinnedMemory> pinned_;
  std::unique_ptr<Queue> queue_;
  std::array<std::uint8_t, 100> host_{};
};

TEST_F(StandInCounts, CopiesOfBytesThatNobodyWrote) {
  queue_->upload(memory_, 0, host_.data(), 40);
  queue_->clear(memory_, 40, 20);
  queue_->download(host_.data(), memory_, 10, 50);
  EXPECT_EQ(fake_.uninitialised(), 0);
  queue_->download(host_.data(), memory_, 10, 51);
  EXPECT_EQ(fake_.uninitialised(), 1);
  std::fill_n(pinned_->host().begin(), 50, std::uint8_t{1});
  queue_->upload(memory_, 0, pinned_->host().data(), 50);
  EXPECT_EQ(fake_.uninitialised(), 1);
  queue_->upload(memory_, 0, pinned_->host().data(), 64);
  EXPECT_EQ(fake_.uninitialised(), 2);
}

TEST_F(StandInCounts, CopiesOfMemoryThatIsNotPinned) {
  queue_->upload(memory_, 0, pinned_->host().data() + 20, 80);
  queue_->download(pinned_->host().data(), memory_, 0, 100);
  EXPECT_EQ(fake_.unpinned(), 0);
  queue_->upload(memory_, 0, host_.data(), 100);
  EXPECT_EQ(fake_.unpinned(), 1);
  queue_->download(host_.data(), memory_, 0, 100);
  EXPECT_EQ(fake_.unpinned(), 2);
}

TEST(CudaRuntime, ZeroBytesAreNoError) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  const Memory none = device->allocate(0);
  EXPECT_TRUE(none);
  EXPECT_EQ(device->allocate_pinned(0, false)->host().size(), 0U);
  const auto queue = device->make_queue();
  queue->upload(none, 0, nullptr, 0);
  queue->download(nullptr, none, 0, 0);
  queue->clear(Memory(), 0, 0);
  queue->finish();
}

TEST(CudaRuntime, CopiesBeyondTheMemoryAreRefused) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  const Memory memory = device->allocate(100);
  const auto queue = device->make_queue();
  std::array<std::uint8_t, 100> host{};
  EXPECT_THROW(queue->upload(memory, 1, host.data(), 100), InvalidArgument);
  EXPECT_THROW(queue->download(host.data(), memory, 101, 1), InvalidArgument);
  EXPECT_THROW(queue->clear(memory, ~std::size_t{0}, 2), InvalidArgument);
  queue->clear(memory, 99, 1);
}

TEST(CudaRuntime, MappedMemoryNeedsADeviceThatMapsHostMemory) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  Fake::tell("maps:0");
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  const auto mapped = device->allocate_pinned(16, true);
  EXPECT_EQ(mapped->host().size(), 16U);
  EXPECT_EQ(message_of<Unavailable>([&] { static_cast<void>(mapped->device_view()); }),
            "cuda:0 cannot reach the memory of the host");
  const auto pinned = device->allocate_pinned(16, false);
  EXPECT_THROW(static_cast<void>(pinned->device_view()), InvalidArgument);
}

TEST(CudaRuntime, FunctionsOutliveTheirProgram) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  auto kernel = device->load(fake_program())->function("paraes_nothing");
  device->make_queue()->launch(*kernel, {}, {});
  EXPECT_EQ(fake.calls("cuModuleUnload"), 0);
  kernel.reset();
  EXPECT_EQ(fake.calls("cuModuleUnload"), 1);
}

// ---- Calls that fail

TEST(CudaRuntime, ErrorNamesTheUnknownKernel) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  const auto program = device->load(fake_program());
  EXPECT_EQ(message_of<DeviceError>([&] { static_cast<void>(program->function("paraes_none")); }),
            "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500), named symbol not found: "
            "paraes_none");
}

TEST(CudaRuntime, DamagedProgramsAreRefused) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  EXPECT_THROW(static_cast<void>(device->load({})), DeviceError);
  const std::string text = "not a program";
  const std::string message = message_of<DeviceError>(
      [&] { static_cast<void>(device->load(Binary(text.begin(), text.end()))); });
  EXPECT_EQ(message.rfind("cuModuleLoadData failed: CUDA_ERROR_INVALID_IMAGE (200), image is "
                          "invalid; the program is not for sm_90",
                          0),
            0U)
      << message;
  // The stand-in accepts any ELF file, such as this test.
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const Binary whole{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_GT(whole.size(), 1000U);
  EXPECT_NO_THROW(static_cast<void>(device->load(whole)));
  for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{64},
                                  std::size_t{63}, std::size_t{5}, std::size_t{4}}) {
    const Binary part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
    const std::string cut = message_of<DeviceError>([&] { static_cast<void>(device->load(part)); });
    EXPECT_NE(cut.find("cut off"), std::string::npos) << bytes << ": " << cut;
  }
}

TEST(CudaRuntime, FailedAllocationThrowsOutOfMemory) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  const auto platform = open_cuda();
  const auto device = platform->open(0);
  EXPECT_EQ(message_of<OutOfMemory>([&] { static_cast<void>(device->allocate(65U << 20)); }),
            "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory");
  const Memory most = device->allocate(64U << 20);
  EXPECT_EQ(device->free_bytes(), 0U);
  Fake::tell("fail:cuMemHostAlloc:2:2");
  EXPECT_NO_THROW(static_cast<void>(device->allocate_pinned(1, false)));
  EXPECT_THROW(static_cast<void>(device->allocate_pinned(1, false)), OutOfMemory);
}

TEST(HipRuntime, FailedAllocationThrowsOutOfMemory) {
  const Fake fake(hip);
  NEEDS_FAKE(fake, false);
  const auto platform = open_hip();
  const auto device = platform->open(0);
  const long before = fake.calls("hipGetLastError");
  EXPECT_EQ(message_of<OutOfMemory>([&] { static_cast<void>(device->allocate(65U << 20)); }),
            "hipMalloc failed: hipErrorOutOfMemory (2), out of memory");
  EXPECT_EQ(fake.calls("hipGetLastError"), before + 1) << "the last error was not cleared";
}

struct Entry {
  std::string member;
  const char* symbol;
};

#define PARAES_ENTRY_OF(need, member, symbol) {#member, #symbol},
const std::vector<Entry> cuda_entries = {PARAES_CUDA_CALLS(PARAES_ENTRY_OF)};
const std::vector<Entry> hip_entries = {PARAES_HIP_CALLS(PARAES_ENTRY_OF)};
#undef PARAES_ENTRY_OF

// Whether a failure of this call is not reported, because a destructor makes it or it is not
// needed.
bool fails_silently(const std::string& member) {
  constexpr std::array silent = {
      "free",           "free_host",      "destroy_stream", "destroy_event",  "unload_module",
      "device_bus",     "error_name",     "error_text",     "hip_last_error", "hip_error_name",
      "hip_error_text", "hip_properties", "release_context"};
  return std::find(silent.begin(), silent.end(), member) != silent.end();
}

// Lets each call of the table fail at its first use.
void expect_errors(const Vendor& vendor, const std::vector<Entry>& entries) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  for (const Entry& entry : entries) {
    for (const int code : {1, 2, 214}) {
      fake.function<void()>("paraes_fake_reset")();
      Fake::tell("fail:" + std::string(entry.symbol) + ":1:" + std::to_string(code));
      SCOPED_TRACE(std::string(entry.symbol) + " returns " + std::to_string(code));
      std::string message;
      bool is_memory = false;
      try {
        use_everything(vendor);
      } catch (const OutOfMemory& error) {
        message = error.what();
        is_memory = true;
      } catch (const DeviceError& error) {
        message = error.what();
      }
      if (fails_silently(entry.member)) {
        EXPECT_EQ(message, "");
        continue;
      }
      EXPECT_EQ(message.rfind(std::string(entry.symbol) + " failed: ", 0), 0U) << message;
      std::string number = "(";
      number.append(std::to_string(code)).append(")");
      EXPECT_NE(message.find(number), std::string::npos) << message;
      EXPECT_EQ(is_memory, code == 2) << message;
      EXPECT_EQ(fake.dirty(), 0);
      // Nothing is freed on a lost device.
      if (code != 214) {
        EXPECT_EQ(fake.live(), 0);
      }
    }
  }
}

TEST(CudaRuntime, ErrorsNameTheFailedCall) { expect_errors(cuda, cuda_entries); }
TEST(HipRuntime, ErrorsNameTheFailedCall) { expect_errors(hip, hip_entries); }

// Lets each call fail at its first, second, … use, until a round does not reach that use.
void expect_no_leaks(const Vendor& vendor, const std::vector<Entry>& entries) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  for (const Entry& entry : entries) {
    if (fails_silently(entry.member)) continue;
    for (int use = 1; use < 200; ++use) {
      fake.function<void()>("paraes_fake_reset")();
      Fake::tell("fail:" + std::string(entry.symbol) + ":" + std::to_string(use) + ":1");
      SCOPED_TRACE(std::string(entry.symbol) + ", use " + std::to_string(use));
      const std::string message = message_of<Error>([&] { use_everything(vendor); });
      const bool reached = fake.calls(entry.symbol) >= use;
      // If a destructor cannot make the context current, its object is not freed.
      const bool in_destructor = message.empty();
      if (!in_destructor) {
        EXPECT_EQ(fake.live(), 0) << message;
      }
      if (!reached) break;
    }
  }
}

TEST(CudaRuntime, FailedCallsLeakNoObjects) { expect_no_leaks(cuda, cuda_entries); }
TEST(HipRuntime, FailedCallsLeakNoObjects) { expect_no_leaks(hip, hip_entries); }

// The launch succeeds, and then the device is lost.
void expect_lost(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, false);
  Fake::tell("lose:719");
  {
    const auto platform = vendor.open();
    const auto device = platform->open(1);
    const Memory memory = device->allocate(100);
    const auto pinned = device->allocate_pinned(100, false);
    const auto program = device->load(fake_program());
    const auto kernel = program->function("paraes_nothing");
    const auto queue = device->make_queue();
    const auto other = device->make_queue();
    const auto mark = queue->mark();
    queue->launch(*kernel, {}, {});
    const std::string message = message_of<DeviceError>([&] { queue->finish(); });
    EXPECT_NE(message.find("failed: "), std::string::npos) << message;
    EXPECT_NE(message.find("(719), unspecified launch failure"), std::string::npos) << message;
    EXPECT_THROW(queue->clear(memory, 0, 1), DeviceError);
    EXPECT_THROW(static_cast<void>(other->mark()), DeviceError);
    EXPECT_EQ(fake.calls_on_lost(), 3);
  }
  EXPECT_EQ(fake.calls_on_lost(), 3) << "a destructor called a lost device";
  if (&vendor == &cuda) {
    EXPECT_EQ(fake.live(), 0);
  }
}

TEST(CudaRuntime, DestructorsDoNotCallALostDevice) { expect_lost(cuda); }
TEST(HipRuntime, DestructorsDoNotCallALostDevice) { expect_lost(hip); }

TEST(CudaRuntime, QueueDestructorNoticesALostDevice) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  Fake::tell("lose:214");
  {
    const auto platform = open_cuda();
    const auto device = platform->open(0);
    const Memory memory = device->allocate(100);
    const auto kernel = device->load(fake_program())->function("paraes_nothing");
    device->make_queue()->launch(*kernel, {}, {});
  }
  EXPECT_EQ(fake.calls_on_lost(), 1);
  EXPECT_EQ(fake.live(), 0);
}

TEST(CudaRuntime, UnknownDeviceIsUnavailable) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  Fake::tell("version:12020");
  const auto platform = open_cuda();
  EXPECT_EQ(message_of<Unavailable>([&] { static_cast<void>(platform->open(7)); }),
            "there is no device cuda:7: CUDA 12.2 sees 2");
}

TEST(CudaRuntime, RuntimeWithoutDevicesIsUnavailable) {
  const Fake fake(cuda);
  NEEDS_FAKE(fake, false);
  Fake::tell("devices:0");
  EXPECT_EQ(message_of<Unavailable>([] { static_cast<void>(open_cuda()); }),
            "cuInit failed: CUDA_ERROR_NO_DEVICE (100), no device is detected; this machine shows "
            "no NVIDIA GPU to this process");
  Fake::tell("fail:cuDeviceGetCount:1:100");
  EXPECT_NE(message_of<Unavailable>([] { static_cast<void>(open_cuda()); }).find("sees no NVIDIA"),
            std::string::npos);
  Fake::tell("fail:cuInit:1:34");
  EXPECT_NE(
      message_of<Unavailable>([] { static_cast<void>(open_cuda()); }).find("install the driver"),
      std::string::npos);
  Fake::tell("fail:cuInit:1:999");
  EXPECT_EQ(message_of<DeviceError>([] { static_cast<void>(open_cuda()); }),
            "cuInit failed: an error (999)");
}

TEST(HipRuntime, RuntimeWithoutDevicesIsUnavailable) {
  const Fake fake(hip);
  NEEDS_FAKE(fake, false);
  Fake::tell("devices:0");
  EXPECT_NE(message_of<Unavailable>([] { static_cast<void>(open_hip()); }).find("no AMD GPU"),
            std::string::npos);
}

TEST(HipRuntime, RuntimeOlderThanRocm5IsUnavailable) {
  const Fake fake(hip);
  NEEDS_FAKE(fake, false);
  Fake::tell("version:40421");
  EXPECT_NE(message_of<Unavailable>([] { static_cast<void>(open_hip()); }).find("ROCm 5"),
            std::string::npos);
}

// ---- Without the optional functions

void expect_bare(const Vendor& vendor) {
  const Fake fake(vendor);
  NEEDS_FAKE(fake, true);
  const auto platform = vendor.open();
  const auto device = platform->open(1);
  EXPECT_TRUE(device->info().available) << device->info().reason;
  const auto mapped = device->allocate_pinned(16, true);
  EXPECT_THROW(static_cast<void>(mapped->device_view()), Unavailable);
  const auto kernel = device->load(fake_program())->function("paraes_nothing");
  const auto queue = device->make_queue();
  queue->launch(*kernel, {.groups = 1, .threads = 1, .shared_bytes = 48U << 10}, {});
  queue->finish();
  const std::string call = &vendor == &cuda ? "cuMemAlloc_v2" : "hipMalloc";
  EXPECT_EQ(
      message_of<OutOfMemory>([&] { static_cast<void>(device->allocate(std::size_t{1} << 40)); }),
      call + " failed: an error (2)");
}

TEST(CudaRuntimeBare, WorksWithoutTheOptionalFunctions) { expect_bare(cuda); }
TEST(HipRuntimeBare, WorksWithoutTheOptionalFunctions) { expect_bare(hip); }

TEST(HipRuntimeBare, ReadsTheTargetOfRocm5) {
  const Fake fake(hip);
  NEEDS_FAKE(fake, true);
  EXPECT_EQ(open_hip()->open(0)->info().target, "gfx90a");
}

// ---- Without a driver

// Runs without the stand-in. Most machines then have no driver or no GPU.
void expect_absent(const Vendor& vendor, const std::string& none) {
  const Fake fake(vendor);
  if (fake.present()) GTEST_SKIP() << "this test is for a process without the stand-in";
  try {
    GTEST_SKIP() << "this machine has " << vendor.open()->devices().size() << " devices";
  } catch (const Unavailable& error) {
    const std::string message = error.what();
    const bool absent = message.find(vendor.library) != std::string::npos &&
                        message.find("install") != std::string::npos;
    EXPECT_TRUE(absent || message.find(none) != std::string::npos) << message;
  }
}

TEST(CudaRuntimeAbsent, ErrorSaysWhatToInstall) { expect_absent(cuda, "no NVIDIA GPU"); }
TEST(HipRuntimeAbsent, ErrorSaysWhatToInstall) { expect_absent(hip, "no AMD GPU"); }

}  // namespace
}  // namespace paraes::gpu
