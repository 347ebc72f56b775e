// AES-128 in CUDA as a rival of `paraes bench`: CTR with one block a thread, byte by byte, and the
// S-box in constant memory, as in paraes's kernel `reference`. In place of its kernel, call yours.
//   nvcc -O3 -arch=native -shared -Xcompiler -fPIC -Ibench/rivals -o mine.so FILE
//   paraes bench --device cuda:0 --rival mine=./mine.so --mode ctr --size 1MiB,256MiB
#include <cuda_runtime.h>

#include "rival_device.h"

struct Aes128 {
  uint8_t sbox[256];
  uint8_t round_keys[11][16];
};

__device__ static uint8_t doubled(uint8_t x) { return (x << 1) ^ ((x >> 7) * 0x1b); }

__device__ static void encrypt(const Aes128& aes, uint8_t* s) {
  for (int i = 0; i < 16; ++i) s[i] ^= aes.round_keys[0][i];
  for (int round = 1; round <= 10; ++round) {
    uint8_t t[16];
    for (int i = 0; i < 16; ++i) t[i] = aes.sbox[s[(i + 4 * (i % 4)) % 16]];  // SubBytes, ShiftRows
    for (int i = 0; i < 16; ++i) {                                            // MixColumns
      const uint8_t* c = t + i / 4 * 4;
      const uint8_t next = c[(i + 1) % 4];
      const uint8_t mixed = doubled(c[i % 4] ^ next) ^ next ^ c[(i + 2) % 4] ^ c[(i + 3) % 4];
      s[i] = (round < 10 ? mixed : t[i]) ^ aes.round_keys[round][i];
    }
  }
}

// `aes` is an argument, and so in constant memory. The counter is 16 bytes, big-endian.
__global__ void ctr(Aes128 aes, uint4 counter, const uint4* in, uint4* out, size_t bytes) {
  const size_t block = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (block >= (bytes + 15) / 16) return;
  uint8_t stream[16];
  for (int i = 0; i < 16; ++i) stream[i] = ((const uint8_t*)&counter)[i];
  size_t carry = block;
  for (int i = 15; i >= 0; --i, carry >>= 8) stream[i] = carry += stream[i];
  encrypt(aes, stream);
  const uint8_t* from = (const uint8_t*)(in + block);
  uint8_t* to = (uint8_t*)(out + block);
  for (size_t i = 0; i < 16 && 16 * block + i < bytes; ++i) to[i] = from[i] ^ stream[i];
}

struct State {
  Aes128 aes;
  cudaStream_t stream;
};

static uint8_t rotated(uint8_t x, int bits) { return (x << bits) | (x >> (8 - bits)); }

static void expand(const uint8_t* key, Aes128& aes) {
  // FIPS 197, 5.1.1: p runs through the powers of 3, q through their inverses.
  uint8_t p = 1, q = 1;
  do {
    p ^= (p << 1) ^ ((p >> 7) * 0x1b);
    q ^= q << 1;
    q ^= q << 2;
    q ^= q << 4;
    q ^= (q >> 7) * 0x09;
    aes.sbox[p] = 0x63 ^ q ^ rotated(q, 1) ^ rotated(q, 2) ^ rotated(q, 3) ^ rotated(q, 4);
  } while (p != 1);
  aes.sbox[0] = 0x63;
  uint8_t* w = aes.round_keys[0];
  for (int i = 0; i < 16; ++i) w[i] = key[i];
  for (int i = 16, constant = 1; i < 176; ++i) {  // FIPS 197, 5.2
    const bool first = i % 16 < 4;                // of a round key
    w[i] = w[i - 16] ^ (first ? aes.sbox[w[i % 4 == 3 ? i - 7 : i - 3]] : w[i - 4]);
    if (i % 16 == 0) w[i] ^= constant, constant = constant << 1 ^ (constant >> 7) * 0x11b;
  }
}

int rival_device_open(const rival_device* device, const uint8_t* key, size_t key_bytes,
                      void** state) {
  if (key_bytes != 16) return 1;
  State* made = new State;
  made->stream = (cudaStream_t)device->stream;
  expand(key, made->aes);
  *state = made;
  return 0;
}

void rival_device_close(void* state) { delete (State*)state; }

int rival_device_ctr(void* state, const uint8_t counter[16], const void* in, void* out,
                     size_t bytes) {
  State& own = *(State*)state;
  uint4 first;
  for (int i = 0; i < 16; ++i) ((uint8_t*)&first)[i] = counter[i];
  void* arguments[] = {&own.aes, &first, &in, &out, &bytes};
  return cudaLaunchKernel(ctr, dim3((bytes + 4095) / 4096), dim3(256), arguments, 0, own.stream);
}
