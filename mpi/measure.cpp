#include "mpi/measure.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "bench/file/workspace.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/memory/ours.hpp"
#include "bench/memory/variant.hpp"
#include "bench/suites/rows.hpp"
#include "mpi/pieces.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/kernels.hpp"

namespace paraes::mpi {
namespace {

using bench::Job;
using bench::Mode;
using bench::Row;
using bench::Skip;
using Clock = std::chrono::steady_clock;

// What rank 0 asks for in a measurement.
enum class Step : std::uint64_t { run, answer, end };

// A row of memory scope, as all ranks know it.
struct Measurement {
  Job job;
  std::string kernel;
  bool scatters = false;
  // Of rank 0's buffers, for the ranks on its host.
  std::string in_path;
  std::string out_path;
};

Packet pack(const Measurement& measurement) {
  const Job& job = measurement.job;
  Packet packet;
  packet.add(static_cast<std::uint64_t>(Task::measure));
  packet.add(static_cast<std::uint64_t>(job.mode.value()));
  packet.add(static_cast<std::uint64_t>(job.key_bits));
  packet.add(std::uint64_t{job.direction == Direction::encrypt});
  packet.add(std::uint64_t{job.unit});
  packet.add(job.bytes);
  packet.add(static_cast<std::uint64_t>(job.threads));
  packet.add(measurement.kernel);
  packet.add(std::uint64_t{measurement.scatters});
  packet.add(measurement.in_path);
  packet.add(measurement.out_path);
  return packet;
}

Measurement unpack_measurement(Packet& packet) {
  Measurement measurement;
  Job& job = measurement.job;
  job.mode = static_cast<Mode>(packet.number());
  job.key_bits = static_cast<int>(packet.number());
  job.direction = packet.number() != 0 ? Direction::encrypt : Direction::decrypt;
  job.unit = static_cast<std::size_t>(packet.number());
  job.bytes = packet.number();
  job.threads = static_cast<int>(packet.number());
  measurement.kernel = packet.text();
  measurement.scatters = packet.number() != 0;
  measurement.in_path = packet.text();
  measurement.out_path = packet.text();
  return measurement;
}

// The bytes of each rank: whole grains, and whole data units of XTS.
std::vector<int> share_sizes(const Job& job, int ranks) {
  const std::uint64_t grain =
      job.mode == Mode::xts ? std::max<std::uint64_t>(job.unit, 1) : bench::grain_bytes;
  const std::uint64_t grains = (job.bytes + grain - 1) / grain;
  std::vector<int> sizes;
  std::uint64_t at = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::uint64_t end = std::min(job.bytes, grains * static_cast<std::uint64_t>(rank + 1) /
                                                      static_cast<std::uint64_t>(ranks) * grain);
    sizes.push_back(static_cast<int>(end - at));
    at = end;
  }
  return sizes;
}

// One rank's share of the work. On rank 0's host it lies in the buffers that all rows of a size
// use, of one process or of many: one set of pages can be half as fast again as another. Elsewhere,
// and where rank 0 sends it, it has buffers of its own.
class Part {
 public:
  // `arena` is rank 0's own.
  Part(const Ranks& ranks, const Measurement& measurement, const bench::Arena* arena)
      : measurement_(measurement), sizes_(share_sizes(measurement.job, ranks.size())) {
    const Job& job = measurement.job;
    for (int rank = 0; rank < ranks.rank(); ++rank)
      offset_ += static_cast<std::uint64_t>(sizes_[static_cast<std::size_t>(rank)]);
    bytes_ = static_cast<std::size_t>(sizes_[static_cast<std::size_t>(ranks.rank())]);
    if (measurement.scatters || !ranks.beside_leader()) {
      in_buffer_ = bench::Buffer(std::max<std::size_t>(bytes_, 1));
      out_buffer_ = bench::Buffer(std::max<std::size_t>(bytes_, 1));
      in_ = in_buffer_.data();
      out_ = out_buffer_.data();
    } else if (arena != nullptr) {
      in_ = share_of(arena->in_buffer());
      out_ = share_of(arena->out_buffer());
    } else {
      in_buffer_ = bench::Buffer(measurement.in_path, job.bytes);
      out_buffer_ = bench::Buffer(measurement.out_path, job.bytes);
      in_ = share_of(in_buffer_);
      out_ = share_of(out_buffer_);
    }
    bench::pattern(offset_, in_, bytes_);
    std::memset(out_, 0xa5, bytes_);
    Execution execution;
    execution.kernel = measurement.kernel;
    execution.threads = job.threads;
    const Bytes key(bench::material().key.data(), bench::key_bytes(job));
    switch (job.mode.value()) {
      case Mode::ecb:
        ecb_.emplace(key, execution);
        break;
      case Mode::cbc:
        std::copy_n(bench::material().iv.begin(), 16, chain_);
        if (offset_ != 0) bench::pattern(offset_ - 16, chain_, 16);
        cbc_.emplace(key, Bytes(chain_), execution);
        break;
      case Mode::ctr:
        ctr_.emplace(key, Bytes(bench::material().iv), execution);
        break;
      default:
        xts_.emplace(key, job.unit, execution);
        unit_ = bench::xts_tweak(bench::material().first_unit + offset_ / job.unit);
        break;
    }
  }

