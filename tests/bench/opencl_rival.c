/* A rival on OpenCL devices for tests: it computes with OpenSSL what it reads from the device.
 * LATE: it does so on a queue and a thread of its own, some calls later.
 * DIFFERENT_BLOCKS: it refuses a text whose first blocks are equal. KEEPS: it keeps its output from
 * the first call. SPOILS: it writes to byte SPOILS of its input, or behind its output if that is
 * BEHIND. FLIP: it makes a bit wrong. GENERATES: it reads no text; 1 stores the key stream, 0
 * stores nothing. REFUSES: what its modes return. ONE_KEY_SIZE: it takes 16 bytes only. */
#include <CL/cl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rival_device.h"

#define BEHIND 1000000

struct state {
  const struct rival_device* device;
  cl_command_queue queue;
  unsigned char key[32];
  size_t key_bytes;
};

int rival_device_open(const struct rival_device* device, const uint8_t* key, size_t key_bytes,
                      void** state) {
  cl_context context;
  cl_device_id id;
  char expected[32] = "opencl";
  if (strcmp(device->runtime, expected) != 0 || device->number != 0) return 101;
  if (clGetCommandQueueInfo(device->stream, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) !=
          0 ||
      context != device->context) {
    return 102;
  }
  if (clGetCommandQueueInfo(device->stream, CL_QUEUE_DEVICE, sizeof id, &id, NULL) != 0 ||
      id != device->device) {
    return 103;
  }
#ifdef ONE_KEY_SIZE
  if (key_bytes != 16) return 104;
#endif
  struct state* own = malloc(sizeof *own);
  own->device = device;
#ifdef LATE
  own->queue = clCreateCommandQueue(context, id, 0, NULL);
#else
  own->queue = device->stream;
#endif
  own->key_bytes = key_bytes;
  memcpy(own->key, key, key_bytes);
  *state = own;
  return 0;
}

#ifdef LATE
static int run(void* state, const char* mode, const uint8_t* iv, int decrypt, const void* in,
               void* out, size_t bytes, size_t message_bytes, void* tags, size_t tags_at);

/* As a device with a queue of its own: calls wait while it is full. */
static struct {
  struct state state;
  uint8_t counter[16];
  const void* in;
  void* out;
  size_t bytes;
} calls[16];
static unsigned put, taken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void* worker(void* unused) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (taken == put) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    usleep(2000);
    const unsigned i = taken % 16;
    run(&calls[i].state, "CTR", calls[i].counter, 0, calls[i].in, calls[i].out, calls[i].bytes,
        calls[i].bytes, NULL, 0);
    clFinish(calls[i].state.queue);
    pthread_mutex_lock(&mutex);
    ++taken;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

static int run_later(struct state* own, const uint8_t* counter, const void* in, void* out,
                     size_t bytes) {
  static pthread_t thread;
  pthread_mutex_lock(&mutex);
  if (thread == 0) pthread_create(&thread, NULL, worker, NULL);
  while (put - taken == 16) pthread_cond_wait(&changed, &mutex);
  const unsigned i = put++ % 16;
  calls[i].state = *own;
  memcpy(calls[i].counter, counter, 16);
  calls[i].in = in;
  calls[i].out = out;
  calls[i].bytes = bytes;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return 0;
}
#endif

void rival_device_close(void* state) {
#ifdef LATE
  pthread_mutex_lock(&mutex);
  while (taken != put) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  clReleaseCommandQueue(((struct state*)state)->queue);
#endif
  free(state);
}

const char* rival_version(void) { return "of the tests"; }

static const EVP_CIPHER* cipher(const struct state* own, const char* mode) {
  char name[32] = "AES-128-";
  memcpy(name + 4, own->key_bytes == 16 ? "128" : own->key_bytes == 24 ? "192" : "256", 3);
  return EVP_get_cipherbyname(strcat(name, mode));
}

static void* mapped(const struct state* own, const void* memory, size_t bytes, cl_map_flags flags) {
  return clEnqueueMapBuffer(own->queue, (cl_mem)memory, CL_TRUE, flags, 0, bytes, 0, NULL, NULL,
                            NULL);
}

