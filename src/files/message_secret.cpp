// Where the keys of a call come from, and the messages that they make and open.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/files.hpp"
#include "paraes/forks.hpp"
#include "paraes/kdf.hpp"
#include "paraes/keys.hpp"
#include "paraes/streams.hpp"

namespace paraes {
namespace {

// Reads a small file that may be a pipe.
SecretBytes read_small(const std::string& path, std::size_t most) {
  Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat status = {};
  if (descriptor.get() < 0 || fstat(descriptor.get(), &status) != 0) {
    throw io_error(path, "open", errno);
  }
  if (S_ISDIR(status.st_mode)) throw io_error(path, "read", EISDIR);
  PipeSource source(std::move(descriptor), path);
  SecretBytes contents(most + 1);
  const std::size_t n = source.read(contents.span());
  if (n == contents.size()) {
    throw InvalidArgument(path + ": it has more than " + std::to_string(most) +
                          " bytes: too many for a key");
  }
  contents.truncate(n);
  return contents;
}

void check_scrypt(const char* name, unsigned log2n) {
  if (log2n >= 1 && log2n <= highest_scrypt_log2n) return;
  throw InvalidArgument(std::string(name) + ": it is 1 to " + std::to_string(highest_scrypt_log2n) +
                        ", not " + std::to_string(log2n));
}

// Says which secret a header needs, for the message of a mismatch.
const char* needed(Kdf kdf) {
  switch (kdf) {
    case Kdf::none:
      return "with a key: pass key or key_file";
    case Kdf::scrypt:
      return "with a passphrase: pass passphrase";
    case Kdf::recipients:
      break;
  }
  return "to recipients: pass identity";
}

}  // namespace

// The processes of age that run for one secret.
class MessageSecret::RunsOfAge {
 public:
  void add(pid_t process) {
    const std::lock_guard lock(mutex_);
    processes_.push_back(process);
    if (cancelled_) kill(process, SIGTERM);
  }
  void remove(pid_t process) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(processes_, process);
  }
  void cancel() noexcept {
    if (!owner_.is_this()) return;  // they are its parent's
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (const pid_t process : processes_) kill(process, SIGTERM);
  }
  [[nodiscard]] bool is_cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }

 private:
  OwnerProcess owner_;
  mutable std::mutex mutex_;
  std::vector<pid_t> processes_;
  bool cancelled_ = false;
};

// One of them. However it ends, it is forgotten: another process may get its number.
class MessageSecret::AgeRun {
 public:
  explicit AgeRun(const MessageSecret& secret)
      : program_(secret.options_.age), runs_(*secret.runs_) {
    program_.on_process = [this](pid_t process) {
      forget();
      process_ = process;
      if (process != 0) runs_.add(process);
    };
  }
  ~AgeRun() { forget(); }
  AgeRun(const AgeRun&) = delete;
  AgeRun& operator=(const AgeRun&) = delete;

  // Returns what work(program) returns. Throws Cancelled if it failed because of that.
  auto operator()(const auto& work) try {
    if (runs_.is_cancelled()) throw Cancelled();
    return work(program_);
  } catch (const Error&) {
    if (runs_.is_cancelled()) throw Cancelled();
    throw;
  }

 private:
  void forget() noexcept {
    if (process_ != 0) runs_.remove(process_);
    process_ = 0;
  }

  AgeProgram program_;
  RunsOfAge& runs_;
  pid_t process_ = 0;
};

MessageSecret::MessageSecret(SecretOptions options)
    : options_(std::move(options)), runs_(std::make_shared<RunsOfAge>()) {
  if (options_.context.size() > max_context_bytes) {
    throw InvalidArgument("context: it has at most " + std::to_string(max_context_bytes) +
                          " bytes, not " + std::to_string(options_.context.size()));
  }
  if (options_.key_bits && options_.key_bits != 128U && options_.key_bits != 256U) {
    throw InvalidArgument("key_bits: it is 128 or 256, not " + std::to_string(*options_.key_bits));
  }
  check_scrypt("scrypt_log2n", options_.scrypt_log2n.value_or(default_scrypt_log2n));
  check_scrypt("max_scrypt_log2n", options_.max_scrypt_log2n);
  if (options_.format != Format::tink) {
    if (options_.segment_size) throw InvalidArgument("segment_size goes with the format tink");
    if (options_.tink_hash) throw InvalidArgument("tink_hash goes with the format tink");
  }
  if (options_.segment_size) tink_.segment_bytes = *options_.segment_size;
  if (options_.tink_hash) tink_.hash = *options_.tink_hash;
}