  void run() {
    const Bytes in(in_, bytes_);
    const MutableBytes out(out_, bytes_);
    if (bytes_ == 0) return;
    const bool encrypts = measurement_.job.direction == Direction::encrypt;
    if (ecb_) {
      encrypts ? ecb_->encrypt(in, out) : ecb_->decrypt(in, out);
    } else if (cbc_) {
      cbc_->reset(Bytes(chain_));
      cbc_->decrypt(in, out);
    } else if (ctr_) {
      ctr_->seek(offset_);
      ctr_->process(in, out);
    } else {
      encrypts ? xts_->encrypt(unit_, in, out) : xts_->decrypt(unit_, in, out);
    }
  }

  void spoil() { std::memset(out_, 0xa5, bytes_); }
  [[nodiscard]] const std::vector<int>& sizes() const { return sizes_; }
  [[nodiscard]] std::uint8_t* in() const { return in_; }
  [[nodiscard]] std::uint8_t* out() const { return out_; }

 private:
  // Nobody has touched these bytes before this rank, the first time.
  [[nodiscard]] std::uint8_t* share_of(const bench::Buffer& buffer) const {
    buffer.collapse(offset_, bytes_);
    return buffer.data() + offset_;
  }

  Measurement measurement_;
  std::vector<int> sizes_;
  std::uint64_t offset_ = 0;
  std::size_t bytes_ = 0;
  bench::Buffer in_buffer_;
  bench::Buffer out_buffer_;
  std::uint8_t* in_ = nullptr;
  std::uint8_t* out_ = nullptr;
  std::uint8_t chain_[16] = {};
  std::array<std::uint8_t, 16> unit_{};
  std::optional<Ecb> ecb_;
  std::optional<Cbc> cbc_;
  std::optional<Ctr> ctr_;
  std::optional<Xts> xts_;
};

// What a call does after its step has been told, on every rank.
void take_part(const Ranks& ranks, Part& part, bool scatters, const std::uint8_t* all_in,
               std::uint8_t* all_out, bench::PhaseNanoseconds* times) {
  Clock::time_point start = Clock::now();
  const auto lap = [&](std::string_view phase) {
    const Clock::time_point now = Clock::now();
    if (times != nullptr) {
      (*times)[phase] += std::chrono::duration<double, std::nano>(now - start).count();
    }
    start = now;
  };
  if (scatters) {
    ranks.scatter(all_in, part.sizes(), part.in());
    lap("scatter");
  }
  part.run();
  lap("kernel");
  if (scatters) {
    ranks.gather(part.out(), part.sizes(), all_out);
    lap("gather");
  }
}

// After another row: while the threads that served it still look for more work, and until the
// scheduler has moved them, two ranks may share a core.
template <class Call>
void settle(const Call& call) {
  constexpr std::chrono::milliseconds long_enough(10);
  const Clock::time_point start = Clock::now();
  do {
    call();
  } while (Clock::now() - start < long_enough);
}

// One row of memory scope over all ranks.
class MemoryRanks : public bench::Variant {
 public:
  MemoryRanks(Row row, const Ranks& ranks, Measurement measurement, int session,
              std::shared_ptr<bench::Arena> arena)
      : Variant(std::move(row)),
        ranks_(ranks),
        measurement_(std::move(measurement)),
        session_(session),
        arena_(std::move(arena)) {}

