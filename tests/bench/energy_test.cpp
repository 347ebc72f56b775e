// Tests of the energy of GPUs, without a GPU: LD_LIBRARY_PATH names folders with stand-ins for NVML
// and CUDA's driver. NvmlBare and NvmlNoBus need stand-ins that lack a function, NvmlAbsent none.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/measure.hpp"
#include "tests/bench/fake_case.hpp"

namespace paraes::bench {
namespace {

constexpr const char* library = "libnvidia-ml.so.1";
constexpr const char* energy_call = "nvmlDeviceGetTotalEnergyConsumption";

class FakeNvml {
 public:
  FakeNvml() : handle_(dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
    if (present()) reset();
  }

  [[nodiscard]] bool present() const {
    return handle_ != nullptr && dlsym(handle_, "paraes_fake_use") != nullptr;
  }
  [[nodiscard]] bool installed() const { return handle_ != nullptr; }

  void reset() const { function<void()>("paraes_fake_reset")(); }
  // Makes a call return `code`: the one with this number, or every one if it is 0.
  void fail(const std::string& call, long number, int code) const {
    function<void(const char*, long, int)>("paraes_fake_fail")(call.c_str(), number, code);
  }
  void keep_still() const { function<void()>("paraes_fake_keep_still")(); }
  // Adds to the energy that the GPU has used. Its counter shows it after its next update.
  void use(int gpu, double joules) const {
    function<void(int, double)>("paraes_fake_use")(gpu, joules);
  }
  // How often counters were read.
  [[nodiscard]] long readings() const {
    return function<long(const char*)>("paraes_fake_calls")(energy_call);
  }
  [[nodiscard]] int initialised() const { return function<int()>("paraes_fake_initialised")(); }

 private:
  template <class F>
  [[nodiscard]] F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

  void* handle_;
};

void pause(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fake_.present()) << "LD_LIBRARY_PATH"; }
  FakeNvml fake_;
};
using NvmlBare = Nvml;   // NVML lacks the energy counter
using NvmlNoBus = Nvml;  // CUDA's driver does not report PCI addresses

TEST_F(Nvml, MeterReadsEachGpuOfTheDevice) {
  {
    const GpuEnergyMeter meter("cuda:0");
    EXPECT_EQ(fake_.initialised(), 1);
  }
  EXPECT_EQ(fake_.initialised(), 0);  // the meter has shut the library down
  GpuEnergyMeter first("cuda:0");
  GpuEnergyMeter second("cuda:1");
  GpuEnergyMeter both("cuda:1+0");
  ASSERT_TRUE(first.available()) << first.reason();
  ASSERT_TRUE(both.available()) << both.reason();
  fake_.use(0, 3);
  fake_.use(1, 5);
  pause(30);
  EXPECT_EQ(first.joules(), std::vector<double>{3});
  EXPECT_EQ(second.joules(), std::vector<double>{5});
  EXPECT_EQ(both.joules(), (std::vector<double>{5, 3}));
}

TEST_F(Nvml, FailedCallIsTheReason) {
  for (const std::string call :
       {"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetTotalEnergyConsumption"}) {
    fake_.fail(call, 0, 15);
    GpuEnergyMeter meter("cuda:0");
    EXPECT_FALSE(meter.available());
    EXPECT_EQ(meter.reason(), call + " failed: GPU is lost (15)");
    EXPECT_FALSE(meter.joules());
  }
  EXPECT_EQ(fake_.initialised(), 0);
}

TEST_F(Nvml, DevicesWithoutCounterHaveAReason) {
  for (const auto& [device, reason] :
       {std::pair{"cuda:2", "there is no cuda:2"},
        std::pair{"hip:0", "energy is not measured on hip devices"},
        std::pair{"opencl:0+1", "energy is not measured on opencl devices"}}) {
    EXPECT_EQ(GpuEnergyMeter(device).reason(), reason);
  }
  fake_.fail(energy_call, 0, 3);
  EXPECT_EQ(GpuEnergyMeter("cuda:1").reason(),
            "NVML has no energy counter for cuda:1 (GPUs older than Volta lack it)");
}

TEST_F(NvmlBare, LibraryWithoutCounterIsTheReason) {
  EXPECT_EQ(GpuEnergyMeter("cuda:0").reason(),
            "libnvidia-ml.so.1 has no nvmlDeviceGetTotalEnergyConsumption");
}

TEST_F(NvmlNoBus, DriverWithoutPciAddressIsTheReason) {
  EXPECT_EQ(GpuEnergyMeter("cuda:0").reason(),
            "the driver does not report the PCI address of cuda:0");
}

