#include "run_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "input.hpp"
#include "output.hpp"
#include "paraes/error.hpp"
#include "sizes.hpp"

namespace paraes::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t nanoseconds_since(Clock::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

std::string why_kernel(const CryptOptions& options, const Plan& plan) {
  if (!plan.why.empty()) return plan.why;
  if (options.kernel == "auto") return "the fastest constant-time one here";
  if (options.given("--kernel")) return "named by --kernel";
  const char* environment = std::getenv("PARAES_KERNEL");
  if (environment == nullptr || *environment == '\0' ||
      std::string_view(environment) != plan.kernel.name) {
    return "the fastest constant-time one here";
  }
  return "named by PARAES_KERNEL";
}

SaltedHeader read_salted_header(Source& source) {
  std::array<std::uint8_t, SaltedHeader::bytes> start{};
  const std::size_t n = source.read(start);
  return SaltedHeader::parse(Bytes(start).first(n));
}

std::string list_of(const std::vector<BadRange>& ranges) {
  std::string text;
  for (const BadRange& range : ranges) {
    if (!text.empty()) text += ", ";
    text += range.bytes == 0 ? fmt::format("the end, from byte {} on", range.offset)
                             : fmt::format("{} bytes at {}", range.bytes, range.offset);
  }
  return text;
}

// What a leaky or unauthenticated run begins with, and -v.
void say_what_runs(const CryptOptions& options, const Plan& plan, const std::string& name,
                   const Cipher& cipher, int threads) {
  if (options.quiet) return;
  if (plan.kernel.timing == Timing::leaky && isatty(STDERR_FILENO) != 0) {
    say(
        fmt::format("warning: kernel {} leaks the key through the caches to whoever shares this "
                    "{}",
                    plan.kernel.name, plan.on_gpu ? "GPU" : "machine; it is for measurements"));
  }
  if (plan.format == Format::openssl) {
    say("note: --format openssl is not authenticated: nothing notices a change to the data");
  }
  if (!options.verbose) return;
  const std::string variant =
      plan.kernel.variant.empty() ? "" : fmt::format(" ({})", plan.kernel.variant);
  say(fmt::format("{} on {}, kernel {}{}: {}; threads: {}", name, cipher.device(), cipher.kernel(),
                  variant, why_kernel(options, plan), threads));
  if (!is_authenticated(plan.format) && plan.mode == BlockMode::cbc && plan.verb == Verb::encrypt &&
      options.given("--threads") && threads > 1) {
    say("CBC encryption is serial (each block needs the one before it): one thread works");
  }
}

}  // namespace

// One file's way from its name to its result.
class Run::Steps {
 public:
  Steps(Run& run, const FileJob& job, const std::function<void(std::uint64_t)>& progress,
        FileOutcome& outcome)
      : run_(run),
        options_(run.options_),
        plan_(run.plan_),
        job_(job),
        progress_(progress),
        outcome_(outcome),
        report_(outcome.report) {}

  void run() {
    begin();
    alone();
  }

  [[nodiscard]] bool read_small() {
    begin();
    const auto* const file = dynamic_cast<const PositionalSource*>(input_.source.get());
    if (file == nullptr || file->size() > Small::most_bytes) {
      alone();
      return false;
    }
    message_.emplace(make_message());
    const SegmentLayout& layout = message_->layout();
    std::uint64_t out_bytes = 0;
    if (plan_.verb == Verb::encrypt) {
      plain_bytes_ = file->size();
      out_bytes = layout.sealed_bytes(plain_bytes_);
    } else {
      const SegmentLayout::Extent extent = layout.extent_of(file->size());
      plain_bytes_ = out_bytes = extent.plain_bytes;
      empty_last_ = extent.empty_last;
    }
    const Clock::time_point start = Clock::now();
    in_.resize(static_cast<std::size_t>(file->size()));
    read_exactly(*file, 0, in_);
    check_end(*file);
    times_.read = nanoseconds_since(start);
    out_.resize(static_cast<std::size_t>(out_bytes));
    // So many may be under way that there are not enough descriptors for all.
    input_.source.reset();
    return true;
  }

  [[nodiscard]] WholeMessage small_message() {
    return {.message = &*message_, .in = in_, .out = out_, .error = nullptr};
  }

