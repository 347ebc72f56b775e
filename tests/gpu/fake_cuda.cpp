// A stand-in for the drivers in tests: CUDA's (libcuda.so.1), or with PARAES_FAKE_HIP defined HIP's
// (libamdhip64.so.7). Device memory is host memory, and work is done when it is queued. With
// PARAES_FAKE_BARE it lacks the optional functions.
//
// The environment variable PARAES_FAKE_CUDA has directives, separated by commas:
//   devices:N          how many devices there are (2)
//   fail:CALL:NTH:CODE the NTH call of CALL returns CODE (NTH 0: every call)
//   lose:CODE          the first launch loses the device: from then on, its calls return CODE
//   version:N          the version that the driver reports
//   kernels:1          modules have kernels of any name, which take the parameters of entries
//                      (src/gpu/device/entry.h) and fill their output and scratch memory with 0x5c
//   authentic:1        with 1 in every fourth byte and zeros: all verdicts say that a tag matches
//   echo:1             with kernels:1: instead, entries of modes copy texts and add 0x5c to each
//                      byte, and those of GHASH fill hashes and tags with 0x77
//   maps:0             devices cannot reach host memory
//   managed:1          all page-locked memory is of the kind that the driver migrates
//   captured:1         streams are being captured
//   pending:1          events report that the work before them is not done
//   newest:N           programs of fake_nvrtc.cpp whose major version is larger are refused, and so
//                      are programs of real compilers
//   rate:N             a virtual clock runs: a device copies N bytes in a nanosecond in each way,
//                      and its kernels work on as many bytes of text, all three at the same time
//   others:N           somebody else's work keeps each device busy: waiting for it takes N ms
//   threads:N          with `rate`: nobody's wait ends before so many threads have enqueued work
// A call that works on a device fails unless the device is current on the calling thread and the
// objects belong to it.

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using paraes_u32 = std::uint32_t;
using paraes_u64 = std::uint64_t;
#include "src/gpu/device/job.h"

// This file defines functions that the drivers' headers declare, but includes none of these.
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#ifdef PARAES_FAKE_HIP
#define PARAES_ENTRY(cuda, hip) hip
#else
#define PARAES_ENTRY(cuda, hip) cuda
#endif
// A function of the driver.
#define PARAES_FAKE(cuda, hip, ...) extern "C" int PARAES_ENTRY(cuda, hip)(__VA_ARGS__)
// The beginning of such a function: it fails if it was told to, and PARAES_ENTER_DEVICE also unless
// its device is current.
#define PARAES_ENTER()    \
  const Lock lock(mutex); \
  if (const int code = enter(__func__); code != 0) return code
#define PARAES_ENTER_DEVICE() \
  const Lock lock(mutex);     \
  if (const int code = enter_device(__func__); code != 0) return code
// PARAES_ENTER_STREAM also fails unless its stream is one of the device.
#define PARAES_ENTER_STREAM() \
  PARAES_ENTER_DEVICE();      \
  if (!is_stream(stream)) return invalid_handle

namespace {

#ifdef PARAES_FAKE_HIP
constexpr bool is_hip = true;
#else
constexpr bool is_hip = false;
#endif

constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int no_device = 100;
constexpr int invalid_device = 101;
constexpr int invalid_image = 200;
constexpr int invalid_context = 201;
constexpr int no_binary_for_gpu = 209;
constexpr int invalid_handle = 400;
constexpr int not_found = 500;
constexpr int not_ready = 600;
constexpr int illegal_address = 700;

constexpr unsigned usual_shared_bytes = 48U << 10;
[[maybe_unused]] constexpr unsigned most_shared_bytes = 227U << 10;
constexpr std::size_t pattern_bytes = 480;

enum class Kind { memory, host, stream, event, module };

// A part of a device that does one thing after another, at the earliest time at which it is free.
class Engine {
 public:
  // Works for `duration` nanoseconds, not before `ready`, and returns when it has done.
  double work(double ready, double duration) {
    if (duration <= 0) return ready;
    double begin = ready;
    for (const auto& [from, to] : busy_) {
      if (to <= begin) continue;
      if (from >= begin + duration) break;
      begin = to;
    }
    busy_[begin] = begin + duration;
    total_ += duration;
    end_ = std::max(end_, begin + duration);
    return begin + duration;
  }
  [[nodiscard]] double total() const { return total_; }
  [[nodiscard]] double end() const { return end_; }

