// Intel Multi-Buffer Crypto for IPsec, by the fastest interface that it has for one buffer. CTR and
// CBC use the synchronous cipher burst with one job, ECB, which has no bursts in version 1.3, the
// unchecked job interface, and GCM the direct functions. In 1.3.0 these are faster than bursts and
// jobs for many small GCM messages, too, with one key and with a key each; imb_quic_aes_gcm, which
// later versions have, is a loop around them.
#include "bench/rivals/rivals.hpp"
#include "bench/rivals/split.hpp"

#ifdef PARAES_HAVE_IPSEC_MB

#include <intel-ipsec-mb.h>

#include "bench/harness/open_library.hpp"
#include "src/kernels/cpu_features.hpp"

namespace paraes::bench {
namespace {

struct IpsecMbFunctions {
  // Its soname has the major version of the header.
  DynamicLibrary library =
      open_library(("libIPSec_MB.so." + std::to_string(IMB_VERSION_NUM >> 16)).c_str());
  decltype(&alloc_mb_mgr) alloc = LibraryFunction{library, "alloc_mb_mgr"};
  decltype(&free_mb_mgr) free = LibraryFunction{library, "free_mb_mgr"};
  decltype(&init_mb_mgr_sse) init_sse = LibraryFunction{library, "init_mb_mgr_sse"};
  decltype(&init_mb_mgr_avx2) init_avx2 = LibraryFunction{library, "init_mb_mgr_avx2"};
  decltype(&init_mb_mgr_avx512) init_avx512 = LibraryFunction{library, "init_mb_mgr_avx512"};
  decltype(&imb_get_version_str) version_text = LibraryFunction{library, "imb_get_version_str"};
  decltype(&imb_get_version) version = LibraryFunction{library, "imb_get_version"};

  IpsecMbFunctions() {
    // The manager is a table of functions, laid out as in the header. Another minor version may
    // have another layout.
    if (version() >> 8 != IMB_VERSION_NUM >> 8) {
      throw Skip(std::string("built for ipsec-mb ") + IMB_VERSION_STR + ", but " + version_text() +
                 " is installed");
    }
  }
};

const IpsecMbFunctions& functions() {
  static const IpsecMbFunctions table;
  return table;
}

struct FreeManager {
  void operator()(IMB_MGR* manager) const { functions().free(manager); }
};
using Manager = std::unique_ptr<IMB_MGR, FreeManager>;

const char* arch_name(IMB_ARCH arch) {
  switch (arch) {
    case IMB_ARCH_SSE:
      return "SSE";
#if IMB_VERSION_NUM < IMB_VERSION(2, 0, 0)  // which has no code for AVX alone
    case IMB_ARCH_AVX:
      return "AVX";
#endif
    case IMB_ARCH_AVX2:
      return "AVX2";
    case IMB_ARCH_AVX512:
      return "AVX512";
    default:
      return "unknown";
  }
}

Manager make_manager(IMB_ARCH& arch) {
  Manager manager(functions().alloc(0));
  if (!manager) throw Skip("ipsec-mb: not enough memory for a manager");
  // Chooses as its init_mb_mgr_auto() does, but PARAES_CPU_MASK limits both sides.
  const CpuFeatureSet features = usable_cpu_features();
  if (features.has(CpuFeature::avx512bw)) {
    arch = IMB_ARCH_AVX512;
    functions().init_avx512(manager.get());
  } else if (features.has(CpuFeature::avx2)) {
    arch = IMB_ARCH_AVX2;
    functions().init_avx2(manager.get());
  } else if (features.has(CpuFeature::aes)) {
    arch = IMB_ARCH_SSE;
    functions().init_sse(manager.get());
  } else {
    throw Skip("ipsec-mb does not support this processor");
  }
  return manager;
}

struct Keys {
  alignas(64) std::uint8_t encrypt[15 * 16];
  alignas(64) std::uint8_t decrypt[15 * 16];
};

struct GcmKeyData {
  alignas(64) gcm_key_data data;
};

class IpsecMb : public Implementation {
 public:
  explicit IpsecMb(const Job& job) : job_(job), split_(job, "ipsec-mb") {
    if (job.mode == Mode::xts) throw Skip("ipsec-mb has no XTS");
    IMB_ARCH arch = IMB_ARCH_NONE;
    for (unsigned r = 0; r < split_.ranges(); ++r) managers_.push_back(make_manager(arch));
    if (job.mode != Mode::gcm) {
      expand(keys_);
      return;
    }
    pick_gcm();
    gcm_keys_.resize(split_.key_states());
    for (std::uint64_t s = 0; s < gcm_keys_.size(); ++s) {
      expand_gcm_(split_.key_of(s).data(), &gcm_keys_[s].data);
    }
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    if (job_.mode == Mode::gcm) {
      split_.each_message(in, out, tag, [&](unsigned r, const Split::GcmMessage& message) {
        gcm_key_data& key = gcm_keys_[split_.state_of(r, message)].data;
        if (message.key != nullptr) expand_gcm_(message.key, &key);
        gcm(key, message);
      });
      return;
    }
    split_.run(
        in, [&](unsigned r, std::uint64_t from, std::uint64_t bytes, const std::uint8_t* iv) {
          IMB_MGR* manager = managers_[r].get();
          if (job_.mode == Mode::ecb) {
            IMB_JOB* slot = IMB_GET_NEXT_JOB(manager);
            fill(*slot, in + from, out + from, bytes, iv);
            IMB_JOB* done = IMB_SUBMIT_JOB_NOCHECK(manager);
            if (done == nullptr) done = IMB_FLUSH_JOB(manager);
            check(done != nullptr && done->status == IMB_STATUS_COMPLETED);
          } else if (job_.mode == Mode::cbc && encrypts()) {
            // CBC encryption counts the bytes of a job in 16 bits.
            for (std::uint64_t at = from; at < from + bytes; at += cbc_job_bytes) {
              burst(manager, in + at, out + at, std::min(cbc_job_bytes, from + bytes - at), iv);
              iv = out + at + cbc_job_bytes - 16;
            }
          } else {
            burst(manager, in + from, out + from, bytes, iv);
          }
        });
  }

