// Bytes of the host on their way to texts in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "paraes/devices.hpp"
#include "paraes/export.hpp"

namespace paraes {

// Slots of page-locked memory, each with device memory of the same size. Copies to the device run
// beside the work on the caller's streams. Nothing here waits for the device but finish() and the
// destructor. host() may be used by a thread for each slot; everything else is for one caller at a
// time. What devices.hpp says of streams and errors holds here, too.
class PARAES_EXPORT DeviceStaging final {
 public:
  // On the device of `stream`, in the context of ciphers with these options. `bytes`: of each slot.
  // Throws as the constructors of these ciphers do.
  DeviceStaging(const DeviceStream& stream, const DeviceOptions& options, std::size_t slots,
                std::size_t bytes);
  // Waits for the copies. In CUDA and HIP, the page-locked memory is kept for the next object on
  // the device.
  ~DeviceStaging();
  DeviceStaging(DeviceStaging&&) noexcept;
  DeviceStaging& operator=(DeviceStaging&&) noexcept;

  // The page-locked memory of a slot. No copy of it may be under way.
  [[nodiscard]] std::span<std::uint8_t> host(std::size_t slot) const;

  // Enqueues the copy of the first `bytes` bytes of a slot to its device memory, which is returned.
  // Later work on `stream` waits for it. Earlier work in that memory is done, but that of extract()
  // need not be.
  [[nodiscard]] DeviceBuffer upload(std::size_t slot, std::size_t bytes,
                                    const DeviceStream& stream);

  // Enqueues on `stream` the copy of a part of the slot's device memory, from byte `begin` on, to
  // `out`, which lies elsewhere, and then overwrites the first `bytes` bytes of the slot with
  // zeros: they may be plaintext.
  void extract(std::size_t slot, std::size_t begin, const DeviceBuffer& out, std::size_t bytes,
               const DeviceStream& stream);

  // Waits for the copies, and for what `stream` has now.
  void finish(const DeviceStream& stream);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paraes
