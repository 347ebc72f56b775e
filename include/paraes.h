/* paraes for C (C99), and for every language that calls C: AES-GCM and other modes, authenticated
 * files and streams, data in the memory of GPUs. docs/c.md has a quick start and examples.
 *
 * Common to all functions:
 *   result     Functions that can fail return PARAES_OK, which is 0, or a code of enum paraes_code;
 *              paraes_error_message() then says what was wrong and what to do. A failed function
 *              leaves its output unspecified, but without anything that has not been
 *              authenticated, and sets a handle that it should have made to NULL. None prints,
 *              throws or ends the process.
 *   sizes      and offsets are in bytes.
 *   pointers   NULL stands for zero bytes. Any other NULL is PARAES_INVALID_ARGUMENT, unless the
 *              function says what it means. No buffer needs to be aligned.
 *   aliasing   The output of a cipher is its input, or does not overlap it. Nothing else
 *              overlaps an output. Not all of this is checked.
 *   handles    belong to the caller, who frees them with the function whose name ends in _free.
 *              It accepts NULL, and overwrites keys and plaintext with zeros. What a handle was
 *              made from may be freed before it, unless the function says otherwise.
 *   threads    Any thread may call any function. Handles of keys and secrets may be used by any
 *              number of threads at once, others by one at a time. A thread in a call must not be
 *              cancelled (pthread_cancel), which would end the process.
 *   structs    Options begin with their size, so that they can grow: initialise them with the
 *              macro that has their name, or set all bytes to zero, and then `size`. A member
 *              that is zero has its default. NULL for options means all defaults.
 *   fork       In a child of fork(2), handles that encrypt a message in several calls or write a
 *              file are PARAES_WRONG_PROCESS: two processes would encrypt two texts with the same
 *              key and nonces. They can be freed, which changes no file. GPUs cannot be used in a
 *              child of a process that has used them: there, handles that use one are neither
 *              used nor freed.
 */
#ifndef PARAES_H
#define PARAES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PARAES_API __attribute__((visibility("default")))
#define PARAES_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define PARAES_API
#define PARAES_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

/* A number keeps its meaning; new ones are added at the end. Some are kinds of others: see
 * paraes_is_a. */
enum paraes_code {
  PARAES_OK = 0,
  PARAES_OUT_OF_MEMORY = 1,
  PARAES_ERROR = 2, /* all that follow are of this kind */
  PARAES_INVALID_ARGUMENT = 3,
  PARAES_TARGET_EXISTS = 4,    /* an invalid argument: an output exists, and may not be replaced */
  PARAES_UNKNOWN_KERNEL = 5,   /* an invalid argument */
  PARAES_UNAVAILABLE = 6,      /* this machine has no such kernel or device, or no age */
  PARAES_UNKNOWN_DEVICE = 7,   /* unavailable: its runtime does not see it */
  PARAES_MISSING_PROGRAM = 8,  /* unavailable: a GPU program, and the compiler for it */
  PARAES_DAMAGED_PROGRAM = 9,  /* unavailable: a file with a GPU program */
  PARAES_WRONG_PROCESS = 10,   /* see "fork" above */
  PARAES_DEVICE_ERROR = 11,    /* a GPU failed */
  PARAES_DEVICE_MEMORY = 12,   /* a device error: the GPU has too little memory */
  PARAES_INTEGRITY_ERROR = 13, /* the data is not intact: a tag, a padding or a length is wrong */
  PARAES_BAD_SEGMENT = 14,     /* an integrity error: see paraes_error_offset */
  PARAES_NOT_SALTED = 15,      /* an integrity error */
  PARAES_WRONG_KEY = 16,       /* key, passphrase, identities or context do not match the header */
  PARAES_IO_ERROR = 17,        /* see paraes_error_errno */
  PARAES_CANNOT_RENAME = 18,   /* an I/O error: of a file system without renaming */
  PARAES_BAD_PADDING = 19,     /* an integrity error */
  PARAES_WRONG_KEY_SIZE = 20,  /* an invalid argument: of a key, or the contents of a key file */
  PARAES_AMBIGUOUS_KEY = 21,   /* an invalid argument: a key file may be raw or hexadecimal */
  PARAES_CANCELLED = 22,       /* a callback ended the work, or paraes_secret_cancel */
  PARAES_OTHER_ERROR = 255     /* not of paraes, such as an exception of a callback in C++ */
};

/* The following describe the last call of this thread that failed. The strings stay valid until the
 * next one fails. */

/* In English, for people; the wording may change. "" if no call has failed. */
PARAES_API const char* paraes_error_message(void);
/* One of enum paraes_code; PARAES_OK if no call has failed. */
PARAES_API int paraes_error_code(void);
/* The errno of an I/O error; otherwise 0. */
PARAES_API int paraes_error_errno(void);
/* The file of an I/O error or of PARAES_TARGET_EXISTS; "" if it is none. */
PARAES_API const char* paraes_error_path(void);
/* PARAES_BAD_SEGMENT: where in the plaintext the damaged segment begins. Otherwise UINT64_MAX. */
PARAES_API uint64_t paraes_error_offset(void);

