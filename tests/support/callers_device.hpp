// A GPU as a program sees it that is not paraes: with memory and a stream of its own. The device is
// the one that PARAES_TEST_DEVICE names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "paraes/devices.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::support {

class CallersDevice {
 public:
  virtual ~CallersDevice() = default;
  CallersDevice() = default;
  CallersDevice(const CallersDevice&) = delete;
  CallersDevice& operator=(const CallersDevice&) = delete;

  [[nodiscard]] virtual DeviceStream stream() = 0;
  // One on each device of an OpenCL context, the first of which is stream().
  [[nodiscard]] virtual std::vector<DeviceStream> streams() { return {stream()}; }
  // Makes another stream on the device of stream(), and destroys it.
  [[nodiscard]] virtual DeviceStream make_stream() = 0;
  virtual void destroy_stream(const DeviceStream& stream) = 0;
  // Memory that is freed with the object. The buffer begins at byte `offset` of it.
  [[nodiscard]] virtual DeviceBuffer allocate(std::size_t bytes, std::size_t offset = 0) = 0;
  virtual void write(const DeviceBuffer& to, Bytes from) = 0;
  // Synchronizes the stream.
  [[nodiscard]] virtual Buffer read(const DeviceBuffer& from) = 0;
  virtual void synchronize() = 0;  // all streams that exist
};

[[nodiscard]] std::unique_ptr<CallersDevice> open_callers_device(const std::string& device);

}  // namespace paraes::support