 private:
  std::map<double, double> busy_;  // from when until when
  double total_ = 0;
  double end_ = 0;
};
enum EngineOf { to_device, to_host, computes };

struct Object {
  Kind kind;
  double done = 0;  // stream: when the virtual clock has passed its work; event: the work before it
  int device;
  std::size_t bytes = 0;
  bool mapped = false;
  bool registered = false;  // host: the test's own memory
  timespec time{};
  bool recorded = false;
  // stream: the host memory of each copy, and how many of them somebody has waited for; event: how
  // many copies of which stream precede it.
  std::vector<std::uintptr_t> copies{};
  std::size_t copies_done = 0;
  std::uintptr_t copies_of = 0;
  std::vector<unsigned char> written{};  // memory: 1 for each byte that was uploaded or cleared
};

struct Device {
  int retained = 0;
  int lost = 0;
  std::size_t used = 0;
  Engine engines[3];
  std::map<std::string, unsigned> shared;  // how much each kernel may use
};

struct Kernel {
  const char* name;
};
Kernel kernels[] = {{"paraes_xor"}, {"paraes_nothing"}};

// The bytes of new memory, which no data has by chance.
constexpr unsigned char poison[8] = {0xd3, 0x1e, 0x95, 0x07, 0x6b, 0xf8, 0x42, 0xac};

struct State {
  std::string directives;
  std::map<std::string, long> calls;
  std::map<std::uintptr_t, Object> objects;
  std::vector<Device> devices = std::vector<Device>(64);
  std::map<std::string, long> counts;
  std::map<std::string, Kernel> entries;  // with kernels:1
  long left = 0;
  std::vector<unsigned char> kept;  // what a real driver would keep of uploads
};

State& state() {
  static auto* const the_state = new State;  // never destroyed: drivers outlive their users
  return *the_state;
}

std::recursive_mutex mutex;
thread_local int current = is_hip ? 0 : -1;
thread_local double host_time = 0;  // of the virtual clock, on this thread
// The event of this thread's last query, if nothing followed.
thread_local const void* asked = nullptr;

using Lock = std::lock_guard<std::recursive_mutex>;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

// The number after `word:`, or `otherwise`.
int directive(const std::string& word, int otherwise) {
  for (const std::string& one : split(state().directives, ',')) {
    const auto parts = split(one, ':');
    if (parts.size() == 2 && parts[0] == word) return std::atoi(parts[1].c_str());
  }
  return otherwise;
}

int device_count() { return directive("devices", 2); }

// Enough for all streams of usual size where their time is of interest.
std::size_t device_bytes() { return std::size_t{directive("rate", 0) != 0 ? 512U : 64U} << 20; }

Device& device_at(int number) { return state().devices[static_cast<std::size_t>(number)]; }

// The code that a call must return at once, or 0 if it may proceed.
int enter(const char* name) {
  const char* const text = std::getenv("PARAES_FAKE_CUDA");
  const std::string directives = text != nullptr ? text : "";
  if (directives != state().directives) {
    state().directives = directives;
    state().calls.clear();
  }
  const long call = ++state().calls[name];
  for (const std::string& one : split(directives, ',')) {
    const auto parts = split(one, ':');
    if (parts.size() != 4 || parts[0] != "fail" || parts[1] != name) continue;
    const long number = std::atol(parts[2].c_str());
    if (number == 0 || number == call) return std::atoi(parts[3].c_str());
  }
  return 0;
}

// enter() for a call that works on the current device.
int enter_device(const char* name) {
  if (const int code = enter(name); code != 0) return code;
  if (current < 0 || current >= device_count()) return invalid_context;
  Device& device = device_at(current);
  if (!is_hip && device.retained == 0) return invalid_context;
  if (device.lost != 0) {
    ++state().counts["calls on a lost device"];
    return device.lost;
  }
  return 0;
}

Device& current_device() { return device_at(current); }

std::uintptr_t key_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// For new memory where other memory was.
void forget_copies(const void* pointer) {
  for (const char* way : {"up", "down"})
    state().counts.erase(way + std::to_string(key_of(pointer)));
}

void* add(Kind kind, std::size_t bytes) {
  void* const pointer = std::malloc(std::max<std::size_t>(bytes, 1));
  if (pointer == nullptr) std::abort();
  for (std::size_t i = 0; i < bytes; ++i) {
    static_cast<unsigned char*>(pointer)[i] = poison[i % sizeof poison];
  }
  Object object{.kind = kind, .device = current, .bytes = bytes};
  if (kind == Kind::memory) object.written.resize(bytes);
  forget_copies(pointer);
  state().objects[key_of(pointer)] = std::move(object);
  return pointer;
}

Object* find(const void* pointer, Kind kind) {
  const auto found = state().objects.find(key_of(pointer));
  if (found == state().objects.end() || found->second.kind != kind ||
      found->second.device != current) {
    return nullptr;
  }
  return &found->second;
}

// The default stream, and that of each thread (cudaStreamPerThread), which nobody creates.
bool is_default_stream(const void* pointer) { return pointer == nullptr || key_of(pointer) == 2; }

bool is_stream(const void* pointer) {
  return is_default_stream(pointer) || find(pointer, Kind::stream) != nullptr;
}

// The threads that enqueue work on the virtual clock. A wait ends when all of them wait, and it is
// the one that ends first: that does not depend on how the threads of the test are scheduled.
struct Clock {
  std::condition_variable_any changed;
  unsigned seen = 0;
  std::size_t active = 0;
  std::multiset<double> waits;  // when they end
};
Clock& the_clock() {
  static auto* const clock = new Clock;  // threads may outlive static objects
  return *clock;
}

class OnClock {
 public:
  OnClock() {
    ++the_clock().seen;
    ++the_clock().active;
  }
  ~OnClock() {
    const Lock lock(mutex);
    --the_clock().active;
    the_clock().changed.notify_all();
  }
  OnClock(const OnClock&) = delete;
  OnClock& operator=(const OnClock&) = delete;
};

void wait_until(double end) {
  host_time = std::max(host_time, end);
  const auto expected = static_cast<unsigned>(directive("threads", 0));
  if (directive("rate", 0) == 0 || expected == 0) return;
  std::unique_lock lock(mutex);
  Clock& clock = the_clock();
  const auto own = clock.waits.insert(end);
  clock.changed.notify_all();
  // A thread that only waits for others to end, as the one that started them, is active and never
  // comes here: then nothing changes any more.
  for (;;) {
    const bool is_first = own == clock.waits.begin();
    if (is_first && clock.seen >= expected && clock.waits.size() >= clock.active) break;
    const auto before = std::pair(clock.seen, clock.waits.size());
    const bool in_time =
        clock.changed.wait_for(lock, std::chrono::milliseconds(100)) == std::cv_status::no_timeout;
    if (!in_time && is_first && clock.seen >= expected &&
        before == std::pair(clock.seen, clock.waits.size())) {
      break;
    }
  }
  clock.waits.erase(own);
  clock.changed.notify_all();
}

// Lets an engine work on `bytes` bytes, after what the stream has done so far.
void spend(void* stream, EngineOf engine, std::size_t bytes) {
  const int rate = directive("rate", 0);
  if (rate == 0 || stream == nullptr) return;
  asked = nullptr;
  thread_local const OnClock registered;
  double& done = find(stream, Kind::stream)->done;
  done = current_device().engines[engine].work(std::max(done, host_time),
                                               static_cast<double>(bytes) / rate);
}

// Whether the object has only zeros. True if there is no such object.
bool is_zero(const void* pointer, Kind kind) {
  const Object* const object = find(pointer, kind);
  if (object == nullptr) return true;
  const auto* const bytes = static_cast<const unsigned char*>(pointer);
  return std::all_of(bytes, bytes + object->bytes, [](unsigned char c) { return c == 0; });
}

// Whether nobody has written to the object since it was made.
bool is_new(const void* pointer, Kind kind) {
  const Object* const object = find(pointer, kind);
  const auto* const bytes = static_cast<const unsigned char*>(pointer);
  for (std::size_t i = 0; object != nullptr && i < object->bytes; ++i) {
    if (bytes[i] != poison[i % sizeof poison]) return false;
  }
  return true;
}

int remove(void* pointer, Kind kind) {
  const Object* const object = find(pointer, kind);
  if (object == nullptr || object->registered) return invalid_handle;
  if (kind == Kind::memory) current_device().used -= object->bytes;
  state().objects.erase(key_of(pointer));
  std::free(pointer);
  return 0;
}

// The object of this kind that holds these bytes, and where they begin in it; else nullptr.
std::pair<Object*, std::size_t> holder(const void* pointer, std::size_t bytes, Kind kind) {
  auto& objects = state().objects;
  const auto next = objects.upper_bound(key_of(pointer));
  if (next == objects.begin()) return {};
  auto& [begin, object] = *std::prev(next);
  const std::size_t offset = key_of(pointer) - begin;
  const bool holds = offset <= object.bytes && bytes <= object.bytes - offset;
  if (!holds || object.kind != kind) return {};
  return {&object, offset};
}

// Whether the device can access these bytes.
bool reaches(const void* pointer, std::size_t bytes) {
  const Object* const memory = holder(pointer, bytes, Kind::memory).first;
  const Object* const host = holder(pointer, bytes, Kind::host).first;
  return (memory != nullptr && memory->device == current) || (host != nullptr && host->mapped);
}

// The device's bytes have been uploaded or cleared. Kernels do not count, because real ones do not
// write the padding.
void note_written(const void* pointer, std::size_t bytes) {
  const auto [object, first] = holder(pointer, bytes, Kind::memory);
  if (object != nullptr) std::memset(object->written.data() + first, 1, bytes);
}

// Counts a download of bytes that nothing has written.
void check_written(const void* pointer, std::size_t bytes) {
  const auto [object, first] = holder(pointer, bytes, Kind::memory);
  if (object == nullptr) return;
  if (std::memchr(object->written.data() + first, 0, bytes) != nullptr) {
    ++state().counts["uninitialised"];
  }
}

// Counts a copy from or to memory that is not pinned. A real driver makes it through memory of its
// own, where the bytes stay.
void check_pinned(const void* pointer, std::size_t bytes) {
  if (holder(pointer, bytes, Kind::host).first == nullptr) ++state().counts["unpinned"];
}

// Notes a copy from or to memory of the host, until somebody waits for it.
void note_copy(void* stream, const void* host, std::size_t bytes, const char* way) {
  const auto [object, offset] = holder(host, bytes, Kind::host);
  const std::uintptr_t begin = key_of(host) - offset;
  if (object != nullptr) {
    state().counts[std::string(way) + std::to_string(begin)] += static_cast<long>(bytes);
  }
  state().counts[way] += static_cast<long>(bytes);
  if (Object* const own = find(stream, Kind::stream); own != nullptr) own->copies.push_back(begin);
}
void waited_for(std::uintptr_t stream, std::size_t copies) {
  const auto found = state().objects.find(stream);
  if (found == state().objects.end()) return;
  Object& own = found->second;
  own.copies_done = std::max(own.copies_done, std::min(copies, own.copies.size()));
}

// CUDA's driver puts small uploads into its commands, whatever memory they come from.
void keep(const void* pointer, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{64} << 10;
  if (bytes > most) return;
  const auto* const first = static_cast<const unsigned char*>(pointer);
  state().kept.insert(state().kept.end(), first, first + bytes);
}

// Counts an upload from pinned memory that still has the bytes of its allocation.
void check_host(const void* pointer, std::size_t bytes) {
  const auto [object, first] = holder(pointer, bytes, Kind::host);
  if (object == nullptr) return;
  const auto* const data = static_cast<const unsigned char*>(pointer) - first;
  for (std::size_t i = (first + 7) / 8 * 8; i + 8 <= first + bytes; i += 8) {
    if (std::memcmp(data + i, poison, 8) != 0) continue;
    ++state().counts["uninitialised"];
    return;
  }
}

// Fills the memory that a kernel was given.
void fill(void* pointer) {
  const auto found = state().objects.find(key_of(pointer));
  if (found == state().objects.end()) return;
  const bool authentic = directive("authentic", 0) != 0;
  std::memset(pointer, authentic ? 0 : 0x5c, found->second.bytes);
  auto* const bytes = static_cast<unsigned char*>(pointer);
  for (std::size_t i = 0; authentic && i < found->second.bytes; i += 4) bytes[i] = 1;
}

// ---- The parameters of entries (src/gpu/device/entry.h)

template <class T>
T parameter(void** parameters, unsigned number) {
  T value{};
  std::memcpy(&value, parameters[number], sizeof value);
  return value;
}

std::span<const paraes_message> messages_of(void** parameters) {
  const auto* const messages = parameter<const paraes_message*>(parameters, 2);
  const std::size_t count = parameter<std::uint32_t>(parameters, 3);
  if (!reaches(messages, count * sizeof *messages)) return {};
  return {messages, count};
}

// The bytes of the messages of an entry that works on tiles; 0 for others.
std::size_t text_bytes(void** parameters) {
  if (parameter<std::uint64_t>(parameters, 4) == 0) return 0;
  std::size_t sum = 0;
  for (const paraes_message& message : messages_of(parameters)) sum += message.bytes;
  return sum;
}

// Runs an entry for echo:1.
void echo(const std::string& name, void** parameters) {
  constexpr const char* copying[] = {"ecb_",    "cbc_",        "ctr",
                                     "gcm_ctr", "xts_encrypt", "xts_decrypt"};
  const bool hashes = name == "ghash" || name == "ghash_tensor";
  if (!hashes && std::none_of(std::begin(copying), std::end(copying),
                              [&](const char* start) { return name.starts_with(start); })) {
    return;
  }
  const auto* const in = parameter<const unsigned char*>(parameters, 0);
  auto* const out = parameter<unsigned char*>(parameters, 1);
  for (const paraes_message& message : messages_of(parameters)) {
    if (hashes) {
      if (!reaches(out + message.tag, 16)) std::abort();
      std::memset(out + message.tag, 0x77, 16);
    } else if (message.bytes != 0) {
      const unsigned char* const from = in + message.in;
      unsigned char* const to = out + message.out;
      if (!reaches(from, message.bytes) || !reaches(to, message.bytes)) std::abort();
      std::transform(from, from + message.bytes, to,
                     [](unsigned char c) { return static_cast<unsigned char>(c ^ 0x5c); });
    }
  }
}

void free_all_of(int device) {
  std::erase_if(state().objects, [&](const auto& object) {
    const bool gone = object.second.device == device;
    if (gone && !object.second.registered) std::free(reinterpret_cast<void*>(object.first));
    return gone;
  });
  device_at(device) = Device{};
}

[[maybe_unused]] long objects_of(int device) {
  return std::count_if(state().objects.begin(), state().objects.end(),
                       [&](const auto& object) { return object.second.device == device; });
}

struct Text {
  int code;
  const char* cuda;
  const char* hip;
  const char* text;
};

constexpr Text texts[] = {
    {0, "CUDA_SUCCESS", "hipSuccess", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue", "invalid argument"},
    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "out of memory"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "hipErrorUnknown", "CUDA driver is a stub library"},
    {no_device, "CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice", "no device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice", "invalid device"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "hipErrorInvalidImage", "image is invalid"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "hipErrorInvalidContext", "invalid context"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "hipErrorECCNotCorrectable", "uncorrectable ECC error"},
    {not_found, "CUDA_ERROR_NOT_FOUND", "hipErrorNotFound", "named symbol not found"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "hipErrorLaunchFailure", "unspecified launch failure"},
};

[[maybe_unused]] const Text* text_of(int code) {
  for (const Text& text : texts) {
    if (text.code == code) return &text;
  }
  return nullptr;
}

}  // namespace

