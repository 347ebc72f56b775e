/* The interface between `paraes bench` and your AES on a GPU: --rival NAME=FILE.so.
 *
 * A library defines rival_device_open(), rival_device_close() and at least one of the modes; C++
 * declares them extern "C", as this header does. Functions return 0, or another number for what
 * they cannot do. If rival_device_open() or the first call returns that, the row is skipped, with
 * the number; later the row is wrong. They throw no exceptions: those end the bench.
 *
 * Memory of the device is given as a device pointer (CUDA and HIP) or a cl_mem (OpenCL). All work
 * is enqueued on `stream`, in order, and nothing waits for it: the bench takes the time until an
 * event behind it. Work on another stream makes the row wrong. After a launch, CUDA's wrappers
 * return cudaGetLastError(): a kernel that never ran would look fast.
 *
 * Texts begin at multiples of 256 bytes. In and out are equal (--in-place yes) or do not overlap.
 * Nothing else is written: not the input, and not what is behind the output. A call computes all
 * of its output anew, and keeps nothing of it for the next call.
 *
 * Calls come from one thread, with the device current there in CUDA and HIP. Each row has a state
 * of its own, and several exist at once. Keep nothing else: another size or device may have another
 * context. What the host passes stays where it is until rival_device_close().
 */
#ifndef RIVAL_DEVICE_H
#define RIVAL_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rival_device {
  const char* runtime; /* "cuda", "hip" or "opencl" */
  int number;          /* of the device, as in cuda:0 */
  void* context;       /* CUcontext, the device's primary one, or cl_context; NULL in HIP */
  void* device;        /* cl_device_id; NULL in CUDA and HIP */
  void* stream;        /* CUstream, hipStream_t or cl_command_queue */
};

/* Makes what the calls with a key of 16, 24 or 32 bytes need: programs, tables, round keys. None of
 * it is timed, and neither is the first call, which may allocate what depends on the size. */
int rival_device_open(const struct rival_device* device, const uint8_t* key, size_t key_bytes,
                      void** state);

/* Waits for the work of the state, and frees it. It does not reset the device. */
void rival_device_close(void* state);

/* SP 800-38A, 6.1: `bytes` is a multiple of 16. */
int rival_device_ecb(void* state, const void* in, void* out, size_t bytes, int decrypt);

/* SP 800-38A, 6.5: the counter block of the text's first block; its 16 bytes are one big-endian
 * number, and the last 4 of them begin at 0. Each call has another one. */
int rival_device_ctr(void* state, const uint8_t counter[16], const void* in, void* out,
                     size_t bytes);

/* SP 800-38D, 7.1, without associated data: the text is cut into messages of `message_bytes`, the
 * last one perhaps shorter. Message i has the nonce of 12 bytes at nonces + 12 * i, in memory of
 * the host, and its tag of 16 bytes goes to byte tags_at + 16 * i of `tags`, which may be `out`.
 * All calls of a state have the same nonces: copy them to the device in the first call. */
int rival_device_gcm(void* state, const uint8_t* nonces, size_t message_bytes, const void* in,
                     void* out, size_t bytes, void* tags, size_t tags_at);

/* May be missing: what a call does with the text. "reads and writes" is the default. "generates
 * only" is for CTR that reads no text: it stores its whole key stream in `out`, which is verified,
 * or nothing there, and is marked as not verified. */
const char* rival_device_traffic(void);

/* May be missing: up to 64 bytes of printable ASCII for the report. This and the last function are
 * called before a device is open. */
const char* rival_version(void);

#ifdef __cplusplus
}
#endif

#endif
