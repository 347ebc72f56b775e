// AES modes over host memory.
//
// Common to all classes here:
//   sizes      in bytes; a key has 16, 24 or 32 (FIPS 197 section 5; XTS: 32 or 64, two halves);
//   alignment  buffers need none;
//   aliasing   `out` has the size of `in`, and is `in` itself or does not overlap it. No other
//              argument overlaps `out`. Nobody else writes to any of them during a call, which
//              reads some bytes twice: copy a text from shared memory first;
//   errors     InvalidArgument if a size, key or buffer breaks a rule: nothing is written, and the
//              message names the clause where the rule is a standard's. Constructors throw
//              UnknownKernel or Unavailable for a kernel or device that cannot be used. A GPU that
//              fails is DeviceError, and a failure of libcrypto in the kernel `openssl` is Error:
//              they leave `out` unspecified;
//   threads    the object spreads its work over Execution::threads threads. BlockKey, Ecb, Xts and
//              Gcm have no state: any number of threads may use one at once. Cbc and Ctr: one
//              caller at a time;
//   secrets    round keys, hash keys and copies of keys are zeroised on destruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "paraes/devices.hpp"
#include "paraes/export.hpp"
#include "paraes/forks.hpp"
#include "paraes/phase_times.hpp"

namespace paraes {

inline constexpr std::size_t block_bytes = 16;
// An XTS data unit has at most 2^20 blocks (SP 800-38E section 4).
inline constexpr std::size_t max_xts_unit_bytes = block_bytes << 20;

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

enum class Direction { encrypt, decrypt };

// How and where the work is done.
struct Execution {
  std::string kernel = {};  // see select_kernel
  int threads = 1;          // of the CPU, up to 4096; 0: as many as available_cores()
  // "cpu", "auto" or empty for the CPU; "cuda", "hip" or "opencl" for the first GPU of a runtime,
  // "cuda:1" for another one, "cuda:0+1" for several that work as one device. "cpu+cuda:0" shares
  // out the segments of a message (SegmentCipher, Message) between the CPU and the GPU, each as
  // much as it is fast; other classes throw InvalidArgument for it. Work that a GPU
  // cannot do (CBC encryption, which is serial, and partial blocks) is done by the CPU's
  // constant-time kernel.
  std::string device = {};

  // The rest is for GPUs.
  bool allow_leaky = false;  // `auto` may select a kernel that uses lookup tables
  Transfer transfer = Transfer::staged;
  KeyExpansion key_expansion = KeyExpansion::host;
  std::uint64_t device_memory = 0;  // upper bound in bytes for each GPU; 0: its free memory
  // Threads of a group (CUDA: of a block) of the GPU's kernels, a multiple of 32 up to 1024, for
  // measurements; kernels of GHASH keep their own number. 0: the kernel's choice. Constructors
  // throw InvalidArgument for other numbers, Unavailable if the GPU cannot have such groups.
  unsigned group_threads = 0;
  GpuTuning gpu_tuning = {};
  // False: a GPU copies, computes and copies back one launch at a time. The phases of
  // take_device_times() are then disjoint, for measurements of each phase.
  bool overlap = true;
  // The CPU takes over from a GPU that is missing, lost or out of memory. In GCM and for segments
  // it does whatever the GPU has not finished; in the other modes it does everything, and only if
  // the GPU cannot be opened. All other failures are exceptions.
  bool fall_back = false;
};

namespace detail {
class HostCipher;
class BlockCipher;
class XtsCipher;
class GcmCipher;
class StagedSegments;
}  // namespace detail

// Properties that all modes have.
class PARAES_EXPORT Cipher {
 public:
  virtual ~Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  [[nodiscard]] std::string_view kernel() const noexcept;  // the selected one, never "auto"
  [[nodiscard]] std::string device() const;                // "cpu", "cuda:0", "opencl:0+1"
  [[nodiscard]] int threads() const noexcept;              // of the CPU: 1 or more

