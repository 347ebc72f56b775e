// The public ciphers for data in device memory. They check arguments once; device_memory.cpp works.

#include <algorithm>
#include <limits>
#include <utility>

#include "paraes/ciphers.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/cipher/cipher.hpp"
#include "src/cipher/device_memory.hpp"
#include "src/cipher/gpu_key.hpp"
#include "src/cipher/open.hpp"

namespace paraes {
namespace {

using detail::DeviceCipherImpl;
using Messages = std::span<const DeviceMessage>;

constexpr std::uint64_t tag_bytes = 16;

// ---- Construction

std::unique_ptr<DeviceCipherImpl> open_keys(const DeviceStream& stream,
                                            const DeviceOptions& options,
                                            std::vector<std::unique_ptr<gpu::KeyMaterial>> keys) {
  const gpu::GpuKernel& kernel = detail::select_gpu_kernel(options.kernel, options.allow_leaky);
  std::shared_ptr<gpu::DeviceContext> context = gpu::open_context_of(stream, kernel);
  std::unique_ptr<gpu::Queue> queue = context->device().borrow_queue(stream.handle);
  return std::make_unique<DeviceCipherImpl>(std::move(context), std::move(queue), std::move(keys));
}

std::unique_ptr<DeviceCipherImpl> open_aes(const DeviceStream& stream, std::span<const Bytes> keys,
                                           bool hashes, const DeviceOptions& options) {
  if (keys.empty()) throw InvalidArgument("a cipher needs at least one key");
  if (keys.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidArgument("a cipher has fewer than 2^32 keys");
  }
  std::vector<std::unique_ptr<gpu::KeyMaterial>> materials;
  materials.reserve(keys.size());
  for (const Bytes key : keys) {
    detail::check_aes_key(key);
    if (key.size() != keys[0].size()) {
      throw InvalidArgument("all keys of a cipher have one size, not " +
                            std::to_string(keys[0].size()) + " and " + std::to_string(key.size()) +
                            " bytes");
    }
    materials.push_back(detail::make_key_material(key, 1, hashes, options.key_expansion));
  }
  return open_keys(stream, options, std::move(materials));
}

std::unique_ptr<DeviceCipherImpl> open_xts(const DeviceStream& stream, Bytes key,
                                           const DeviceOptions& options) {
  detail::check_xts_key(key);
  std::vector<std::unique_ptr<gpu::KeyMaterial>> materials;
  materials.push_back(detail::make_key_material(key, 2, false, options.key_expansion));
  return open_keys(stream, options, std::move(materials));
}

// ---- Checks of a call

// Part of device memory that a message reads or writes.
struct MemoryRange {
  std::uint64_t memory;  // the cl_mem; 0 where all memory has one address space
  std::uint64_t begin;
  std::uint64_t end;
  std::size_t message;
  bool is_text;
};

bool is_before(const MemoryRange& a, const MemoryRange& b) {
  return a.memory != b.memory ? a.memory < b.memory : a.begin < b.begin;
}

bool overlap(const MemoryRange& a, const MemoryRange& b) {
  return a.memory == b.memory && a.begin < b.end && b.begin < a.end;
}

// Where tags lie, if messages have any.
enum class Tags { none, in_output, in_input };

class Call {
 public:
  Call(DeviceCipherImpl& cipher, const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
       Tags tags = Tags::none)
      : cipher_(cipher), in_(in), out_(out), messages_(messages), tags_(tags) {}

  // Throws InvalidArgument for what all modes refuse.
  void check() const {
    if (messages_.size() > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidArgument("a call has fewer than 2^31 messages");
    }
    if (cipher_.queue().queue().is_captured()) {
      throw InvalidArgument(
          "the stream is being captured: a graph would run the work again, with the same nonces "
          "and "
          "counters");
    }
    check_buffer(in_, "input");
    check_buffer(out_, "output");
    for (std::size_t i = 0; i < messages_.size(); ++i) check_message(i);
    check_overlaps();
  }

 private:
  [[noreturn]] static void refuse(std::size_t message, const std::string& why) {
    throw InvalidArgument("message " + std::to_string(message) + ": " + why);
  }

  void check_buffer(const DeviceBuffer& buffer, const std::string& name) const {
    constexpr std::uint64_t most = std::uint64_t{1} << 56;
    if (buffer.offset > most || buffer.bytes > most) {
      throw InvalidArgument("the " + name + " buffer is larger than memory can be");
    }
    if (buffer.bytes != 0 && buffer.memory == 0) {
      throw InvalidArgument("the " + name + " buffer is a null pointer");
    }
    const std::uint64_t begin = cipher_.is_opencl() ? buffer.offset : buffer.memory + buffer.offset;
    if (begin % block_bytes != 0) {
      throw InvalidArgument("the " + name + " buffer does not begin at a multiple of 16 bytes");
    }
  }

