// The devices of this machine: its CPU, and GPUs through CUDA, HIP and OpenCL. Ciphers for data
// that already lies in the memory of a GPU.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/export.hpp"
#include "paraes/supported.hpp"

namespace paraes {

// A device and its properties, or the reason why it cannot be used.
struct DeviceInfo {
  std::string id;    // "cpu", "cuda:0", "hip:1", "opencl:0"; "cuda" if the runtime is absent
  std::string name;  // of the chip
  std::uint64_t memory_bytes = 0;  // in total, used or free
  std::string driver;              // version of the driver
  std::string compiler;          // compiler of GPU programs on this machine; empty if there is none
  std::string compiler_reason;   // CUDA and HIP: if there is none, why not and what to do
  std::string target;            // compilation target: "sm_90", "gfx90a"; OpenCL: the device's name
  std::uint32_t processors = 0;  // multiprocessors, compute units, cores
  std::uint64_t shared_bytes = 0;  // maximum shared memory of a thread block (work-group)
  std::uint32_t max_threads = 0;   // maximum threads in a thread block; 0 if unknown
  bool is_cpu = false;             // the CPU, also as an OpenCL device
  std::string bus;                 // PCI address, "0000:3b:00.0" in small letters; empty if unknown
  std::string same_as;  // id of the same GPU in CUDA or HIP, which is preferred; empty if none
  bool available = false;
  std::string reason;  // if not available: what is missing and what to do
};

// The runtimes of GPUs, as the names of devices begin, in the order of devices().
inline constexpr std::array<std::string_view, 3> gpu_runtimes = {"cuda", "hip", "opencl"};

// How data reaches a GPU.
enum class Transfer {
  staged,  // copied to device memory and back; directly, where the text is page-locked
  mapped,  // kernels read and write pinned host memory
};
inline constexpr std::array<std::string_view, 2> transfer_names = {"staged", "mapped"};

// Where the key schedule is computed.
enum class KeyExpansion { host, device };
inline constexpr std::array<std::string_view, 2> key_expansion_names = {"host", "device"};

// How a GPU works, for measurements. 0 and no value are paraes's own choice. Constructors throw
// InvalidArgument for numbers out of range, and Unavailable if the GPU or the kernel cannot do it.
struct GpuTuning {
  unsigned streams = 0;            // launches at once, each with buffers of its own: 1 to 64
  std::uint64_t launch_bytes = 0;  // of text in a launch: a multiple of 64 KiB up to 256 MiB
  unsigned tables = 0;             // `ttable`: of its round tables, how many are stored: 1, 2 or 4
  // CUDA and HIP: groups that fit into a multiprocessor at once, which limits registers: 1 to 8.
  unsigned groups_per_processor = 0;
  // GHASH by binary matrix products of the tensor cores, for many messages or segments at once:
  // CUDA, on chips of compute capability 8.0 to 9.0. It takes constant time. paraes's own choice is
  // true for `ttable` and `bitslice` where a GPU has measured that as faster: on 9.0.
  std::optional<bool> tensor_hash = std::nullopt;