  // Why the CPU took over from the GPU (Execution::fall_back); empty if it did not.
  [[nodiscard]] std::string fallback() const;

  // Busy time of the GPUs since the last call; all zero on a CPU.
  [[nodiscard]] PhaseTimes take_device_times() const;

 protected:
  Cipher() = default;
  Cipher(Cipher&&) noexcept = default;
  Cipher& operator=(Cipher&&) noexcept = default;

 private:
  [[nodiscard]] virtual const detail::HostCipher& on_device() const noexcept = 0;
};

// An expanded key for ECB, CBC and CTR, without state: each call is a message of its own, or a part
// of one. Sizes are multiples of 16 in ECB and CBC (SP 800-38A section 5.2).
class PARAES_EXPORT BlockKey final : public Cipher {
 public:
  explicit BlockKey(Bytes key, const Execution& execution = {});

  // Section 6.1, for tests and measurements: see Ecb.
  void ecb_encrypt(Bytes in, MutableBytes out) const;
  void ecb_decrypt(Bytes in, MutableBytes out) const;

  // Section 6.2. iv: 16 bytes, unpredictable and new for each message; or the ciphertext block
  // before `in`, which continues a message.
  void cbc_encrypt(Bytes iv, Bytes in, MutableBytes out) const;
  void cbc_decrypt(Bytes iv, Bytes in, MutableBytes out) const;

  // Section 6.5, in both directions. counter: 16 bytes, the block with which the stream begins.
  // offset: of `in` in this stream, which has at most 2^64 - 1 bytes. The same bytes of a stream
  // never encrypt two texts.
  void ctr(Bytes counter, std::uint64_t offset, Bytes in, MutableBytes out) const;

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
};

// SP 800-38A section 6.1. Equal plaintext blocks give equal ciphertext blocks: use it for tests and
// measurements only.
class PARAES_EXPORT Ecb final : public Cipher {
 public:
  explicit Ecb(Bytes key, const Execution& execution = {});

  // in.size() is a multiple of 16; zero is allowed (SP 800-38A section 5.2).
  void encrypt(Bytes in, MutableBytes out);
  void decrypt(Bytes in, MutableBytes out);

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
};

// SP 800-38A section 6.2, without padding: sizes are multiples of 16. Successive calls continue one
// message. Encryption is serial, because each block needs the one before it; decryption is
// parallel.
class PARAES_EXPORT Cbc final : public Cipher {
 public:
  Cbc(Bytes key, Bytes iv, const Execution& execution = {});  // iv: 16 bytes

  void encrypt(Bytes in, MutableBytes out);  // not in a child process: see forks.hpp
  void decrypt(Bytes in, MutableBytes out);  // continues the message, in any process
  void reset(Bytes iv);                      // starts a new message, of this process; iv: 16 bytes

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
  std::array<std::uint8_t, block_bytes> chain_{};
  OwnerProcess owner_;
};

// SP 800-38A section 6.5; the whole 16-byte block is a big-endian counter modulo 2^128. Encryption
// and decryption are the same operation. Successive calls of any size continue one stream of up to
// 2^64 - 1 bytes.
class PARAES_EXPORT Ctr final : public Cipher {
 public:
  Ctr(Bytes key, Bytes counter, const Execution& execution = {});  // counter: 16 bytes

  void process(Bytes in, MutableBytes out);  // not in a child process: see forks.hpp
  void seek(std::uint64_t offset);           // process continues at byte `offset` of the stream
  void reset(Bytes counter);  // starts another stream, of this process; counter: 16 bytes

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
  std::array<std::uint8_t, block_bytes> initial_{};
  std::uint64_t offset_ = 0;
  OwnerProcess owner_;
};

// SP 800-38E (IEEE 1619) with ciphertext stealing. A message is a sequence of data units of
// `unit_bytes` bytes (16 to 2^24). Unit u has the tweak `first_unit` + u, a 16-byte little-endian
// integer modulo 2^128. The last unit may be shorter; a remainder of less than 16 bytes belongs to
// the unit before it.
class PARAES_EXPORT Xts final : public Cipher {
 public:
  // key: 32 bytes (AES-128) or 64 (AES-256), in two halves that differ (FIPS 140-3 IG C.I).
  // unit_bytes = 0: every call is one data unit.
  explicit Xts(Bytes key, std::size_t unit_bytes = 4096, const Execution& execution = {});