  void check_range(std::size_t message, const char* what, std::uint64_t offset, std::uint64_t bytes,
                   std::uint64_t grain, const DeviceBuffer& buffer) const {
    if (offset % grain != 0) {
      refuse(message, std::string(what) + " at " + std::to_string(offset) +
                          " is not at a multiple of " + std::to_string(grain) + " bytes");
    }
    if (offset > buffer.bytes || bytes > buffer.bytes - offset) {
      refuse(message, std::string(what) + ", " + std::to_string(bytes) + " bytes at " +
                          std::to_string(offset) + ", is not within the buffer of " +
                          std::to_string(buffer.bytes));
    }
  }

  void check_message(std::size_t i) const {
    const DeviceMessage& message = messages_[i];
    if (message.key >= cipher_.keys()) {
      refuse(i, "there is no key " + std::to_string(message.key) + ": the cipher has " +
                    std::to_string(cipher_.keys()));
    }
    check_range(i, "its input", message.in, message.bytes, block_bytes, in_);
    check_range(i, "its output", message.out, message.bytes, block_bytes, out_);
    if (tags_ == Tags::none) return;
    check_range(i, "its tag", message.tag, tag_bytes, 4, tags_ == Tags::in_output ? out_ : in_);
  }

  [[nodiscard]] MemoryRange range_of(const DeviceBuffer& buffer, std::size_t message,
                                     std::uint64_t offset, std::uint64_t bytes,
                                     bool is_text) const {
    const std::uint64_t base = cipher_.is_opencl() ? 0 : buffer.memory;
    const std::uint64_t begin = base + buffer.offset + offset;
    return {cipher_.is_opencl() ? buffer.memory : 0, begin, begin + bytes, message, is_text};
  }

  // Checks that no output overlaps another output, or an input other than its own.
  void check_overlaps() const {
    std::vector<MemoryRange> outputs;
    std::vector<MemoryRange> inputs;
    outputs.reserve(messages_.size());
    inputs.reserve(messages_.size());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const DeviceMessage& message = messages_[i];
      if (message.bytes != 0) {
        outputs.push_back(range_of(out_, i, message.out, message.bytes, true));
        inputs.push_back(range_of(in_, i, message.in, message.bytes, true));
      }
      if (tags_ == Tags::in_output) {
        outputs.push_back(range_of(out_, i, message.tag, tag_bytes, false));
      }
      if (tags_ == Tags::in_input)
        inputs.push_back(range_of(in_, i, message.tag, tag_bytes, false));
    }
    if (!std::is_sorted(outputs.begin(), outputs.end(), is_before)) {
      std::sort(outputs.begin(), outputs.end(), is_before);
    }
    for (std::size_t k = 1; k < outputs.size(); ++k) {
      if (overlap(outputs[k - 1], outputs[k])) {
        refuse(outputs[k].message,
               "its output overlaps that of message " + std::to_string(outputs[k - 1].message));
      }
    }
    for (const MemoryRange& input : inputs) check_input(input, outputs);
  }

  static void check_input(const MemoryRange& input, const std::vector<MemoryRange>& outputs) {
    // Outputs do not overlap each other, so they are sorted by their ends, too.
    auto output =
        std::partition_point(outputs.begin(), outputs.end(), [&](const MemoryRange& other) {
          return other.memory != input.memory ? other.memory < input.memory
                                              : other.end <= input.begin;
        });
    for (; output != outputs.end() && overlap(*output, input); ++output) {
      const bool in_place = output->message == input.message && output->is_text && input.is_text &&
                            output->begin == input.begin;
      if (in_place) continue;
      refuse(input.message, std::string("its ") + (input.is_text ? "input" : "tag") +
                                " overlaps the output of message " +
                                std::to_string(output->message));
    }
  }

  DeviceCipherImpl& cipher_;
  const DeviceBuffer& in_;
  const DeviceBuffer& out_;
  Messages messages_;
  Tags tags_;
};

void check_whole_blocks(Messages messages, const char* clause) {
  for (const DeviceMessage& message : messages) detail::check_whole_blocks(message.bytes, clause);
}

void check_units(Messages messages, std::size_t unit_bytes) {
  for (const DeviceMessage& message : messages) {
    if (message.bytes == 0 || message.bytes % block_bytes != 0) {
      throw InvalidArgument(
          "XTS in device memory needs whole blocks of 16 bytes, at least one, not " +
          std::to_string(message.bytes) + " bytes: the CPU does ciphertext stealing (Xts)");
    }
    if (unit_bytes == 0 && message.bytes > max_xts_unit_bytes) {
      throw InvalidArgument("a data unit has at most 2^20 blocks (SP 800-38E section 4), not " +
                            std::to_string(message.bytes) + " bytes: use smaller units");
    }
  }
}

}  // namespace

