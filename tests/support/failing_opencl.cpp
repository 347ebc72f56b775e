// A library to link or preload, whose dlsym() replaces some functions of OpenCL. The environment
// variable PARAES_FAKE_OPENCL says what they do, as directives separated by commas:
//   gpu           every device reports that it is a GPU
//   info:N:HEX    every device answers the query N (hexadecimal) with these bytes
//   info:N:fail   the query N fails
//   group:N       kernels allow N work-items in a work-group
//   unrolled      programs are compiled as for a GPU: without PARAES_COMPACT
//   trace         waits for each launch, and prints the name of its kernel and what became of it
//   profile:CODE  the time of an event is not available, with this code
//   fail:N:CODE   the Nth launch and all later ones fail with CODE; the count starts again when the
//                 variable changes
// Programs that are linked with this file can also look into the buffers: see opencl_buffers.hpp.

#include "tests/support/opencl_buffers.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::uint32_t device_type = 0x1000;
constexpr std::uint64_t type_gpu = 4;
constexpr int invalid_value = -30;
constexpr int invalid_work_group_size = -54;
constexpr std::uint32_t max_work_group_size = 0x1004;
constexpr std::uint32_t kernel_work_group_size = 0x11b0;

using Dlsym = void* (*)(void*, const char*);
using GetInfo = int (*)(void*, std::uint32_t, std::size_t, void*, std::size_t*);

// The function of OpenCL in whose place dlsym() gives Fake.
template <auto Fake>
decltype(Fake) real = nullptr;

std::string directives() {
  const char* text = std::getenv("PARAES_FAKE_OPENCL");
  return text == nullptr ? "" : text;
}

// The number after `word`, or nothing.
std::optional<long> number_after(const std::string& word) {
  const std::string text = directives();
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return std::nullopt;
  return std::strtol(text.c_str() + at + word.size(), nullptr, 10);
}

// Returns the answer that a directive gives to this query.
std::optional<std::string> replaced_info(std::uint32_t name) {
  std::istringstream all(directives());
  for (std::string one; std::getline(all, one, ',');) {
    if (one.rfind("info:", 0) != 0) continue;
    const std::size_t colon = one.find(':', 5);
    if (std::stoul(one.substr(5, colon - 5), nullptr, 16) == name) return one.substr(colon + 1);
  }
  return std::nullopt;
}

int get_device_info(void* device, std::uint32_t name, std::size_t bytes, void* value,
                    std::size_t* needed) {
  if (const auto answer = replaced_info(name)) {
    if (*answer == "fail") return invalid_value;
    const std::size_t size = answer->size() / 2;
    if (needed != nullptr) *needed = size;
    if (value == nullptr) return 0;
    if (bytes < size) return invalid_value;
    for (std::size_t i = 0; i < size; ++i) {
      static_cast<std::uint8_t*>(value)[i] =
          static_cast<std::uint8_t>(std::stoul(answer->substr(2 * i, 2), nullptr, 16));
    }
    return 0;
  }
  const int status = real<get_device_info>(device, name, bytes, value, needed);
  if (status == 0 && name == device_type && value != nullptr &&
      directives().find("gpu") != std::string::npos) {
    std::memcpy(value, &type_gpu, sizeof type_gpu);
  }
  return status;
}

std::atomic<unsigned long> failures = 0;

// The error code that this launch should return, or 0 if it should succeed.
int failure() {
  static std::mutex mutex;
  static std::string counted_for;
  static unsigned long count = 0;
  const std::string text = directives();
  const std::lock_guard lock(mutex);
  if (text != counted_for) {
    counted_for = text;
    count = 0;
  }
  const std::size_t at = text.find("fail:");
  if (at == std::string::npos) return 0;
  char* end = nullptr;
  const unsigned long first = std::strtoul(text.c_str() + at + 5, &end, 10);
  if (++count < first) return 0;
  ++failures;
  return static_cast<int>(std::strtol(end + 1, nullptr, 10));
}

