// The AES of GNU Nettle as a rival of `paraes bench`. In place of Nettle's functions, call yours.
//   cc -O3 -shared -fPIC docs/examples/own_rival.c -lnettle -o nettle.so
//   paraes bench --rival nettle=./nettle.so --mode ecb --size 16KiB,1MiB --threads 1,2
#include <nettle/aes.h>
#include <stddef.h>
#include <stdint.h>

// Optional: what the report says about this library.
const char* rival_version(void) { return "GNU Nettle"; }

static void aes128(const uint8_t* key, const uint8_t* in, uint8_t* out, size_t bytes, int decrypt) {
  struct aes128_ctx schedule;
  if (decrypt) {
    aes128_set_decrypt_key(&schedule, key);
    aes128_decrypt(&schedule, bytes, out, in);
  } else {
    aes128_set_encrypt_key(&schedule, key);
    aes128_encrypt(&schedule, bytes, out, in);
  }
}

static void aes256(const uint8_t* key, const uint8_t* in, uint8_t* out, size_t bytes, int decrypt) {
  struct aes256_ctx schedule;
  if (decrypt) {
    aes256_set_decrypt_key(&schedule, key);
    aes256_decrypt(&schedule, bytes, out, in);
  } else {
    aes256_set_encrypt_key(&schedule, key);
    aes256_encrypt(&schedule, bytes, out, in);
  }
}

// Encrypts or decrypts blocks of 16 bytes, each alone (ECB). `in` and `out` are equal or do not
// overlap. Returns 0, or another number for what it cannot do. Several threads call it at once.
int rival_ecb(const uint8_t* key, size_t key_bytes, const uint8_t* in, uint8_t* out, size_t blocks,
              int decrypt) {
  if (key_bytes != 16 && key_bytes != 32) return 1;
  (key_bytes == 16 ? aes128 : aes256)(key, in, out, 16 * blocks, decrypt);
  return 0;
}
