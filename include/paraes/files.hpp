// Whole files by their names, and the secret that a call has. Outputs are safe as those of the
// command are: a name appears only when its file is complete, a file that holds the secret is never
// replaced, and an input is never its own output. Sizes are in bytes.
//
// Errors name the members of the options below, and all functions throw IoError for what the system
// refuses, and what the functions of messages.hpp and recipients.hpp throw.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"
#include "paraes/io.hpp"
#include "paraes/known_secrets.hpp"
#include "paraes/message_streams.hpp"
#include "paraes/messages.hpp"
#include "paraes/recipients.hpp"
#include "paraes/secret.hpp"

namespace paraes {

enum class Format : std::uint8_t { paraes, c2sp, tink };

struct SecretOptions {
  Format format = Format::paraes;     // with passphrases, recipients and identities: paraes alone
  std::vector<std::uint8_t> context;  // at most max_context_bytes
  // Size of the key of new messages: 128 or 256. By default that of the given key, else 256.
  std::optional<unsigned> key_bits;
  std::optional<unsigned> scrypt_log2n;  // of new messages with a passphrase; 17 if not given
  // Messages with a passphrase that ask for more are refused.
  unsigned max_scrypt_log2n = paraes::max_scrypt_log2n;
  // For Format::tink; see TinkParameters, whose values they have if they are not given.
  std::optional<std::uint64_t> segment_size;
  std::optional<TinkHash> tink_hash;
  AgeProgram age;      // runs for recipients and identities; its on_process is not called
  std::string prefix;  // of the names of options in the texts of errors, such as "to_"
};

// The secret of a call: a key, a passphrase, recipients or identities. Any number of threads may
// use one at once. Keys and passphrases are copied to locked memory.
class PARAES_EXPORT MessageSecret final {
 public:
  // Each throws InvalidArgument for options that contradict it.
  //
  // key: 16 or 32 bytes.
  [[nodiscard]] static std::unique_ptr<MessageSecret> key(SecretBytes key, SecretOptions options);
  // A file that decode_key (keys.hpp) decodes. Throws as that does.
  [[nodiscard]] static std::unique_ptr<MessageSecret> key_file(const std::string& path,
                                                               SecretOptions options);
  // passphrase: not empty.
  [[nodiscard]] static std::unique_ptr<MessageSecret> passphrase(SecretBytes passphrase,
                                                                 SecretOptions options);
  // To encrypt only. age checks them when a message is made.
  [[nodiscard]] static std::unique_ptr<MessageSecret> recipients(AgeRecipients recipients,
                                                                 SecretOptions options);
  // To decrypt only. Throws as the constructor of AgeIdentities does.
  [[nodiscard]] static std::unique_ptr<MessageSecret> identities(std::vector<std::string> files,
                                                                 SecretOptions options);
  MessageSecret(const MessageSecret&) = delete;
  MessageSecret& operator=(const MessageSecret&) = delete;

  // The format and the context of the options.
  [[nodiscard]] Format format() const noexcept { return options_.format; }
  [[nodiscard]] Bytes context() const noexcept { return options_.context; }
  // Whether it is recipients or identities.
  [[nodiscard]] bool has_recipients() const noexcept { return kdf_ == Kdf::recipients; }

  // The following may take long: scrypt runs, or age, which may ask for something.

  // Throws InvalidArgument for identities.
  [[nodiscard]] Message::Parts new_message() const { return new_message(options_.context); }
  // Makes a message with this context instead of that of the options.
  [[nodiscard]] Message::Parts new_message(Bytes context) const;
  // The layout of its messages. With recipients, age decides the size of the header: it is then
  // that of the largest one.
  [[nodiscard]] SegmentLayout layout() const;

  struct Opened {
    Preface preface;
    SecretBytes input_key;  // of a message with recipients
    Message::Parts parts;
  };
  // Reads the header of a message from the start of `source`. Throws InvalidArgument if the message
  // needs another kind of secret, or the secret is for recipients, and IntegrityError if it does
  // not begin like a message.
  [[nodiscard]] Opened open_header(Source& source) const {
    return open_header(source, options_.context);
  }
  // Opens a header with this context instead of that of the options.
  [[nodiscard]] Opened open_header(Source& source, Bytes context) const;
  // The header of the message `old`, which has recipients, for these recipients.
  [[nodiscard]] std::vector<std::uint8_t> header_for_recipients(const Opened& old) const;

