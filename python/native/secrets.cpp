#include "python/native/secrets.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "paraes/kdf.hpp"
#include "paraes/streams.hpp"

namespace paraes::python {
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

// The characters of a str, which keeps them.
std::string_view utf8_of(nb::handle text, const std::string& name) {
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (utf8 == nullptr) {
    // The message of the codec would show the text.
    PyErr_Clear();
    throw InvalidArgument(name + ": it has characters that UTF-8 cannot encode");
  }
  return {utf8, static_cast<std::size_t>(size)};
}

// The value of an argument that is a str. Throws TypeError if it is none, and InvalidArgument if
// UTF-8 cannot encode it.
std::string string_of(nb::handle value, const char* name) {
  if (PyUnicode_Check(value.ptr())) return std::string(utf8_of(value, name));
  nb::raise_type_error("%s: it is a str, not '%s'", name, nb::inst_name(value).c_str());
}

// `text` as bytes; a str is UTF-8.
SecretBytes secret_bytes(nb::handle text, const std::string& name) {
  if (PyUnicode_Check(text.ptr())) {
    const std::string_view utf8 = utf8_of(text, name);
    return SecretBytes(Bytes(reinterpret_cast<const std::uint8_t*>(utf8.data()), utf8.size()));
  }
  const Buffer buffer(text, name.c_str());
  return SecretBytes(buffer.bytes());
}

std::vector<std::string> list_of(nb::handle value, const std::string& name, bool paths) {
  std::vector<std::string> found;
  const auto add = [&](nb::handle item) {
    if (paths) {
      found.push_back(path_of(item));
    } else if (PyUnicode_Check(item.ptr())) {
      found.emplace_back(utf8_of(item, name));
    } else {
      nb::raise_type_error("%s: a recipient is a str, such as 'age1...'", name.c_str());
    }
  };
  if (is_path(value)) {
    add(value);
  } else {
    for (const nb::handle item : value) add(item);
  }
  if (found.empty()) throw InvalidArgument(name + ": it is empty");
  return found;
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

nb::object take_option(const nb::dict& options, const char* name) {
  const nb::str key(name);
  if (!options.contains(key)) return {};
  nb::object value = options[key];
  nb::del(options[key]);
  return value.is_none() ? nb::object() : value;
}

void check_all_taken(const nb::dict& options, const char* function) {
  for (const auto item : options) {
    nb::raise_type_error("%s() got an unexpected keyword argument '%s'", function,
                         nb::str(item.first).c_str());
  }
}

Execution take_where(const nb::dict& options) {
  Execution where = {.kernel = "auto", .threads = 0, .device = "cpu"};
  if (const nb::object value = take_option(options, "threads")) {
    where.threads = threads_of(value);
  }
  if (const nb::object value = take_option(options, "device")) {
    where.device = string_of(value, "device");
  }
  if (const nb::object value = take_option(options, "kernel")) {
    where.kernel = string_of(value, "kernel");
  }
  return where;
}

bool is_path(nb::handle object) {
  return PyUnicode_Check(object.ptr()) || PyBytes_Check(object.ptr()) ||
         nb::hasattr(object, "__fspath__");
}

std::string path_of(nb::handle object) {
  PyObject* encoded = nullptr;
  // Also refuses names with a null byte.
  if (PyUnicode_FSConverter(object.ptr(), &encoded) == 0) nb::raise_python_error();
  const nb::object owner = nb::steal(encoded);
  return PyBytes_AsString(encoded);
}

std::string Secrets::name(const char* plain) const {
  return (role_ == Role::rekey_to ? "to_" : "") + std::string(plain);
}

Secrets::Secrets(const nb::dict& options, Role role) : role_(role) {
  const auto take = [&](const char* plain) { return take_option(options, name(plain).c_str()); };
  const bool opens = role == Role::open;
  const nb::object key = take("key");
  const nb::object key_file = take("key_file");
  const nb::object passphrase = take("passphrase");
  const nb::object identity = opens ? take("identity") : nb::object();
  const nb::object recipients = opens ? nb::object() : take("recipients");
  const nb::object recipients_file = opens ? nb::object() : take("recipients_file");
  const std::array given = {key.is_valid(), key_file.is_valid(), passphrase.is_valid(),
                            identity.is_valid(),
                            recipients.is_valid() || recipients_file.is_valid()};
  if (std::count(given.begin(), given.end(), true) != 1) {
    throw InvalidArgument("pass exactly one of " + name("key") + ", " + name("key_file") + ", " +
                          name("passphrase") + " and " + (opens ? "identity" : name("recipients")));
  }
  take_format(options, passphrase.is_valid());
  if (key) {
    const Buffer bytes(key, name("key").c_str());
    key_ = decode_key(SecretBytes(bytes.bytes()), name("key"), KeyUse::segments, KeyEncoding::raw);
    take_key(name("key"));
  }
  if (key_file) {
    const std::string path = path_of(key_file);
    add_secret_file(path, "key_file");
    {
      const nb::gil_scoped_release released;
      key_ = decode_key(read_small(path, max_key_file_bytes), path, KeyUse::segments);
    }
    take_key(name("key_file"));
  }
  if (passphrase) take_passphrase(passphrase);
  if (recipients) recipients_.keys = list_of(recipients, name("recipients"), false);
  if (recipients_file) {
    recipients_.files = list_of(recipients_file, name("recipients_file"), true);
  }
  if (identity) {
    std::vector<std::string> files = list_of(identity, "identity", true);
    for (const std::string& file : files) add_secret_file(file, "identity");
    identities_.emplace(std::move(files));
    identities_->add_to(known_, "identity");
  }
  if (!key && !key_file && !passphrase) kdf_ = Kdf::recipients;
  if (format_ != Format::paraes && kdf_ != Kdf::none) {
    throw InvalidArgument("format: only 'paraes' takes passphrases and recipients");
  }
}

void Secrets::take_format(const nb::dict& options, bool with_passphrase) {
  // rekey: its files have one format, and what follows belongs to both sides or the new one.
  if (const nb::object value = take_option(options, "format")) {
    const std::string format = string_of(value, "format");
    if (format == "c2sp") {
      format_ = Format::c2sp;
    } else if (format == "tink") {
      format_ = Format::tink;
    } else if (format != "paraes") {
      throw InvalidArgument("format: it is 'paraes', 'c2sp' or 'tink', not '" + format + "'");
    }
  }
  if (const nb::object value = take_option(options, "context")) {
    context_ = context_of(value, max_context_bytes);
  }
  if (role_ == Role::open) {
    if (const nb::object value = take_option(options, "max_scrypt_log2n")) {
      max_scrypt_log2n_ = number_of(value, "max_scrypt_log2n", 1U, highest_scrypt_log2n);
    }
  } else {
    if (const nb::object value = take_option(options, "key_bits")) {
      key_bits_ = number_of(value, "key_bits", 128U, 256U);
      if (key_bits_ != 128 && key_bits_ != 256) {
        throw InvalidArgument("key_bits: it is 128 or 256, not " + std::to_string(key_bits_));
      }
    }
    if (const nb::object value = take_option(options, "scrypt_log2n")) {
      scrypt_log2n_ = number_of(value, "scrypt_log2n", 1U, highest_scrypt_log2n);
      if (!with_passphrase) throw InvalidArgument("scrypt_log2n goes with " + name("passphrase"));
    }
  }
  if (format_ != Format::tink) {
    for (const char* of_tink : {"segment_size", "tink_hash"}) {
      if (take_option(options, of_tink)) {
        throw InvalidArgument(std::string(of_tink) + " goes with format='tink'");
      }
    }
    return;
  }
  if (const nb::object value = take_option(options, "segment_size")) {
    tink_.segment_bytes = number_of(value, "segment_size", 1U, (1U << 31U) - 1);
  }
  if (const nb::object value = take_option(options, "tink_hash")) {
    const std::string hash = string_of(value, "tink_hash");
    if (hash != "sha1" && hash != "sha256" && hash != "sha512") {
      throw InvalidArgument("tink_hash: it is 'sha1', 'sha256' or 'sha512', not '" + hash + "'");
    }
    tink_.hash = hash == "sha1"     ? TinkHash::sha1
                 : hash == "sha256" ? TinkHash::sha256
                                    : TinkHash::sha512;
  }
}

void Secrets::take_key(const std::string& option) {
  known_.add_key(key_.span(), option);
  tink_.derived_key_bytes = key_.size();
  if (key_bits_ != 0 && key_bits_ != 8 * key_.size()) {
    throw InvalidArgument("key_bits: " + std::to_string(key_bits_) +
                          " contradicts the key, which is for AES-" +
                          std::to_string(8 * key_.size()));
  }
}

void Secrets::take_passphrase(nb::handle value) {
  kdf_ = Kdf::scrypt;
  passphrase_ = secret_bytes(value, name("passphrase"));
  if (passphrase_.empty()) throw InvalidArgument(name("passphrase") + ": it is empty");
  known_.add_passphrase(passphrase_.span(), name("passphrase"));
}

void Secrets::add_secret_file(const std::string& path, const char* option) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  files_.push_back({FileId(status), name(option)});
}

void Secrets::check_not_secret(const struct stat& status, const std::string& shown) const {
  for (const SecretFile& file : files_) {
    if (!(file.id == FileId(status))) continue;
    throw InvalidArgument(shown + ": it is the file of " + file.option +
                          ", which can be neither input nor output");
  }
}

void Secrets::check_contents(const std::string& path) const {
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

AgeProgram Secrets::age() const {
  AgeProgram program;
  program.on_process = [this](pid_t process) {
    const std::lock_guard lock(process_mutex_);
    process_ = process;
    if (process != 0 && cancelled_) kill(process, SIGTERM);
  };
  // Such as "please touch the key". Without a configuration of logging, it is printed.
  program.on_message = [](std::string_view line) {
    const nb::gil_scoped_acquire held;
    try {
      nb::module_::import_("logging").attr("getLogger")("paraes").attr("warning")(
          "%s", nb::str(line.data(), line.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("paraes: a message of age");
    }
  };
  return program;
}

void Secrets::cancel() const noexcept {
  const std::lock_guard lock(process_mutex_);
  cancelled_ = true;
  if (process_ != 0) kill(process_, SIGTERM);
}

Preface Secrets::wrap(Bytes input_key, std::vector<std::uint8_t>& made) const {
  SecretBytes run_key(run_key_bytes);
  random_bytes(run_key.span());
  const std::vector<std::uint8_t> age_file = encrypt_with_age(age(), run_key.span(), recipients_);
  const Preface preface =
      Preface::for_recipients(static_cast<unsigned>(8 * input_key.size()), age_file.size());
  made = make_wrap(preface, age_file, run_key.span(), input_key);
  return preface;
}

Message::Parts Secrets::new_message() const {
  if (format_ == Format::c2sp) return new_c2sp_message(key_.span(), context_);
  if (format_ == Format::tink) return new_tink_message(tink_, key_.span(), context_);
  const unsigned bits = key_bits_ == 128 ? 128 : 256;
  switch (kdf_) {
    case Kdf::none:
      break;
    case Kdf::scrypt: {
      const Preface preface = Preface::for_passphrase(bits, scrypt_log2n_);
      return new_paraes_message(preface, scrypt_input_key(preface, passphrase_.span()).span(),
                                context_);
    }
    case Kdf::recipients: {
      SecretBytes input_key(bits / 8);
      random_bytes(input_key.span());
      std::vector<std::uint8_t> made;
      const Preface preface = wrap(input_key.span(), made);
      return new_paraes_message(preface, input_key.span(), context_, made);
    }
  }
  return new_paraes_message(Preface::for_key(key_.size()), key_.span(), context_);
}

std::vector<std::uint8_t> Secrets::header_for_recipients(const Opened& old) const {
  std::vector<std::uint8_t> made;
  const Preface preface = wrap(old.input_key.span(), made);
  return header_with_wrap(old.parts.header, preface, made);
}

// The header never chooses between secrets: whoever can replace a file could choose, too.
void Secrets::check_kind(const Preface& preface) const {
  if (preface.kdf == kdf_) return;
  throw InvalidArgument(std::string("the data was encrypted ") + needed(preface.kdf));
}

Secrets::Opened Secrets::open_header(Source& source) const {
  Opened opened;
  if (format_ != Format::paraes) {
    std::vector<std::uint8_t> header(format_ == Format::c2sp ? c2sp_header_bytes
                                                             : tink_.header_bytes());
    header.resize(source.read(header));
    opened.parts = format_ == Format::c2sp
                       ? open_c2sp_message(header, key_.span(), context_)
                       : open_tink_message(tink_, header, key_.span(), context_);
    return opened;
  }
  const std::vector<std::uint8_t> header = read_paraes_header(source);
  if (!looks_like_paraes(header)) {
    throw IntegrityError(looks_salted(header)
                             ? "the data begins with \"Salted__\", as `openssl enc` writes it: "
                               "`paraes decrypt --format openssl` decrypts it, unauthenticated"
                             : "the data does not begin like a paraes message; if it is in another "
                               "format, pass format='c2sp' or format='tink'");
  }
  opened.preface = Preface::parse(Bytes(header).first(std::min(header.size(), Preface::bytes)));
  check_kind(opened.preface);
  switch (opened.preface.kdf) {
    case Kdf::none:
      opened.parts = open_paraes_message(header, key_.span(), context_);
      break;
    case Kdf::scrypt: {
      const unsigned asked = opened.preface.scrypt_log2n;
      if (asked > max_scrypt_log2n_) {
        throw InvalidArgument("the data asks for scrypt with N = 2^" + std::to_string(asked) +
                              ", but max_scrypt_log2n is " + std::to_string(max_scrypt_log2n_) +
                              ": a damaged header, an attack, or a stronger choice than usual");
      }
      const SecretBytes input_key = scrypt_input_key(opened.preface, passphrase_.span());
      opened.parts = open_paraes_message(header, input_key.span(), context_);
      break;
    }
    case Kdf::recipients: {
      // Before age runs, and perhaps asks: an impossible size needs no key.
      if (const auto* file = dynamic_cast<const PositionalSource*>(&source); file != nullptr) {
        static_cast<void>(c2sp_layout(header.size()).extent_of(file->size()));
      }
      const SecretBytes run_key = identities_->decrypt(age(), age_file_of(header));
      opened.input_key = open_slot(header, run_key.span());
      opened.parts = open_paraes_message(header, opened.input_key.span(), context_);
      break;
    }
  }
  return opened;
}

}  // namespace paraes::python