  void write_small(const WholeMessage& done) {
    if (done.error) std::rethrow_exception(done.error);
    if (plan_.verb != Verb::verify) {
      open_output();
      const Clock::time_point start = Clock::now();
      sink_->write(out_);
      times_.write = nanoseconds_since(start);
    }
    report_progress(plain_bytes_);
    report_.bytes = plain_bytes_;
    if (empty_last_) note_empty_last();
    set_timeline(times_, message_->cipher());
    end();
  }

 private:
  void begin() {
    const std::string& path = job_.input;
    input_ = open_input(path, path == "-" ? "standard input" : path);
    outcome_.device = input_.status.st_dev;
    outcome_.inode = input_.status.st_ino;
    if (plan_.verb != Verb::verify) {
      destination_ = choose_destination(plan_.direction(), path, input_, job_.output);
      report_.output = destination_.path;
    }
    start_ = Clock::now();
  }

  // All the rest, for this file alone.
  void alone() {
    if (is_authenticated(plan_.format)) {
      authenticated();
    } else {
      unauthenticated();
    }
    end();
  }

  void end() {
    if (sink_) sink_->commit();
    report_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (sink_ && !destination_.standard_output) outcome_.target = destination_.target;
    say_done();
  }

  // A new one, or that of the input.
  [[nodiscard]] Message make_message() {
    const Clock::time_point start = Clock::now();
    Message message = plan_.verb == Verb::encrypt ? run_.ring_.new_message()
                                                  : run_.ring_.open_message(input_.source);
    key_expansion_ = nanoseconds_since(start);
    const int threads = job_.threads == 0 ? available_cores() : job_.threads;
    std::call_once(run_.notes_, [&] {
      say_what_runs(options_, plan_, fmt::format("AES-{}-GCM", message.key_bits()),
                    message.cipher(), threads);
    });
    return message;
  }

  void authenticated() {
    const bool encrypt = plan_.verb == Verb::encrypt;
    const Message message = make_message();
    OpenOptions transfer;
    transfer.threads = job_.threads;
    transfer.overlap = plan_.overlap;
    transfer.progress = [this](std::uint64_t done) { report_progress(done); };
    TransferTimes times;
    if (encrypt) {
      // All that can be refused is refused before the output exists.
      if (const auto left = input_.source->remaining()) {
        static_cast<void>(message.layout().segments_of(*left));
      }
      open_output();
      const TransferResult result =
          transport() != nullptr
              ? transport()->seal(*input_.source, message, *sink_, transfer, names())
              : seal_message(*input_.source, message, *sink_, transfer);
      report_.bytes = result.plain_bytes;
      times = result.times;
    } else {
      times = open(message, transfer);
    }
    set_timeline(times, message.cipher());
  }

  // Of authenticated messages; none: this process alone.
  [[nodiscard]] Transport* transport() const {
    return job_.alone || !is_authenticated(plan_.format) ? nullptr : run_.transport_;
  }

  [[nodiscard]] Transport::Names names() const {
    Transport::Names names;
    if (dynamic_cast<const PositionalSource*>(input_.source.get()) != nullptr) {
      names.source = job_.input;
    }
    if (const auto* file = dynamic_cast<const FileSink*>(sink_.get())) {
      names.sink = file->temporary();
      names.shown = destination_.path;
    }
    return names;
  }

  void set_timeline(const TransferTimes& times, const Cipher& cipher) {
    report_.device = cipher.device();
    report_.kernel = std::string(cipher.kernel());
    const std::string fallback = cipher.fallback();
    if (!fallback.empty()) {
      report_.fallback = fallback;
      std::call_once(run_.fallback_note_, [&] {
        if (options_.quiet) return;
        say(fmt::format("{} failed, and the CPU does what is left: {}", plan_.execution.device,
                        fallback));
      });
    }
    const DeviceTimes device = cipher.take_device_times();
    report_.timeline_ns = {
        .read = times.read,
        .key_expansion = key_expansion_ + device.key_expansion,
        .host_to_device = device.host_to_device,
        .kernel = plan_.on_gpu && fallback.empty() ? device.kernel : times.kernel,
        .device_to_host = device.device_to_host,
        .write = times.write,
        .scatter = times.scatter,
        .gather = times.gather};
  }