// ---- For tests

// The number of objects that nobody has freed. It includes those freed with the context of a
// device.
extern "C" long paraes_fake_live() {
  const Lock lock(mutex);
  long live = state().left + static_cast<long>(state().objects.size());
  for (const Device& device : state().devices) live += device.retained;
  return live;
}

extern "C" long paraes_fake_calls(const char* name) {
  const Lock lock(mutex);
  return state().calls[name];
}

// How often something happened: see Fake in fake_driver.hpp.
extern "C" long paraes_fake_count(const char* what) {
  const Lock lock(mutex);
  return state().counts[what];
}

// How many copies from or to this page-locked memory nobody has waited for.
extern "C" long paraes_fake_pending(const void* pointer) {
  const Lock lock(mutex);
  const auto [object, offset] = holder(pointer, 1, Kind::host);
  if (object == nullptr) return 0;
  long pending = 0;
  for (const auto& [key, stream] : state().objects) {
    if (stream.kind != Kind::stream) continue;
    pending += std::count(stream.copies.begin() + static_cast<std::ptrdiff_t>(stream.copies_done),
                          stream.copies.end(), key_of(pointer) - offset);
  }
  return pending;
}

// How many bytes were copied from ("up") or to ("down") this page-locked memory, or if it is
// nullptr, any memory of the host.
extern "C" long paraes_fake_copied(const char* way, const void* pointer) {
  const Lock lock(mutex);
  if (pointer == nullptr) return state().counts[way];
  const auto [object, offset] = holder(pointer, 1, Kind::host);
  if (object == nullptr) return 0;
  return state().counts[std::string(way) + std::to_string(key_of(pointer) - offset)];
}