/* Whether errors with this code are also errors of the kind `base`: PARAES_BAD_SEGMENT is a
 * PARAES_INTEGRITY_ERROR and a PARAES_ERROR. A code of a later version is a PARAES_ERROR. */
PARAES_API int paraes_is_a(int code, int base);
/* The exit status with which the command paraes ends after an error with this code. After a closed
 * pipe, that is 141. */
PARAES_API int paraes_exit_status(int code);

/* ---- General ---- */

/* The version of the linked library, "major.minor.patch". */
PARAES_API const char* paraes_version(void);

/* Bytes of the system's random generator, fit for keys and nonces. */
PARAES_CHECKED int paraes_random_bytes(void* out, size_t bytes);
/* A random key of 16, 24, 32 or 64 bytes, as AES and XTS take them. The two halves of 32 and 64
 * bytes differ. Keys of 16 and 32 bytes serve paraes_secret_new. */
PARAES_CHECKED int paraes_random_key(void* key, size_t bytes);
/* Overwrites memory with zeros, which the compiler cannot remove. */
PARAES_API void paraes_wipe(void* data, size_t bytes);

/* Processors that this process may run on. */
PARAES_API int paraes_available_cores(void);
/* The most threads that a call uses from now on, in the whole process, whatever its arguments say;
 * 0 is no limit. */
PARAES_API void paraes_limit_threads(unsigned most);

/* ---- Kernels and devices ---- */

typedef struct paraes_kernel_list paraes_kernel_list;
typedef struct paraes_device_list paraes_device_list;

/* Strings belong to the list. */
typedef struct paraes_kernel_info {
  size_t size;          /* set by the caller: sizeof(paraes_kernel_info) */
  const char* name;     /* as in paraes_execution */
  const char* variant;  /* of the kernel that runs, such as "avx512"; "" if there is only one */
  const char* features; /* of the CPU that it needs, separated by spaces */
  const char* timing;   /* "constant"; "library": as OpenSSL's; "leaky": for measurements only */
  int available;
  const char* reason; /* if not available: what is missing */
} paraes_kernel_info;
#define PARAES_KERNEL_INFO \
  { sizeof(paraes_kernel_info), NULL, NULL, NULL, NULL, 0, NULL }

/* All kernels of the CPU in the order in which "auto" prefers them, or with gpu != 0 those of GPUs.
 */
PARAES_CHECKED int paraes_kernels(int gpu, paraes_kernel_list** list);
/* A list with the one kernel that `name` selects on `device`: see paraes_execution.
 * PARAES_UNKNOWN_KERNEL and PARAES_UNAVAILABLE as paraes_gcm_key_new. Whether a GPU exists is not
 * checked. */
PARAES_CHECKED int paraes_select_kernel(const char* name, const char* device, int allow_leaky,
                                        paraes_kernel_list** list);
/* 0 for NULL. */
PARAES_API size_t paraes_kernel_count(const paraes_kernel_list* list);
/* Fills `info`, whose size the caller has set. PARAES_INVALID_ARGUMENT if the list is not so long.
 */
PARAES_CHECKED int paraes_kernel_at(const paraes_kernel_list* list, size_t index,
                                    paraes_kernel_info* info);
PARAES_API void paraes_kernel_list_free(paraes_kernel_list* list);

/* Features of this CPU that some kernel needs, separated by spaces. The string stays valid. NULL,
 * with PARAES_INVALID_ARGUMENT, if PARAES_CPU_MASK is wrong. */
PARAES_API const char* paraes_cpu_features(void);
/* The name of the CPU, "unknown" if it has none. The string stays valid. */
PARAES_API const char* paraes_cpu_model(void);

/* Strings belong to the list. */
typedef struct paraes_device_info {
  size_t size;           /* set by the caller: sizeof(paraes_device_info) */
  const char* id;        /* "cpu", "cuda:0", "opencl:1"; "cuda" if that runtime is absent */
  const char* name;      /* of the chip */
  const char* driver;    /* version of the driver */
  const char* target;    /* what GPU programs are compiled for, such as "sm_90" */
  const char* same_as;   /* the same GPU in a runtime that is preferred; "" if it is in none */
  uint64_t memory_bytes; /* in total, used or free */
  unsigned processors;   /* multiprocessors, compute units, cores */
  int is_cpu;            /* the CPU, also as a device of OpenCL */
  int available;
  const char* reason; /* if not available: what is missing and what to do */
} paraes_device_info;
#define PARAES_DEVICE_INFO \
  { sizeof(paraes_device_info), NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL }

/* The CPU, then the devices of CUDA, HIP and OpenCL. A runtime that is absent has one entry, which
 * says why. */
PARAES_CHECKED int paraes_devices(paraes_device_list** list);
/* 0 for NULL. */
PARAES_API size_t paraes_device_count(const paraes_device_list* list);
/* Fills `info`, whose size the caller has set. PARAES_INVALID_ARGUMENT if the list is not so long.
 */
PARAES_CHECKED int paraes_device_at(const paraes_device_list* list, size_t index,
                                    paraes_device_info* info);
PARAES_API void paraes_device_list_free(paraes_device_list* list);