  bool operator==(const GpuTuning&) const = default;
};

// The CPU, then the devices of CUDA, HIP and OpenCL, in this order. A runtime that is absent has
// one entry, whose `reason` says why.
[[nodiscard]] PARAES_EXPORT std::vector<DeviceInfo> devices();

// Only those of "cuda", "hip" or "opencl". Opens no other runtime and no separate compiler, which
// is faster: `same_as` is empty, and so are `compiler` and `compiler_reason` in CUDA and HIP.
// Throws InvalidArgument if there is no such runtime.
[[nodiscard]] PARAES_EXPORT std::vector<DeviceInfo> runtime_devices(std::string_view runtime);

// Throws InvalidArgument if `device` is not a name that Execution::device accepts, UnknownDevice if
// its runtime does not see it, Unavailable if the runtime is missing.
PARAES_EXPORT void require_device(std::string_view device);

// How prepare_programs() writes files.
struct ProgramFileOptions {
  mode_t mode = 0600;  // the umask does not apply
  // Selects the variant to compile, by tables, groups and GHASH. Launches with the same tuning use
  // it.
  GpuTuning tuning = {};
  // Whether to compile the programs for texts in device memory that do not begin at multiples of
  // 16 bytes as well. Nothing else needs them.
  bool any_address = false;
  // Called with the folder's descriptor and the name of a temporary file just before it is created,
  // and with an empty name once it no longer exists.
  std::function<void(int folder, const std::string& name)> on_temporary;
};

// Throws InvalidArgument if the compiler does not know `target` ("sm_90", "gfx90a"), Unavailable if
// it is not installed.
PARAES_EXPORT void require_program_target(std::string_view target);

// Compiles the GPU programs of `kernel` for `target`, without a GPU, writes them to files in
// `folder`, and returns the paths: one, or two if launches with many keys have a program of their
// own, and twice as many with `any_address`. Makes the folder if there is none, but only once a
// program is compiled. Replaces files of the same name. Processes with this folder in
// PARAES_PROGRAM_PATH use the files. Throws InvalidArgument for an unknown target, UnknownKernel
// for an unknown kernel, Unavailable if the compiler is not installed, IoError if a file cannot be
// written; no file is then incomplete.
PARAES_EXPORT std::vector<std::string> prepare_programs(std::string_view kernel,
                                                        std::string_view target,
                                                        const std::string& folder,
                                                        const ProgramFileOptions& options = {});

// Why programs that are compiled for a device are not kept for the next process, in
// $XDG_CACHE_HOME/paraes or ~/.cache/paraes; empty if they are. Makes that folder.
[[nodiscard]] PARAES_EXPORT std::string why_programs_are_not_kept();

// ---- Data in device memory
//
// The classes below encrypt and decrypt data where it lies: in device memory of the caller's, on a
// stream of the caller's. Each call enqueues work on that stream and returns. It copies no data to
// the host and does not wait for the device.
//
// Common to all of them:
//   stream     The last argument of each call: any stream of the cipher's device. By default, it is
//              that of the constructor. In CUDA and HIP the work begins when earlier work on the
//              stream is done, and later work sees its results; the same holds for an in-order
//              queue of OpenCL. The stream and the memory must stay valid until the work is done.
//              Calls on different streams may run at the same time, up to eight; the device delays
//              the next one until the earliest has ended.
//   sizes      in bytes; a key has 16, 24 or 32 (XTS: 32 or 64, two halves that differ);
//   alignment  Texts and tags may begin at any byte. A call is fastest if all of its texts begin at
//              multiples of 16 bytes; otherwise it needs another program, which is loaded, and
//              compiled where it is not yet, by the first call that needs it, or by the constructor
//              with DeviceOptions::any_address. Where tags begin makes no difference.
//   aliasing   The output of a message is its input, or overlaps no input and no other output of
//              the call. Nobody else writes to the inputs before the work is done, nor to the
//              outputs. OpenCL's sub-buffers count as memory of their own: do not mix them with
//              their buffer.
//   errors     InvalidArgument if an argument breaks a rule: nothing was enqueued, and the message
//              names the clause where the rule is a standard's. DeviceError if the device fails,
//              OutOfMemory if it lacks memory for message descriptions and tweaks: the call has
//              then waited for what it had enqueued, and the output is unspecified, but never holds
//              plaintext that has not been authenticated.
//              Constructors also throw UnknownKernel and Unavailable. Nothing can check that
//              buffers are as large as they say: work beyond the memory ends the context.
//   threads    one caller at a time for one object;
//   waiting    Constructors open the device, load its program, expand the keys on a stream of
//              paraes and wait for that. Calls use memory again that earlier ones have left, and
//              allocate when they need more: for another stream while calls on others run, for more
//              or longer messages than before, or while the descriptions of hundreds of messages,
//              or earlier verdicts, are still in use. Drivers may wait for running work when they
//              allocate. Device memory is freed with the cipher. Destructors wait until the
//              cipher's work is done, because they overwrite keys and what was computed with them,
//              tweaks and tag masks, with zeros before they free this memory. On PoCL, which is for
//              tests, every launch is waited for.
//   graphs     Streams that are being captured are refused: a graph would run the work again, with
//              the same nonces.

// A stream or queue of the caller's.
struct DeviceStream {
  // "cuda:0" or "hip:1"; "opencl" for a queue, which knows its device.
  std::string device = {};
  // A CUstream or cudaStream_t of the device's primary context, or a hipStream_t. nullptr is the
  // default stream that all threads share, and cudaStreamPerThread or hipStreamPerThread that of
  // the thread which makes the call. For OpenCL, a cl_command_queue that executes in order.
  void* handle = nullptr;
};

// A range of device memory.
struct DeviceBuffer {
  // CUDA and HIP: a device pointer, of the device's primary context. OpenCL: a cl_mem of the
  // queue's context.
  std::uintptr_t memory = 0;
  std::uint64_t offset = 0;  // of the range in this memory
  std::uint64_t bytes = 0;

