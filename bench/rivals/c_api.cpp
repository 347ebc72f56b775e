// paraes itself through paraes.h: what the C API adds to a call. With the kernel that it selects.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/case.hpp"
#include "bench/rivals/rivals.hpp"
#include "paraes.h"
#include "paraes/error.hpp"

namespace paraes::bench {
namespace {

void check(int code) {
  if (code != PARAES_OK) throw Error(paraes_error_message());
}

template <class Handle, void (*release)(Handle*)>
struct Release {
  void operator()(Handle* handle) const noexcept { release(handle); }
};
using GcmHandle = std::unique_ptr<paraes_gcm_key, Release<paraes_gcm_key, paraes_gcm_key_free>>;
using BlockHandle =
    std::unique_ptr<paraes_block_key, Release<paraes_block_key, paraes_block_key_free>>;
using XtsHandle = std::unique_ptr<paraes_xts_key, Release<paraes_xts_key, paraes_xts_key_free>>;

// One message. As in ours.cpp, run(handle, in, bytes, out, tag) computes it, so that a row of
// either has the same around its call.
template <class Handle, class Run>
class CMessage : public Implementation {
 public:
  CMessage(Handle handle, std::size_t bytes, const Run& run)
      : handle_(std::move(handle)), bytes_(bytes), run_(run) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    check(run_(handle_.get(), in, bytes_, out, tag));
  }

 private:
  Handle handle_;
  std::size_t bytes_;
  Run run_;
};

template <class Handle, class Run>
std::unique_ptr<Implementation> c_message(Handle handle, const Job& job, const Run& run) {
  return std::make_unique<CMessage<Handle, Run>>(std::move(handle),
                                                 static_cast<std::size_t>(job.bytes), run);
}

// Many messages in one call. It fills their list, too, since programs have other buffers in each.
class CMessages : public Implementation {
 public:
  CMessages(GcmHandle gcm, const Job& job)
      : gcm_(std::move(gcm)), encrypts_(job.direction == Direction::encrypt) {
    const Messages messages(job);
    nonces_.resize(messages.count);
    list_.resize(messages.count);
    for (std::uint64_t i = 0; i < messages.count; ++i) {
      nonces_[i] = segment_nonce(i);
      offsets_.push_back(messages.offset(i));
      list_[i].nonce = nonces_[i].data();
      list_[i].nonce_bytes = nonces_[i].size();
      list_[i].bytes = messages.size(i);
      list_[i].tag_bytes = tag_bytes;
    }
  }

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* /*tag*/) override {
    for (std::uint64_t i = 0; i < list_.size(); ++i) {
      const std::uint64_t at = offsets_[i];
      list_[i].in = in + at;
      list_[i].out = out + at;
      // Decryption only reads it.
      list_[i].tag = const_cast<std::uint8_t*>(encrypts_ ? out : in) + at + list_[i].bytes;
    }
    check((encrypts_ ? paraes_gcm_encrypt_many : paraes_gcm_decrypt_many)(
        gcm_.get(), list_.data(), list_.size(), sizeof(paraes_gcm_message)));
  }

 private:
  GcmHandle gcm_;
  bool encrypts_;
  std::vector<std::array<std::uint8_t, 12>> nonces_;
  std::vector<std::uint64_t> offsets_;
  std::vector<paraes_gcm_message> list_;
};

// make(&handle, key, its bytes, more…) makes the handle.
template <class Handle, class Make, class... More>
Handle new_key(Make make, const Job& job, More... more) {
  typename Handle::pointer made = nullptr;
  check(make(&made, material().key.data(), key_bytes(job), more...));
  return Handle(made);
}

std::unique_ptr<Implementation> make_c(const Job& job) {
  if (job.keys != Keys::one) throw Skip("paraes-c: one key for all messages");
  if (job.offset != 0) throw Skip("paraes-c: whole messages only");
  paraes_execution execution = PARAES_EXECUTION;
  execution.threads = job.threads == 0 ? PARAES_ALL_CORES : static_cast<unsigned>(job.threads);
  if (job.message != 0)
    return std::make_unique<CMessages>(new_key<GcmHandle>(paraes_gcm_key_new, job, &execution),
                                       job);
  const bool encrypts = job.direction == Direction::encrypt;
  switch (job.mode.value()) {
    case Mode::ecb:
      return c_message(new_key<BlockHandle>(paraes_block_key_new, job, &execution), job,
                       [=](const paraes_block_key* key, const std::uint8_t* in, std::size_t bytes,
                           std::uint8_t* out, std::uint8_t*) {
                         return encrypts ? paraes_ecb_encrypt(key, in, bytes, out)
                                         : paraes_ecb_decrypt(key, in, bytes, out);
                       });
    case Mode::cbc:
      return c_message(new_key<BlockHandle>(paraes_block_key_new, job, &execution), job,
                       [=](const paraes_block_key* key, const std::uint8_t* in, std::size_t bytes,
                           std::uint8_t* out, std::uint8_t*) {
                         const std::uint8_t* const iv = material().iv.data();
                         return encrypts ? paraes_cbc_encrypt(key, iv, in, bytes, out)
                                         : paraes_cbc_decrypt(key, iv, in, bytes, out);
                       });
    case Mode::ctr:
      return c_message(new_key<BlockHandle>(paraes_block_key_new, job, &execution), job,
                       [](const paraes_block_key* key, const std::uint8_t* in, std::size_t bytes,
                          std::uint8_t* out, std::uint8_t*) {
                         return paraes_ctr(key, material().iv.data(), 0, in, bytes, out);
                       });
    case Mode::xts:
      return c_message(new_key<XtsHandle>(paraes_xts_key_new, job, job.unit, &execution), job,
                       [encrypts, first = xts_tweak(first_unit(job))](
                           const paraes_xts_key* key, const std::uint8_t* in, std::size_t bytes,
                           std::uint8_t* out, std::uint8_t*) {
                         return encrypts ? paraes_xts_encrypt(key, first.data(), in, bytes, out)
                                         : paraes_xts_decrypt(key, first.data(), in, bytes, out);
                       });
    case Mode::gcm:
      break;
  }
  return c_message(new_key<GcmHandle>(paraes_gcm_key_new, job, &execution), job,
                   [=](const paraes_gcm_key* key, const std::uint8_t* in, std::size_t bytes,
                       std::uint8_t* out, std::uint8_t* tag) {
                     const auto& nonce = material().nonce;
                     return encrypts ? paraes_gcm_encrypt(key, nonce.data(), nonce.size(), nullptr,
                                                          0, in, bytes, out, tag)
                                     : paraes_gcm_decrypt(key, nonce.data(), nonce.size(), nullptr,
                                                          0, in, bytes, out, tag, tag_bytes);
                   });
}

}  // namespace

MemoryRival c_api_rival() {
  return {"paraes-c", "paraes, by paraes.h", make_c, [] { return std::string(paraes_version()); }};
}

}  // namespace paraes::bench