// Whether an upload that a real driver keeps a copy of had these bytes.
extern "C" bool paraes_fake_kept(const void* bytes, std::size_t count) {
  const Lock lock(mutex);
  const auto* const first = static_cast<const unsigned char*>(bytes);
  const auto& kept = state().kept;
  return std::search(kept.begin(), kept.end(), first, first + count) != kept.end();
}

extern "C" void paraes_fake_reset() {
  const Lock lock(mutex);
  for (int device = 0; device < 64; ++device) free_all_of(device);
  state().left = 0;
  state().counts.clear();
  state().kept.clear();
  state().calls.clear();
  host_time = 0;
  the_clock().seen = static_cast<unsigned>(the_clock().active);
}

extern "C" int paraes_fake_is_bare() {
#ifdef PARAES_FAKE_BARE
  return 1;
#else
  return 0;
#endif
}

// For how long the virtual clock of a device has run, and, summed up, for how long the busiest of
// its engines worked, in nanoseconds.
extern "C" void paraes_fake_clock(int device, double* all, double* busiest) {
  const Lock lock(mutex);
  *all = *busiest = 0;
  for (const Engine& engine : device_at(device).engines) {
    *all = std::max(*all, engine.end());
    *busiest = std::max(*busiest, engine.total());
  }
}