  // For a device pointer or a cl_mem.
  [[nodiscard]] static DeviceBuffer of(const void* memory, std::uint64_t bytes,
                                       std::uint64_t offset = 0) noexcept {
    return {reinterpret_cast<std::uintptr_t>(memory), offset, bytes};
  }
};

// One of the messages of a call: each has a text, and the keys, counters or nonces of its own.
struct DeviceMessage {
  std::uint64_t in = 0;     // offset of the text in the input buffer
  std::uint64_t out = 0;    // offset of the result in the output buffer
  std::uint64_t bytes = 0;  // of the text
  std::uint32_t key = 0;    // number of its key in the constructor's list
  // CTR: the counter block. CBC: the initialization vector. XTS: the number of the first data unit,
  // little-endian. GCM: the nonce in the first 12 bytes.
  std::array<std::uint8_t, 16> iv{};
  // GCM: offset of the tag of 16 bytes, in the output buffer when encrypting, in the input buffer
  // when decrypting. Tags overlap no text.
  std::uint64_t tag = 0;
  // GCM: associated data in host memory, read during the call.
  std::span<const std::uint8_t> aad = {};
};

// A message in memory of its own. The members below `out` are as in DeviceMessage.
struct DeviceText {
  DeviceBuffer in;   // the text
  DeviceBuffer out;  // for the result, of as many bytes
  std::uint32_t key = 0;
  std::array<std::uint8_t, 16> iv{};
  DeviceBuffer tag = {};  // GCM: 16 bytes, which encryption writes and decryption reads
  std::span<const std::uint8_t> aad = {};
};

// The work of one call.
class PARAES_EXPORT DeviceWork {
 public:
  DeviceWork() noexcept;  // none
  // Whether the device has finished it. Does not wait. Throws the DeviceError of the work.
  [[nodiscard]] bool ready() const;

  class PARAES_HIDDEN End;
  explicit DeviceWork(std::shared_ptr<const End> end) noexcept;

 private:
  std::shared_ptr<const End> end_;
};

// Options of the ciphers below.
struct DeviceOptions {
  std::string kernel = {};   // a GPU kernel; see select_kernel
  bool allow_leaky = false;  // `auto` may select a kernel that uses lookup tables
  KeyExpansion key_expansion = KeyExpansion::host;
  // Loads the program for texts that do not begin at multiples of 16 bytes at once, so that no call
  // has to.
  bool any_address = false;
};

namespace detail {
class DeviceCipherImpl;
}  // namespace detail

// Base class of the ciphers below.
class PARAES_EXPORT DeviceCipher {
 public:
  virtual ~DeviceCipher();
  DeviceCipher(const DeviceCipher&) = delete;
  DeviceCipher& operator=(const DeviceCipher&) = delete;

  [[nodiscard]] std::string_view kernel() const noexcept;  // the selected one, never "auto"
  [[nodiscard]] std::string device() const;                // "cuda:0", "opencl:1"

  // Makes what `stream` gets from now on wait for what `other` has now: for inputs that another
  // stream still writes. Both are of the cipher's device.
  void wait_for(const DeviceStream& other, const DeviceStream& stream = {});

 protected:
  explicit DeviceCipher(std::unique_ptr<detail::DeviceCipherImpl> impl);
  DeviceCipher(DeviceCipher&&) noexcept;
  DeviceCipher& operator=(DeviceCipher&&) noexcept;

  std::unique_ptr<detail::DeviceCipherImpl> impl_;
};

// SP 800-38A section 6.1, for tests and measurements: equal blocks have equal ciphertext. Each
// message is a whole number of 16-byte blocks (section 5.2).
class PARAES_EXPORT DeviceEcb final : public DeviceCipher {
 public:
  DeviceEcb(const DeviceStream& stream, std::span<const std::uint8_t> key,
            const DeviceOptions& options = {});
  DeviceEcb(const DeviceStream& stream, std::span<const std::span<const std::uint8_t>> keys,
            const DeviceOptions& options = {});

  // Messages as ranges of two buffers, or each in memory of its own.
  DeviceWork encrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork encrypt(std::span<const DeviceText> texts, const DeviceStream& stream = {});
  DeviceWork decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork decrypt(std::span<const DeviceText> texts, const DeviceStream& stream = {});
};

// CBC decryption (SP 800-38A section 6.2), without padding: each message is a whole number of
// blocks. Encryption is serial, and belongs on the CPU (Cbc). Decryption in place takes 16 MiB more
// of the device for each of the streams in use at once.
class PARAES_EXPORT DeviceCbc final : public DeviceCipher {
 public:
  DeviceCbc(const DeviceStream& stream, std::span<const std::uint8_t> key,
            const DeviceOptions& options = {});
  DeviceCbc(const DeviceStream& stream, std::span<const std::span<const std::uint8_t>> keys,
            const DeviceOptions& options = {});

