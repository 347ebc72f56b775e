/* Encrypts and decrypts a text in memory and a file, with a random key.
 * Build and run:
 *   cc -std=c99 paraes_example.c $(pkg-config --cflags --libs paraes) -o paraes_example
 *   ./paraes_example paraes_example.c
 */
#include <paraes.h>
#include <stdio.h>
#include <string.h>

/* The secret stays in locked memory of the library, so that no copy of the key need stay here. */
static int new_secret(paraes_secret** secret) {
  unsigned char key[32];
  int code = paraes_random_key(key, sizeof key);
  if (code == PARAES_OK) code = paraes_secret_from_key(secret, key, sizeof key);
  paraes_wipe(key, sizeof key);
  return code;
}

/* Programs decide by the code; messages are for people. */
static void try_unseal(const char* what, const paraes_secret* secret, const void* sealed,
                       size_t bytes) {
  char plain[64];
  size_t plain_bytes;
  const int code = paraes_unseal(secret, sealed, bytes, plain, sizeof plain, &plain_bytes, NULL);
  if (code == PARAES_OK) {
    printf("%s: \"%.*s\"\n", what, (int)plain_bytes, plain);
  } else if (code == PARAES_WRONG_KEY) {
    printf("%s: wrong key: %s\n", what, paraes_error_message());
  } else if (paraes_is_a(code, PARAES_INTEGRITY_ERROR)) { /* such as PARAES_BAD_SEGMENT */
    printf("%s: damaged: %s\n", what, paraes_error_message());
  } else {
    printf("%s: %s\n", what, paraes_error_message());
  }
}

static int in_memory(const paraes_secret* secret, const paraes_secret* other) {
  static const char text[] = "attack at dawn";
  unsigned char sealed[256];
  size_t bytes;
  const int code = paraes_seal(secret, text, strlen(text), sealed, sizeof sealed, &bytes, NULL);
  if (code != PARAES_OK) return code;
  printf("%zu bytes, sealed %zu\n", strlen(text), bytes);
  try_unseal("as it was", secret, sealed, bytes);
  try_unseal("with another key", other, sealed, bytes);
  sealed[bytes - 1] ^= 1;
  try_unseal("with a changed bit", secret, sealed, bytes);
  return PARAES_OK;
}

static int with_file(const paraes_secret* secret, const char* file) {
  paraes_file_options options = PARAES_FILE_OPTIONS;
  uint64_t bytes;
  int code;
  options.overwrite = 1; /* what an earlier run has left */
  code = paraes_encrypt_file(file, "example.paes", secret, &options, &bytes);
  if (code == PARAES_OK) {
    code = paraes_decrypt_file("example.paes", "example.copy", secret, &options, &bytes);
  }
  if (code == PARAES_OK) printf("example.copy: %llu bytes\n", (unsigned long long)bytes);
  return code;
}

int main(int count, char** arguments) {
  paraes_secret *secret = NULL, *other = NULL;
  int code;
  if (count != 2) {
    fprintf(stderr, "usage: %s FILE\n", arguments[0]);
    return 2;
  }
  code = new_secret(&secret);
  if (code == PARAES_OK) code = new_secret(&other);
  if (code == PARAES_OK) code = in_memory(secret, other);
  if (code == PARAES_OK) code = with_file(secret, arguments[1]);
  if (code != PARAES_OK) fprintf(stderr, "%s\n", paraes_error_message());
  paraes_secret_free(other);
  paraes_secret_free(secret);
  return paraes_exit_status(code); /* that of the command paraes: 0 after PARAES_OK */
}
