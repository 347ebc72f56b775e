// A stand-in for NVIDIA's management library (libnvidia-ml.so.1) in tests, with the two GPUs of
// tests/gpu/fake_cuda.cpp. With PARAES_FAKE_BARE it lacks the energy counter.
//
// Tests set the energy that a GPU has used. The counters show it every 10 ms, as real ones do.

#include <chrono>
#include <cstring>
#include <map>
#include <string>

// The functions below are declared in NVIDIA's header, which is not needed here.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

namespace {

constexpr int uninitialized = 1;
[[maybe_unused]] constexpr int invalid_argument = 2;  // unused with PARAES_FAKE_BARE
constexpr int not_found = 6;

struct Gpu {
  const char* bus;
  double used = 0;
  double shown = 0;
};
Gpu gpus[] = {{"0000:4a:00.0"}, {"0000:4b:00.0"}};

int initialised = 0;
long last_step = -1;
std::map<std::string, long> calls;

// The call that fails: its name, its number (0: every one), and the code that it returns.
struct {
  std::string name;
  long number = 0;
  int code = 0;
} failing;
bool still = false;  // the counters do not update

// Counts a call of `name`. Returns the code with which it is to fail, or 0.
int enter(const char* name) {
  const long call = ++calls[name];
  const bool fails = failing.name == name && (failing.number == 0 || failing.number == call);
  return fails ? failing.code : 0;
}

// Updates the counters, once in each interval, with the energy used before.
void step() {
  if (still) return;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const long step = std::chrono::duration_cast<std::chrono::milliseconds>(now).count() / 10;
  if (step == last_step) return;
  last_step = step;
  for (Gpu& gpu : gpus) gpu.shown = gpu.used;
}

}  // namespace

// ---- Called by tests

extern "C" void paraes_fake_use(int gpu, double joules) {
  step();
  gpus[gpu].used += joules;
}

// How many initialisations were not followed by a shutdown.
extern "C" int paraes_fake_initialised() { return initialised; }

extern "C" long paraes_fake_calls(const char* name) { return calls[name]; }

extern "C" void paraes_fake_fail(const char* name, long number, int code) {
  failing = {name, number, code};
}

extern "C" void paraes_fake_keep_still() { still = true; }

extern "C" void paraes_fake_reset() {
  calls.clear();
  failing = {};
  still = false;
  initialised = 0;
  for (Gpu& gpu : gpus) gpu.used = gpu.shown = 0;
}

// ---- The library

extern "C" int nvmlInit_v2() {
  if (const int code = enter("nvmlInit_v2"); code != 0) return code;
  ++initialised;
  return 0;
}

extern "C" int nvmlShutdown() {
  if (initialised == 0) return uninitialized;
  --initialised;
  return enter("nvmlShutdown");
}

extern "C" const char* nvmlErrorString(int code) {
  if (code == not_found) return "Not Found";
  return code == 15 ? "GPU is lost" : "Some Error";
}

extern "C" int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  if (const int code = enter("nvmlDeviceGetHandleByPciBusId_v2"); code != 0) return code;
  if (initialised == 0) return uninitialized;
  for (Gpu& gpu : gpus) {
    if (std::strcmp(gpu.bus, bus) == 0) {
      *handle = &gpu;
      return 0;
    }
  }
  return not_found;
}

#ifndef PARAES_FAKE_BARE
extern "C" int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* millijoules) {
  if (const int code = enter("nvmlDeviceGetTotalEnergyConsumption"); code != 0) return code;
  if (initialised == 0) return uninitialized;
  if (handle != &gpus[0] && handle != &gpus[1]) return invalid_argument;
  step();
  *millijoules = static_cast<unsigned long long>(static_cast<const Gpu*>(handle)->shown * 1e3);
  return 0;
}
#endif