  // Throws InvalidArgument if the secret was read from the file with this status. `shown`: its
  // name.
  void check_not_secret(const struct stat& status, const std::string& shown) const;
  // Throws InvalidArgument if the file at `path`, which would be replaced, holds the secret.
  void check_contents(const std::string& path) const;

  // Ends age wherever it runs for this secret now, and lets it run no more: what needs it then
  // throws Cancelled. Without effect in a child of the process that made the secret.
  void cancel() const noexcept;

 private:
  explicit MessageSecret(SecretOptions options);
  [[nodiscard]] static std::unique_ptr<MessageSecret> with_key(SecretBytes key,
                                                               SecretOptions options,
                                                               const std::string& shown,
                                                               const char* option);
  [[nodiscard]] std::string name(const char* plain) const { return options_.prefix + plain; }
  void check_paraes_format() const;
  void refuse_scrypt() const;
  void add_secret_file(const std::string& path, const char* option);
  void check_kind(const Preface& preface) const;
  [[nodiscard]] Preface wrap(Bytes input_key, std::vector<std::uint8_t>& made) const;

  class AgeRun;
  class RunsOfAge;

  struct SecretFile {
    FileId id;
    std::string option;
  };

  SecretOptions options_;
  Kdf kdf_ = Kdf::none;
  TinkParameters tink_;
  SecretBytes key_;
  SecretBytes passphrase_;
  AgeRecipients recipients_;
  std::optional<AgeIdentities> identities_;
  std::vector<SecretFile> files_;
  KnownSecrets known_;
  std::shared_ptr<RunsOfAge> runs_;
};

struct FileOptions {
  // Whether an existing output may be replaced. Not set, it is TargetExists.
  bool overwrite = false;
  Execution execution = {.threads = 0};
  // Called with the bytes of plaintext done so far, and how many there are if that is known, by one
  // thread at a time, not always the caller's: at first with 0, before any output is complete. What
  // it throws ends the work: Cancelled is for that.
  std::function<void(std::uint64_t done, std::optional<std::uint64_t> total)> progress;
};

struct FileResult {
  std::uint64_t plain_bytes = 0;
  // Where it was computed; empty if only a header was replaced.
  std::string device;
  std::string kernel;
};

// The names of outputs where none is given: with ".paes" at the end, and without it. Throws
// InvalidArgument if a name does not end so.
[[nodiscard]] PARAES_EXPORT std::string encrypted_name(const std::string& input);
[[nodiscard]] PARAES_EXPORT std::string decrypted_name(const std::string& input);

// Encrypts the regular file `from` to the regular file `to`, which keeps its mode and its time of
// modification. A symbolic link at `to` stays, and what it leads to is
// replaced.
PARAES_EXPORT FileResult encrypt_file(const std::string& from, const std::string& to,
                                      const MessageSecret& secret, const FileOptions& options = {});
// Decrypts a regular file. If it is damaged, there is no output.
PARAES_EXPORT FileResult decrypt_file(const std::string& from, const std::string& to,
                                      const MessageSecret& secret, const FileOptions& options = {});
// Authenticates a file as decrypt_file does, but writes nothing.
PARAES_EXPORT FileResult verify_file(const std::string& from, const MessageSecret& secret,
                                     const FileOptions& options = {});

struct RekeyOptions : FileOptions {
  bool new_key = false;  // recipients get a new input key, too: all of the data is encrypted anew
  bool verify = false;   // recipients: decrypts all segments before the file is replaced
};
// Replaces a regular file in the format paraes by the same plaintext under another secret. The
// context stays: that of `to` is the same or empty, else InvalidArgument. From recipients to
// recipients, only the header changes. Throws IoError if another call works on the file, or if it
// changes meanwhile; the file is then as it was.
PARAES_EXPORT FileResult rekey_file(const std::string& path, const MessageSecret& from,
                                    const MessageSecret& to, const RekeyOptions& options = {});

// A source of the file `path`, which is a PositionalSource unless it is a pipe or the like. waits:
// whether opening a FIFO waits for its writer. Throws InvalidArgument for the file of the secret.
[[nodiscard]] PARAES_EXPORT std::unique_ptr<Source> open_input(const std::string& path,
                                                               const MessageSecret& secret,
                                                               bool waits);
// A writer to the regular file `path`. finish() gives it its name. The secret must outlive it.
[[nodiscard]] PARAES_EXPORT std::unique_ptr<MessageWriter> create_message(
    const std::string& path, const MessageSecret& secret, const FileOptions& options = {});

}  // namespace paraes
