// The code that calls on arrays in device memory share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/kernels.hpp"
#include "python/native/common.hpp"

namespace paraes::python {

inline DeviceStream stream_of(const std::string& device, std::uint64_t handle) {
  return {device, reinterpret_cast<void*>(handle)};  // NOLINT(performance-no-int-to-ptr)
}

// (memory, offset, bytes)
inline DeviceBuffer buffer_of(const nb::handle& object) {
  const auto part = nb::cast<nb::tuple>(object);
  return {nb::cast<std::uintptr_t>(part[0]), nb::cast<std::uint64_t>(part[1]),
          nb::cast<std::uint64_t>(part[2])};
}

// Leaves an object of a driver as it is, in a process where that did not survive a fork.
template <class T>
void abandon(T& object) {
  static_cast<void>(new T(std::move(object)));  // NOLINT(cppcoreguidelines-owning-memory)
}

[[nodiscard]] inline bool is_usable(const DeviceUse& use) noexcept {
  try {
    use.check();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Where a call works, and what it waits for: streams of that device.
struct Place {
  Place(std::string device, std::uint64_t handle, const nb::list& waits)
      : stream(stream_of(device, handle)), use(Execution{.device = device}) {
    for (const nb::handle other : waits) {
      before.push_back(stream_of(device, nb::cast<std::uint64_t>(other)));
    }
  }

  DeviceStream stream;
  DeviceUse use;
  std::vector<DeviceStream> before;
};

inline DeviceOptions options_of(std::string kernel, bool allow_leaky) {
  if (kernel != "auto") static_cast<void>(select_kernel(kernel, "cuda", true));
  return {.kernel = std::move(kernel), .allow_leaky = allow_leaky, .any_address = true};
}

// One object for each device. A queue of OpenCL counts as one: it has a context of its own.
template <class T>
class OnDevices {
 public:
  template <class Make>
  T& get(const DeviceStream& stream, const Make& make) {
    const std::pair<std::string, void*> key(stream.device,
                                            stream.device == "opencl" ? stream.handle : nullptr);
    auto found = all_.find(key);
    if (found == all_.end()) found = all_.emplace(key, make()).first;
    return *found->second;
  }

 private:
  std::map<std::pair<std::string, void*>, std::unique_ptr<T>> all_;
};

}  // namespace paraes::python