  void set_up() override {
    if (!ranks_.any_threads()) throw Skip("this MPI gives its threads no access");
    arena_->hold();
    holds_ = true;
    measurement_.in_path = arena_->in_buffer().path();
    measurement_.out_path = arena_->out_buffer().path();
    Packet order = pack(measurement_);
    order.add(static_cast<std::uint64_t>(session_));
    ranks_.send_to_others(Tag::order, order);
    part_ = std::make_unique<Part>(ranks_, measurement_, arena_.get());
    for (int other = 1; other < ranks_.size(); ++other) {
      Packet answer = ranks_.receive(other, Tag::stepped, session_);
      const std::string trouble = answer.text();
      if (!trouble.empty() && trouble_.empty()) trouble_ = ranks_.name(other) + ": " + trouble;
    }
    if (!trouble_.empty()) {
      end();
      throw Skip(trouble_);
    }
    // What no rank of this host has touched.
    arena_->fill();
  }

  void tear_down() noexcept override {
    if (part_) end();
    if (holds_) arena_->release();
    holds_ = false;
  }

  void lead_in() override {
    settle([this] { call_untimed(); });
  }

  void call() override {
    tell(Step::run);
    take_part(ranks_, *part_, measurement_.scatters, arena_->in(), arena_->out(),
              measurement_.scatters ? &times_ : nullptr);
    for (int other = 1; other < ranks_.size(); ++other) {
      static_cast<void>(ranks_.receive_soon(other, Tag::stepped, session_));
    }
  }

  [[nodiscard]] bool verify() override {
    if (measurement_.scatters) {
      arena_->spoil_out();
      call();
      return is_answer(measurement_.job, arena_->out(), nullptr);
    }
    std::vector<std::uint8_t> all(measurement_.job.bytes);
    tell(Step::answer);
    part_->spoil();
    part_->run();
    ranks_.gather(part_->out(), part_->sizes(), all.data());
    return is_answer(measurement_.job, all.data(), nullptr);
  }

  [[nodiscard]] bench::PhaseNanoseconds take_phases() override { return std::exchange(times_, {}); }
  [[nodiscard]] bool is_kernel_alone() const override { return !measurement_.scatters; }

 private:
  void tell(Step step) {
    Packet packet;
    packet.add(static_cast<std::uint64_t>(step));
    ranks_.send_to_others(Tag::step, packet, session_);
  }

  void end() noexcept {
    try {
      tell(Step::end);
    } catch (const Error&) {
      ranks_.abort(1);
    }
    part_.reset();
  }

  const Ranks& ranks_;
  Measurement measurement_;
  int session_;
  std::shared_ptr<bench::Arena> arena_;
  bool holds_ = false;
  std::unique_ptr<Part> part_;
  std::string trouble_;
  bench::PhaseNanoseconds times_;  // of calls whose phases nobody has taken
};

// The same job by rank 0 alone.
class MemoryAlone : public bench::MemoryVariant {
 public:
  MemoryAlone(Row row, const Job& job, std::shared_ptr<bench::Arena> arena,
              const Execution& execution)
      : MemoryVariant(std::move(row), job, bench::make_ours(job, execution), std::move(arena)) {}

  void lead_in() override {
    settle([this] { call_untimed(); });
  }
};

// A file of the default format, from file to file in this job, by all ranks or by rank 0 alone.
class FileRanks : public bench::Variant {
 public:
  FileRanks(Row row, const Ranks& ranks, std::optional<Distribution> distribution,
            std::shared_ptr<bench::Workspace> workspace)
      : Variant(std::move(row)),
        distribution_(distribution),
        lead_(ranks, distribution.value_or(Distribution::shared),
              std::vector<unsigned>(static_cast<std::size_t>(ranks.size()),
                                    static_cast<unsigned>(this->row().threads))),
        workspace_(std::move(workspace)) {}

  void set_up() override {
    workspace_->acquire();
    holds_ = true;
    workspace_->need_room(3);
    static int number = 0;
    sealed_ = workspace_->path("sealed" + std::to_string(++number));
    opened_ = workspace_->path("opened" + std::to_string(number));
    if (row().direction == Direction::decrypt) seal();
  }

  void tear_down() noexcept override {
    if (holds_) workspace_->release();
    holds_ = false;
  }

  [[nodiscard]] bool needs_restore() const override { return true; }
  void restore() override {
    (void)unlink((row().direction == Direction::encrypt ? sealed_ : opened_).c_str());
  }

  void call() override { row().direction == Direction::encrypt ? seal() : open(opened_); }

  [[nodiscard]] bool verify() override {
    restore();
    call();
    if (row().direction == Direction::encrypt) {
      (void)unlink(opened_.c_str());
      open(opened_);
    }
    const bench::MappedFile a(opened_);
    const bench::MappedFile b(workspace_->plaintext());
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
  }