#define PARAES_ALL_CORES 0xffffffffU

/* Where and how the work is done. */
typedef struct paraes_execution {
  size_t size; /* sizeof(paraes_execution) */
  /* The name of a kernel; NULL, "" and "auto": the fastest one that takes constant time, unless the
   * environment variable PARAES_KERNEL names another. */
  const char* kernel;
  /* NULL, "", "cpu" and "auto": the CPU. "cuda", "hip" and "opencl": the first GPU of a runtime;
   * "cuda:1": another one; "cuda:0+1": several that work as one. "cpu+cuda:0": both, for messages
   * and files. */
  const char* device;
  /* Of the CPU, up to 4096. 0: one for keys of the ciphers below, and as many as there are cores
   * for messages and files. PARAES_ALL_CORES: as many as there are cores. */
  unsigned threads;
  int allow_leaky;        /* "auto" may select a GPU kernel that uses lookup tables */
  int fall_back;          /* the CPU takes over from a GPU that is missing, lost or out of memory */
  uint64_t device_memory; /* the most of each GPU's memory; 0: what is free */
} paraes_execution;
#define PARAES_EXECUTION \
  { sizeof(paraes_execution), NULL, NULL, 0, 0, 0, 0 }

/* ---- Ciphers: one message, or a part of one, in one call ----
 *
 * An expanded key, for any number of calls and threads. PARAES_INVALID_ARGUMENT for a key of
 * another size, PARAES_UNKNOWN_KERNEL, PARAES_UNKNOWN_DEVICE and PARAES_UNAVAILABLE for a kernel or
 * a device that cannot be used. `out` has the size of `in`. A GPU that fails is
 * PARAES_DEVICE_ERROR, and leaves `out` unspecified. */

/* AES-GCM (SP 800-38D). key: 16, 24 or 32 bytes. */
typedef struct paraes_gcm_key paraes_gcm_key;
PARAES_CHECKED int paraes_gcm_key_new(paraes_gcm_key** gcm, const void* key, size_t key_bytes,
                                      const paraes_execution* execution);
PARAES_API void paraes_gcm_key_free(paraes_gcm_key* gcm);

/* Encrypts and authenticates (section 7.1). nonce: 8 bytes or more, best 12, and never twice under
 * one key (section 8). aad: associated data, at most 2^61 - 1 bytes. in: at most 2^36 - 32 bytes
 * (section 5.2.1.1). tag: 16 bytes, which are written. */
PARAES_CHECKED int paraes_gcm_encrypt(const paraes_gcm_key* gcm, const void* nonce,
                                      size_t nonce_bytes, const void* aad, size_t aad_bytes,
                                      const void* in, size_t bytes, void* out, void* tag);
/* Verifies and decrypts (section 7.2). tag: 4, 8 or 12 to 16 bytes (section 5.2.1.2). If it does
 * not match, `out` is filled with zeros, and the result is PARAES_INTEGRITY_ERROR. */
PARAES_CHECKED int paraes_gcm_decrypt(const paraes_gcm_key* gcm, const void* nonce,
                                      size_t nonce_bytes, const void* aad, size_t aad_bytes,
                                      const void* in, size_t bytes, void* out, const void* tag,
                                      size_t tag_bytes);

/* The same with the tag of 16 bytes behind the ciphertext: `out` has bytes + 16 bytes, else
 * PARAES_INVALID_ARGUMENT. It may begin where `in` does. */
PARAES_CHECKED int paraes_gcm_encrypt_into(const paraes_gcm_key* gcm, const void* nonce,
                                           size_t nonce_bytes, const void* aad, size_t aad_bytes,
                                           const void* in, size_t bytes, void* out,
                                           size_t out_bytes);
/* in: ciphertext and tag. `out` has bytes - 16 bytes, else PARAES_INVALID_ARGUMENT. */
PARAES_CHECKED int paraes_gcm_decrypt_into(const paraes_gcm_key* gcm, const void* nonce,
                                           size_t nonce_bytes, const void* aad, size_t aad_bytes,
                                           const void* in, size_t bytes, void* out,
                                           size_t out_bytes);

/* One of many messages. */
typedef struct paraes_gcm_message {
  const void* nonce;
  size_t nonce_bytes;
  const void* aad;
  size_t aad_bytes;
  const void* in;
  size_t bytes;
  void* out;
  void* tag;        /* encryption writes 16 bytes; decryption reads tag_bytes */
  size_t tag_bytes; /* of decryption; encryption takes 0 or 16 */
  int code;         /* set by the call: PARAES_OK, or what was wrong with this message */
} paraes_gcm_message;

/* Many messages in one call, with what is said above for each. A CPU interleaves short ones with
 * nonces of 12 bytes, tags of 16, and no associated data. A message that fails does not stop the
 * others, and its `code` says why: PARAES_INVALID_ARGUMENT, with nothing written, or
 * PARAES_INTEGRITY_ERROR. The result is then the code of the first of them. Outputs and tags of
 * different messages do not overlap, nor anybody's inputs. message_bytes:
 * sizeof(paraes_gcm_message). */