void* library = nullptr;  // the ICD loader

void* real_dlsym(void* handle, const char* name) {
  static const auto real = [] {
    // The first version of glibc for x86-64, AArch64 and s390x.
    for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.2"}) {
      if (void* const found = dlvsym(RTLD_NEXT, "dlsym", version)) {
        return reinterpret_cast<Dlsym>(found);
      }
    }
    std::abort();
  }();
  return real(handle, name);
}

template <class F>
F opencl(const char* name) {
  return reinterpret_cast<F>(real_dlsym(library, name));
}

// ---- Commands

constexpr std::uint32_t command_queued = 0x1280;
constexpr std::uint32_t command_start = 0x1282;
constexpr std::uint32_t command_end = 0x1283;

struct Recorded {
  ParaesCommand command;
  void* event;
};
std::mutex commands_mutex;
std::vector<Recorded>* commands = nullptr;  // nullptr: nobody records

// Calls enqueue(event), which stores the event of the command there, and records it.
template <class Enqueue>
int recorded(void* queue, ParaesCommand::Kind kind, std::size_t bytes, void* event,
             const Enqueue& enqueue) {
  const std::lock_guard lock(commands_mutex);
  if (commands == nullptr) return enqueue(event);
  if (event != nullptr) std::abort();
  void* own = nullptr;
  const int code = enqueue(&own);
  if (code == 0) commands->push_back({{queue, kind, bytes, 0, 0, 0}, own});
  return code;
}

constexpr std::uint32_t kernel_function_name = 0x1190;

// Prints what became of a launch that returned `code`, after it has ended.
int traced(void* queue, void* kernel, std::size_t global, std::size_t local, int code) {
  std::array<char, 64> name{};
  opencl<GetInfo>("clGetKernelInfo")(kernel, kernel_function_name, name.size() - 1, name.data(),
                                     nullptr);
  const int ended = code == 0 ? opencl<int (*)(void*)>("clFinish")(queue) : code;
  static_cast<void>(std::fprintf(stderr, "launch of %s, %zu x %zu threads: %d\n", name.data(),
                                 global / local, local, ended));
  return ended;
}

int launch(void* queue, void* kernel, std::uint32_t dimensions, const std::size_t* offset,
           const std::size_t* global, const std::size_t* local, std::uint32_t waits,
           const void* wait_list, void* event) {
  if (directives().find("trace") != std::string::npos) {
    const int code =
        real<launch>(queue, kernel, dimensions, offset, global, local, waits, wait_list, event);
    return traced(queue, kernel, *global, *local, code);
  }
  if (const int code = failure(); code != 0) return code;
  // Little-endian, below 256.
  const auto most = replaced_info(max_work_group_size);
  if (most && *local > std::stoul(most->substr(0, 2), nullptr, 16)) return invalid_work_group_size;
  return recorded(queue, ParaesCommand::Kind::kernel, 0, event, [&](void* to) {
    return real<launch>(queue, kernel, dimensions, offset, global, local, waits, wait_list, to);
  });
}

int get_work_group_info(void* kernel, void* device, std::uint32_t name, std::size_t bytes,
                        void* value, std::size_t* needed) {
  const int status = real<get_work_group_info>(kernel, device, name, bytes, value, needed);
  const auto most = number_after("group:");
  if (status == 0 && name == kernel_work_group_size && value != nullptr && most) {
    const auto size = static_cast<std::size_t>(*most);
    std::memcpy(value, &size, sizeof size);
  }
  return status;
}

int build(void* program, std::uint32_t devices, const void* list, const char* options, void* notify,
          void* data) {
  std::string text = options == nullptr ? "" : options;
  const std::string compact = "-DPARAES_COMPACT=1";
  // A program that is loaded has no options.
  if (!text.empty() && directives().find("unrolled") != std::string::npos) {
    const std::size_t at = text.find(compact);
    if (at == std::string::npos) std::abort();
    text.erase(at, compact.size());
  }
  return real<build>(program, devices, list, text.c_str(), notify, data);
}