/* Any mode of one text. */
static void compute(const struct state* own, const char* mode, const uint8_t* iv, int decrypt,
                    const uint8_t* in, uint8_t* out, size_t bytes, uint8_t* tag) {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  int step = 0;
  EVP_CipherInit_ex(context, cipher(own, mode), NULL, own->key, iv, !decrypt);
  EVP_CIPHER_CTX_set_padding(context, 0);
  EVP_CipherUpdate(context, out, &step, in, (int)bytes);
  EVP_CipherFinal_ex(context, out + step, &step);
  if (tag != NULL) EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag);
  EVP_CIPHER_CTX_free(context);
}

static int run(void* state, const char* mode, const uint8_t* iv, int decrypt, const void* in,
               void* out, size_t bytes, size_t message_bytes, void* tags, size_t tags_at) {
  struct state* own = state;
  if (strcmp(own->device->runtime, "opencl") != 0) return 105; /* it stays where it is */
#ifdef REFUSES
  static int calls_so_far;
  if (calls_so_far++ >= AFTER) return REFUSES;
#endif
  const size_t messages = (bytes + message_bytes - 1) / message_bytes;
  uint8_t* copy = calloc(1, bytes);
  uint8_t* its_tags = calloc(messages, 16);
#ifndef GENERATES
  void* from = mapped(own, in, bytes, CL_MAP_READ);
  memcpy(copy, from, bytes);
#ifdef DIFFERENT_BLOCKS
  if (memcmp(copy, copy + 16, 16) == 0) return 106;
#endif
  clEnqueueUnmapMemObject(own->queue, (cl_mem)in, from, 0, NULL, NULL);
#else
  (void)in;
#endif
  uint8_t* to = mapped(own, out, bytes, CL_MAP_READ | CL_MAP_WRITE);
#if !defined GENERATES || GENERATES
  for (size_t i = 0; i < messages; ++i) {
    const size_t at = i * message_bytes;
    const size_t size = bytes - at < message_bytes ? bytes - at : message_bytes;
    compute(own, mode, iv + 12 * i, decrypt, copy + at, to + at, size,
            tags == NULL ? NULL : its_tags + 16 * i);
  }
#endif
#ifdef KEEPS
  static uint8_t* kept;
  if (kept == NULL) kept = memcpy(malloc(bytes), to, bytes);
  memcpy(to, kept, bytes);
#endif
#ifdef SPOILS
  const uint8_t spoiled = 0x55;
  clEnqueueWriteBuffer(own->queue, SPOILS == BEHIND ? out : (cl_mem)in, CL_TRUE,
                       SPOILS == BEHIND ? bytes : SPOILS, 1, &spoiled, 0, NULL, NULL);
#endif
#ifdef FLIP
  if (FLIP < bytes)
    to[FLIP] ^= 1;
  else
    its_tags[FLIP - bytes] ^= 1;
#endif
  clEnqueueUnmapMemObject(own->queue, out, to, 0, NULL, NULL);
  if (tags != NULL) {
    clEnqueueWriteBuffer(own->queue, tags, CL_TRUE, tags_at, 16 * messages, its_tags, 0, NULL,
                         NULL);
  }
  free(copy);
  free(its_tags);
  return 0;
}

int rival_device_ctr(void* state, const uint8_t counter[16], const void* in, void* out,
                     size_t bytes) {
#ifdef LATE
  return run_later(state, counter, in, out, bytes);
#else
  return run(state, "CTR", counter, 0, in, out, bytes, bytes, NULL, 0);
#endif
}

#ifdef GENERATES
const char* rival_device_traffic(void) { return "generates only"; }
#else
const char* rival_device_traffic(void) { return "reads and writes"; }

int rival_device_ecb(void* state, const void* in, void* out, size_t bytes, int decrypt) {
  static const uint8_t none[16];
  return run(state, "ECB", none, decrypt, in, out, bytes, bytes, NULL, 0);
}

int rival_device_gcm(void* state, const uint8_t* nonces, size_t message_bytes, const void* in,
                     void* out, size_t bytes, void* tags, size_t tags_at) {
  return run(state, "GCM", nonces, 0, in, out, bytes, message_bytes, tags, tags_at);
}
#endif
