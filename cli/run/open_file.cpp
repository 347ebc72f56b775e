#include "cli/run/open_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "cli/arguments/options.hpp"
#include "cli/plan/plan.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/words/choices.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/error.hpp"
#include "paraes/threads.hpp"

namespace paraes::cli {
namespace {

// Replaces a source of base64 by one of the bytes.
SaltedHeader read_salted_header(std::unique_ptr<Source>& source) {
  std::array<std::uint8_t, SaltedHeader::bytes> start{};
  std::size_t n = source->read(start);
  if (looks_salted_in_base64(Bytes(start).first(n))) {
    // Lines of 64 characters and a newline have 48 bytes.
    if (const auto left = source->remaining()) {
      Progress::change_total(-static_cast<std::int64_t>((n + *left) / 65 * 17));
    }
    source = std::make_unique<Base64Source>(Bytes(start).first(n), std::move(source));
    n = source->read(start);
  }
  return SaltedHeader::parse(Bytes(start).first(n));
}

// Says that whoever has the data can try passphrases fast.
void warn_of_derivation(const Plan& plan) {
  if (plan.salted_kdf == SaltedKdf::evp) {
    say("note: --kdf evp is weak: one hash makes the key, so that passphrases can be guessed "
        "fast; it is for files of old programs");
  } else if (plan.digest == Digest::md5 || plan.digest == Digest::sha1) {
    say("note: --digest {} is weak; it is for files of old programs",
        digest_names.at(static_cast<std::size_t>(plan.digest)));
  }
}

// Prints the warnings about leaky kernels and unauthenticated formats, and with -v what runs.
void say_what_runs(const Plan& plan, const std::string& name, const Cipher& cipher, int threads) {
  if (plan.reporting.quiet) return;
  if (plan.kernel.timing == Timing::leaky && isatty(STDERR_FILENO) != 0) {
    say("warning: kernel {} leaks the key through the caches to whoever shares this {}",
        plan.kernel.name, plan.on_gpu ? "GPU" : "machine; it is for measurements");
  }
  if (plan.format == Format::openssl) {
    say("note: --format openssl is not authenticated: changes to the data go unnoticed");
    warn_of_derivation(plan);
  }
  if (!plan.reporting.verbose) return;
  const std::string variant =
      plan.kernel.variant.empty() ? "" : fmt::format(" ({})", plan.kernel.variant);
  say("{} on {}, kernel {}{}: {}; threads: {}", name, cipher.device(), cipher.kernel(), variant,
      plan.why, threads);
  if (!is_authenticated(plan.format) && plan.mode == BlockMode::cbc && plan.verb == Verb::encrypt &&
      plan.execution.threads > 1) {
    say("CBC encryption is serial (each block needs the one before it): it uses one thread");
  }
}

// Refuses --rm unless the input and the output are regular files.
void check_removable(const Place& place, const Input& input, const Destination& destination) {
  if (!input.is_regular()) {
    throw refusal("{}: it is not a regular file, so --rm must not remove it: leave --rm out",
                  place.shown);
  }
  if (destination.written_in_place) {
    throw refusal("{}: it is not a regular file, so --rm must not remove {}: leave --rm out",
                  destination.path, place.shown);
  }
}

}  // namespace

OpenFile::OpenFile(RunContext& run, const FileJob& job, const FileProgress& progress,
                   FileOutcome& outcome)
    : run_(run),
      job_(job),
      progress_(progress),
      outcome_(outcome),
      input_(open_input(job.input,
                        {.permissions = run.plan.verb != Verb::verify,
                         .attributes = run.plan.looks_at_attributes(),
                         // On another host, the name would be that of another device.
                         .seeks_in_devices = !run.plan.output.launched},
                        run.plan.verb == Verb::rekey || run.plan.dry_run ? Waits::no : Waits::yes)),
      version_(input_.status) {
  run.files.check_input(input_.status, input_name(job.input.shown));
  if (run.plan.verb != Verb::verify) {
    destination_ = choose_destination(run, job, input_, outcome.report.output);
    if (run.plan.removes && !is_up_to_date()) check_removable(job.input, input_, destination_);
  }
  start_ = Clock::now();
}

const PositionalSource* OpenFile::positional() const {
  return dynamic_cast<const PositionalSource*>(input_.source.get());
}

Message OpenFile::make_message() {
  const Clock::time_point start = Clock::now();
  Message message = run_.plan.verb == Verb::encrypt ? run_.messages.new_message()
                                                    : run_.messages.open_message(input_.source);
  key_expansion_ = nanoseconds_since(start);
  say_what_runs(message);
  return message;
}

MessageFactory::OpenHeader OpenFile::open_header(Source& source) {
  const Clock::time_point start = Clock::now();
  MessageFactory::OpenHeader header = run_.messages.open_header(source);
  key_expansion_ = nanoseconds_since(start);
  return header;
}

void OpenFile::say_what_runs(const Message& message) {
  const int threads = job_.threads == 0 ? available_cores() : job_.threads;
  std::call_once(run_.what_runs, [&] {
    cli::say_what_runs(run_.plan, fmt::format("AES-{}-GCM", message.key_bits()), message.cipher(),
                       threads);
  });
}

std::unique_ptr<StreamTransform> OpenFile::make_stream(std::optional<SaltedHeader>& new_header) {
  const Plan& plan = run_.plan;
  const Clock::time_point start = Clock::now();
  unsigned key_bits = plan.key_bits == 0 ? 256 : plan.key_bits;
  std::unique_ptr<StreamTransform> stream;
  if (plan.format == Format::raw) {
    stream = run_.messages.raw(key_bits);
  } else if (plan.verb == Verb::encrypt) {
    new_header = SaltedHeader::random();
    stream = run_.messages.salted(*new_header);
  } else {
    stream = run_.messages.salted(read_salted_header(input_.source));
  }
  key_expansion_ = nanoseconds_since(start);
  std::call_once(run_.what_runs, [&] {
    cli::say_what_runs(plan, fmt::format("{} AES-{}", mode_name(plan.mode), key_bits),
                       stream->cipher(), stream->cipher().threads());
  });
  return stream;
}

// The secrets have been read by now: a message needs them.
void OpenFile::check_contents() const {
  const std::string& shown = job_.input.shown;
  if (run_.plan.removes && run_.known.may_be_in(version_.size)) {
    run_.files.check_input_contents(job_.input);
  }
  if (destination_.descriptor) {
    struct stat status = {};
    if (fstat(*destination_.descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
      run_.files.check_output_contents(*destination_.descriptor, output_name(destination_.path),
                                       shown);
    }
  } else if (destination_.exists) {
    run_.files.check_target_contents(destination_.place, shown);
  }
}

Sink& OpenFile::open_output(bool named) {
  check_contents();
  advise_if_it_cannot_rename(
      [&] { output_ = open_sink(run_, job_, destination_, input_, temporary_, named); });
  return *output_;
}

void OpenFile::advise_if_it_cannot_rename(const auto& work) const try {
  work();
} catch (const CannotRename& error) {
  const char* const advice =
      run_.plan.verb == Verb::rekey
          ? "rekey a copy elsewhere, and write its bytes into this file"
          : "write into the file itself with -c > FILE, or elsewhere with -o";
  throw IoError(fmt::format("{}: {}", error.what(), advice), error.code(), error.path());
}

Distributor::Names OpenFile::names() const {
  Distributor::Names names;
  if (positional() != nullptr) names.source = job_.input.shown;
  if (const auto* file = dynamic_cast<const FileSink*>(output_.get())) {
    names.sink = file->temporary();
    names.shown = destination_.path;
  }
  return names;
}

TransferOptions OpenFile::transfer_options() {
  TransferOptions options;
  options.threads = job_.threads;
  options.overlap = run_.plan.execution.overlap;
  options.progress = [this](std::uint64_t done) { report_progress(done); };
  return options;
}

void OpenFile::report_progress(std::uint64_t done) {
  progress_(done - outcome_.processed);
  outcome_.processed = done;
}

void OpenFile::report_times(std::uint64_t plain_bytes, const PhaseTimes& times,
                            const Cipher& cipher) {
  RunReport& report = outcome_.report;
  report.bytes = plain_bytes;
  report.device = cipher.device();
  report.kernel = std::string(cipher.kernel());
  const std::string fallback = cipher.fallback();
  if (!fallback.empty()) {
    report.fallback = fallback;
    std::call_once(run_.fallback, [&] {
      if (run_.plan.reporting.quiet) return;
      say("{} failed, and the CPU does the rest: {}", run_.plan.execution.device, fallback);
    });
  }
  const PhaseTimes device = cipher.take_device_times();
  PhaseTimes& timeline = report.timeline_ns.emplace(times);
  timeline += device;
  timeline.key_expansion += key_expansion_;
  // Threads of the CPU count their waits for the GPU as kernel time: use the GPU's own time.
  timeline.kernel = run_.plan.on_gpu && fallback.empty() ? device.kernel : times.kernel;
}

void OpenFile::report_copy(std::uint64_t plain_bytes, const PhaseTimes& times) {
  RunReport& report = outcome_.report;
  report.bytes = plain_bytes;
  report.device = "cpu";
  report.kernel.reset();
  report.timeline_ns.emplace(times).key_expansion += key_expansion_;
}

void OpenFile::say_empty_last_segment() const {
  if (run_.plan.format != Format::tink || !run_.plan.reporting.verbose) return;
  say("{}: the last segment is empty and follows a full one, which Tink reads but never writes",
      input_name(job_.input.shown));
}

void OpenFile::check_input_after(const Error& error) const {
  const ErrorKind kind = error_kind(error);
  // No other error hints at a change.
  if (is_a(kind, ErrorKind::integrity_error) || is_a(kind, ErrorKind::wrong_key)) check_input();
}

void OpenFile::finish() {
  if (auto* file = dynamic_cast<FileSink*>(output_.get()); file != nullptr) {
    const struct stat* const replaced = run_.plan.verb == Verb::rekey ? &input_.status : nullptr;
    CommittedFile committed = {version_, destination_.place, {}};
    outcome_.commits = true;
    advise_if_it_cannot_rename([&] {
      committed.written = run_.files.commit(*file, destination_.place, destination_.path, replaced);
    });
    outcome_.committed = std::move(committed);
  } else if (output_) {
    output_->commit();
  }
  outcome_.report.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  outcome_.transferred = true;
  add_if_memory_lasts([&] { say_done(); });
  add_if_memory_lasts([&] { say_lost_attributes(); });
}

void OpenFile::say_lost_attributes() const {
  const Plan& plan = run_.plan;
  const auto* const file = dynamic_cast<const FileSink*>(output_.get());
  if (!plan.reporting.verbose || file == nullptr) return;
  std::vector<std::string> names = file->lost_attributes();
  if (!plan.keeps_attributes) {
    for (const FileAttribute& attribute : input_.attributes) names.push_back(attribute.name);
  }
  if (names.empty()) return;
  outcome_.messages.push_back(
      not_kept_text(output_name(destination_.path), names, plan.keeps_attributes));
}

void OpenFile::say_done() const {
  if (!run_.plan.reporting.verbose) return;
  const RunReport& report = outcome_.report;
  // The time for the key, which includes scrypt and the prompt, does not count.
  const double seconds =
      std::max(report.seconds - static_cast<double>(key_expansion_) * 1e-9, 1e-9);
  const double rate = static_cast<double>(report.bytes) / seconds;
  outcome_.messages.push_back(
      fmt::format("{} -> {}: {} in {:.3f} s, {}", input_name(job_.input.shown),
                  run_.plan.verb == Verb::verify  ? "intact"
                  : run_.plan.verb == Verb::rekey ? "rekeyed"
                                                  : output_name(destination_.path),
                  format_amount(report.bytes), seconds, format_rate(rate)));
}

}  // namespace paraes::cli
