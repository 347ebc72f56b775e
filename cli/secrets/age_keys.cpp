#include "cli/secrets/age_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/words/errors.hpp"
#include "paraes/error.hpp"
#include "paraes/kdf.hpp"

namespace paraes::cli {
namespace {

// Calls work(). Errors about one of the files begin with the flag that names it, too.
void naming_flag(const std::string& flag, const std::vector<std::string>& files, const auto& work) {
  const auto is_about_one = [&](const Error& error) {
    return std::any_of(files.begin(), files.end(), [&](const std::string& file) {
      return std::string_view(error.what()).starts_with(file + ": ");
    });
  };
  try {
    work();
  } catch (const IoError& error) {
    if (!is_about_one(error)) throw;
    throw IoError(fmt::format("{} {}", flag, error.what()), error.code(), error.path());
  } catch (const InvalidArgument& error) {
    if (!is_about_one(error)) throw;
    throw refusal("{} {}", flag, error.what());
  }
}

}  // namespace

AgeProgram AgeKeys::program() const {
  AgeProgram program;
  program.on_message = [](std::string_view line) {
    say(line.starts_with("age") ? std::string(line) : fmt::format("age: {}", line));
  };
  program.hidden_variables = hidden_;
  program.on_process = ChildProgram::set;
  return program;
}

const AgeKeys::RunKey& AgeKeys::of_new_messages() {
  if (new_error_) std::rethrow_exception(new_error_);
  if (!new_) {
    const Progress::KeyActivity activity(Progress::KeyStep::reading);
    const ChildProgram child;
    try {
      RunKey made;
      made.key = SecretBytes(run_key_bytes);
      random_bytes(made.key.span());
      naming_flag(keys_.flag("recipients-file"), keys_.recipients_files, [&] {
        made.age_file =
            encrypt_with_age(program(), made.key.span(),
                             {.keys = keys_.recipients, .files = keys_.recipients_files});
      });
      new_ = std::move(made);
    } catch (const Error&) {
      new_error_ = std::current_exception();
      throw;
    }
  }
  return *new_;
}

void AgeKeys::load_identities() {
  if (identities_) return;
  naming_flag(keys_.flag("identity"), keys_.identities,
              [&] { identities_.emplace(keys_.identities); });
  identities_->add_to(known_, keys_.flag("identity"));
}

const SecretBytes& AgeKeys::of_header(Bytes header) {
  const Bytes age_file = age_file_of(header);
  Sha256 hash;
  hash.add(age_file.data(), age_file.size());
  const Sha256::Digest digest = hash.digest();
  auto found = opened_.find(digest);
  if (found == opened_.end()) {
    const Progress::KeyActivity activity(Progress::KeyStep::reading);
    const ChildProgram child;
    load_identities();
    Opened opened;
    try {
      opened.key = identities_->decrypt(program(), age_file);
    } catch (const IoError&) {
      throw;  // of the system: another attempt may succeed
    } catch (const Error&) {
      opened.error = std::current_exception();
    }
    found = opened_.emplace(digest, std::move(opened)).first;
  }
  if (found->second.error) std::rethrow_exception(found->second.error);
  return found->second.key;
}

}  // namespace paraes::cli