  [[nodiscard]] bench::PhaseNanoseconds take_phases() override {
    const PhaseTimes times = std::exchange(times_, {});
    if (distribution_ == Distribution::scatter) {
      return bench::phases_of(times, {"read", "kernel", "write", "scatter", "gather"});
    }
    return bench::phases_of(times, {"read", "kernel", "write"});
  }

 private:
  [[nodiscard]] Execution execution() const {
    Execution execution;
    execution.kernel = row().kernel;
    execution.threads = row().threads;
    return execution;
  }
  [[nodiscard]] Bytes key() const {
    return Bytes(bench::material().key).first(static_cast<std::size_t>(*row().key_bits / 8));
  }
  static FileSource source(const std::string& path) {
    Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.get() < 0) throw IoError("cannot open " + path, errno);
    return {std::move(descriptor), path};
  }
  // One is made as the command makes it, but that both ways have a name for their temporary.
  static FileSink sink(const std::string& path) {
    FileSink::Options options;
    options.overwrite = true;
    options.named = true;
    return {path, std::move(options)};
  }

  void seal() {
    FileSource from = source(workspace_->plaintext());
    const Message message =
        new_paraes_message(Preface::for_key(key().size()), key(), {}, execution());
    FileSink to = sink(sealed_);
    TransferOptions options;
    options.threads = row().threads;
    const TransferResult result =
        distribution_ ? lead_.seal(from, message, to, options,
                                   {workspace_->plaintext(), to.temporary(), sealed_})
                      : seal_message(from, message, to, options);
    to.commit();
    times_ += result.times;
  }

  void open(const std::string& path) {
    FileSource from = source(sealed_);
    std::vector<std::uint8_t> header(paraes_header_bytes);
    header.resize(from.read(header));
    const Message message = open_paraes_message(header, key(), {}, execution());
    FileSink to = sink(path);
    OpenOptions options;
    options.threads = row().threads;
    const OpenResult result =
        distribution_ ? lead_.open(from, message, &to, options, {sealed_, to.temporary(), path})
                      : open_message(from, message, &to, options);
    to.commit();
    times_ += result.times;
  }

  std::optional<Distribution> distribution_;
  Lead lead_;
  std::shared_ptr<bench::Workspace> workspace_;
  bool holds_ = false;
  std::string sealed_;
  std::string opened_;
  PhaseTimes times_;  // of calls whose phases nobody has taken
};

const char* name_of(Distribution distribution) {
  return distribution == Distribution::shared ? "shared" : "scatter";
}

class Planner {
 public:
  Planner(const Ranks& ranks, const bench::Axes& axes, const std::vector<Distribution>& list)
      : ranks_(ranks), axes_(axes), distributions_(list) {}

  bench::Plan plan() {
    for (const std::string& scope : axes_.scopes) {
      bench::skip_openmp(axes_, scope, "ranks have the library's threads", plan_);
    }
    for (const std::string& scope : axes_.scopes) {
      const bool file = scope == "file";
      std::vector<std::uint64_t> sizes = axes_.sizes;
      if (sizes.empty()) {
        sizes = file ? std::vector<std::uint64_t>{64 << 20}
                     : std::vector<std::uint64_t>{1 << 20, 64 << 20};
      }
      for (const std::uint64_t bytes : sizes) {
        group_.clear();
        arena_ = std::make_shared<bench::Arena>(bytes, axes_.threads.back() * ranks_.size(),
                                                bench::Arena::Memory::shared);
        if (scope == "memory") {
          memory(bytes);
        } else if (file) {
          files(bytes);
        } else {
          Row row;
          row.scope = scope;
          row.ranks = ranks_.size();
          plan_.skipped.push_back({row, "the ranks' bench has the scopes memory and file"});
        }
        if (!group_.empty()) plan_.groups.push_back(std::move(group_));
      }
    }
    return std::move(plan_);
  }

 private:
  template <class Make>
  void add(Row row, const Make& make) {
    try {
      group_.push_back(make(row));
    } catch (const Skip& skip) {
      plan_.skipped.push_back({std::move(row), skip.what()});
    }
  }

  void refuse(const Job& job) const {
    bench::refuse(job);
    if (job.mode == Mode::gcm) {
      throw Skip("one message in GCM is one rank's: --scope file has its segments on all");
    }
    if (job.mode == Mode::cbc && job.direction == Direction::encrypt) {
      throw Skip("CBC encryption is serial (SP 800-38A section 6.2)");
    }
    if (job.mode == Mode::xts && job.unit == 0) throw Skip("one data unit is one rank's");
    if (job.bytes > std::numeric_limits<int>::max()) {
      throw Skip("MPI counts to 2 GiB in scatter and gather");
    }
  }