// `shown`: what errors call the key. `option`: what the caller passed.
std::unique_ptr<MessageSecret> MessageSecret::with_key(SecretBytes key, SecretOptions options,
                                                       const std::string& shown,
                                                       const char* option) {
  std::unique_ptr<MessageSecret> secret(new MessageSecret(std::move(options)));
  const SecretOptions& given = secret->options_;
  secret->refuse_scrypt();
  secret->key_ = decode_key(std::move(key), shown, KeyUse::segments, KeyEncoding::raw);
  const std::size_t bytes = secret->key_.size();
  if (given.key_bits && *given.key_bits != 8 * bytes) {
    throw InvalidArgument("key_bits: " + std::to_string(*given.key_bits) +
                          " contradicts the key, which is for AES-" + std::to_string(8 * bytes));
  }
  secret->tink_.derived_key_bytes = bytes;
  static_cast<void>(secret->layout());  // checks the size of segments
  secret->known_.add_key(secret->key_, secret->name(option));
  return secret;
}

std::unique_ptr<MessageSecret> MessageSecret::key(SecretBytes key, SecretOptions options) {
  const std::string shown = options.prefix + "key";
  return with_key(std::move(key), std::move(options), shown, "key");
}

std::unique_ptr<MessageSecret> MessageSecret::key_file(const std::string& path,
                                                       SecretOptions options) {
  SecretBytes key = decode_key(read_small(path, max_key_file_bytes), path, KeyUse::segments);
  auto secret = with_key(std::move(key), std::move(options), path, "key_file");
  secret->add_secret_file(path, "key_file");
  return secret;
}

std::unique_ptr<MessageSecret> MessageSecret::passphrase(SecretBytes passphrase,
                                                         SecretOptions options) {
  std::unique_ptr<MessageSecret> secret(new MessageSecret(std::move(options)));
  secret->check_paraes_format();
  if (passphrase.empty()) throw InvalidArgument(secret->name("passphrase") + ": it is empty");
  secret->kdf_ = Kdf::scrypt;
  secret->passphrase_ = std::move(passphrase);
  secret->known_.add_passphrase(secret->passphrase_, secret->name("passphrase"));
  return secret;
}

std::unique_ptr<MessageSecret> MessageSecret::recipients(AgeRecipients recipients,
                                                         SecretOptions options) {
  std::unique_ptr<MessageSecret> secret(new MessageSecret(std::move(options)));
  secret->check_paraes_format();
  secret->refuse_scrypt();
  if (recipients.keys.empty() && recipients.files.empty()) {
    throw InvalidArgument(secret->name("recipients") + ": there are none");
  }
  secret->kdf_ = Kdf::recipients;
  secret->recipients_ = std::move(recipients);
  return secret;
}

std::unique_ptr<MessageSecret> MessageSecret::identities(std::vector<std::string> files,
                                                         SecretOptions options) {
  std::unique_ptr<MessageSecret> secret(new MessageSecret(std::move(options)));
  secret->check_paraes_format();
  secret->refuse_scrypt();
  if (secret->options_.key_bits) {
    throw InvalidArgument("key_bits is for new messages, and identities decrypt");
  }
  secret->kdf_ = Kdf::recipients;
  for (const std::string& file : files) secret->add_secret_file(file, "identity");
  secret->identities_.emplace(std::move(files));
  secret->identities_->add_to(secret->known_, secret->name("identity"));
  return secret;
}

// Passphrases, recipients and identities need the format paraes.
void MessageSecret::check_paraes_format() const {
  if (options_.format != Format::paraes) {
    throw InvalidArgument("format: only paraes takes passphrases and recipients");
  }
}

void MessageSecret::refuse_scrypt() const {
  if (options_.scrypt_log2n) {
    throw InvalidArgument("scrypt_log2n goes with " + name("passphrase"));
  }
}

void MessageSecret::add_secret_file(const std::string& path, const char* option) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  files_.push_back({FileId(status), name(option)});
}

void MessageSecret::check_not_secret(const struct stat& status, const std::string& shown) const {
  for (const SecretFile& file : files_) {
    if (!(file.id == FileId(status))) continue;
    throw InvalidArgument(shown + ": it is the file of " + file.option +
                          ", which can be neither input nor output");
  }
}

void MessageSecret::check_contents(const std::string& path) const {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !known_.may_be_in(static_cast<std::uint64_t>(status.st_size))) {
    return;
  }
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return;
  if (const auto source = known_.find_in(file.get())) {
    throw InvalidArgument(path + ": it holds the secret of " + *source +
                          ", and is never replaced; write to another file");
  }
}

void MessageSecret::cancel() const noexcept { runs_->cancel(); }

