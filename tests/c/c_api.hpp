// The handles of paraes.h as objects that free them, and expectations about codes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "paraes.h"
#include "tests/support/buffers.hpp"

namespace paraes::support {

template <class Handle, void (*release)(Handle*)>
struct Release {
  void operator()(Handle* handle) const noexcept { release(handle); }
};

using GcmHandle = std::unique_ptr<paraes_gcm_key, Release<paraes_gcm_key, paraes_gcm_key_free>>;
using BlockHandle =
    std::unique_ptr<paraes_block_key, Release<paraes_block_key, paraes_block_key_free>>;
using XtsHandle = std::unique_ptr<paraes_xts_key, Release<paraes_xts_key, paraes_xts_key_free>>;
using SecretHandle = std::unique_ptr<paraes_secret, Release<paraes_secret, paraes_secret_free>>;
using EncryptorHandle =
    std::unique_ptr<paraes_encryptor, Release<paraes_encryptor, paraes_encryptor_free>>;
using DecryptorHandle =
    std::unique_ptr<paraes_decryptor, Release<paraes_decryptor, paraes_decryptor_free>>;
using ReaderHandle = std::unique_ptr<paraes_reader, Release<paraes_reader, paraes_reader_free>>;
using WriterHandle = std::unique_ptr<paraes_writer, Release<paraes_writer, paraes_writer_free>>;

// Success, or what the error says.
inline testing::AssertionResult done(int code) {
  if (code == PARAES_OK) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "code " << code << ": " << paraes_error_message();
}

// Whether a call failed with this code, and said so.
inline testing::AssertionResult failed_with(int expected, int code) {
  if (code != expected) {
    return testing::AssertionFailure() << "code " << code << ", not " << expected << ": "
                                       << (code == PARAES_OK ? "" : paraes_error_message());
  }
  if (paraes_error_code() != code || std::string(paraes_error_message()).empty()) {
    return testing::AssertionFailure() << "the last error is not noted";
  }
  return testing::AssertionSuccess();
}

#define EXPECT_DONE(call) EXPECT_TRUE(::paraes::support::done(call))
#define ASSERT_DONE(call) ASSERT_TRUE(::paraes::support::done(call))
#define EXPECT_FAILS(code, call) EXPECT_TRUE(::paraes::support::failed_with(code, call))

// The arguments that a value stands for: data and size of a range, a handle, or itself.
template <class Value>
auto arguments_of(Value&& value) {
  if constexpr (requires { value.size(); }) {
    return std::tuple(value.data(), value.size());
  } else if constexpr (requires { value.get(); }) {
    return std::tuple(value.get());
  } else {
    return std::tuple(std::forward<Value>(value));
  }
}

template <class Function, class... Values>
auto call(const Function& function, Values&&... values) {
  return std::apply(function, std::tuple_cat(arguments_of(std::forward<Values>(values))...));
}

inline GcmHandle new_gcm(const Buffer& key, const paraes_execution* execution = nullptr) {
  paraes_gcm_key* made = nullptr;
  EXPECT_DONE(call(paraes_gcm_key_new, &made, key, execution));
  return GcmHandle(made);
}

inline BlockHandle new_block(const Buffer& key) {
  paraes_block_key* made = nullptr;
  EXPECT_DONE(call(paraes_block_key_new, &made, key, nullptr));
  return BlockHandle(made);
}

inline XtsHandle new_xts(const Buffer& key, std::size_t unit_bytes) {
  paraes_xts_key* made = nullptr;
  EXPECT_DONE(call(paraes_xts_key_new, &made, key, unit_bytes, nullptr));
  return XtsHandle(made);
}

inline SecretHandle new_secret(const paraes_secret_options& options) {
  paraes_secret* made = nullptr;
  EXPECT_DONE(paraes_secret_new(&made, &options));
  return SecretHandle(made);
}

inline SecretHandle key_secret(const Buffer& key, const char* format = nullptr) {
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  options.key = key.data();
  options.key_bytes = key.size();
  options.format = format;
  return new_secret(options);
}

inline Buffer seal(const paraes_secret* secret, Bytes plain) {
  Buffer sealed(paraes_seal_bound(secret, plain.size()));
  std::size_t written = 0;
  EXPECT_DONE(call(paraes_seal, secret, plain, sealed, &written, nullptr));
  sealed.resize(written);
  return sealed;
}

inline Buffer unseal(const paraes_secret* secret, Bytes sealed) {
  Buffer plain(sealed.size());
  std::size_t written = 0;
  EXPECT_DONE(call(paraes_unseal, secret, sealed, plain, &written, nullptr));
  plain.resize(written);
  return plain;
}

}  // namespace paraes::support
