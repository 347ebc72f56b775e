#include "python/native/secrets.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "paraes/kdf.hpp"

namespace paraes::python {
namespace {

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

// Logs a line such as "please touch the key". Unless logging is configured, Python prints it.
void log_message(std::string_view line) {
  const nb::gil_scoped_acquire held;
  try {
    nb::module_::import_("logging").attr("getLogger")("paraes").attr("warning")(
        "%s", nb::str(line.data(), line.size()));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("paraes: a message of age");
  }
}

Format format_of(const std::string& name) {
  if (name == "paraes") return Format::paraes;
  if (name == "c2sp") return Format::c2sp;
  if (name == "tink") return Format::tink;
  throw InvalidArgument("format: it is 'paraes', 'c2sp' or 'tink', not '" + name + "'");
}

TinkHash hash_of(const std::string& name) {
  if (name == "sha1") return TinkHash::sha1;
  if (name == "sha256") return TinkHash::sha256;
  if (name == "sha512") return TinkHash::sha512;
  throw InvalidArgument("tink_hash: it is 'sha1', 'sha256' or 'sha512', not '" + name + "'");
}

// Takes the options that accompany a secret. rekey's files have one format, and the options below
// belong to both sides or to the new one.
SecretOptions take_secret_options(const nb::dict& options, Role role) {
  SecretOptions taken;
  taken.prefix = role == Role::rekey_to ? "to_" : "";
  taken.age.on_message = log_message;
  if (const nb::object value = take_option(options, "format")) {
    taken.format = format_of(string_of(value, "format"));
  }
  if (const nb::object value = take_option(options, "context")) {
    taken.context = context_of(value, max_context_bytes);
  }
  const auto take_number = [&](const char* name, auto& place, unsigned least, unsigned most) {
    const nb::object value = take_option(options, name);
    if (value) place = number_of(value, name, least, most);
  };
  if (role == Role::open) {
    take_number("max_scrypt_log2n", taken.max_scrypt_log2n, 1, highest_scrypt_log2n);
  } else {
    take_number("key_bits", taken.key_bits, 128, 256);
    take_number("scrypt_log2n", taken.scrypt_log2n, 1, highest_scrypt_log2n);
  }
  take_number("segment_size", taken.segment_size, 1, (1U << 31U) - 1);
  if (const nb::object value = take_option(options, "tink_hash")) {
    taken.tink_hash = hash_of(string_of(value, "tink_hash"));
  }
  return taken;
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
  // This also refuses names with a null byte.
  if (PyUnicode_FSConverter(object.ptr(), &encoded) == 0) nb::raise_python_error();
  const nb::object owner = nb::steal(encoded);
  return PyBytes_AsString(encoded);
}

std::unique_ptr<MessageSecret> take_secret(const nb::dict& options, Role role) {
  const std::string prefix = role == Role::rekey_to ? "to_" : "";
  const auto name = [&](const char* plain) { return prefix + plain; };
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
  SecretOptions taken = take_secret_options(options, role);
  if (key) {
    const Buffer bytes(key, name("key").c_str());
    return MessageSecret::key(SecretBytes(bytes.bytes()), std::move(taken));
  }
  if (key_file) {
    const std::string path = path_of(key_file);
    const nb::gil_scoped_release released;
    return MessageSecret::key_file(path, std::move(taken));
  }
  if (passphrase) {
    return MessageSecret::passphrase(secret_bytes(passphrase, name("passphrase")),
                                     std::move(taken));
  }
  if (identity) {
    return MessageSecret::identities(list_of(identity, "identity", true), std::move(taken));
  }
  AgeRecipients to;
  if (recipients) to.keys = list_of(recipients, name("recipients"), false);
  if (recipients_file) to.files = list_of(recipients_file, name("recipients_file"), true);
  return MessageSecret::recipients(std::move(to), std::move(taken));
}

}  // namespace paraes::python