PARAES_CHECKED int paraes_gcm_encrypt_many(const paraes_gcm_key* gcm, paraes_gcm_message* messages,
                                           size_t count, size_t message_bytes);
PARAES_CHECKED int paraes_gcm_decrypt_many(const paraes_gcm_key* gcm, paraes_gcm_message* messages,
                                           size_t count, size_t message_bytes);

/* AES (FIPS 197) for ECB, CBC and CTR, which do not detect changes. key: 16, 24 or 32 bytes. */
typedef struct paraes_block_key paraes_block_key;
PARAES_CHECKED int paraes_block_key_new(paraes_block_key** block, const void* key, size_t key_bytes,
                                        const paraes_execution* execution);
PARAES_API void paraes_block_key_free(paraes_block_key* block);

/* SP 800-38A section 6.5, in both directions. counter: 16 bytes, the block with which the stream
 * begins, big-endian modulo 2^128. offset: of `in` in the stream, which has at most 2^64 - 1 bytes.
 * Never encrypt two texts with the same bytes of a stream. */
PARAES_CHECKED int paraes_ctr(const paraes_block_key* block, const void* counter, uint64_t offset,
                              const void* in, size_t bytes, void* out);
/* SP 800-38A section 6.2, without padding: bytes is a multiple of 16. iv: 16 bytes, new and
 * unpredictable for each message; or the ciphertext block before `in`, which continues a message.
 */
PARAES_CHECKED int paraes_cbc_encrypt(const paraes_block_key* block, const void* iv, const void* in,
                                      size_t bytes, void* out);
PARAES_CHECKED int paraes_cbc_decrypt(const paraes_block_key* block, const void* iv, const void* in,
                                      size_t bytes, void* out);
/* SP 800-38A section 6.1: bytes is a multiple of 16. Equal blocks have equal ciphertext: for tests
 * and measurements only. */
PARAES_CHECKED int paraes_ecb_encrypt(const paraes_block_key* block, const void* in, size_t bytes,
                                      void* out);
PARAES_CHECKED int paraes_ecb_decrypt(const paraes_block_key* block, const void* in, size_t bytes,
                                      void* out);

/* XTS-AES (SP 800-38E, IEEE 1619) with ciphertext stealing. It does not detect changes. key: 32 or
 * 64 bytes, in two halves that differ. unit_bytes: of a data unit, 16 to 2^24; 0: each call is one.
 */
typedef struct paraes_xts_key paraes_xts_key;
PARAES_CHECKED int paraes_xts_key_new(paraes_xts_key** xts, const void* key, size_t key_bytes,
                                      size_t unit_bytes, const paraes_execution* execution);
PARAES_API void paraes_xts_key_free(paraes_xts_key* xts);

/* first_unit: 16 bytes, the number of the first data unit, little-endian; the next ones follow. in:
 * at least 16 bytes (IEEE 1619 section 5.1), and no data unit of more than 2^24 (SP 800-38E section
 * 4). The last unit may be shorter; less than 16 bytes belong to the unit before it. */
PARAES_CHECKED int paraes_xts_encrypt(const paraes_xts_key* xts, const void* first_unit,
                                      const void* in, size_t bytes, void* out);
PARAES_CHECKED int paraes_xts_decrypt(const paraes_xts_key* xts, const void* first_unit,
                                      const void* in, size_t bytes, void* out);

/* ---- What messages and files are encrypted with ---- */

/* A key, a passphrase, recipients or identities, in one of the formats of docs/formats.md. Any
 * number of threads may use one at once. */
typedef struct paraes_secret paraes_secret;

/* Exactly one of key, key_file, passphrase, recipients (in either member) and identities. */
typedef struct paraes_secret_options {
  size_t size;     /* sizeof(paraes_secret_options) */
  const void* key; /* 16 or 32 bytes, uniformly random */
  size_t key_bytes;
  const char* key_file;   /* raw or hexadecimal, as `paraes keygen` writes it */
  const void* passphrase; /* at least 1 byte; scrypt derives a key from it */
  size_t passphrase_bytes;
  /* To encrypt: public keys such as "age1...", and files with one in a line. The program age
   * encrypts to them. */
  const char* const* recipients;
  size_t recipient_count;
  const char* const* recipients_files;
  size_t recipients_file_count;
  /* To decrypt: files of private keys. */
  const char* const* identities;
  size_t identity_count;
  /* Authenticated with the message, not stored: up to 512 bytes, the same for encryption and
   * decryption. */
  const void* context;
  size_t context_bytes;
  const char* format; /* NULL or "paraes"; "c2sp" and "tink" for keys alone */
  unsigned key_bits; /* of new messages with a passphrase or recipients: 128, or 256 (also for 0) */
  unsigned scrypt_log2n;     /* of new messages with a passphrase: 1 to 40, 0 for 17 */
  unsigned max_scrypt_log2n; /* messages that ask for more are refused; 0 for 22 */
  const char* tink_hash;     /* for tink: NULL or "sha256", "sha1", "sha512" */
  uint64_t segment_size;     /* for tink: bytes of ciphertext in a segment, 0 for 2^20 */
  const char* age; /* the program; NULL: of the environment variable PARAES_AGE, or "age" */
  /* Called with what age says when it has waited for a second, as for the touch of a hardware key.
   */
  void (*age_message)(void* context, const char* line);
  void* age_message_context;
} paraes_secret_options;
#define PARAES_SECRET_OPTIONS                                                                  \
  {                                                                                            \
    sizeof(paraes_secret_options), NULL, 0, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, \
        NULL, 0, 0, 0, NULL, 0, NULL, NULL, NULL                                               \
  }