  // Messages as ranges of two buffers, or each in memory of its own.
  DeviceWork decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork decrypt(std::span<const DeviceText> texts, const DeviceStream& stream = {});
};

// SP 800-38A section 6.5; the whole 16-byte block is a big-endian counter modulo 2^128. Messages
// have any size. Encryption and decryption are the same.
class PARAES_EXPORT DeviceCtr final : public DeviceCipher {
 public:
  DeviceCtr(const DeviceStream& stream, std::span<const std::uint8_t> key,
            const DeviceOptions& options = {});
  DeviceCtr(const DeviceStream& stream, std::span<const std::span<const std::uint8_t>> keys,
            const DeviceOptions& options = {});

  // Messages as ranges of two buffers, or each in memory of its own.
  DeviceWork process(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork process(std::span<const DeviceText> texts, const DeviceStream& stream = {});
};

// SP 800-38E (IEEE 1619), for data units of whole blocks: a message is a sequence of units of
// `unit_bytes` bytes, a multiple of 16 up to 2^24, or one unit if that is 0. The last unit may be
// shorter, but is whole blocks too: ciphertext stealing is left to the CPU (Xts). All messages have
// the same key. Tweaks take more of the device: 16 bytes for each unit of the longest message so
// far, and 16 for each 512 bytes that a unit has or begins, for each of the streams in use at once.
class PARAES_EXPORT DeviceXts final : public DeviceCipher {
 public:
  DeviceXts(const DeviceStream& stream, std::span<const std::uint8_t> key, std::size_t unit_bytes,
            const DeviceOptions& options = {});

  // Messages as ranges of two buffers, or each in memory of its own.
  DeviceWork encrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork encrypt(std::span<const DeviceText> texts, const DeviceStream& stream = {});
  DeviceWork decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork decrypt(std::span<const DeviceText> texts, const DeviceStream& stream = {});

 private:
  std::size_t unit_bytes_;
};

// Which messages of one DeviceGcm::decrypt() are authentic. Stays valid without the cipher.
class PARAES_EXPORT DeviceVerdict {
 public:
  // Whether the device has finished with decrypt(). Does not wait.
  [[nodiscard]] bool ready() const;
  // Whether the tag of message `index` matched. Synchronize the stream first: throws Error if the
  // device has not finished, InvalidArgument if there is no such message.
  [[nodiscard]] bool intact(std::size_t index) const;
  [[nodiscard]] bool all_intact() const;
  // How many messages the call had.
  [[nodiscard]] std::size_t messages() const noexcept;

  class PARAES_HIDDEN Pending;
  explicit DeviceVerdict(std::shared_ptr<const Pending> pending);

 private:
  void require_ready() const;

  std::shared_ptr<const Pending> pending_;
};

// SP 800-38D with nonces of 12 bytes and tags of 16. A text has at most 2^36 - 32 bytes (section
// 5.2.1.1).
class PARAES_EXPORT DeviceGcm final : public DeviceCipher {
 public:
  DeviceGcm(const DeviceStream& stream, std::span<const std::uint8_t> key,
            const DeviceOptions& options = {});
  DeviceGcm(const DeviceStream& stream, std::span<const std::span<const std::uint8_t>> keys,
            const DeviceOptions& options = {});

  // Encrypts and authenticates (section 7.1). Never use a nonce twice under one key (section 8.2).
  // The output buffer takes the ciphertexts and the tags.
  DeviceWork encrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                     std::span<const DeviceMessage> messages, const DeviceStream& stream = {});
  DeviceWork encrypt(std::span<const DeviceText> texts, const DeviceStream& stream = {});
  // Verifies and decrypts (section 7.2). The input buffer holds the ciphertexts and the tags. The
  // output of a message whose tag does not match is filled with zeros; later work on the stream
  // sees plaintext only if it is authentic.
  [[nodiscard]] DeviceVerdict decrypt(const DeviceBuffer& in, const DeviceBuffer& out,
                                      std::span<const DeviceMessage> messages,
                                      const DeviceStream& stream = {});
  [[nodiscard]] DeviceVerdict decrypt(std::span<const DeviceText> texts,
                                      const DeviceStream& stream = {});

  // These were the names of encrypt() and decrypt() until version 0.2.
  [[deprecated("use encrypt()")]] void seal(const DeviceBuffer& in, const DeviceBuffer& out,
                                            std::span<const DeviceMessage> messages);
  [[nodiscard, deprecated("use decrypt()")]] DeviceVerdict open(
      const DeviceBuffer& in, const DeviceBuffer& out, std::span<const DeviceMessage> messages);
};

}  // namespace paraes