  TransferTimes open(const Message& message, OpenOptions& transfer) {
    transfer.offset = plan_.offset;
    transfer.length = plan_.length;
    std::vector<BadRange> bad;
    if (plan_.salvage) {
      transfer.salvage = &bad;
    } else if (const auto* file = dynamic_cast<const PositionalSource*>(input_.source.get())) {
      static_cast<void>(message.layout().extent_of(file->size()));
    }
    if (plan_.verb != Verb::verify) open_output();
    const OpenResult result =
        transport() != nullptr
            ? transport()->open(*input_.source, message, sink_.get(), transfer, names())
            : open_message(*input_.source, message, sink_.get(), transfer);
    report_.bytes = result.plain_bytes;
    if (result.empty_last) note_empty_last();
    if (plan_.salvage) report_.bad_ranges = bad;
    if (!bad.empty()) {
      report_.exit = exit_some_failed;
      report_.status = fmt::format("not intact, written as zeros: {}", list_of(bad));
      say(fmt::format("{}: {}", job_.input, report_.status));
    }
    return result.times;
  }

  void note_empty_last() const {
    if (plan_.format != Format::tink || !options_.verbose || options_.quiet) return;
    say(
        fmt::format("{}: the last segment is empty and follows a full one, which Tink reads but "
                    "never writes",
                    job_.input));
  }

  void unauthenticated() {
    const Clock::time_point start = Clock::now();
    unsigned key_bits = plan_.key_bits == 0 ? 256 : plan_.key_bits;
    std::unique_ptr<Stream> stream;
    std::optional<SaltedHeader> new_header;
    if (plan_.format == Format::raw) {
      stream = run_.ring_.raw(key_bits);
    } else if (plan_.verb == Verb::encrypt) {
      new_header = SaltedHeader::random();
      stream = run_.ring_.salted(*new_header);
    } else {
      stream = run_.ring_.salted(read_salted_header(*input_.source));
    }
    key_expansion_ = nanoseconds_since(start);
    if (const auto left = input_.source->remaining()) stream->check_length(*left);
    std::call_once(run_.notes_, [&] {
      say_what_runs(options_, plan_, fmt::format("{} AES-{}", mode_name(plan_.mode), key_bits),
                    stream->cipher(), stream->cipher().threads());
    });
    open_output();
    if (new_header) sink_->write(new_header->encode());
    const PumpResult result = pump(*input_.source, *stream, *sink_,
                                   [this](std::uint64_t done) { report_progress(done); });
    report_.bytes = plan_.verb == Verb::encrypt ? result.bytes_in : result.bytes_out;
    set_timeline(result.times, stream->cipher());
  }

  void open_output() {
    temporary_.emplace();
    const bool named = transport() != nullptr && transport()->names_files();
    sink_ = open_sink(destination_, input_, *temporary_, job_.sync_folder, named);
  }

  void report_progress(std::uint64_t done) {
    progress_(done - reported_);
    reported_ = done;
  }

  void say_done() const {
    if (!options_.verbose || options_.quiet) return;
    const double rate = static_cast<double>(report_.bytes) / std::max(report_.seconds, 1e-9);
    say(fmt::format("{} -> {}: {} bytes in {:.3f} s, {}", job_.input,
                    plan_.verb == Verb::verify ? "intact" : destination_.path, report_.bytes,
                    report_.seconds, format_rate(rate)));
  }

  Run& run_;
  const CryptOptions& options_;
  const Plan& plan_;
  const FileJob& job_;
  const std::function<void(std::uint64_t)>& progress_;
  FileOutcome& outcome_;
  RunReport& report_;
  Input input_;
  Destination destination_;
  Clock::time_point start_;
  std::uint64_t key_expansion_ = 0;
  // Of a small file among others.
  std::optional<Message> message_;
  std::vector<std::uint8_t> in_;
  std::vector<std::uint8_t> out_;
  std::uint64_t plain_bytes_ = 0;
  bool empty_last_ = false;
  TransferTimes times_;
  std::optional<TemporaryName> temporary_;
  std::unique_ptr<Sink> sink_;
  std::uint64_t reported_ = 0;
};

void Run::file(const FileJob& job, const std::function<void(std::uint64_t)>& progress,
               FileOutcome& outcome) {
  Steps(*this, job, progress, outcome).run();
}

Run::Small::Small(Run& run, const FileJob& job, const std::function<void(std::uint64_t)>& progress,
                  FileOutcome& outcome)
    : steps_(std::make_unique<Steps>(run, job, progress, outcome)) {}

Run::Small::~Small() = default;

bool Run::Small::read() { return steps_->read_small(); }

WholeMessage Run::Small::message() { return steps_->small_message(); }

void Run::Small::write(const WholeMessage& done) { steps_->write_small(done); }

}  // namespace paraes::cli