int get_profile(void* event, std::uint32_t name, std::size_t bytes, void* value,
                std::size_t* needed) {
  if (const auto code = number_after("profile:")) return static_cast<int>(*code);
  return real<get_profile>(event, name, bytes, value, needed);
}

// ---- Buffers

using Release = int (*)(void*);
using CreateQueue = void* (*)(void*, void*, std::uint64_t, int*);
using Copy = int (*)(void*, void*, std::uint32_t, std::size_t, std::size_t, void*, std::uint32_t,
                     const void*, void*);

constexpr std::uint32_t context_devices = 0x1081;
constexpr std::uint64_t in_host_memory = 1 << 4;

struct Buffer {
  void* context;
  std::size_t bytes;
  bool on_host;
};

std::atomic<unsigned long> largest_argument = 0;

int set_argument(void* kernel, std::uint32_t index, std::size_t bytes, const void* value) {
  if (value != nullptr && bytes > largest_argument) largest_argument = bytes;  // else local memory
  return real<set_argument>(kernel, index, bytes, value);
}

std::mutex buffers_mutex;
std::map<void*, Buffer>* buffers = nullptr;  // nullptr: nobody watches
unsigned long unwiped = 0;

// Calls the function with a queue for the buffer.
template <class F>
void with_queue(const Buffer& buffer, const F& use) {
  void* device = nullptr;
  opencl<GetInfo>("clGetContextInfo")(buffer.context, context_devices, sizeof device, &device,
                                      nullptr);
  int code = 0;
  void* const queue = opencl<CreateQueue>("clCreateCommandQueue")(buffer.context, device, 0, &code);
  if (queue == nullptr) std::abort();
  use(queue);
  opencl<Release>("clReleaseCommandQueue")(queue);
}

void* create_buffer(void* context, std::uint64_t flags, std::size_t bytes, void* host, int* code) {
  void* const handle = real<create_buffer>(context, flags, bytes, host, code);
  const std::lock_guard lock(buffers_mutex);
  if (handle == nullptr || buffers == nullptr) return handle;
  const Buffer buffer{context, bytes, (flags & in_host_memory) != 0};
  std::vector<std::uint8_t> zeros(bytes);
  with_queue(buffer, [&](void* queue) {
    opencl<Copy>("clEnqueueWriteBuffer")(queue, handle, 1, 0, bytes, zeros.data(), 0, nullptr,
                                         nullptr);
  });
  (*buffers)[handle] = buffer;
  return handle;
}

std::vector<std::uint8_t> contents(void* handle, const Buffer& buffer) {
  std::vector<std::uint8_t> data(buffer.bytes, 0xee);
  with_queue(buffer, [&](void* queue) {
    opencl<Copy>("clEnqueueReadBuffer")(queue, handle, 1, 0, data.size(), data.data(), 0, nullptr,
                                        nullptr);
  });
  return data;
}

bool is_zero(const std::vector<std::uint8_t>& data) {
  return std::all_of(data.begin(), data.end(), [](std::uint8_t c) { return c == 0; });
}

int release_buffer(void* handle) {
  {
    const std::lock_guard lock(buffers_mutex);
    if (buffers != nullptr) {
      if (const auto found = buffers->find(handle); found != buffers->end()) {
        if (!is_zero(contents(handle, found->second))) ++unwiped;
        buffers->erase(found);
      }
    }
  }
  return real<release_buffer>(handle);
}

int write_buffer(void* queue, void* buffer, std::uint32_t blocks, std::size_t offset,
                 std::size_t bytes, void* host, std::uint32_t waits, const void* list,
                 void* event) {
  return recorded(queue, ParaesCommand::Kind::upload, bytes, event, [&](void* to) {
    return real<write_buffer>(queue, buffer, blocks, offset, bytes, host, waits, list, to);
  });
}

