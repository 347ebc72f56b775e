#include "tests/support/operations.hpp"

#include <utility>

#include "tests/support/buffers.hpp"

namespace paraes::support {
namespace {

constexpr std::size_t aes_keys[] = {16, 24, 32};
constexpr std::size_t xts_keys[] = {32, 64};

// A task that encrypts `plain` to `cipher`, or decrypts `cipher` to `plain`.
Task directed(Direction direction, Buffer key, Buffer iv, Buffer plain, Buffer cipher) {
  Task task;
  task.key = std::move(key);
  task.iv = std::move(iv);
  const bool encrypting = direction == Direction::encrypt;
  task.in = encrypting ? plain : cipher;
  task.out = encrypting ? std::move(cipher) : std::move(plain);
  return task;
}

template <class Cipher, class... Arguments>
void crypt(Direction direction, Cipher cipher, const Arguments&... arguments) {
  direction == Direction::encrypt ? cipher.encrypt(arguments...) : cipher.decrypt(arguments...);
}

Task prepare_ecb(Direction direction, std::size_t bytes, std::size_t key_bytes) {
  Buffer key = make_key(key_bytes);
  Buffer plain = pattern(bytes);
  Buffer cipher = evp_ecb(Direction::encrypt, key, plain);
  return directed(direction, std::move(key), {}, std::move(plain), std::move(cipher));
}

void run_ecb(Direction direction, const Execution& execution, const Inputs& inputs, Bytes in,
             MutableBytes out, MutableBytes) {
  crypt(direction, Ecb(inputs.key, execution), in, out);
}

Task prepare_cbc(Direction direction, std::size_t bytes, std::size_t key_bytes) {
  Buffer key = make_key(key_bytes, 2);
  Buffer iv = pattern(16, 200);
  Buffer plain = pattern(bytes);
  Buffer cipher = evp_cbc(Direction::encrypt, key, iv, plain);
  return directed(direction, std::move(key), std::move(iv), std::move(plain), std::move(cipher));
}

void run_cbc(Direction direction, const Execution& execution, const Inputs& inputs, Bytes in,
             MutableBytes out, MutableBytes) {
  crypt(direction, Cbc(inputs.key, inputs.iv, execution), in, out);
}

// The low 32 bits of the counter wrap within the longer messages.
Task prepare_ctr(Direction direction, std::size_t bytes, std::size_t key_bytes) {
  Buffer key = make_key(key_bytes, 3);
  Buffer iv = pattern(16, 100);
  iv[12] = iv[13] = iv[14] = 0xff;
  iv[15] = 0xce;
  Buffer plain = pattern(bytes);
  Buffer cipher = evp_ctr(key, iv, plain);
  return directed(direction, std::move(key), std::move(iv), std::move(plain), std::move(cipher));
}

void run_ctr(Direction, const Execution& execution, const Inputs& inputs, Bytes in,
             MutableBytes out, MutableBytes) {
  Ctr(inputs.key, inputs.iv, execution).process(in, out);
}

template <std::size_t Unit>
Task prepare_xts(Direction direction, std::size_t bytes, std::size_t key_bytes) {
  Buffer key = make_key(key_bytes, 4);
  Buffer iv = pattern(16, 240);
  iv[0] = 0xfe;  // the number of the third unit carries
  Buffer plain = pattern(bytes);
  Buffer cipher = evp_xts(Direction::encrypt, key, iv, Unit, plain);
  return directed(direction, std::move(key), std::move(iv), std::move(plain), std::move(cipher));
}

template <std::size_t Unit>
void run_xts(Direction direction, const Execution& execution, const Inputs& inputs, Bytes in,
             MutableBytes out, MutableBytes) {
  crypt(direction, Xts(inputs.key, Unit, execution), inputs.iv, in, out);
}

// The length of the AAD depends on that of the message, and so do, for decryption, the lengths of
// nonce and tag.
Task prepare_gcm(Direction direction, std::size_t bytes, std::size_t key_bytes) {
  const bool encrypting = direction == Direction::encrypt;
  Buffer key = make_key(key_bytes, 5);
  Buffer nonce = pattern(encrypting || bytes % 3 != 0 ? 12 : 1 + bytes % 40, 50);
  Buffer aad = pattern(bytes * 7 % 83, 17);
  Buffer plain = pattern(bytes);
  Sealed sealed = evp_gcm_encrypt(key, nonce, aad, plain);
  Task task = directed(direction, std::move(key), std::move(nonce), std::move(plain),
                       std::move(sealed.text));
  task.aad = std::move(aad);
  constexpr std::size_t tag_sizes[] = {16, 15, 14, 13, 12, 8, 4};
  Buffer tag(sealed.tag.begin(), sealed.tag.end());
  if (encrypting) {
    task.out_tag = std::move(tag);
  } else {
    tag.resize(tag_sizes[bytes / 16 % 7]);
    task.tag = std::move(tag);
  }
  return task;
}

void run_gcm(Direction direction, const Execution& execution, const Inputs& inputs, Bytes in,
             MutableBytes out, MutableBytes tag) {
  Gcm gcm(inputs.key, execution);
  if (direction == Direction::encrypt) {
    gcm.encrypt(inputs.iv, inputs.aad, in, out, tag);
  } else {
    gcm.decrypt(inputs.iv, inputs.aad, in, out, inputs.tag);
  }
}

constexpr Direction encrypt = Direction::encrypt;
constexpr Direction decrypt = Direction::decrypt;

constexpr std::size_t unlimited = ~std::size_t{0};

// Units of 512 bytes are whole blocks, and one call of the kernel takes several of them. Units of
// 33 bytes end with ciphertext stealing; the library and OpenSSL process them one by one, so
// messages are kept short.
constexpr Operation operations[] = {
    {"ECB encrypt", encrypt, aes_keys, 0, 16, unlimited, prepare_ecb, run_ecb},
    {"ECB decrypt", decrypt, aes_keys, 0, 16, unlimited, prepare_ecb, run_ecb},
    {"CBC encrypt", encrypt, aes_keys, 0, 16, unlimited, prepare_cbc, run_cbc},
    {"CBC decrypt", decrypt, aes_keys, 0, 16, unlimited, prepare_cbc, run_cbc},
    {"CTR", encrypt, aes_keys, 0, 1, unlimited, prepare_ctr, run_ctr},
    {"XTS encrypt", encrypt, xts_keys, 16, 1, max_xts_unit_bytes, prepare_xts<0>, run_xts<0>},
    {"XTS decrypt", decrypt, xts_keys, 16, 1, max_xts_unit_bytes, prepare_xts<0>, run_xts<0>},
    {"XTS encrypt, units of 512", encrypt, xts_keys, 16, 1, unlimited, prepare_xts<512>,
     run_xts<512>},
    {"XTS decrypt, units of 512", decrypt, xts_keys, 16, 1, unlimited, prepare_xts<512>,
     run_xts<512>},
    {"XTS encrypt, units of 33", encrypt, xts_keys, 16, 1, 1U << 20, prepare_xts<33>, run_xts<33>},
    {"XTS decrypt, units of 33", decrypt, xts_keys, 16, 1, 1U << 20, prepare_xts<33>, run_xts<33>},
    {"GCM encrypt", encrypt, aes_keys, 0, 1, unlimited, prepare_gcm, run_gcm},
    {"GCM decrypt", decrypt, aes_keys, 0, 1, unlimited, prepare_gcm, run_gcm},
};

}  // namespace

std::span<const Operation> all_operations() { return operations; }

std::string run_task(const Operation& operation, const Task& task, const Execution& execution,
                     Bytes in, MutableBytes out) {
  Buffer tag(16);
  try {
    operation.run(operation.direction, execution, task.inputs(), in, out, tag);
  } catch (const std::exception& e) {
    return std::string("threw: ") + e.what();
  }
  std::string wrong = difference(out, task.out);
  if (wrong.empty() && !task.out_tag.empty()) {
    wrong = difference(tag, task.out_tag);
    if (!wrong.empty()) wrong = "tag: " + wrong;
  }
  return wrong;
}

}  // namespace paraes::support