  // first_unit: 16 bytes. in: at least 16 bytes (IEEE 1619 section 5.1), and no unit larger than
  // max_xts_unit_bytes.
  void encrypt(Bytes first_unit, Bytes in, MutableBytes out);
  void decrypt(Bytes first_unit, Bytes in, MutableBytes out);

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::XtsCipher> cipher_;
  std::size_t unit_bytes_;
};

// One of several messages of a call: see Gcm, whose rules hold for each.
struct GcmText {
  Bytes nonce;
  Bytes aad = {};
  Bytes in;
  MutableBytes out;
  MutableBytes tag = {};    // encrypt writes it
  Bytes expected_tag = {};  // decrypt compares it
  bool intact = false;      // set by decrypt, false for all if it throws; if not, `out` is zero
};

// One of several messages of a call, with a key of its own.
struct KeyedGcmText {
  Bytes key;  // 16, 24 or 32 bytes
  GcmText text;
};

// SP 800-38D. Associated data has at most 2^61 - 1 bytes, and a text at most 2^36 - 32 (section
// 5.2.1.1).
class PARAES_EXPORT Gcm final : public Cipher {
 public:
  explicit Gcm(Bytes key, const Execution& execution = {});

  // nonce: 8 bytes or more, at most 2^61 - 1, never used twice under one key (section 8); use 12.
  // One of another size is hashed (section 7.1, step 2). tag: 16 bytes.
  void encrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag);

  // nonce: 1 to 2^61 - 1 bytes; tag: 4, 8, 12, 13, 14, 15 or 16 bytes (section 5.2.1.2). If the tag
  // does not match, fills `out` with zeros and throws IntegrityError.
  void decrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, Bytes tag);

  // Takes pointers, for other languages, which call this one. nullptr means no bytes; with a size,
  // it is InvalidArgument. out: `bytes` bytes; tag, when encrypting: 16.
  void encrypt(const std::uint8_t* nonce, std::size_t nonce_bytes, const std::uint8_t* aad,
               std::size_t aad_bytes, const std::uint8_t* in, std::size_t bytes, std::uint8_t* out,
               std::uint8_t* tag) const;
  void decrypt(const std::uint8_t* nonce, std::size_t nonce_bytes, const std::uint8_t* aad,
               std::size_t aad_bytes, const std::uint8_t* in, std::size_t bytes, std::uint8_t* out,
               const std::uint8_t* tag, std::size_t tag_bytes) const;

  // Many messages in one call. A CPU interleaves short ones with nonces of 12 bytes, tags of 16 and
  // no associated data. All arguments are checked before anything is written. No `out` or tag
  // overlaps what another message has.
  void encrypt(std::span<GcmText> texts);
  void decrypt(std::span<GcmText> texts);

  // Takes a key for each message, which the call expands and forgets: for keys that are used once.
  // Short messages with nonces of 12 bytes have their keys expanded several at a time, as far as
  // they need them, if the kernel has AES instructions; each other message has an object made for
  // it. No key overlaps an `out` or a tag. Of `execution`, kernel and threads count. Throws what a
  // constructor throws, also for the device: it is the CPU, and nothing falls back.
  static void encrypt_keyed(std::span<KeyedGcmText> texts, const Execution& execution = {});
  static void decrypt_keyed(std::span<KeyedGcmText> texts, const Execution& execution = {});

 private:
  [[nodiscard]] const detail::HostCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::GcmCipher> cipher_;
};

}  // namespace paraes
