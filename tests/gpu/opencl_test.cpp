// OpenCL through an ICD loader whose answers tests replace (tests/support/failing_opencl.cpp).

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/gpu/runtime/opencl_api.hpp"
#include "src/gpu/runtime/runtime.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/callers_device.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/evp_oracle.hpp"
#include "tests/support/hex.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::gpu {
namespace {

std::string hex(const void* data, std::size_t bytes) {
  return support::to_hex({static_cast<const std::uint8_t*>(data), bytes});
}

std::string number_text(std::uint32_t number) {
  const std::array<std::uint8_t, 2> big_endian = {static_cast<std::uint8_t>(number >> 8),
                                                  static_cast<std::uint8_t>(number)};
  return support::to_hex(big_endian);
}

// A directive that replaces the answer to a query.
template <class T>
std::string answer(std::uint32_t query, const T& value) {
  return ",info:" + number_text(query) + ":" + hex(&value, sizeof value);
}

std::string answer(std::uint32_t query, const char* text) {
  return ",info:" + number_text(query) + ":" + hex(text, std::string(text).size() + 1);
}

std::string failing(std::uint32_t query) { return ",info:" + number_text(query) + ":fail"; }

class OpenCl : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("PARAES_FAKE_OPENCL");
    PARAES_NEEDS_DEVICE("opencl:0");
  }
  void TearDown() override { unsetenv("PARAES_FAKE_OPENCL"); }

  static void tell(const std::string& directives) {
    setenv("PARAES_FAKE_OPENCL", directives.c_str(), 1);
  }
  static DeviceInfo described() { return open_opencl()->devices().at(0); }
};

// ---- Limits and drivers that lack something

TEST_F(OpenCl, GroupsAreLimitedByTheDeviceAndByTheFirstDimension) {
  tell(answer(cl::device_max_work_group_size, std::size_t{200}));
  EXPECT_EQ(described().max_threads, 200U);
  tell(answer(cl::device_max_work_group_size, std::size_t{200}) +
       answer(cl::device_max_work_item_sizes, std::array<std::size_t, 3>{100, 1, 1}));
  EXPECT_EQ(described().max_threads, 100U);
}

// A kernel on the device, with a queue.
struct Work {
  std::unique_ptr<Platform> platform = open_opencl();
  std::unique_ptr<Device> device = platform->open(0);
  const std::shared_ptr<Program> program =
      device->load(device->compile("__kernel void number(__global uint* data) {"
                                   "  data[get_global_id(0)] = (uint)get_global_id(0); }",
                                   {}));
  std::unique_ptr<Function> kernel = program->function("number");
  std::unique_ptr<Queue> queue = device->make_queue();
  Memory memory = device->allocate(256 * sizeof(std::uint32_t));

  // How long it took, in nanoseconds.
  std::uint64_t run() {
    const auto begin = queue->mark();
    const std::array<Argument, 1> arguments = {memory};
    queue->launch(*kernel, {.groups = 2, .threads = 128, .shared_bytes = 0}, arguments);
    const auto end = queue->mark();
    queue->finish();
    return queue->nanoseconds(*begin, *end);
  }
};

TEST_F(OpenCl, KernelThatAllowsSmallerGroupsIsAnError) {
  tell("group:128");
  static_cast<void>(Work().run());
  tell("group:127");
  EXPECT_EQ(support::message_of<DeviceError>([] { static_cast<void>(Work().run()); }),
            "the driver runs number with at most 127 threads in a group, and it needs 128: use "
            "another kernel");
}

TEST_F(OpenCl, MarkersThatAreNotMeasuredCountAsNoTime) {
  Work work;
  EXPECT_GT(work.run(), 0U);
  tell("profile:-7");
  EXPECT_EQ(work.run(), 0U);
  tell("profile:-5");
  EXPECT_HAS(support::message_of<DeviceError>([&] { static_cast<void>(work.run()); }),
             "clGetEventProfilingInfo failed");
}

TEST_F(OpenCl, PinnedMemoryOfTheDeviceHasNoHostBytes) {
  const auto platform = open_opencl();
  const auto device = platform->open(0);
  const auto pinned = device->allocate_pinned(100, true);
  ASSERT_EQ(pinned->host().size(), 100U);
  pinned->host()[99] = 7;
  pinned->to_device();
  EXPECT_TRUE(pinned->host().empty());
  pinned->to_device();
  pinned->to_host();
  ASSERT_EQ(pinned->host().size(), 100U);
  EXPECT_EQ(pinned->host()[99], 7);
}

// ---- PCI addresses

const cl::PciBusInfo khr = {0, 0x4b, 0, 0};
constexpr cl::TopologyAmd amd = {1, {}, 0x4b, 0, 0};