TEST(NvmlAbsent, MissingLibraryIsTheReason) {
  if (FakeNvml().installed()) GTEST_SKIP() << library << " is installed";
  EXPECT_EQ(GpuEnergyMeter("cuda:0").reason(), "libnvidia-ml.so.1 is not installed");
}

// The stand-in's counters update every 10 ms, and energy is measured over 0.4 s: at least as many
// updates as with real counters.
class NvmlRows : public Nvml {
 protected:
  // A case whose calls take a millisecond and then do what the test gives.
  Fake& add(const std::string& device, const std::function<void()>& work) {
    group_.push_back(std::make_unique<Fake>("work", device));
    Fake& added = static_cast<Fake&>(*group_.back());
    added.on_call = [work] {
      pause(1);
      work();
    };
    return added;
  }

  std::vector<Result> run() {
    Random random(1);
    EnergyMeter energy;
    return measure(group_, settings_, random, energy, [](double, const Row&) {}).results;
  }

  Group group_;
  Settings settings_{3, 0.4, 0, 0, 0.4e9};
};

TEST_F(NvmlRows, RowsHaveTheEnergyOfTheirOwnCalls) {
  add("cuda:0", [&] { fake_.use(0, 0.2); });
  add("cuda:0", [&] { fake_.use(0, 1.5); });
  add("cuda:0+1", [&] {
    fake_.use(0, 0.4);
    fake_.use(1, 0.1);
  });
  add("cpu", [] {});
  const auto results = run();
  const double expected[] = {0.2, 1.5, 0.5};
  for (int row = 0; row < 3; ++row) {
    ASSERT_TRUE(results[row].energy_joules) << results[row].energy_reason;
    EXPECT_NEAR(*results[row].energy_joules, expected[row], 0.07 * expected[row]) << row;
    EXPECT_EQ(results[row].energy_reason, "");
  }
  if (results[3].energy_joules) {  // of the CPU packages
    EXPECT_LT(*results[3].energy_joules, 100);
  } else {
    EXPECT_EQ(results[3].energy_reason, EnergyMeter().reason());
  }
}

TEST_F(NvmlRows, CallsLongerThanACounterUpdateAreMeasured) {
  add("cuda:0", [&] {
    for (int i = 0; i < 30; ++i) {
      pause(1);
      fake_.use(0, 0.1);
    }
  });
  const auto results = run();
  ASSERT_TRUE(results[0].energy_joules) << results[0].energy_reason;
  EXPECT_NEAR(*results[0].energy_joules, 3, 0.3);
}

TEST_F(NvmlRows, UnreliableCountersGiveNoEnergy) {
  const struct {
    const char* reason;
    double min_seconds = 0.4;
    double min_energy_seconds = 0.4;
    bool restores = false;
    bool still = false;
    long failing = 0;  // the number of the call
  } cases[] = {
      {.reason = "less than 0.4 s of timed work, too little for a GPU's counter (use --min-time)",
       .min_seconds = 0.1},
      {.reason = "the energy counter of the GPU does not change", .still = true},
      {.reason = "nvmlDeviceGetTotalEnergyConsumption failed: GPU is lost (15)", .failing = 9},
      {.reason = "more than 10 % of the time went to untimed work between the calls",
       .min_seconds = 0.2,
       .min_energy_seconds = 0.2,
       .restores = true},
  };
  for (const auto& given : cases) {
    fake_.reset();
    if (given.still) fake_.keep_still();
    if (given.failing != 0) fake_.fail(energy_call, given.failing, 15);
    settings_.min_seconds = given.min_seconds;
    settings_.min_gpu_energy_ns = given.min_energy_seconds * 1e9;
    group_.clear();
    Fake& added = add("cuda:0", [&] { fake_.use(0, 1); });
    added.restores = given.restores;
    added.on_restore = [] { pause(1); };
    const auto results = run();
    EXPECT_FALSE(results[0].energy_joules) << given.reason;
    EXPECT_EQ(results[0].energy_reason, given.reason);
  }
}

TEST_F(NvmlRows, CallThatFailsDuringTheMeasurementIsNotVerified) {
  add("cuda:0", [&] {
    if (fake_.readings() > 3) throw std::runtime_error("device lost");
  });
  const auto results = run();
  EXPECT_FALSE(results[0].energy_joules);
  EXPECT_EQ(results[0].error, "device lost");
  EXPECT_FALSE(results[0].verified);
}

}  // namespace
}  // namespace paraes::bench
