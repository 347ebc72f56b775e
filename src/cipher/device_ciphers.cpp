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
using Texts = std::span<const DeviceText>;

constexpr std::uint64_t tag_bytes = 16;

// ---- Construction

std::unique_ptr<DeviceCipherImpl> open_keys(const DeviceStream& stream,
                                            const DeviceOptions& options,
                                            std::vector<std::unique_ptr<gpu::KeyMaterial>> keys) {
  const gpu::GpuKernel& kernel = detail::select_gpu_kernel(options.kernel, options.allow_leaky);
  std::shared_ptr<gpu::DeviceContext> context = gpu::open_context_of(stream, kernel);
  // To find faults of the stream now.
  static_cast<void>(gpu::borrow(context->device(), stream.handle));
  if (options.any_address) {
    static_cast<void>(context->program({.many_keys = keys.size() > 1, .any_address = true}));
  }
  return std::make_unique<DeviceCipherImpl>(std::move(context), stream, std::move(keys));
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

[[noreturn]] void refuse(std::size_t message, const std::string& why) {
  throw InvalidArgument("message " + std::to_string(message) + ": " + why);
}

// nullptr if a buffer is possible.
const char* fault_of(const DeviceBuffer& buffer) {
  constexpr std::uint64_t most = std::uint64_t{1} << 56;
  if (buffer.offset > most || buffer.bytes > most) return " is larger than memory can be";
  if (buffer.bytes != 0 && buffer.memory == 0) return " is a null pointer";
  return nullptr;
}

void check_buffer(const DeviceBuffer& buffer, const char* name) {
  if (const char* const fault = fault_of(buffer)) throw InvalidArgument(std::string(name) + fault);
}

void check_part(std::size_t message, const DeviceBuffer& buffer, const char* name) {
  if (const char* const fault = fault_of(buffer)) refuse(message, std::string(name) + fault);
}

DeviceBuffer part_of(const DeviceBuffer& buffer, std::size_t message, const char* what,
                     std::uint64_t offset, std::uint64_t bytes) {
  if (offset > buffer.bytes || bytes > buffer.bytes - offset) {
    refuse(message, std::string(what) + ", " + std::to_string(bytes) + " bytes at " +
                        std::to_string(offset) + ", is not within the buffer of " +
                        std::to_string(buffer.bytes));
  }
  return {buffer.memory, buffer.offset + offset, bytes};
}

// Messages of two buffers, each with its own parts of them.
std::vector<DeviceText> texts_of(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                                 Tags tags) {
  check_buffer(in, "the input buffer");
  check_buffer(out, "the output buffer");
  std::vector<DeviceText> texts(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const DeviceMessage& message = messages[i];
    DeviceText& text = texts[i];
    text.in = part_of(in, i, "its input", message.in, message.bytes);
    text.out = part_of(out, i, "its output", message.out, message.bytes);
    if (tags != Tags::none) {
      text.tag = part_of(tags == Tags::in_output ? out : in, i, "its tag", message.tag, tag_bytes);
    }
    text.key = message.key;
    text.iv = message.iv;
    text.aad = message.aad;
  }
  return texts;
}

class Checks {
 public:
  Checks(const DeviceCipherImpl& cipher, Texts texts, Tags tags)
      : cipher_(cipher), texts_(texts), tags_(tags) {}

  // Throws InvalidArgument for what all modes refuse.
  void check() const {
    if (texts_.size() > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidArgument("a call has fewer than 2^31 messages");
    }
    for (std::size_t i = 0; i < texts_.size(); ++i) check_text(i);
    check_overlaps();
  }

 private:
  void check_text(std::size_t i) const {
    const DeviceText& text = texts_[i];
    if (text.key >= cipher_.keys()) {
      refuse(i, "there is no key " + std::to_string(text.key) + ": the cipher has " +
                    std::to_string(cipher_.keys()));
    }
    check_part(i, text.in, "its input");
    check_part(i, text.out, "its output");
    if (text.out.bytes != text.in.bytes) {
      refuse(i, "its input has " + std::to_string(text.in.bytes) + " bytes, and its output " +
                    std::to_string(text.out.bytes));
    }
    if (tags_ == Tags::none) return;
    check_part(i, text.tag, "its tag");
    if (text.tag.bytes != tag_bytes) {
      refuse(i, "its tag has " + std::to_string(text.tag.bytes) + " bytes, not 16");
    }
  }

  [[nodiscard]] MemoryRange range_of(const DeviceBuffer& buffer, std::size_t message,
                                     bool is_text) const {
    const bool one_space = !cipher_.is_opencl();
    const std::uint64_t begin = (one_space ? buffer.memory : 0) + buffer.offset;
    return {one_space ? 0 : buffer.memory, begin, begin + buffer.bytes, message, is_text};
  }

  // Checks that no output overlaps another output, or an input other than its own.
  void check_overlaps() const {
    std::vector<MemoryRange> outputs;
    std::vector<MemoryRange> inputs;
    outputs.reserve(texts_.size());
    inputs.reserve(texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const DeviceText& text = texts_[i];
      if (text.in.bytes != 0) {
        outputs.push_back(range_of(text.out, i, true));
        inputs.push_back(range_of(text.in, i, true));
      }
      if (tags_ == Tags::in_output) outputs.push_back(range_of(text.tag, i, false));
      if (tags_ == Tags::in_input) inputs.push_back(range_of(text.tag, i, false));
    }
    if (!std::ranges::is_sorted(outputs, is_before)) {
      std::ranges::sort(outputs, is_before);
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
    // Outputs do not overlap each other, so they are sorted by their ends as well.
    auto output = std::ranges::partition_point(outputs, [&](const MemoryRange& other) {
      return other.memory != input.memory ? other.memory < input.memory : other.end <= input.begin;
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

  const DeviceCipherImpl& cipher_;
  Texts texts_;
  Tags tags_;
};

void check_whole_blocks(Texts texts, const char* clause) {
  for (const DeviceText& text : texts) detail::check_whole_blocks(text.in.bytes, clause);
}

void check_units(Texts texts, std::size_t unit_bytes) {
  for (const DeviceText& text : texts) {
    const std::uint64_t bytes = text.in.bytes;
    if (bytes == 0 || bytes % block_bytes != 0) {
      throw InvalidArgument(
          "XTS in device memory needs whole blocks of 16 bytes, at least one, not " +
          std::to_string(bytes) + " bytes: the CPU does ciphertext stealing (Xts)");
    }
    if (unit_bytes == 0 && bytes > max_xts_unit_bytes) {
      throw InvalidArgument("a data unit has at most 2^20 blocks (SP 800-38E section 4), not " +
                            std::to_string(bytes) + " bytes: use smaller units");
    }
  }
}

// Checks a call and makes it: `work(queue)`.
DeviceWork call(DeviceCipherImpl& cipher, const DeviceStream& stream, Texts texts, Tags tags,
                const auto& work) {
  Checks(cipher, texts, tags).check();
  DeviceCipherImpl::Call begun = cipher.begin(stream);
  work(begun.queue());
  return begun.end();
}

// A call of a mode that is one entry.
DeviceWork call_entry(DeviceCipherImpl& cipher, const DeviceStream& stream, Texts texts,
                      const char* entry) {
  return call(cipher, stream, texts, Tags::none,
              [&](gpu::CallerQueue& queue) { cipher.run(queue, entry, texts); });
}

DeviceWork call_xts(DeviceCipherImpl& cipher, const DeviceStream& stream, Texts texts,
                    Direction direction, std::size_t unit_bytes) {
  check_units(texts, unit_bytes);
  return call(cipher, stream, texts, Tags::none,
              [&](gpu::CallerQueue& queue) { cipher.xts(queue, direction, unit_bytes, texts); });
}

constexpr const char* ecb_blocks = "ECB (SP 800-38A section 5.2)";

void check_gcm(Texts texts) {
  for (const DeviceText& text : texts) detail::check_gcm_sizes(text.aad.size(), text.in.bytes);
}

}  // namespace

// ---- Classes

DeviceCipher::DeviceCipher(std::unique_ptr<DeviceCipherImpl> impl) : impl_(std::move(impl)) {}
DeviceCipher::~DeviceCipher() = default;
DeviceCipher::DeviceCipher(DeviceCipher&&) noexcept = default;
DeviceCipher& DeviceCipher::operator=(DeviceCipher&&) noexcept = default;

std::string_view DeviceCipher::kernel() const noexcept { return impl_->kernel(); }
std::string DeviceCipher::device() const { return impl_->info().id; }
void DeviceCipher::wait_for(const DeviceStream& other, const DeviceStream& stream) {
  impl_->wait_for(other, stream);
}

DeviceEcb::DeviceEcb(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceEcb(stream, {&key, 1}, options) {}
DeviceEcb::DeviceEcb(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, false, options)) {}

DeviceWork DeviceEcb::encrypt(Texts texts, const DeviceStream& stream) {
  check_whole_blocks(texts, ecb_blocks);
  return call_entry(*impl_, stream, texts, "ecb_encrypt");
}

DeviceWork DeviceEcb::decrypt(Texts texts, const DeviceStream& stream) {
  check_whole_blocks(texts, ecb_blocks);
  return call_entry(*impl_, stream, texts, "ecb_decrypt");
}

DeviceWork DeviceEcb::encrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return encrypt(texts_of(in, out, messages, Tags::none), stream);
}

DeviceWork DeviceEcb::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return decrypt(texts_of(in, out, messages, Tags::none), stream);
}

DeviceCbc::DeviceCbc(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceCbc(stream, {&key, 1}, options) {}
DeviceCbc::DeviceCbc(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, false, options)) {}

DeviceWork DeviceCbc::decrypt(Texts texts, const DeviceStream& stream) {
  check_whole_blocks(texts, "CBC (SP 800-38A section 5.2)");
  return call(*impl_, stream, texts, Tags::none,
              [&](gpu::CallerQueue& queue) { impl_->cbc_decrypt(queue, texts); });
}

DeviceWork DeviceCbc::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return decrypt(texts_of(in, out, messages, Tags::none), stream);
}

DeviceCtr::DeviceCtr(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceCtr(stream, {&key, 1}, options) {}
DeviceCtr::DeviceCtr(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, false, options)) {}

DeviceWork DeviceCtr::process(Texts texts, const DeviceStream& stream) {
  return call_entry(*impl_, stream, texts, "ctr");
}

DeviceWork DeviceCtr::process(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return process(texts_of(in, out, messages, Tags::none), stream);
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

DeviceWork DeviceXts::encrypt(Texts texts, const DeviceStream& stream) {
  return call_xts(*impl_, stream, texts, Direction::encrypt, unit_bytes_);
}

DeviceWork DeviceXts::decrypt(Texts texts, const DeviceStream& stream) {
  return call_xts(*impl_, stream, texts, Direction::decrypt, unit_bytes_);
}

DeviceWork DeviceXts::encrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return encrypt(texts_of(in, out, messages, Tags::none), stream);
}

DeviceWork DeviceXts::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return decrypt(texts_of(in, out, messages, Tags::none), stream);
}