// ---- The driver

PARAES_FAKE(cuInit, hipInit, unsigned flags) {
  PARAES_ENTER();
  if (flags != 0) return invalid_value;
  if (device_count() != 0) return 0;
  return is_hip ? invalid_device : no_device;
}

// HIP's version is not optional, because the numbers of its attributes depend on it.
#if !defined PARAES_FAKE_BARE || defined PARAES_FAKE_HIP
PARAES_FAKE(cuDriverGetVersion, hipRuntimeGetVersion, int* version) {
  const Lock lock(mutex);
  const int code = enter(__func__);
  *version = directive("version", is_hip ? 60342131 : 12040);
  return code;
}
#endif

PARAES_FAKE(cuDeviceGetCount, hipGetDeviceCount, int* count) {
  const Lock lock(mutex);
  *count = device_count();
  return enter(__func__);
}

PARAES_FAKE(cuDeviceGet, hipDeviceGet, int* device, int index) {
  PARAES_ENTER();
  if (index < 0 || index >= device_count()) return invalid_device;
  *device = index;
  return 0;
}

PARAES_FAKE(cuDeviceGetName, hipDeviceGetName, char* name, int bytes, int device) {
  const Lock lock(mutex);
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU %d", device);
  return enter(__func__);
}

PARAES_FAKE(cuDeviceTotalMem_v2, hipDeviceTotalMem, std::size_t* bytes, int) {
  const Lock lock(mutex);
  *bytes = device_bytes();
  return enter(__func__);
}

PARAES_FAKE(cuDeviceGetAttribute, hipDeviceGetAttribute, int* value, int number, int device) {
  PARAES_ENTER();
  if (device < 0 || device >= device_count()) return invalid_device;
  const std::map<int, int> cuda = {{1, 1024}, {16, 7}, {8, 48 << 10}, {97, 227 << 10},
                                   {75, 9},   {76, 0}, {19, 1}};
  const std::map<int, int> hip = {{56, 1024}, {63, 7}, {74, 64 << 10}, {3, 1}};
  const auto& numbers = is_hip ? hip : cuda;
  const auto found = numbers.find(number);
  if (found == numbers.end()) return invalid_value;
  *value = found->second;
  if (number == (is_hip ? 3 : 19)) *value = directive("maps", 1);
  return 0;
}

#ifdef PARAES_FAKE_HIP
extern "C" int hipGetDevice(int* device) {
  const Lock lock(mutex);
  *device = current;
  return enter(__func__);
}

extern "C" int hipSetDevice(int device) {
  PARAES_ENTER();
  if (device < 0 || device >= device_count()) return invalid_device;
  current = device;
  return 0;
}

// As in ROCm 5 or 6.
#ifdef PARAES_FAKE_BARE
constexpr std::size_t property_bytes = 792, place_of_target = 396;
#define PARAES_GET_PROPERTIES hipGetDeviceProperties
#else
constexpr std::size_t property_bytes = 1472, place_of_target = 1160;
#define PARAES_GET_PROPERTIES hipGetDevicePropertiesR0600
#endif
extern "C" int PARAES_GET_PROPERTIES(char* properties, int device) {
  PARAES_ENTER();
  std::memset(properties, 0xff, property_bytes);
  std::snprintf(properties, 256, "gfx fake %d", device);
  std::snprintf(properties + place_of_target, 256, "gfx90a:sramecc+:xnack-");
  return 0;
}

#else

extern "C" int cuDevicePrimaryCtxRetain(void** context, int device) {
  PARAES_ENTER();
  if (device < 0 || device >= device_count()) return invalid_device;
  Device& fake = device_at(device);
  ++fake.retained;
  *context = &fake;
  return 0;
}

extern "C" int cuDevicePrimaryCtxRelease_v2(int device) {
  PARAES_ENTER();
  Device& fake = device_at(device);
  if (fake.retained == 0) return invalid_context;
  if (--fake.retained == 0) {
    if (fake.lost == 0) state().left += objects_of(device);
    free_all_of(device);
  }
  return 0;
}