Preface MessageSecret::wrap(Bytes input_key, std::vector<std::uint8_t>& made) const {
  if (identities_) throw InvalidArgument(name("identity") + ": it decrypts; pass recipients");
  SecretBytes run_key(run_key_bytes);
  random_bytes(run_key);
  AgeRun run(*this);
  const std::vector<std::uint8_t> age_file = run(
      [&](const AgeProgram& program) { return encrypt_with_age(program, run_key, recipients_); });
  const Preface preface =
      Preface::for_recipients(static_cast<unsigned>(8 * input_key.size()), age_file.size());
  made = make_wrap(preface, age_file, run_key, input_key);
  return preface;
}

Message::Parts MessageSecret::new_message(Bytes context) const {
  if (options_.format == Format::c2sp) return new_c2sp_message(key_, context);
  if (options_.format == Format::tink) return new_tink_message(tink_, key_, context);
  const unsigned bits = options_.key_bits.value_or(256);
  if (kdf_ == Kdf::none) return new_paraes_message(Preface::for_key(key_.size()), key_, context);
  if (kdf_ == Kdf::scrypt) {
    const Preface preface =
        Preface::for_passphrase(bits, options_.scrypt_log2n.value_or(default_scrypt_log2n));
    return new_paraes_message(preface, scrypt_input_key(preface, passphrase_), context);
  }
  SecretBytes input_key(bits / 8);
  random_bytes(input_key);
  std::vector<std::uint8_t> made;
  const Preface preface = wrap(input_key, made);
  return new_paraes_message(preface, input_key, context, made);
}

SegmentLayout MessageSecret::layout() const {
  if (options_.format == Format::tink) return tink_layout(tink_);
  if (options_.format == Format::c2sp) return c2sp_layout();
  return c2sp_layout(paraes_header_bytes + (kdf_ == Kdf::recipients ? max_wrap_bytes : 0));
}

std::vector<std::uint8_t> MessageSecret::header_for_recipients(const Opened& old) const {
  std::vector<std::uint8_t> made;
  const Preface preface = wrap(old.input_key, made);
  return header_with_wrap(old.parts.header, preface, made);
}

// The header never chooses between secrets: whoever can replace a file could choose.
void MessageSecret::check_kind(const Preface& preface) const {
  if (preface.kdf == kdf_ && (kdf_ != Kdf::recipients || identities_)) return;
  throw InvalidArgument(std::string("the data was encrypted ") + needed(preface.kdf));
}

MessageSecret::Opened MessageSecret::open_header(Source& source, Bytes context) const {
  Opened opened;
  if (options_.format != Format::paraes) {
    const bool is_c2sp = options_.format == Format::c2sp;
    std::vector<std::uint8_t> header(is_c2sp ? c2sp_header_bytes : tink_.header_bytes());
    header.resize(source.read(header));
    opened.parts = is_c2sp ? open_c2sp_message(header, key_, context)
                           : open_tink_message(tink_, header, key_, context);
    return opened;
  }
  const std::vector<std::uint8_t> header = read_paraes_header(source);
  if (!looks_like_paraes(header)) {
    throw IntegrityError(looks_salted(header)
                             ? "the data begins with \"Salted__\", as `openssl enc` writes it: "
                               "`paraes decrypt --format openssl` decrypts it, unauthenticated"
                             : "the data does not begin like a paraes message; if it is in another "
                               "format, pass the format c2sp or tink");
  }
  opened.preface = Preface::parse(Bytes(header).first(std::min(header.size(), Preface::bytes)));
  check_kind(opened.preface);
  switch (opened.preface.kdf) {
    case Kdf::none:
      opened.parts = open_paraes_message(header, key_, context);
      break;
    case Kdf::scrypt: {
      const unsigned asked = opened.preface.scrypt_log2n;
      if (asked > options_.max_scrypt_log2n) {
        throw InvalidArgument("the data asks for scrypt with N = 2^" + std::to_string(asked) +
                              ", but max_scrypt_log2n is " +
                              std::to_string(options_.max_scrypt_log2n) +
                              ": a damaged header, an attack, or a stronger choice than usual");
      }
      const SecretBytes input_key = scrypt_input_key(opened.preface, passphrase_);
      opened.parts = open_paraes_message(header, input_key, context);
      break;
    }
    case Kdf::recipients: {
      // Before age runs, and perhaps asks: an impossible size needs no key.
      if (const auto* file = dynamic_cast<const PositionalSource*>(&source); file != nullptr) {
        static_cast<void>(c2sp_layout(header.size()).extent_of(file->size()));
      }
      AgeRun run(*this);
      const SecretBytes run_key = run([&](const AgeProgram& program) {
        return identities_->decrypt(program, age_file_of(header));
      });
      opened.input_key = open_slot(header, run_key);
      opened.parts = open_paraes_message(header, opened.input_key, context);
      break;
    }
  }
  return opened;
}

}  // namespace paraes