DeviceGcm::DeviceGcm(const DeviceStream& stream, Bytes key, const DeviceOptions& options)
    : DeviceGcm(stream, {&key, 1}, options) {}
DeviceGcm::DeviceGcm(const DeviceStream& stream, std::span<const Bytes> keys,
                     const DeviceOptions& options)
    : DeviceCipher(open_aes(stream, keys, true, options)) {}

DeviceWork DeviceGcm::encrypt(Texts texts, const DeviceStream& stream) {
  check_gcm(texts);
  return call(*impl_, stream, texts, Tags::in_output,
              [&](gpu::CallerQueue& queue) { impl_->gcm_encrypt(queue, texts); });
}

DeviceVerdict DeviceGcm::decrypt(Texts texts, const DeviceStream& stream) {
  check_gcm(texts);
  std::shared_ptr<const DeviceVerdict::Pending> pending;
  call(*impl_, stream, texts, Tags::in_input,
       [&](gpu::CallerQueue& queue) { pending = impl_->gcm_decrypt(queue, texts); });
  return DeviceVerdict(std::move(pending));
}

DeviceWork DeviceGcm::encrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                              const DeviceStream& stream) {
  return encrypt(texts_of(in, out, messages, Tags::in_output), stream);
}

DeviceVerdict DeviceGcm::decrypt(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages,
                                 const DeviceStream& stream) {
  return decrypt(texts_of(in, out, messages, Tags::in_input), stream);
}

void DeviceGcm::seal(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  encrypt(in, out, messages);
}

DeviceVerdict DeviceGcm::open(const DeviceBuffer& in, const DeviceBuffer& out, Messages messages) {
  return decrypt(in, out, messages);
}

DeviceWork::DeviceWork() noexcept = default;
DeviceWork::DeviceWork(std::shared_ptr<const End> end) noexcept : end_(std::move(end)) {}
bool DeviceWork::ready() const { return !end_ || end_->passed(); }

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