extern "C" int cuCtxGetCurrent(void** context) {
  PARAES_ENTER();
  *context = current < 0 ? nullptr : &device_at(current);
  return 0;
}

extern "C" int cuCtxSetCurrent(void* context) {
  PARAES_ENTER();
  current = context == nullptr
                ? -1
                : static_cast<int>(static_cast<Device*>(context) - state().devices.data());
  return 0;
}

#endif

PARAES_FAKE(cuMemGetInfo_v2, hipMemGetInfo, std::size_t* free, std::size_t* total) {
  PARAES_ENTER_DEVICE();
  *free = device_bytes() - current_device().used;
  *total = device_bytes();
  return 0;
}

PARAES_FAKE(cuMemAlloc_v2, hipMalloc, void** pointer, std::size_t bytes) {
  PARAES_ENTER_DEVICE();
  if (bytes == 0) return invalid_value;
  if (bytes > device_bytes() - current_device().used) return out_of_memory;
  *pointer = add(Kind::memory, bytes);
  current_device().used += bytes;
  return 0;
}

PARAES_FAKE(cuMemFree_v2, hipFree, void* pointer) {
  PARAES_ENTER_DEVICE();
  if (!is_zero(pointer, Kind::memory)) ++state().counts["unwiped"];
  return remove(pointer, Kind::memory);
}

PARAES_FAKE(cuMemHostAlloc, hipHostMalloc, void** pointer, std::size_t bytes, unsigned flags) {
  PARAES_ENTER_DEVICE();
  if (bytes == 0 || (flags & ~7U) != 0) return invalid_value;
  *pointer = add(Kind::host, bytes);
  state().objects[key_of(*pointer)].mapped = (flags & 2U) != 0;
  return 0;
}

PARAES_FAKE(cuMemFreeHost, hipHostFree, void* pointer) {
  PARAES_ENTER_DEVICE();
  if (!is_zero(pointer, Kind::host) && !is_new(pointer, Kind::host)) ++state().counts["dirty"];
  return remove(pointer, Kind::host);
}

// paraes does not call these two; tests make memory of their own page-locked.
PARAES_FAKE(cuMemHostRegister_v2, hipHostRegister, void* pointer, std::size_t bytes,
            unsigned flags) {
  PARAES_ENTER_DEVICE();
  if (bytes == 0 || flags != 0) return invalid_value;
  forget_copies(pointer);
  state().objects[key_of(pointer)] = {
      .kind = Kind::host, .device = current, .bytes = bytes, .registered = true};
  return 0;
}

PARAES_FAKE(cuMemHostUnregister, hipHostUnregister, void* pointer) {
  PARAES_ENTER_DEVICE();
  const Object* const object = find(pointer, Kind::host);
  if (object == nullptr || !object->registered) return invalid_value;
  state().objects.erase(key_of(pointer));
  return 0;
}

PARAES_FAKE(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, void* to, const void* from, std::size_t bytes,
            void* stream) {
  PARAES_ENTER_STREAM();
  if (!reaches(to, bytes)) return invalid_value;
  check_pinned(from, bytes);
  check_host(from, bytes);
  keep(from, bytes);
  note_written(to, bytes);
  std::memcpy(to, from, bytes);
  note_copy(stream, from, bytes, "up");
  spend(stream, to_device, bytes);
  return 0;
}

PARAES_FAKE(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync, void* to, const void* from, std::size_t bytes,
            void* stream) {
  PARAES_ENTER_STREAM();
  if (!reaches(from, bytes)) return invalid_value;
  check_pinned(to, bytes);
  check_written(from, bytes);
  std::memcpy(to, from, bytes);
  note_copy(stream, to, bytes, "down");
  spend(stream, to_host, bytes);
  return 0;
}

PARAES_FAKE(cuMemsetD8Async, hipMemsetD8Async, void* to, unsigned char value, std::size_t bytes,
            void* stream) {
  PARAES_ENTER_STREAM();
  if (!reaches(to, bytes)) return invalid_value;
  note_written(to, bytes);
  std::memset(to, value, bytes);
  return 0;
}

PARAES_FAKE(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync, void* to, void* from, std::size_t bytes,
            void* stream) {
  PARAES_ENTER_STREAM();
  if (!reaches(to, bytes) || !reaches(from, bytes)) return invalid_value;
  std::memmove(to, from, bytes);
  return 0;
}

PARAES_FAKE(cuStreamCreate, hipStreamCreateWithFlags, void** stream, unsigned flags) {
  PARAES_ENTER_DEVICE();
  if (flags != 1) return invalid_value;
  *stream = add(Kind::stream, 1);
  return 0;
}

PARAES_FAKE(cuStreamDestroy_v2, hipStreamDestroy, void* stream) {
  PARAES_ENTER_DEVICE();
  return remove(stream, Kind::stream);
}

PARAES_FAKE(cuStreamSynchronize, hipStreamSynchronize, void* stream) {
  PARAES_ENTER_STREAM();
  waited_for(key_of(stream), SIZE_MAX);
  return 0;
}

PARAES_FAKE(cuStreamWaitEvent, hipStreamWaitEvent, void* stream, void* event, unsigned flags) {
  PARAES_ENTER_STREAM();
  const Object* const object = find(event, Kind::event);
  if (object == nullptr || !object->recorded) return invalid_handle;
  if (flags != 0) return invalid_value;
  if (Object* const waiting = find(stream, Kind::stream); waiting != nullptr) {
    waiting->done = std::max(waiting->done, object->done);
  }
  return 0;
}