  void memory(std::uint64_t bytes) {
    for (const Mode mode : axes_.modes) {
      for (const int bits : axes_.key_bits) {
        for (const Direction direction : axes_.directions) {
          for (const int threads : axes_.threads) {
            for (const std::string& kernel : axes_.kernels) {
              job(Job{mode, bits, direction, axes_.unit, bytes, threads, false}, kernel);
            }
          }
        }
      }
    }
  }

  void job(const Job& job, const std::string& kernel) {
    Row row = bench::row_of(job);
    row.kernel = kernel;
    row.ranks = ranks_.size();
    for (const Distribution distribution : distributions_) {
      row.distribution = name_of(distribution);
      add(row, [&](const Row& r) {
        refuse(job);
        kernels_.require(kernel);
        return std::make_unique<MemoryRanks>(
            r, ranks_, Measurement{job, kernel, distribution == Distribution::scatter, {}, {}},
            session_++, arena_);
      });
    }
    Job alone = job;
    alone.threads = job.threads * ranks_.size();
    Row one = bench::row_of(alone);
    one.kernel = kernel;
    add(one, [&](const Row& r) {
      refuse(job);
      kernels_.require(kernel);
      Execution execution;
      execution.kernel = kernel;
      execution.threads = alone.threads;
      return std::make_unique<MemoryAlone>(r, alone, arena_, execution);
    });
  }

  void files(std::uint64_t bytes) {
    const auto workspace =
        std::make_shared<bench::Workspace>(bench::workspace_root(axes_.folder), bytes);
    plan_.folder = bench::workspace_root(axes_.folder);
    for (const Direction direction : axes_.directions) {
      for (const int threads : axes_.threads) {
        for (const std::string& kernel : axes_.kernels) {
          Row row;
          row.scope = "file";
          row.format = "paraes";
          row.mode = Mode::gcm;
          row.key_bits = axes_.key_bits_named ? axes_.key_bits.front() : 256;
          row.direction = direction;
          row.bytes = bytes;
          row.kernel = kernel;
          row.threads = threads;
          row.key_expansion = "host";
          row.overlap = true;
          row.ranks = ranks_.size();
          const auto check = [&] {
            kernels_.require(kernel);
            if (row.key_bits == 192) throw Skip("--format paraes has 128- and 256-bit keys only");
          };
          for (const Distribution distribution : distributions_) {
            row.distribution = name_of(distribution);
            add(row, [&](const Row& r) {
              check();
              return std::make_unique<FileRanks>(r, ranks_, distribution, workspace);
            });
          }
          row.distribution.clear();
          row.ranks = 1;
          row.threads = threads * ranks_.size();
          add(row, [&](const Row& r) {
            check();
            return std::make_unique<FileRanks>(r, ranks_, std::nullopt, workspace);
          });
        }
      }
    }
  }

  const Ranks& ranks_;
  const bench::Axes& axes_;
  const std::vector<Distribution>& distributions_;
  bench::KernelTable kernels_{kernels(), "CPU"};
  bench::Plan plan_;
  bench::Group group_;
  std::shared_ptr<bench::Arena> arena_;
  int session_ = 1;
};

}  // namespace

void serve_measurement(const Ranks& ranks, Packet& order, const std::string& trouble) {
  const Measurement measurement = unpack_measurement(order);
  const auto session = static_cast<int>(order.number());
  std::optional<Part> part;
  Packet ready;
  try {
    if (!trouble.empty()) throw Error(trouble);
    part.emplace(ranks, measurement, nullptr);
    ready.add(std::string_view());
  } catch (const std::exception& error) {
    ready.add(std::string_view(error.what()));
  }
  ranks.send(0, Tag::stepped, ready, session);
  for (;;) {
    Packet packet = ranks.receive_soon(0, Tag::step, session);
    switch (static_cast<Step>(packet.number())) {
      case Step::end:
        return;
      case Step::run:
        take_part(ranks, *part, measurement.scatters, nullptr, nullptr, nullptr);
        ranks.send(0, Tag::stepped, Packet(), session);
        break;
      case Step::answer:
        part->spoil();
        part->run();
        ranks.gather(part->out(), part->sizes(), nullptr);
        break;
    }
  }
}

bench::Plan make_bench_plan(const Ranks& ranks, const bench::Axes& axes,
                            const std::vector<Distribution>& distributions) {
  return Planner(ranks, axes, distributions).plan();
}

}  // namespace paraes::mpi