/* Copies all that it is given, keys and passphrases to locked memory. PARAES_WRONG_KEY_SIZE and
 * PARAES_AMBIGUOUS_KEY for a key; PARAES_IO_ERROR for a file that cannot be read. */
PARAES_CHECKED int paraes_secret_new(paraes_secret** secret, const paraes_secret_options* options);
/* The same with all defaults: of a key, of a key file, and of a passphrase. */
PARAES_CHECKED int paraes_secret_from_key(paraes_secret** secret, const void* key,
                                          size_t key_bytes);
PARAES_CHECKED int paraes_secret_from_key_file(paraes_secret** secret, const char* path);
PARAES_CHECKED int paraes_secret_from_passphrase(paraes_secret** secret, const void* passphrase,
                                                 size_t passphrase_bytes);
PARAES_API void paraes_secret_free(paraes_secret* secret);
/* Ends age, if it runs for this secret now, and lets it run no more: calls that need it are
 * PARAES_CANCELLED. */
PARAES_API void paraes_secret_cancel(paraes_secret* secret);

/* ---- Messages in memory ----
 *
 * Each message has a key of its own, which is derived from the secret and from random bytes. With a
 * passphrase, each call takes the time and the memory of scrypt; with recipients and identities it
 * runs age. PARAES_INVALID_ARGUMENT if the message needs another kind of secret, PARAES_WRONG_KEY
 * if the secret or the context does not match, PARAES_INTEGRITY_ERROR or PARAES_BAD_SEGMENT for
 * damaged data. `out` does not overlap `in`. */

/* The most bytes that paraes_seal writes for `bytes` bytes; 0 if the secret is NULL, or no message
 * can be so long. */
PARAES_API size_t paraes_seal_bound(const paraes_secret* secret, size_t bytes);
/* Encrypts. out: of `capacity` bytes, at least as many as are written: paraes_seal_bound() is
 * always enough. */
PARAES_CHECKED int paraes_seal(const paraes_secret* secret, const void* in, size_t bytes, void* out,
                               size_t capacity, size_t* written, const paraes_execution* execution);
/* Decrypts a whole message. out: of `capacity` bytes, at least as many as are written: `bytes` is
 * always enough. */
PARAES_CHECKED int paraes_unseal(const paraes_secret* secret, const void* in, size_t bytes,
                                 void* out, size_t capacity, size_t* written,
                                 const paraes_execution* execution);
/* Decrypts out_bytes bytes of the plaintext from `offset` on, and authenticates only the segments
 * that hold them. PARAES_INVALID_ARGUMENT for a range beyond the end. */
PARAES_CHECKED int paraes_unseal_range(const paraes_secret* secret, const void* in, size_t bytes,
                                       uint64_t offset, void* out, size_t out_bytes,
                                       const paraes_execution* execution);

/* ---- Messages piece by piece, in order ----
 *
 * After another error than of an argument, a handle cannot be used any more: the
 * message is not complete, and the following calls are PARAES_ERROR. `out` does not overlap `in`.
 */

/* Encrypts a new message. */
typedef struct paraes_encryptor paraes_encryptor;
PARAES_CHECKED int paraes_encryptor_new(paraes_encryptor** encryptor, const paraes_secret* secret,
                                        const paraes_execution* execution);
/* The capacity that paraes_encryptor_update needs for `bytes` bytes, and paraes_encryptor_finish
 * for 0. 0 for NULL, and if no message can be so long. */
PARAES_API size_t paraes_encryptor_bound(const paraes_encryptor* encryptor, size_t bytes);
/* Encrypts the next bytes, and writes what is complete: `written` bytes. PARAES_INVALID_ARGUMENT if
 * `capacity` is too small; nothing has happened then. */
PARAES_CHECKED int paraes_encryptor_update(paraes_encryptor* encryptor, const void* in,
                                           size_t bytes, void* out, size_t capacity,
                                           size_t* written);
/* Ends the message. */
PARAES_CHECKED int paraes_encryptor_finish(paraes_encryptor* encryptor, void* out, size_t capacity,
                                           size_t* written);
PARAES_API void paraes_encryptor_free(paraes_encryptor* encryptor);

/* Writes plaintext when it is authenticated. What was written is the beginning of the message, and
 * all of it only when paraes_decryptor_finish has succeeded. */
typedef struct paraes_decryptor paraes_decryptor;
PARAES_CHECKED int paraes_decryptor_new(paraes_decryptor** decryptor, const paraes_secret* secret,
                                        const paraes_execution* execution);
/* As paraes_encryptor_bound. */
PARAES_API size_t paraes_decryptor_bound(const paraes_decryptor* decryptor, size_t bytes);
/* Decrypts the next bytes, and writes the plaintext that is authenticated: `written` bytes.
 * PARAES_INVALID_ARGUMENT if `capacity` is too small; nothing has happened then. */