PARAES_FAKE(cuEventCreate, hipEventCreateWithFlags, void** event, unsigned flags) {
  PARAES_ENTER_DEVICE();
  constexpr unsigned blocking_without_time = 3;
  if (flags != 0 && flags != blocking_without_time) return invalid_value;
  *event = add(Kind::event, 1);
  return 0;
}

PARAES_FAKE(cuEventDestroy_v2, hipEventDestroy, void* event) {
  PARAES_ENTER_DEVICE();
  return remove(event, Kind::event);
}

PARAES_FAKE(cuEventRecord, hipEventRecord, void* event, void* stream) {
  PARAES_ENTER_DEVICE();
  Object* const object = find(event, Kind::event);
  if (object == nullptr || !is_stream(stream)) return invalid_handle;
  clock_gettime(CLOCK_MONOTONIC, &object->time);
  object->recorded = true;
  asked = nullptr;
  if (!is_default_stream(stream)) {
    const Object* const own = find(stream, Kind::stream);
    object->done = own->done;
    object->copies_of = key_of(stream);
    object->copies_done = own->copies.size();
  }
  return 0;
}

PARAES_FAKE(cuEventSynchronize, hipEventSynchronize, void* event) {
  double done = 0;
  {
    PARAES_ENTER_DEVICE();
    const Object* const object = find(event, Kind::event);
    if (object == nullptr || !object->recorded) return invalid_handle;
    done = object->done;
    waited_for(object->copies_of, object->copies_done);
  }
  wait_until(done);
  return 0;
}

PARAES_FAKE(cuEventQuery, hipEventQuery, void* event) {
  PARAES_ENTER_DEVICE();
  const Object* const object = find(event, Kind::event);
  if (object == nullptr) return invalid_handle;
  if (directive("pending", 0) != 0) return not_ready;
  if (directive("rate", 0) == 0) return 0;
  // Whoever asks again at once waits.
  if (std::exchange(asked, event) == event) host_time = std::max(host_time, object->done);
  return object->done > host_time ? not_ready : 0;
}

PARAES_FAKE(cuEventElapsedTime, hipEventElapsedTime, float* milliseconds, void* from, void* to) {
  PARAES_ENTER_DEVICE();
  const Object* const begin = find(from, Kind::event);
  const Object* const end = find(to, Kind::event);
  if (begin == nullptr || end == nullptr) return invalid_handle;
  if (!begin->recorded || !end->recorded) return not_ready;
  *milliseconds =
      static_cast<float>(static_cast<double>(end->time.tv_sec - begin->time.tv_sec) * 1e3 +
                         static_cast<double>(end->time.tv_nsec - begin->time.tv_nsec) / 1e6);
  return 0;
}

// A program is text that begins with "fake", or any ELF file.
PARAES_FAKE(cuModuleLoadData, hipModuleLoadData, void** module, const void* image) {
  PARAES_ENTER_DEVICE();
  const bool is_text = std::memcmp(image, "fake", 4) == 0;
  if (!is_text && std::memcmp(image, "\177ELF", 4) != 0) return invalid_image;
  const int newest = directive("newest", INT_MAX);
  if (newest != INT_MAX && (!is_text || std::atoi(static_cast<const char*>(image) + 4) > newest)) {
    return no_binary_for_gpu;
  }
  *module = add(Kind::module, 1);
  return 0;
}

PARAES_FAKE(cuModuleUnload, hipModuleUnload, void* module) {
  PARAES_ENTER_DEVICE();
  return remove(module, Kind::module);
}

PARAES_FAKE(cuModuleGetFunction, hipModuleGetFunction, Kernel** found, void* module,
            const char* name) {
  PARAES_ENTER_DEVICE();
  if (find(module, Kind::module) == nullptr) return invalid_handle;
  for (Kernel& kernel : kernels) {
    if (std::strcmp(kernel.name, name) != 0) continue;
    *found = &kernel;
    return 0;
  }
  if (directive("kernels", 0) == 0) return not_found;
  *found = &state().entries.try_emplace(name).first->second;
  (*found)->name = state().entries.find(name)->first.c_str();
  return 0;
}

PARAES_FAKE(cuLaunchKernel, hipModuleLaunchKernel, Kernel* kernel, unsigned groups_x,
            unsigned groups_y, unsigned groups_z, unsigned threads_x, unsigned threads_y,
            unsigned threads_z, unsigned shared_bytes, void* stream, void** parameters,
            void** extra) {
  PARAES_ENTER_STREAM();
  const unsigned allowed =
      is_hip ? 64U << 10 : std::max(usual_shared_bytes, current_device().shared[kernel->name]);
  if (groups_x == 0 || groups_y != 1 || groups_z != 1 || threads_x == 0 || threads_x > 1024 ||
      threads_y != 1 || threads_z != 1 || extra != nullptr || shared_bytes > allowed) {
    return invalid_value;
  }
  if (const int lost = directive("lose", 0); lost != 0) {
    current_device().lost = lost;
    return 0;
  }
  if (kernel != &kernels[0] && kernel != &kernels[1]) {
    spend(stream, computes, text_bytes(parameters));  // which `scratch` may overwrite
    if (directive("echo", 0) != 0) {
      echo(kernel->name, parameters);
      return 0;
    }
    for (const unsigned number : {1U, 6U}) {  // out, scratch
      void* const memory = parameter<void*>(parameters, number);
      if (memory == nullptr) continue;  // the output of empty texts
      if (!reaches(memory, 1)) return invalid_value;
      fill(memory);
    }
  }
  if (kernel != &kernels[0]) return 0;
  // paraes_xor(data, bytes, pattern by value)
  auto* const data = parameter<unsigned char*>(parameters, 0);
  const auto bytes = parameter<std::uint64_t>(parameters, 1);
  const auto* const pattern = static_cast<const unsigned char*>(parameters[2]);
  if (!reaches(data, bytes)) {
    current_device().lost = illegal_address;
    return 0;
  }
  for (std::uint64_t i = 0; i < bytes; ++i) data[i] ^= pattern[i % pattern_bytes];
  return 0;
}

