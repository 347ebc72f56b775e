// Segments of a message (messages.hpp) in device memory: a file's segments can be copied to a GPU
// as they are, and be opened there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/devices.hpp"
#include "paraes/export.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"

namespace paraes {

// Seals (encrypts) and opens (decrypts) consecutive segments of one message, like seal_segments()
// and open_segments(), on any stream of one device. What devices.hpp says of streams, aliasing,
// errors, threads, waiting and graphs holds here, too. Buffers may begin at any byte.
class PARAES_EXPORT DeviceSegments final {
 public:
  // A copy of the parts of a message is not kept, but its key is. Throws as DeviceGcm does.
  DeviceSegments(const DeviceStream& stream, const Message::Parts& message,
                 const DeviceOptions& options = {});
  ~DeviceSegments();
  DeviceSegments(DeviceSegments&&) noexcept;
  DeviceSegments& operator=(DeviceSegments&&) noexcept;

  // The layout of the message.
  [[nodiscard]] const SegmentLayout& layout() const noexcept { return layout_; }
  // These do what they do in DeviceCipher.
  [[nodiscard]] std::string_view kernel() const noexcept { return gcm_.kernel(); }
  [[nodiscard]] std::string device() const { return gcm_.device(); }
  void wait_for(const DeviceStream& other, const DeviceStream& stream = {}) {
    gcm_.wait_for(other, stream);
  }

  // Segments from number `first` on. The text has whole segments; if `ends`, the last of them is
  // the last one of the message, which may be shorter. The sealed text has segment_tag_bytes more
  // for each segment. The two do not overlap, but that of a single segment may begin where the
  // other does. Throws InvalidArgument for other sizes, and WrongProcess in a child of the process
  // that made the message (forks.hpp).
  DeviceWork seal(std::uint64_t first, bool ends, const DeviceBuffer& plain,
                  const DeviceBuffer& sealed, const DeviceStream& stream = {});
  // The plaintext of segments that do not authenticate is filled with zeros. Message i of the
  // verdict is segment first + i. Throws InvalidArgument for other sizes, and IntegrityError if
  // `ends` and the text cannot be the end of a message.
  [[nodiscard]] DeviceVerdict open(std::uint64_t first, bool ends, const DeviceBuffer& sealed,
                                   const DeviceBuffer& plain, const DeviceStream& stream = {});

 private:
  [[nodiscard]] std::vector<DeviceText> texts(Direction direction, std::uint64_t first,
                                              std::uint64_t count, bool ends,
                                              const DeviceBuffer& plain,
                                              const DeviceBuffer& sealed) const;

  DeviceGcm gcm_;
  SegmentLayout layout_;
  SegmentNonces nonces_;
  OwnerProcess owner_;
};

// Throws BadSegment, which names the first segment that does not authenticate, if there is one.
// The verdict is that of open() for segments from `first` on, and the device must have finished.
// layout and commits are those of the message.
PARAES_EXPORT void check_segments(const DeviceVerdict& verdict, std::uint64_t first,
                                  const SegmentLayout& layout, bool commits);

// Reads the plaintext of a message into device memory. The sealed segments are read into
// page-locked memory, copied to the device and opened there, all three at the same time: the host
// has no plaintext. One caller at a time.
class PARAES_EXPORT DeviceReader final {
 public:
  // source: holds the message from offset 0 on, is read by several threads at once, and must
  // outlive the object. threads: that read, up to 8; 0 for as many as available_cores(). For each,
  // the object keeps 8 MiB of page-locked memory and 8 MiB of the device, or two segments if these
  // are larger; where that is too much, fewer threads read. Throws as DeviceSegments does,
  // OutOfMemory, and IntegrityError if no message has the source's size.
  DeviceReader(const DeviceStream& stream, const PositionalSource& source,
               const Message::Parts& message, const DeviceOptions& options = {}, int threads = 0);
  ~DeviceReader();
  DeviceReader(DeviceReader&&) noexcept;
  DeviceReader& operator=(DeviceReader&&) noexcept;

  // Bytes of plaintext, by the size of the source. A message that was cut off where a segment ends
  // is noticed when its last segment is read.
  [[nodiscard]] std::uint64_t size() const noexcept;
  // These do what they do in DeviceCipher.
  [[nodiscard]] std::string_view kernel() const noexcept;
  [[nodiscard]] std::string device() const;
  void wait_for(const DeviceStream& other, const DeviceStream& stream = {});

  // Reads out.bytes bytes of the plaintext from byte `offset` on. `out` may begin at any byte. The
  // work is done when this returns, after earlier work on `stream`. Throws InvalidArgument for a
  // range beyond the end, and BadSegment, which names the first segment that does not authenticate;
  // `out` then has zeros in place of such segments, and otherwise authentic plaintext or what it
  // had before. IoError, DeviceError and OutOfMemory as everywhere.
  void read(std::uint64_t offset, const DeviceBuffer& out, const DeviceStream& stream = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace paraes
