// keygen: writes a new key to a new file.

#include <fcntl.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "cli/arguments/number_flags.hpp"
#include "cli/streams/descriptors.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/numbers.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/kdf.hpp"
#include "paraes/secret.hpp"

namespace paraes::cli {
namespace {

struct KeygenOptions {
  unsigned key_bits = 256;
  std::string mode;
  bool hex = false;
  bool quiet = false;  // nothing else is printed
  std::string output;
};

// Whether a key for the mode has two halves.
constexpr std::array<Word<bool>, 5> keygen_modes = {
    {{"ecb", false}, {"cbc", false}, {"ctr", false}, {"xts", true}, {"gcm", false}}};

SecretBytes new_key(std::size_t bytes, bool xts) {
  SecretBytes key(bytes);
  do {
    random_bytes(key.span());
    // FIPS 140-3 IG C.I forbids XTS keys with equal halves.
  } while (xts && constant_time_equal(Bytes(key.span()).first(bytes / 2),
                                      Bytes(key.span()).last(bytes / 2)));
  return key;
}

SecretBytes to_hex_line(const SecretBytes& key) {
  constexpr char digits[] = "0123456789abcdef";
  SecretBytes line(2 * key.size() + 1);
  for (std::size_t i = 0; i < key.size(); ++i) {
    line.data()[2 * i] = static_cast<std::uint8_t>(digits[key.data()[i] >> 4]);
    line.data()[2 * i + 1] = static_cast<std::uint8_t>(digits[key.data()[i] & 15]);
  }
  line.data()[2 * key.size()] = '\n';
  return line;
}

void write_key(const KeygenOptions& options, Bytes contents) {
  if (auto sink = open_stream(options.output)) {
    sink->write(contents);
    sink->commit();
    return;
  }
  struct stat status = {};
  if (lstat(options.output.c_str(), &status) == 0) {
    throw refusal(
        "{}: it exists already; an existing key file is never overwritten: choose another name",
        options.output);
  }
  FileSink::Options sink_options;
  TemporaryName temporary;
  sink_options.on_temporary = [&](int folder, const std::string& name) {
    temporary.set(folder, name);
  };
  FileSink sink(options.output, std::move(sink_options));
  sink.write(contents);
  sink.commit();
}

void run(const KeygenOptions& options) {
  if (options.output.empty()) {
    throw InvalidArgument("keygen needs -o FILE, the name of the new key file");
  }
  const std::string& mode = options.mode;
  const bool xts = mode == "xts";
  if (!mode.empty() && !find_choice(keygen_modes, mode)) {
    throw refusal(
        "--mode {}: there is no such mode; only xts makes a difference: its keys are twice as long",
        mode);
  }
  if (xts && options.key_bits == 192) {
    throw InvalidArgument("there is no AES-192-XTS (SP 800-38E): use --key-bits 128 or 256");
  }
  const SecretBytes key = new_key((xts ? 2 : 1) * options.key_bits / 8, xts);
  if (options.hex) {
    const SecretBytes line = to_hex_line(key);
    write_key(options, line.span());
  } else {
    write_key(options, key.span());
  }
}

constexpr const char* keygen_footer = R"(
Only the owner may read the file. Keep a copy: without the key, the data is lost.

Examples:
  paraes keygen -o my.key
  paraes keygen --mode xts --key-bits 128 --hex -o disk.key)";

}  // namespace

void add_keygen(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("keygen", "Makes a key file.");
  const auto options = std::make_shared<KeygenOptions>();
  verb->add_option("-o,--output", options->output,
                   "The new key file, which must not exist; - is standard output.")
      ->type_name("FILE");
  add_value(*verb, "--key-bits", "128|192|256", "Size of the AES key (default: 256).",
            [options](const std::string& flag, const std::string& text) {
              options->key_bits = parse_number_of(text, flag, std::array{128U, 192U, 256U});
            });
  verb->add_option("--mode", options->mode, "xts: make a key of two halves, twice as long.")
      ->type_name(type_of(keygen_modes));
  verb->add_flag("--hex", options->hex, "Write hex digits and a newline instead of raw bytes.");
  verb->add_flag("-q,--quiet", options->quiet, "Print errors only.");
  verb->footer(keygen_footer);
  verb->callback([options, &status] {
    run(*options);
    status = exit_done;
  });
}

}  // namespace paraes::cli
