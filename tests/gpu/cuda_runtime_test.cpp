// Tests of CUDA and HIP without a GPU, with the stand-ins of fake_cuda.cpp, whose folder is in
// LD_LIBRARY_PATH. The Bare suites use the stand-ins that lack the optional functions.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "paraes/error.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/support/environment.hpp"

namespace paraes::gpu {
namespace {

struct Pattern {
  std::array<std::uint8_t, 480> bytes;
};

const Pattern the_pattern = [] {
  Pattern pattern{};
  for (std::size_t i = 0; i < pattern.bytes.size(); ++i) {
    pattern.bytes[i] = static_cast<std::uint8_t>(7 * i + 1);
  }
  return pattern;
}();

// Launches the stand-in's paraes_xor.
void launch_xor(Queue& queue, Function& kernel, const Grid& grid, const Memory& memory,
                std::uint64_t bytes) {
  const std::array<Argument, 3> arguments = {memory, Argument::by_value(bytes),
                                             Argument::by_value(the_pattern)};
  queue.launch(kernel, grid, arguments);
}

Binary binary_of(const std::string& text) { return {text.begin(), text.end()}; }
Binary fake_program() { return binary_of("fake program"); }

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
  EXPECT_FALSE(device->is_page_locked(input.data(), bytes));
  const auto program = device->load(fake_program());
  const auto kernel = program->function("paraes_xor");
  const auto queue = device->make_queue();
  std::copy(input.begin(), input.end(), pinned->host().begin());
  std::copy(input.begin(), input.end(), mapped->host().begin());
  const auto begin = queue->mark();
  queue->upload(memory, 0, pinned->host().data(), bytes);
  queue->clear(memory, 100, 50);
  const Grid grid = {.groups = 3, .threads = 64, .shared_bytes = 1000};
  launch_xor(*queue, *kernel, grid, memory, bytes);
  launch_xor(*queue, *kernel, {}, mapped->device_view(), bytes);
  Memory second = device->allocate(bytes + 64);
  queue->copy(second, 64, memory, 0, bytes);
  queue->download(pinned->host().data(), second, 64, bytes);
  const auto end = queue->mark();
  queue->finish();
  EXPECT_TRUE(end->passed());
  const auto default_stream = device->borrow_queue(nullptr);
  default_stream->wait_for(*end);
  default_stream->finish();
  EXPECT_FALSE(default_stream->is_captured());
  EXPECT_EQ(default_stream->handle(), nullptr);
  EXPECT_NE(queue->handle(), nullptr);
  bool is_called = false;
  device->while_current([&is_called] { is_called = true; });
  EXPECT_TRUE(is_called);
  device->finish_all();
  EXPECT_LT(queue->nanoseconds(*begin, *end), 60'000'000'000U);
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto plain = i >= 100 && i < 150 ? std::uint8_t{0} : input[i];
    const auto mask = the_pattern.bytes[i % the_pattern.bytes.size()];
    ASSERT_EQ(pinned->host()[i], plain ^ mask) << i;
    ASSERT_EQ(mapped->host()[i], input[i] ^ mask) << i;
  }
}

class Driver : public WithEachDriver {
 protected:
  using WithEachDriver::WithEachDriver;
};
class DriverBare : public Driver {
 protected:
  DriverBare() : Driver(true) {}
};
class CudaRuntime : public WithDriver {
 protected:
  CudaRuntime() : WithDriver(cuda) {}
};
class HipRuntime : public WithDriver {
 protected:
  explicit HipRuntime(bool bare = false) : WithDriver(hip, bare) {}
};
class HipRuntimeBare : public HipRuntime {
 protected:
  HipRuntimeBare() : HipRuntime(true) {}
};
PARAES_FOR_EACH_DRIVER(Driver);
PARAES_FOR_EACH_DRIVER(DriverBare);

// ---- Streams of the caller

// A device that is current on this thread, and a stream of the driver on it.
class CurrentDevice {
 public:
  CurrentDevice(const Fake& fake, bool is_cuda, int device) : fake_(fake), is_cuda_(is_cuda) {
    void* context = nullptr;
    if (is_cuda) fake.function<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device);
    make_current(context, device);
    const auto create = fake.function<int(void**, unsigned)>(is_cuda ? "cuStreamCreate"
                                                                     : "hipStreamCreateWithFlags");
    EXPECT_EQ(create(&stream_, 1), 0);
  }
  ~CurrentDevice() {
    make_current(nullptr, 0);
    fake_.reset();
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

  [[nodiscard]] void* stream() const { return stream_; }
  // The context or the number of what is current now.
  [[nodiscard]] void* now() const {
    void* context = nullptr;
    if (is_cuda_) fake_.function<int(void**)>("cuCtxGetCurrent")(&context);
    if (!is_cuda_) fake_.function<int(void*)>("hipGetDevice")(&context);
    return context;
  }

 private:
  void make_current(void* context, int device) const {
    if (is_cuda_) fake_.function<int(void*)>("cuCtxSetCurrent")(context);
    if (!is_cuda_) fake_.function<int(int)>("hipSetDevice")(device);
  }

  const Fake& fake_;
  bool is_cuda_;
  void* stream_ = nullptr;
};

TEST_P(Driver, CallersStreamIsUsedAndLeftAlone) {
  const CurrentDevice current(fake_, is_cuda(), 1);
  const long objects = fake_.live();
  for (void* const handle : {current.stream(), static_cast<void*>(nullptr)}) {
    const auto device = vendor_.open()->open(1);
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
  EXPECT_EQ(waits(), 0) << "nobody asked it to wait";
  EXPECT_EQ(fake_.live(), objects) << "the caller's stream is gone, or something was left";
}

TEST_F(CudaRuntime, StreamOfAnotherDeviceIsRefused) {
  const CurrentDevice current(fake_, true, 1);
  EXPECT_HAS(message_of<InvalidArgument>(
                 [&] { static_cast<void>(open(0)->borrow_queue(current.stream())); }),
             "not one of the primary context of cuda:0");
  EXPECT_NO_THROW(static_cast<void>(open(1)->borrow_queue(current.stream())));
}

// ---- Calls that succeed

TEST_P(Driver, EveryCallWorksAndFreesItsObjects) {
  use_everything(vendor_);
  EXPECT_EQ(fake_.live(), 0);
  EXPECT_EQ(fake_.dirty(), 0) << "pinned memory was not overwritten before it was freed";
}

// One line of what is known of a device.
std::string description_of(const DeviceInfo& info) {
  std::ostringstream text;
  text << info.id << ", " << info.name << ", " << info.bus << ", " << info.memory_bytes
       << " bytes, " << info.driver << ", " << info.target << ", " << info.processors
       << " processors, " << info.shared_bytes << " shared bytes, " << info.max_threads
       << " threads" << (info.available ? ", available" : "") << (info.is_cpu ? ", a CPU" : "")
       << info.reason;
  return text.str();
}

TEST_F(CudaRuntime, DevicesAreDescribed) {
  Fake::tell("devices:3,version:13010");
  const auto infos = open_cuda()->devices();
  ASSERT_EQ(infos.size(), 3U);
  EXPECT_EQ(description_of(infos[2]),
            "cuda:2, Fake GPU 2, 0000:4c:00.0, 67108864 bytes, CUDA 13.1, sm_90, 7 processors, "
            "232448 shared bytes, 1024 threads, available");
  EXPECT_EQ(fake_.live(), 0) << "listing devices retained a context";
  EXPECT_EQ(fake_.calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST_F(HipRuntime, DevicesAreDescribed) {
  const auto infos = open_hip()->devices();
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_EQ(description_of(infos[1]),
            "hip:1, Fake GPU 1, 0000:4b:00.0, 67108864 bytes, HIP 6.3.42131, gfx90a, "
            "7 processors, 65536 shared bytes, 1024 threads, available");
}

TEST_F(CudaRuntime, DeviceWithoutCompilerSaysWhy) {
  const support::ScopedEnvironment nvrtc("PARAES_NVRTC", "/nowhere/libnvrtc.so");
  const auto platform = open_cuda();
  DeviceInfo info = platform->devices().at(0);
  platform->describe_compiler(info);
  EXPECT_EQ(info.compiler, "");
  EXPECT_HAS(info.compiler_reason, "cannot open /nowhere/libnvrtc.so: No such file");
  EXPECT_TRUE(info.available);
  EXPECT_EQ(info.reason, "");
}

TEST_F(CudaRuntime, BrokenDeviceDoesNotHideTheOthers) {
  Fake::tell("fail:cuDeviceGetName:1:999");
  const auto infos = open_cuda()->devices();
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_FALSE(infos[0].available);
  EXPECT_EQ(infos[0].id, "cuda:0");
  EXPECT_EQ(infos[0].reason, "cuDeviceGetName failed: an error (999)");
  EXPECT_TRUE(infos[1].available);
}

TEST_P(Driver, SeveralThreadsShareADevice) {
  Device* const device = open(1);
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
        launch_xor(*queue, *kernel, {.groups = 1, .threads = 1, .shared_bytes = 0}, memory, 480);
        queue->download(pinned->host().data(), memory, 0, 480);
        queue->finish();
        ASSERT_EQ(std::memcmp(pinned->host().data(), the_pattern.bytes.data(), 480), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Driver, CallsRestoreTheDeviceOfTheThread) {
  const CurrentDevice current(fake_, is_cuda(), 0);
  void* const before = current.now();
  Device* const device = open(1);
  device->make_queue()->finish();
  EXPECT_THROW(static_cast<void>(device->allocate(std::size_t{1} << 40)), OutOfMemory);
  EXPECT_EQ(current.now(), before);
}

TEST_F(CudaRuntime, LaunchRaisesTheLimitOfSharedMemory) {
  Device* const device = open(0);
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
  EXPECT_EQ(fake_.calls("cuFuncSetAttribute"), 1);
  const Grid too_large = {.groups = 1, .threads = 1, .shared_bytes = 228U << 10};
  const std::string message =
      message_of<DeviceError>([&] { queue->launch(*first, too_large, {}); });
  EXPECT_EQ(message, "cuFuncSetAttribute failed: CUDA_ERROR_INVALID_VALUE (1), invalid argument");
}

TEST_F(CudaRuntime, CopiesOfNoBytesWorkAndThoseBeyondTheMemoryAreRefused) {
  Device* const device = open(0);
  const Memory none = device->allocate(0);
  EXPECT_TRUE(none);
  EXPECT_EQ(device->allocate_pinned(0, false)->host().size(), 0U);
  const auto queue = device->make_queue();
  queue->upload(none, 0, nullptr, 0);
  queue->download(nullptr, none, 0, 0);
  queue->clear(Memory(), 0, 0);
  queue->finish();
  const Memory memory = device->allocate(100);
  std::array<std::uint8_t, 100> host{};
  EXPECT_THROW(queue->upload(memory, 1, host.data(), 100), InvalidArgument);
  EXPECT_THROW(queue->download(host.data(), memory, 101, 1), InvalidArgument);
  EXPECT_THROW(queue->clear(memory, ~std::size_t{0}, 2), InvalidArgument);
  queue->clear(memory, 99, 1);
}

TEST_P(Driver, PageLockedMemoryIsThatOfTheDeviceFromItsFirstToItsLastByte) {
  constexpr std::size_t bytes = 10000;
  const std::vector<std::uint8_t> plain(bytes);
  // HIP 5 and HIP 6 have different numbers.
  for (const char* version : {"version:12040", "version:50710000", "version:60000000"}) {
    if (is_cuda() != (version == std::string("version:12040"))) continue;
    SCOPED_TRACE(version);
    Fake::tell(version);
    const auto platform = vendor_.open();
    const auto device = platform->open(1);
    const auto other = platform->open(0);
    const auto pinned = device->allocate_pinned(bytes, false);
    const std::uint8_t* const first = pinned->host().data();
    const Memory memory = device->allocate(bytes);
    const auto* const on_device = reinterpret_cast<const std::uint8_t*>(memory.handle());
    EXPECT_TRUE(device->is_page_locked(first, bytes));
    EXPECT_TRUE(device->is_page_locked(first + 1, bytes - 1));
    EXPECT_TRUE(device->is_page_locked(first + bytes - 1, 1));
    EXPECT_FALSE(device->is_page_locked(first, bytes + 1));
    EXPECT_FALSE(device->is_page_locked(first + 1, bytes));
    EXPECT_FALSE(device->is_page_locked(first, ~std::size_t{0}));
    EXPECT_FALSE(device->is_page_locked(first - 1, 2));
    EXPECT_FALSE(device->is_page_locked(first, 0));
    EXPECT_FALSE(device->is_page_locked(nullptr, 0));
    EXPECT_FALSE(device->is_page_locked(plain.data(), bytes));
    EXPECT_FALSE(device->is_page_locked(on_device, bytes));
    EXPECT_FALSE(other->is_page_locked(first, bytes));
    Fake::tell(std::string(version) + ",managed:1");
    EXPECT_FALSE(device->is_page_locked(first, bytes));
  }
}

TEST_P(Driver, PageLockedMemoryIsUnknownIfTheQueryFails) {
  const auto device = vendor_.open()->open(1);
  const auto pinned = device->allocate_pinned(100, false);
  for (const char* call : {name("cuPointerGetAttributes", "hipDrvPointerGetAttributes"),
                           name("cuCtxGetCurrent", "hipGetDevice")}) {
    Fake::tell("fail:" + std::string(call) + ":0:1");
    EXPECT_FALSE(device->is_page_locked(pinned->host().data(), 100)) << call;
    // HIP keeps the last error until somebody asks for it.
    EXPECT_EQ(fake_.calls("hipGetLastError"), is_cuda() ? 0 : 1) << call;
    Fake::tell("");
  }
}

TEST_F(CudaRuntime, MappedMemoryNeedsADeviceThatMapsHostMemory) {
  Fake::tell("maps:0");
  Device* const device = open(0);
  const auto mapped = device->allocate_pinned(16, true);
  EXPECT_EQ(mapped->host().size(), 16U);
  EXPECT_EQ(message_of<Unavailable>([&] { static_cast<void>(mapped->device_view()); }),
            "cuda:0 cannot reach the memory of the host");
  const auto pinned = device->allocate_pinned(16, false);
  EXPECT_THROW(static_cast<void>(pinned->device_view()), InvalidArgument);
}

TEST_F(CudaRuntime, FunctionsOutliveTheirProgram) {
  Device* const device = open(0);
  auto kernel = device->load(fake_program())->function("paraes_nothing");
  device->make_queue()->launch(*kernel, {}, {});
  EXPECT_EQ(fake_.calls("cuModuleUnload"), 0);
  kernel.reset();
  EXPECT_EQ(fake_.calls("cuModuleUnload"), 1);
}

// ---- Calls that fail

TEST_F(CudaRuntime, DamagedProgramsAndUnknownKernelsAreRefused) {
  Device* const device = open(0);
  const auto refusal = [&](const Binary& binary) {
    return message_of<DeviceError>(
        [&] { static_cast<void>(device->load(binary)->function("paraes_none")); });
  };
  EXPECT_EQ(refusal(fake_program()),
            "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND (500), named symbol not found: "
            "paraes_none");
  EXPECT_HAS(refusal({}), "cuModuleLoadData failed");
  const std::string message = refusal(binary_of("not a program"));
  EXPECT_TRUE(
      message.starts_with("cuModuleLoadData failed: CUDA_ERROR_INVALID_IMAGE (200), image "
                          "is invalid; the program is not for sm_90"))
      << message;
  // The stand-in accepts any ELF file, such as this test.
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const Binary whole{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ASSERT_GT(whole.size(), 1000U);
  EXPECT_HAS(refusal(whole), "paraes_none");
  for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{64},
                                  std::size_t{63}, std::size_t{5}, std::size_t{4}}) {
    EXPECT_HAS(refusal(Binary(whole.data(), whole.data() + bytes)), "cut off");
  }
}

TEST_F(CudaRuntime, FailedAllocationThrowsOutOfMemory) {
  Device* const device = open(0);
  EXPECT_EQ(message_of<OutOfMemory>([&] { static_cast<void>(device->allocate(65U << 20)); }),
            "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2), out of memory");
  const Memory most = device->allocate(64U << 20);
  EXPECT_EQ(device->free_bytes(), 0U);
  Fake::tell("fail:cuMemHostAlloc:2:2");
  EXPECT_NO_THROW(static_cast<void>(device->allocate_pinned(1, false)));
  EXPECT_THROW(static_cast<void>(device->allocate_pinned(1, false)), OutOfMemory);
}

// HIP keeps the last error until somebody asks for it.
TEST_F(HipRuntime, FailedAllocationClearsTheLastError) {
  Device* const device = open(0);
  const long before = fake_.calls("hipGetLastError");
  EXPECT_EQ(message_of<OutOfMemory>([&] { static_cast<void>(device->allocate(65U << 20)); }),
            "hipMalloc failed: hipErrorOutOfMemory (2), out of memory");
  EXPECT_EQ(fake_.calls("hipGetLastError"), before + 1);
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
  static const std::set<std::string> silent = {
      "free",           "free_host",      "destroy_stream",  "destroy_event",     "unload_module",
      "device_bus",     "error_name",     "error_text",      "hip_last_error",    "hip_error_name",
      "hip_error_text", "hip_properties", "release_context", "pointer_attributes"};
  return silent.contains(member);
}

// Lets each call of the table fail at its first use.
TEST_P(Driver, ErrorsNameTheFailedCall) {
  for (const Entry& entry : is_cuda() ? cuda_entries : hip_entries) {
    for (const int code : {1, 2, 214}) {
      fake_.reset();
      Fake::tell("fail:" + std::string(entry.symbol) + ":1:" + std::to_string(code));
      SCOPED_TRACE(std::string(entry.symbol) + " returns " + std::to_string(code));
      std::string message;
      bool is_memory = false;
      try {
        use_everything(vendor_);
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
      EXPECT_TRUE(message.starts_with(std::string(entry.symbol) + " failed: ")) << message;
      EXPECT_HAS(message, "(" + std::to_string(code) + ")");
      EXPECT_EQ(is_memory, code == 2) << message;
      EXPECT_EQ(fake_.dirty(), 0);
      // Nothing is freed on a lost device.
      if (code != 214) {
        EXPECT_EQ(fake_.live(), 0);
      }
    }
  }
}

// Lets each call fail at its first, second, … use, until a round does not reach that use.
TEST_P(Driver, FailedCallsLeakNoObjects) {
  for (const Entry& entry : is_cuda() ? cuda_entries : hip_entries) {
    if (fails_silently(entry.member)) continue;
    for (int use = 1; use < 200; ++use) {
      fake_.reset();
      Fake::tell("fail:" + std::string(entry.symbol) + ":" + std::to_string(use) + ":1");
      SCOPED_TRACE(std::string(entry.symbol) + ", use " + std::to_string(use));
      const std::string message = message_of<Error>([&] { use_everything(vendor_); });
      const bool reached = fake_.calls(entry.symbol) >= use;
      // If a destructor cannot make the context current, its object is not freed.
      const bool in_destructor = message.empty();
      if (!in_destructor) {
        EXPECT_EQ(fake_.live(), 0) << message;
      }
      if (!reached) break;
    }
  }
}

// The launch succeeds, and then the device is lost.
TEST_P(Driver, DestructorsDoNotCallALostDevice) {
  Fake::tell("lose:719");
  {
    const auto platform = vendor_.open();
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
    EXPECT_HAS(message, "failed: ");
    EXPECT_HAS(message, "(719), unspecified launch failure");
    EXPECT_THROW(queue->clear(memory, 0, 1), DeviceError);
    EXPECT_THROW(static_cast<void>(other->mark()), DeviceError);
    EXPECT_EQ(fake_.calls_on_lost(), 4);  // finish() tries in two ways
  }
  EXPECT_EQ(fake_.calls_on_lost(), 4) << "a destructor called a lost device";
  if (is_cuda()) {
    EXPECT_EQ(fake_.live(), 0);
  }
}

TEST_F(CudaRuntime, QueueDestructorNoticesALostDevice) {
  Fake::tell("lose:214");
  {
    const auto platform = open_cuda();
    const auto device = platform->open(0);
    const Memory memory = device->allocate(100);
    const auto kernel = device->load(fake_program())->function("paraes_nothing");
    device->make_queue()->launch(*kernel, {}, {});
  }
  EXPECT_EQ(fake_.calls_on_lost(), 1);
  EXPECT_EQ(fake_.live(), 0);
}

TEST_F(CudaRuntime, UnknownDeviceIsUnavailable) {
  Fake::tell("version:12020");
  const auto platform = open_cuda();
  EXPECT_EQ(message_of<Unavailable>([&] { static_cast<void>(platform->open(7)); }),
            "there is no device cuda:7: CUDA 12.2 sees 2");
}

TEST_F(CudaRuntime, RuntimeWithoutDevicesIsUnavailable) {
  const auto refusal = [](const char* directives) {
    Fake::tell(directives);
    return message_of<Unavailable>([] { static_cast<void>(open_cuda()); });
  };
  EXPECT_EQ(refusal("devices:0"),
            "cuInit failed: CUDA_ERROR_NO_DEVICE (100), no device is detected; this machine shows "
            "no NVIDIA GPU to this process");
  EXPECT_HAS(refusal("fail:cuDeviceGetCount:1:100"), "sees no NVIDIA");
  EXPECT_HAS(refusal("fail:cuInit:1:34"), "install the driver");
  Fake::tell("fail:cuInit:1:999");
  EXPECT_EQ(message_of<DeviceError>([] { static_cast<void>(open_cuda()); }),
            "cuInit failed: an error (999)");
}

TEST_F(HipRuntime, RuntimeWithoutDevicesOrOlderThanRocm5IsUnavailable) {
  for (const auto& [directives, reason] :
       {std::pair{"devices:0", "no AMD GPU"}, std::pair{"version:40421", "ROCm 5"}}) {
    Fake::tell(directives);
    EXPECT_HAS(message_of<Unavailable>([] { static_cast<void>(open_hip()); }), reason);
  }
}

// ---- Without the optional functions

TEST_P(DriverBare, WorksWithoutTheOptionalFunctions) {
  Device* const device = open(1);
  EXPECT_TRUE(device->info().available) << device->info().reason;
  const auto mapped = device->allocate_pinned(16, true);
  EXPECT_THROW(static_cast<void>(mapped->device_view()), Unavailable);
  EXPECT_FALSE(device->is_page_locked(mapped->host().data(), 16));
  const auto kernel = device->load(fake_program())->function("paraes_nothing");
  const auto queue = device->make_queue();
  queue->launch(*kernel, {.groups = 1, .threads = 1, .shared_bytes = 48U << 10}, {});
  queue->finish();
  const std::string call = name("cuMemAlloc_v2", "hipMalloc");
  EXPECT_EQ(
      message_of<OutOfMemory>([&] { static_cast<void>(device->allocate(std::size_t{1} << 40)); }),
      call + " failed: an error (2)");
}

TEST_F(HipRuntimeBare, ReadsTheTargetOfRocm5) {
  EXPECT_EQ(open_hip()->open(0)->info().target, "gfx90a");
}

// ---- Without a driver

// Runs without the stand-in. Most machines then have no driver or no GPU.
class DriverAbsent : public testing::TestWithParam<const Vendor*> {};
PARAES_FOR_EACH_DRIVER(DriverAbsent);

TEST_P(DriverAbsent, ErrorSaysWhatToInstall) {
  const Vendor& vendor = *GetParam();
  if (Fake(vendor).present()) GTEST_SKIP() << "this test is for a process without the stand-in";
  try {
    GTEST_SKIP() << "this machine has " << vendor.open()->devices().size() << " devices";
  } catch (const Unavailable& error) {
    const std::string message = error.what();
    const bool absent = message.find(vendor.library) != std::string::npos &&
                        message.find("install") != std::string::npos;
    const char* const none = &vendor == &cuda ? "no NVIDIA GPU" : "no AMD GPU";
    EXPECT_TRUE(absent || message.find(none) != std::string::npos) << message;
  }
}

}  // namespace
}  // namespace paraes::gpu