PARAES_CHECKED int paraes_decryptor_update(paraes_decryptor* decryptor, const void* in,
                                           size_t bytes, void* out, size_t capacity,
                                           size_t* written);
/* Ends the message. PARAES_INTEGRITY_ERROR or PARAES_BAD_SEGMENT if it cannot end here. */
PARAES_CHECKED int paraes_decryptor_finish(paraes_decryptor* decryptor, void* out, size_t capacity,
                                           size_t* written);
PARAES_API void paraes_decryptor_free(paraes_decryptor* decryptor);

/* ---- Files ----
 *
 * Outputs appear under their names only when they are complete. An input, and a file that holds the
 * secret, are never replaced. Files are those of the command paraes. */

/* Called with the bytes of plaintext that are done and the number of all, UINT64_MAX if that is not
 * known; at first with 0, and not always by the caller's thread, but by one at a time. Anything but
 * 0 ends the work: PARAES_CANCELLED. */
typedef int (*paraes_progress)(void* context, uint64_t done, uint64_t total);

typedef struct paraes_file_options {
  size_t size;                       /* sizeof(paraes_file_options) */
  const paraes_execution* execution; /* NULL: all defaults */
  int overwrite;                     /* replace an output that exists, else PARAES_TARGET_EXISTS */
  int new_key; /* paraes_rekey_file, recipients: encrypt all of the data anew, not only the header
                */
  int verify;  /* paraes_rekey_file, recipients: decrypt all segments before the file is replaced */
  paraes_progress progress; /* may be NULL */
  void* progress_context;
} paraes_file_options;
#define PARAES_FILE_OPTIONS \
  { sizeof(paraes_file_options), NULL, 0, 0, 0, NULL, NULL }

/* Encrypts the regular file `from` to the regular file `to`; NULL: its name with ".paes" at the
 * end. The output keeps mode and time of modification. plain_bytes: receives the size of the
 * plaintext; may be NULL. */
PARAES_CHECKED int paraes_encrypt_file(const char* from, const char* to,
                                       const paraes_secret* secret,
                                       const paraes_file_options* options, uint64_t* plain_bytes);
/* Decrypts a regular file. to: NULL for its name without ".paes". If the file is damaged, there is
 * no output. */
PARAES_CHECKED int paraes_decrypt_file(const char* from, const char* to,
                                       const paraes_secret* secret,
                                       const paraes_file_options* options, uint64_t* plain_bytes);
/* Decrypts a regular file and writes nothing. */
PARAES_CHECKED int paraes_verify_file(const char* file, const paraes_secret* secret,
                                      const paraes_file_options* options, uint64_t* plain_bytes);
/* Replaces a file in the format paraes by the same plaintext under the secret `to`; the context
 * stays, and that of `to` is the same or none. From recipients to recipients, only the header
 * changes. PARAES_IO_ERROR if another call works on the file, or if it changes meanwhile; it is
 * then as it was. */
PARAES_CHECKED int paraes_rekey_file(const char* file, const paraes_secret* from,
                                     const paraes_secret* to, const paraes_file_options* options,
                                     uint64_t* plain_bytes);

/* Where the bytes of a message are, if not in a file. */
typedef struct paraes_source {
  size_t size;   /* sizeof(paraes_source) */
  void* context; /* for read_at */
  uint64_t bytes;
  /* Reads `bytes` bytes, which the source has, from `offset` on. 0, or an errno. */
  int (*read_at)(void* context, uint64_t offset, void* buffer, size_t bytes);
  int many_threads; /* several threads may call read_at at once */
} paraes_source;
#define PARAES_SOURCE \
  { sizeof(paraes_source), NULL, 0, NULL, 0 }

/* The plaintext of a message at any offset. Only the segments that are read are authenticated, and
 * the last one, so that the size can be trusted. For a caller that reads in order, other threads
 * open segments ahead. */
typedef struct paraes_reader paraes_reader;
/* A file that can be read at any offset, which a pipe cannot: see paraes_decryptor. */
PARAES_CHECKED int paraes_reader_open(paraes_reader** reader, const char* file,
                                      const paraes_secret* secret,
                                      const paraes_execution* execution);
/* source: copied; what it leads to must stay until the reader is closed. */
PARAES_CHECKED int paraes_reader_open_source(paraes_reader** reader, const paraes_source* source,
                                             const paraes_secret* secret,
                                             const paraes_execution* execution);
/* Of the plaintext; 0 for NULL. */
PARAES_API uint64_t paraes_reader_size(const paraes_reader* reader);
/* Reads from the present position on, and moves it. read: how many bytes there were, fewer than
 * `bytes` only at the end. PARAES_BAD_SEGMENT if a segment does not authenticate: *read is then 0,
 * and the position stays. */
PARAES_CHECKED int paraes_reader_read(paraes_reader* reader, void* out, size_t bytes, size_t* read);
/* The same from `offset` on. The position stays. */
PARAES_CHECKED int paraes_reader_read_at(paraes_reader* reader, uint64_t offset, void* out,
                                         size_t bytes, size_t* read);