// ---- Optional functions

#ifndef PARAES_FAKE_BARE
PARAES_FAKE(cuDeviceGetPCIBusId, hipDeviceGetPCIBusId, char* text, int bytes, int device) {
  const Lock lock(mutex);
  // As the drivers write it: CUDA in capital letters, HIP in small ones.
  std::snprintf(text, static_cast<std::size_t>(bytes), is_hip ? "0000:%02x:00.0" : "0000:%02X:00.0",
                0x4a + device);
  return enter(__func__);
}

PARAES_FAKE(cuPointerGetAttributes, hipDrvPointerGetAttributes, unsigned count, const int* names,
            void** values, const void* pointer) {
  PARAES_ENTER_DEVICE();
  const auto [memory, offset_in_memory] = holder(pointer, 1, Kind::memory);
  const auto [host, offset_in_host] = holder(pointer, 1, Kind::host);
  const Object* const object = memory != nullptr ? memory : host;
  if (object == nullptr) {
    // CUDA sets all to zero, and HIP leaves them as they are.
    for (unsigned i = 0; !is_hip && i < count; ++i) std::memset(values[i], 0, sizeof(int));
    return 0;
  }
  const auto set = [&](unsigned i, auto value) { std::memcpy(values[i], &value, sizeof value); };
  const bool is_hip_5 = is_hip && directive("version", 60342131) < 60000000;
  for (unsigned i = 0; i < count; ++i) {
    switch (names[i]) {
      case 1:
        if (is_hip) return invalid_value;
        set(i, &device_at(object->device));
        break;
      case 2:
        set(i, (host != nullptr ? 1 : 2) - (is_hip_5 ? 1 : 0));
        break;
      case 8:
        set(i, directive("managed", 0) != 0);
        break;
      case 9:
        set(i, object->device);
        break;
      case 11:
        set(i, key_of(pointer) - (host != nullptr ? offset_in_host : offset_in_memory));
        break;
      case 12:  // of 32 bits in HIP
        if (is_hip) set(i, static_cast<unsigned>(object->bytes));
        if (!is_hip) set(i, object->bytes);
        break;
      default:
        return invalid_value;
    }
  }
  return 0;
}

PARAES_FAKE(cuMemHostGetDevicePointer_v2, hipHostGetDevicePointer, void** pointer, void* host,
            unsigned flags) {
  PARAES_ENTER_DEVICE();
  const Object* const object = find(host, Kind::host);
  if (object == nullptr || !object->mapped || flags != 0) return invalid_value;
  *pointer = host;
  return 0;
}

PARAES_FAKE(cuCtxSynchronize, hipDeviceSynchronize) {
  PARAES_ENTER_DEVICE();
  std::this_thread::sleep_for(std::chrono::milliseconds(directive("others", 0)));
  return 0;
}

PARAES_FAKE(cuStreamIsCapturing, hipStreamIsCapturing, void* stream, int* status) {
  PARAES_ENTER_STREAM();
  *status = directive("captured", 0);
  return 0;
}

#ifdef PARAES_FAKE_HIP
extern "C" const char* hipGetErrorName(int code) {
  const Text* const text = text_of(code);
  return text != nullptr ? text->hip : "hipErrorUnknown";
}

extern "C" const char* hipGetErrorString(int code) {
  const Text* const text = text_of(code);
  return text != nullptr ? text->text : "unknown error";
}

extern "C" int hipGetLastError() {
  const Lock lock(mutex);
  return enter(__func__);
}
#else
// A stream's context; for the default stream, the current one.
extern "C" int cuStreamGetCtx(void* stream, void** context) {
  PARAES_ENTER_DEVICE();
  const auto found = state().objects.find(key_of(stream));
  if (!is_default_stream(stream) && found == state().objects.end()) return invalid_handle;
  const int device = is_default_stream(stream) ? current : found->second.device;
  *context = &device_at(device);
  return 0;
}

extern "C" int cuGetErrorName(int code, const char** name) {
  const Text* const text = text_of(code);
  *name = text != nullptr ? text->cuda : nullptr;
  return text != nullptr ? 0 : invalid_value;
}

extern "C" int cuGetErrorString(int code, const char** string) {
  const Text* const text = text_of(code);
  *string = text != nullptr ? text->text : nullptr;
  return text != nullptr ? 0 : invalid_value;
}

extern "C" int cuFuncSetAttribute(Kernel* kernel, int number, int value) {
  PARAES_ENTER_DEVICE();
  if (number != 8 || value < 0 || value > static_cast<int>(most_shared_bytes)) {
    return invalid_value;
  }
  current_device().shared[kernel->name] = static_cast<unsigned>(value);
  return 0;
}
#endif
#endif