  bool expand_key() override {
    if (job_.mode == Mode::gcm) {
      expand_gcm_(material().key.data(), &spare_gcm_.data);
    } else {
      expand(spare_);
    }
    return true;
  }

 private:
  static constexpr std::uint64_t cbc_job_bytes = 32768;

  static void check(bool done) {
    if (!done) throw std::runtime_error("ipsec-mb did not complete the job");
  }

  [[nodiscard]] bool encrypts() const { return job_.direction == Direction::encrypt; }

  [[nodiscard]] IMB_KEY_SIZE_BYTES key_size() const {
    return static_cast<IMB_KEY_SIZE_BYTES>(job_.key_bits / 8);
  }

  // The row of this size of the key.
  template <class T>
  [[nodiscard]] const T& of_key_size(const T (&rows)[3]) const {
    return rows[(job_.key_bits - 128) / 64];
  }

  void expand(Keys& keys) {
    const IMB_MGR& m = *managers_.front();
    const keyexp_t expands[] = {m.keyexp_128, m.keyexp_192, m.keyexp_256};
    of_key_size(expands)(material().key.data(), keys.encrypt, keys.decrypt);
  }

  void pick_gcm() {
    const IMB_MGR& m = *managers_.front();
    const aes_gcm_enc_dec_t encrypt[] = {m.gcm128_enc, m.gcm192_enc, m.gcm256_enc};
    const aes_gcm_enc_dec_t decrypt[] = {m.gcm128_dec, m.gcm192_dec, m.gcm256_dec};
    const aes_gcm_pre_t expand[] = {m.gcm128_pre, m.gcm192_pre, m.gcm256_pre};
    gcm_ = of_key_size(encrypts() ? encrypt : decrypt);
    expand_gcm_ = of_key_size(expand);
  }

  void fill(IMB_JOB& work, const std::uint8_t* in, std::uint8_t* out, std::uint64_t bytes,
            const std::uint8_t* iv) const {
    const bool ecb = job_.mode == Mode::ecb;
    work.enc_keys = keys_.encrypt;
    work.dec_keys = keys_.decrypt;
    work.key_len_in_bytes = static_cast<std::uint64_t>(job_.key_bits / 8);
    work.src = in;
    work.dst = out;
    work.cipher_start_src_offset_in_bytes = 0;
    work.msg_len_to_cipher_in_bytes = bytes;
    work.iv = ecb ? nullptr : iv;
    work.iv_len_in_bytes = ecb ? 0 : 16;
    work.cipher_mode = ecb                      ? IMB_CIPHER_ECB
                       : job_.mode == Mode::cbc ? IMB_CIPHER_CBC
                                                : IMB_CIPHER_CNTR;
    work.cipher_direction = encrypts() ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
    work.hash_alg = IMB_AUTH_NULL;
    work.chain_order = encrypts() ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
    work.status = IMB_STATUS_BEING_PROCESSED;
  }

  void burst(IMB_MGR* manager, const std::uint8_t* in, std::uint8_t* out, std::uint64_t bytes,
             const std::uint8_t* iv) const {
    IMB_JOB work;
    fill(work, in, out, bytes, iv);
    const std::uint32_t done = IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager, &work, 1, work.cipher_mode,
                                                               work.cipher_direction, key_size());
    check(done == 1 && work.status == IMB_STATUS_COMPLETED);
  }

  void gcm(const gcm_key_data& key, const Split::GcmMessage& message) const {
    gcm_context_data context;
    std::uint8_t computed[16];
    gcm_(&key, &context, message.out, message.in, message.bytes, message.nonce, nullptr, 0,
         encrypts() ? message.tag : computed, 16);
    if (!encrypts() && std::memcmp(message.tag, computed, 16) != 0) {
      throw std::runtime_error("ipsec-mb: the GCM tag does not match");
    }
  }

  Job job_;
  Split split_;
  Keys keys_{};
  Keys spare_{};
  std::vector<GcmKeyData> gcm_keys_;
  GcmKeyData spare_gcm_{};
  std::vector<Manager> managers_;
  aes_gcm_enc_dec_t gcm_ = nullptr;
  aes_gcm_pre_t expand_gcm_ = nullptr;
};

std::string ipsec_mb_version() try {
  IMB_ARCH arch = IMB_ARCH_NONE;
  (void)make_manager(arch);
  return std::string(functions().version_text()) + " " + arch_name(arch);
} catch (const Skip&) {
  return {};
}

}  // namespace

MemoryRival ipsec_mb_rival() {
  return {"ipsec-mb", "ipsec-mb", [](const Job& job) { return std::make_unique<IpsecMb>(job); },
          ipsec_mb_version};
}

}  // namespace paraes::bench

#else

paraes::bench::MemoryRival paraes::bench::ipsec_mb_rival() {
  return absent_rival("ipsec-mb", "built without the headers of libipsec-mb 1.2 or later");
}

#endif