std::string with_khr(const cl::PciBusInfo& bus = khr) {
  return answer(cl::device_extensions, "cl_khr_icd cl_khr_pci_bus_info") +
         answer(cl::device_pci_bus_info, bus);
}

std::string with_nv(std::uint32_t bus = 0x4b, std::uint32_t slot = 0, std::uint32_t domain = 0) {
  return answer(cl::device_extensions, "cl_nv_device_attribute_query cl_khr_icd") +
         answer(cl::device_pci_bus_id_nv, bus) + answer(cl::device_pci_slot_id_nv, slot) +
         answer(cl::device_pci_domain_id_nv, domain);
}

std::string with_amd() {
  return answer(cl::device_extensions, "cl_amd_device_attribute_query ") +
         answer(cl::device_topology_amd, amd);
}

TEST_F(OpenCl, BusComesFromTheExtensionThatTheDeviceLists) {
  EXPECT_EQ(described().bus, "") << "PoCL has no PCI address";
  for (const std::string& directives : {with_khr(), with_nv(), with_amd()}) {
    tell(directives);
    EXPECT_EQ(described().bus, "0000:4b:00.0") << directives;
  }
  tell(with_khr({0x10002, 0xc1, 0x1f, 7}));
  EXPECT_EQ(described().bus, "10002:c1:1f.7");
  tell(with_nv(3, 0x1f * 8 + 2, 1));
  EXPECT_EQ(described().bus, "0001:03:1f.2");
}

TEST_F(OpenCl, BusIsUnknownWithoutAnAnswer) {
  const std::string no_extension = answer(cl::device_extensions, "cl_khr_pci_bus_info_other");
  for (const std::string& directives :
       {no_extension + answer(cl::device_pci_bus_info, khr) + answer(cl::device_topology_amd, amd),
        failing(cl::device_pci_bus_info) + with_khr(),
        failing(cl::device_topology_amd) + with_amd(),
        failing(cl::device_pci_bus_id_nv) + with_nv(),
        failing(cl::device_pci_slot_id_nv) + with_nv(),
        failing(cl::device_pci_domain_id_nv) + with_nv(), failing(cl::device_extensions),
        answer(cl::device_topology_amd, cl::TopologyAmd{2, {}, 0x4b, 0, 0}) + with_amd()}) {
    tell(directives);
    EXPECT_EQ(described().bus, "") << directives;
    EXPECT_EQ(described().available, open_opencl()->devices().at(0).available);
  }
}

TEST_F(OpenCl, GpuThatCudaSeesIsTheSame) {
  // Its soname makes it the libcuda.so.1 of this process.
  if (dlopen(PARAES_FAKE_DRIVERS "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    FAIL() << dlerror();
  }
  const auto same_as = [] {
    for (const DeviceInfo& info : devices()) {
      if (info.id == "opencl:0") return info.same_as;
    }
    return std::string("opencl:0 is not listed");
  };
  EXPECT_EQ(same_as(), "");
  for (const std::string& directives : {with_khr(), with_nv(), with_amd()}) {
    tell(directives);
    EXPECT_EQ(same_as(), "cuda:1") << directives;
  }
  tell(with_khr({0, 0x4c, 0, 0}));
  EXPECT_EQ(same_as(), "");
}

// A device with many processors hashes a long text in more ranges than a group has threads.
TEST_F(OpenCl, ManyRangesOfATextAreJoined) {
  PARAES_NEEDS_DEVICE("opencl:0");
  const support::ScopedEnvironment fake("PARAES_FAKE_OPENCL", "info:1002:40000000");  // 64 units
  const auto device = support::open_callers_device("opencl:0");
  const std::vector<std::uint8_t> key = support::make_key(16, 1);
  constexpr std::size_t bytes = 300 * 16384 + 100;
  const DeviceBuffer buffer = device->allocate(bytes + 28);
  const std::vector<std::uint8_t> plain = support::pattern(bytes + 28);
  device->write(buffer, plain);
  const DeviceMessage message{.in = 0, .out = 0, .bytes = bytes, .tag = bytes + 12};
  DeviceGcm cipher(device->stream(), key, {.kernel = "ttable"});
  cipher.encrypt(buffer, buffer, {&message, 1});
  const std::vector<std::uint8_t> sealed = device->read(buffer);
  const support::Sealed right =
      support::evp_gcm_encrypt(key, Bytes(message.iv).first(12), {}, Bytes(plain).first(bytes));
  EXPECT_EQ(support::difference(Bytes(sealed).first(bytes), right.text), "");
  EXPECT_EQ(support::difference(Bytes(sealed).last(16), right.tag), "");
}

}  // namespace
}  // namespace paraes::gpu