/* Moves the position to `offset` bytes from the beginning (whence 0, SEEK_SET), from where it is
 * (1, SEEK_CUR) or from the end (2, SEEK_END). It may lie behind the end. position: receives it;
 * may be NULL. */
PARAES_CHECKED int paraes_reader_seek(paraes_reader* reader, int64_t offset, int whence,
                                      uint64_t* position);
/* Closes the file, and overwrites the plaintext that it has. Reading and seeking are then
 * PARAES_INVALID_ARGUMENT. Closing twice is no error. */
PARAES_CHECKED int paraes_reader_close(paraes_reader* reader);
PARAES_API void paraes_reader_free(paraes_reader* reader);

/* Where a message goes, if not to a file. */
typedef struct paraes_sink {
  size_t size;   /* sizeof(paraes_sink) */
  void* context; /* for the others */
  /* Appends bytes. 0, or an errno. */
  int (*write)(void* context, const void* data, size_t bytes);
  /* Called when the message is complete; may be NULL. 0, or an errno. */
  int (*close)(void* context);
} paraes_sink;
#define PARAES_SINK \
  { sizeof(paraes_sink), NULL, NULL, NULL }

/* Encrypts what is written to it, in order. After another error than of a NULL, nothing more can be
 * written, and there is no file. */
typedef struct paraes_writer paraes_writer;
/* To a regular file, which gets its name in paraes_writer_close. Of the options, `execution` and
 * `overwrite` count. */
PARAES_CHECKED int paraes_writer_open(paraes_writer** writer, const char* file,
                                      const paraes_secret* secret,
                                      const paraes_file_options* options);
/* sink: copied; what it leads to must stay until the writer is closed or aborted. */
PARAES_CHECKED int paraes_writer_open_sink(paraes_writer** writer, const paraes_sink* sink,
                                           const paraes_secret* secret,
                                           const paraes_execution* execution);
/* Encrypts the next bytes. */
PARAES_CHECKED int paraes_writer_write(paraes_writer* writer, const void* data, size_t bytes);
/* Ends the message and gives the file its name. Closing twice is no error, but what was aborted
 * cannot be closed. */
PARAES_CHECKED int paraes_writer_close(paraes_writer* writer);
/* Removes what was written to a file; a sink has got it. Without effect after paraes_writer_close.
 */
PARAES_API void paraes_writer_abort(paraes_writer* writer);
/* Aborts what was not closed. */
PARAES_API void paraes_writer_free(paraes_writer* writer);

/* ---- Data in the memory of a GPU ----
 *
 * The calls below enqueue work on a stream of the caller's and return: they copy no data to the
 * host, and do not wait for the device. They begin after earlier work on the stream, and later work
 * sees their results.
 *
 *   streams    NULL stands for the one with which the cipher was made. Calls on up to eight streams
 *              run at the same time. Streams that are being captured are refused.
 *   memory     stays until the work is done. Texts and tags may begin at any byte, and are fastest
 *              where all texts begin at multiples of 16. Nothing can check that buffers are as
 *              large as they say.
 *   errors     PARAES_INVALID_ARGUMENT: nothing was enqueued. PARAES_DEVICE_ERROR and
 *              PARAES_DEVICE_MEMORY: the output is unspecified, but never plaintext that has not
 *              been authenticated.
 *   freeing    a cipher waits until its work is done. */

/* A stream or a queue. */
typedef struct paraes_stream {
  size_t size;        /* sizeof(paraes_stream) */
  const char* device; /* "cuda:0" or "hip:1"; "opencl" for a queue, which knows its device */
  /* A CUstream or cudaStream_t of the device's primary context, or a hipStream_t; NULL is the
   * default stream. A cl_command_queue that executes in order. */
  void* handle;
} paraes_stream;
#define PARAES_STREAM \
  { sizeof(paraes_stream), NULL, NULL }

/* A range of device memory. */
typedef struct paraes_device_buffer {
  uintptr_t memory; /* CUDA and HIP: a device pointer. OpenCL: a cl_mem of the queue's context */
  uint64_t offset;  /* of the range in this memory */
  uint64_t bytes;
} paraes_device_buffer;

typedef struct paraes_device_options {
  size_t size;        /* sizeof(paraes_device_options) */
  const char* kernel; /* a GPU kernel; NULL: the fastest one that takes constant time */
  int allow_leaky;    /* "auto" may select a kernel that uses lookup tables */
  int any_address; /* load the program for texts that do not begin at multiples of 16 bytes at once
                    */
} paraes_device_options;
#define PARAES_DEVICE_OPTIONS \
  { sizeof(paraes_device_options), NULL, 0, 0 }

/* One of the messages of a call, as ranges of one input and one output. */
typedef struct paraes_device_message {
  uint64_t in;    /* offset of the text in the input */
  uint64_t out;   /* offset of the result in the output */
  uint64_t bytes; /* of the text */
  uint64_t tag; /* GCM: offset of the tag of 16 bytes, in the output of encryption, in the input of
                   decryption */
  const void* aad; /* GCM: associated data in the memory of the host, read during the call */
  size_t aad_bytes;
  uint32_t key;   /* number of its key in the cipher's list */
  uint8_t iv[16]; /* GCM: the nonce, in the first 12 bytes. CTR: the counter block */
} paraes_device_message;