int read_buffer(void* queue, void* buffer, std::uint32_t blocks, std::size_t offset,
                std::size_t bytes, void* host, std::uint32_t waits, const void* list, void* event) {
  return recorded(queue, ParaesCommand::Kind::download, bytes, event, [&](void* to) {
    return real<read_buffer>(queue, buffer, blocks, offset, bytes, host, waits, list, to);
  });
}

// How many buffers of the device `holds` accepts.
template <class F>
unsigned long count_buffers(const F& holds) {
  const std::lock_guard lock(buffers_mutex);
  if (buffers == nullptr) return 0;
  return static_cast<unsigned long>(
      std::count_if(buffers->begin(), buffers->end(), [&](const auto& one) {
        return !one.second.on_host && holds(contents(one.first, one.second));
      }));
}

}  // namespace

extern "C" unsigned long paraes_failed_launches() { return failures; }

extern "C" void paraes_watch_buffers() {
  const std::lock_guard lock(buffers_mutex);
  if (buffers == nullptr) buffers = new std::map<void*, Buffer>;
  unwiped = 0;
  largest_argument = 0;
}

extern "C" unsigned long paraes_largest_argument() { return largest_argument; }

void paraes_record_commands() {
  const std::lock_guard lock(commands_mutex);
  if (commands == nullptr) commands = new std::vector<Recorded>;
}

std::vector<ParaesCommand> paraes_recorded_commands() {
  const std::lock_guard lock(commands_mutex);
  const auto profile = opencl<GetInfo>("clGetEventProfilingInfo");
  std::vector<ParaesCommand> list;
  for (Recorded& one : *commands) {
    for (const auto& [name, time] :
         {std::pair(command_queued, &one.command.queued),
          std::pair(command_start, &one.command.start), std::pair(command_end, &one.command.end)}) {
      if (profile(one.event, name, sizeof *time, time, nullptr) != 0) std::abort();
    }
    opencl<Release>("clReleaseEvent")(one.event);
    list.push_back(one.command);
  }
  commands->clear();
  return list;
}

extern "C" unsigned long paraes_unwiped_buffers() {
  const std::lock_guard lock(buffers_mutex);
  return unwiped;
}

extern "C" unsigned long paraes_buffers_in_use() {
  return count_buffers([](const auto& data) { return !is_zero(data); });
}

extern "C" unsigned long paraes_buffers_with(const void* bytes, std::size_t count) {
  return count_buffers(
      [&](const auto& data) { return memmem(data.data(), data.size(), bytes, count) != nullptr; });
}

namespace {

template <auto Fake>
void* replace(void* found) {
  real<Fake> = reinterpret_cast<decltype(Fake)>(found);
  return reinterpret_cast<void*>(Fake);
}

struct Replacement {
  std::string_view name;
  void* (*replace)(void* found);
};
constexpr Replacement replacements[] = {
    {"clGetDeviceInfo", replace<get_device_info>},
    {"clGetEventProfilingInfo", replace<get_profile>},
    {"clGetKernelWorkGroupInfo", replace<get_work_group_info>},
    {"clBuildProgram", replace<build>},
    {"clCreateBuffer", replace<create_buffer>},
    {"clReleaseMemObject", replace<release_buffer>},
    {"clSetKernelArg", replace<set_argument>},
    {"clEnqueueWriteBuffer", replace<write_buffer>},
    {"clEnqueueReadBuffer", replace<read_buffer>},
    {"clEnqueueNDRangeKernel", replace<launch>},
};

}  // namespace

// These are functions of the ICD loader, which finds the driver's by other means than dlsym().
extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) {
  void* const found = real_dlsym(handle, name);
  if (found == nullptr) return found;
  for (const Replacement& one : replacements) {
    if (name != one.name) continue;
    library = handle;
    return one.replace(found);
  }
  return found;
}
