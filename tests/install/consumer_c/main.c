/* A program in C outside the project: seals and opens a message, and reports an error. */
#include <paraes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code) {
  if (code == PARAES_OK) return;
  printf("failed: %s\n", paraes_error_message());
  exit(paraes_exit_status(code));
}

int main(void) {
  static const char text[] = "a text";
  unsigned char key[32];
  paraes_secret_options options = PARAES_SECRET_OPTIONS;
  paraes_execution execution = PARAES_EXECUTION;
  paraes_secret* secret = NULL;
  unsigned char* sealed;
  char opened[sizeof text + 200];
  size_t bytes = 0;
  check(paraes_random_key(key, sizeof key));
  options.key = key;
  options.key_bytes = sizeof key;
  check(paraes_secret_new(&secret, &options));
  sealed = malloc(paraes_seal_bound(secret, sizeof text));
  if (sealed == NULL) return 1;
  check(paraes_seal(secret, text, sizeof text, sealed, paraes_seal_bound(secret, sizeof text),
                    &bytes, &execution));
  check(paraes_unseal(secret, sealed, bytes, opened, sizeof opened, &bytes, NULL));
  if (bytes != sizeof text || memcmp(text, opened, bytes) != 0) return 1;
  sealed[50] ^= 1;
  if (paraes_unseal(secret, sealed, bytes, opened, sizeof opened, &bytes, NULL) == PARAES_OK) {
    return 1;
  }
  if (strlen(paraes_error_message()) < 10) return 1;
  paraes_secret_free(secret);
  paraes_wipe(key, sizeof key);
  free(sealed);
  printf("paraes %s\n", paraes_version());
  return 0;
}