// ---- Classes

DeviceCipher::DeviceCipher(std::unique_ptr<DeviceCipherImpl> impl) : impl_(std::move(impl)) {}
DeviceCipher::~DeviceCipher() = default;
DeviceCipher::DeviceCipher(DeviceCipher&&) noexcept = default;
DeviceCipher& DeviceCipher::operator=(DeviceCipher&&) noexcept = default;

std::string_view DeviceCipher::kernel() const noexcept { return impl_->kernel(); }
std::string DeviceCipher::device() const { return impl_->info().id; }

DeviceEcb::DeviceEcb(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceEcb(stream, {&key, 1}, options) {}
DeviceEcb::DeviceEcb(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, false, options)) {}

void DeviceEcb::encrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  check_whole_blocks(messages, "ECB (SP 800-38A section 5.2)");
  Call(*impl_, in, out, messages).check();
  impl_->run("ecb_encrypt", in, out, messages);
}

void DeviceEcb::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  check_whole_blocks(messages, "ECB (SP 800-38A section 5.2)");
  Call(*impl_, in, out, messages).check();
  impl_->run("ecb_decrypt", in, out, messages);
}

DeviceCbc::DeviceCbc(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceCbc(stream, {&key, 1}, options) {}
DeviceCbc::DeviceCbc(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, false, options)) {}

void DeviceCbc::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  check_whole_blocks(messages, "CBC (SP 800-38A section 5.2)");
  Call(*impl_, in, out, messages).check();
  impl_->cbc_decrypt(in, out, messages);
}

DeviceCtr::DeviceCtr(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceCtr(stream, {&key, 1}, options) {}
DeviceCtr::DeviceCtr(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, false, options)) {}

void DeviceCtr::process(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  Call(*impl_, in, out, messages).check();
  impl_->run("ctr", in, out, messages);
}

DeviceXts::DeviceXts(const DeviceStream& stream, Bytes key, std::size_t unit_bytes,
                     const DeviceOptions& options)
    : DeviceCipher((detail::check_xts_unit(unit_bytes), open_xts(stream, key, options))),
      unit_bytes_(unit_bytes) {
  if (unit_bytes % block_bytes != 0) {
    throw InvalidArgument("XTS in device memory needs data units of whole blocks, not of " +
                          std::to_string(unit_bytes) +
                          " bytes: the CPU does ciphertext stealing (Xts)");
  }
}

void DeviceXts::encrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  check_units(messages, unit_bytes_);
  Call(*impl_, in, out, messages).check();
  impl_->xts(Direction::encrypt, unit_bytes_, in, out, messages);
}

void DeviceXts::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  check_units(messages, unit_bytes_);
  Call(*impl_, in, out, messages).check();
  impl_->xts(Direction::decrypt, unit_bytes_, in, out, messages);
}

DeviceGcm::DeviceGcm(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceGcm(stream, {&key, 1}, options) {}
DeviceGcm::DeviceGcm(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, true, options)) {}

void DeviceGcm::encrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  for (const DeviceMessage& message : messages) {
    detail::check_gcm_sizes(message.aad.size(), message.bytes);
  }
  Call(*impl_, in, out, messages, Tags::in_output).check();
  impl_->gcm_encrypt(in, out, messages);
}

DeviceVerdict DeviceGcm::decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                                 Messages messages) {
  for (const DeviceMessage& message : messages) {
    detail::check_gcm_sizes(message.aad.size(), message.bytes);
  }
  Call(*impl_, in, out, messages, Tags::in_input).check();
  return DeviceVerdict(impl_->gcm_decrypt(in, out, messages));
}

void DeviceGcm::seal(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  encrypt(in, out, messages);
}

DeviceVerdict DeviceGcm::open(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  return decrypt(in, out, messages);
}

DeviceVerdict::DeviceVerdict(std::shared_ptr<const Pending> pending)
    : pending_(std::move(pending)) {}

std::size_t DeviceVerdict::messages() const noexcept { return pending_->messages(); }
bool DeviceVerdict::ready() const { return pending_->ready(); }

void DeviceVerdict::require_ready() const {
  if (ready()) return;
  throw Error("the device has not verified the messages yet: synchronize its stream first");
}

bool DeviceVerdict::intact(std::size_t index) const {
  if (index >= messages()) {
    throw InvalidArgument("there is no message " + std::to_string(index) + ": the call had " +
                          std::to_string(messages()));
  }
  require_ready();
  return pending_->intact(index);
}

bool DeviceVerdict::all_intact() const {
  require_ready();
  for (std::size_t i = 0; i < messages(); ++i) {
    if (!pending_->intact(i)) return false;
  }
  return true;
}

}  // namespace paraes
