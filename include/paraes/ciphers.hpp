// AES modes over host memory.
//
// Common to all classes here:
//   sizes      are bytes; keys are 16, 24 or 32 bytes (XTS: 32 or 64, two halves);
//   alignment  none is needed, and any works;
//   aliasing   `out` is `in` itself or does not overlap it; a partial overlap is InvalidArgument;
//   errors     InvalidArgument names the clause of the standard; nothing is written then;
//   threads    one object serves one caller at a time; with Execution::threads > 1 it spreads the
//              work itself;
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
#include "paraes/phase_times.hpp"

namespace paraes {

inline constexpr std::size_t block_bytes = 16;
// An XTS data unit has at most 2^20 blocks (SP 800-38E section 4).
inline constexpr std::size_t max_xts_unit_bytes = block_bytes << 20;

using Bytes = std::span<const std::uint8_t>;
using MutableBytes = std::span<std::uint8_t>;

enum class Direction { encrypt, decrypt };

// How the work is done: which kernel (see select_kernel), on how many threads (0: every core that
// this process may use), and on which device.
//
// device: empty, "auto" or "cpu"; or GPUs: "cuda", "hip" or "opencl", with ":N" or ":N+M" (several
// as one). The rest is for GPUs. What a GPU has no part in (ends of a message that are no whole
// block, CBC encryption, which is serial) the CPU does with its own constant-time kernel.
struct Execution {
  std::string kernel = {};
  int threads = 1;
  std::string device = {};
  bool allow_leaky = false;  // let `auto` take a kernel that looks tables up
  Transfer transfer = Transfer::staged;
  KeyExpansion key_expansion = KeyExpansion::host;
  std::uint64_t device_memory = 0;  // bytes to use on each GPU at most; 0: what is free
  // Off: a GPU copies, computes and copies back one launch at a time, so that the phases of
  // take_device_times() are disjoint, as in the papers.
  bool overlap = true;
  // What a GPU fails to do (it is missing, lost, or out of memory), the CPU does: of GCM and of
  // segments, whatever had not arrived; of the other modes, all if the GPU cannot be opened.
  // Without it, failures are exceptions.
  bool fall_back = false;
};

namespace detail {
class DeviceCipher;
class BlockCipher;
class XtsCipher;
class GcmCipher;
}  // namespace detail

// What every mode object can say of itself.
class Cipher {
 public:
  virtual ~Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  [[nodiscard]] std::string_view kernel() const noexcept;  // the one that runs, never "auto"
  [[nodiscard]] std::string device() const;                // "cpu", "cuda:0", "opencl:0+1"
  [[nodiscard]] int threads() const noexcept;

  // Why the CPU did something in place of GPUs, with Execution::fall_back; empty if it did not.
  [[nodiscard]] std::string fallback() const;

  // What GPUs have spent on it since the last call; all zero on a CPU.
  [[nodiscard]] PhaseTimes take_device_times() const;

 protected:
  Cipher() = default;
  Cipher(Cipher&&) noexcept = default;
  Cipher& operator=(Cipher&&) noexcept = default;

 private:
  [[nodiscard]] virtual const detail::DeviceCipher& on_device() const noexcept = 0;
};

// SP 800-38A section 6.1. Equal blocks show: for tests and for the laboratory.
class Ecb final : public Cipher {
 public:
  explicit Ecb(Bytes key, const Execution& execution = {});

  // in.size() is a multiple of 16 and equals out.size(); zero is fine.
  void encrypt(Bytes in, MutableBytes out);
  void decrypt(Bytes in, MutableBytes out);

 private:
  [[nodiscard]] const detail::DeviceCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
};

// SP 800-38A section 6.2, without padding. Successive calls continue one message. Encryption is
// serial by definition (each block needs the one before); decryption is parallel.
class Cbc final : public Cipher {
 public:
  Cbc(Bytes key, Bytes iv, const Execution& execution = {});  // iv: 16 bytes

  void encrypt(Bytes in, MutableBytes out);
  void decrypt(Bytes in, MutableBytes out);
  void reset(Bytes iv);  // starts a new message

 private:
  [[nodiscard]] const detail::DeviceCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
  std::array<std::uint8_t, block_bytes> chain_{};
};

// SP 800-38A section 6.5 with the whole 16-byte block as a big-endian counter modulo 2^128.
// Encryption and decryption are the same. Successive calls of any length continue one stream.
class Ctr final : public Cipher {
 public:
  Ctr(Bytes key, Bytes counter, const Execution& execution = {});  // counter: 16 bytes

  void process(Bytes in, MutableBytes out);
  void seek(std::uint64_t offset);  // the next byte processed is at `offset` of the stream

 private:
  [[nodiscard]] const detail::DeviceCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::BlockCipher> cipher_;
  std::array<std::uint8_t, block_bytes> initial_{};
  std::uint64_t offset_ = 0;
};

// SP 800-38E (IEEE 1619) with ciphertext stealing. A message is a run of data units of
// `unit_bytes` bytes (16 to 2^24); unit u has the tweak `first_unit` + u, a 16-byte little-endian
// integer modulo 2^128. The last unit may be shorter; a rest of under 16 bytes is joined to the
// unit before it.
class Xts final : public Cipher {
 public:
  // key: 32 bytes (AES-128) or 64 (AES-256), halves that differ (SP 800-38E, FIPS 140-3 IG C.I).
  // unit_bytes = 0: every call is one data unit.
  explicit Xts(Bytes key, std::size_t unit_bytes = 4096, const Execution& execution = {});

  // At least 16 bytes; a unit at most max_xts_unit_bytes.
  void encrypt(Bytes first_unit, Bytes in, MutableBytes out);
  void decrypt(Bytes first_unit, Bytes in, MutableBytes out);

 private:
  [[nodiscard]] const detail::DeviceCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::XtsCipher> cipher_;
  std::size_t unit_bytes_;
};

// SP 800-38D.
class Gcm final : public Cipher {
 public:
  explicit Gcm(Bytes key, const Execution& execution = {});

  // nonce: 12 bytes, never twice under one key; tag: 16 bytes; in: at most 2^36 - 32 bytes
  // (section 5.2.1.1).
  void encrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, MutableBytes tag);

  // nonce: 1 byte or more; tag: 4, 8, 12, 13, 14, 15 or 16 bytes (section 5.2.1.2). Throws
  // IntegrityError if the tag does not match; `out` is all zero then.
  void decrypt(Bytes nonce, Bytes aad, Bytes in, MutableBytes out, Bytes tag);

 private:
  [[nodiscard]] const detail::DeviceCipher& on_device() const noexcept override;

  std::shared_ptr<const detail::GcmCipher> cipher_;
};

}  // namespace paraes