/* One of the messages of a call, in memory of its own. */
typedef struct paraes_device_text {
  paraes_device_buffer in;
  paraes_device_buffer out;
  paraes_device_buffer tag; /* GCM: 16 bytes */
  const void* aad;
  size_t aad_bytes;
  uint32_t key;
  uint8_t iv[16];
} paraes_device_text;

/* The work of one call. */
typedef struct paraes_device_work paraes_device_work;
/* ready: receives whether the device has finished it. Does not wait. */
PARAES_CHECKED int paraes_device_work_ready(const paraes_device_work* work, int* ready);
PARAES_API void paraes_device_work_free(paraes_device_work* work);

/* Which messages of a decryption are authentic. Stays valid without the cipher. */
typedef struct paraes_device_verdict paraes_device_verdict;
PARAES_CHECKED int paraes_device_verdict_ready(const paraes_device_verdict* verdict, int* ready);
/* Synchronize the stream first: PARAES_ERROR if the device has not finished. PARAES_OK if the tag
 * of message `index` matched, and PARAES_INTEGRITY_ERROR if not. */
PARAES_CHECKED int paraes_device_verdict_at(const paraes_device_verdict* verdict, size_t index);
/* The same for all messages. */
PARAES_CHECKED int paraes_device_verdict_all(const paraes_device_verdict* verdict);
PARAES_API void paraes_device_verdict_free(paraes_device_verdict* verdict);

/* AES-GCM with nonces of 12 bytes and tags of 16; a text has at most 2^36 - 32 bytes (SP 800-38D
 * section 5.2.1.1). keys: pointers to key_count keys of key_bytes bytes each, 16, 24 or 32. One
 * caller at a time. */
typedef struct paraes_device_gcm paraes_device_gcm;
PARAES_CHECKED int paraes_device_gcm_new(paraes_device_gcm** gcm, const paraes_stream* stream,
                                         const void* const* keys, size_t key_count,
                                         size_t key_bytes, const paraes_device_options* options);
/* Makes what `stream` gets from now on wait for what `other` has now. */
PARAES_CHECKED int paraes_device_gcm_wait_for(paraes_device_gcm* gcm, const paraes_stream* other,
                                              const paraes_stream* stream);
/* message_bytes: sizeof(paraes_device_message). work: receives the work; may be NULL. */
PARAES_CHECKED int paraes_device_gcm_encrypt(paraes_device_gcm* gcm, const paraes_device_buffer* in,
                                             const paraes_device_buffer* out,
                                             const paraes_device_message* messages, size_t count,
                                             size_t message_bytes, const paraes_stream* stream,
                                             paraes_device_work** work);
PARAES_CHECKED int paraes_device_gcm_decrypt(paraes_device_gcm* gcm, const paraes_device_buffer* in,
                                             const paraes_device_buffer* out,
                                             const paraes_device_message* messages, size_t count,
                                             size_t message_bytes, const paraes_stream* stream,
                                             paraes_device_verdict** verdict);
/* text_bytes: sizeof(paraes_device_text). */
PARAES_CHECKED int paraes_device_gcm_encrypt_texts(paraes_device_gcm* gcm,
                                                   const paraes_device_text* texts, size_t count,
                                                   size_t text_bytes, const paraes_stream* stream,
                                                   paraes_device_work** work);
PARAES_CHECKED int paraes_device_gcm_decrypt_texts(paraes_device_gcm* gcm,
                                                   const paraes_device_text* texts, size_t count,
                                                   size_t text_bytes, const paraes_stream* stream,
                                                   paraes_device_verdict** verdict);
PARAES_API void paraes_device_gcm_free(paraes_device_gcm* gcm);

/* CTR (SP 800-38A section 6.5), in both directions; arguments as above. Messages have any size. */
typedef struct paraes_device_ctr paraes_device_ctr;
PARAES_CHECKED int paraes_device_ctr_new(paraes_device_ctr** ctr, const paraes_stream* stream,
                                         const void* const* keys, size_t key_count,
                                         size_t key_bytes, const paraes_device_options* options);
PARAES_CHECKED int paraes_device_ctr_wait_for(paraes_device_ctr* ctr, const paraes_stream* other,
                                              const paraes_stream* stream);
PARAES_CHECKED int paraes_device_ctr_process(paraes_device_ctr* ctr, const paraes_device_buffer* in,
                                             const paraes_device_buffer* out,
                                             const paraes_device_message* messages, size_t count,
                                             size_t message_bytes, const paraes_stream* stream,
                                             paraes_device_work** work);
PARAES_CHECKED int paraes_device_ctr_process_texts(paraes_device_ctr* ctr,
                                                   const paraes_device_text* texts, size_t count,
                                                   size_t text_bytes, const paraes_stream* stream,
                                                   paraes_device_work** work);
PARAES_API void paraes_device_ctr_free(paraes_device_ctr* ctr);

#ifdef __cplusplus
}
#endif

#endif
