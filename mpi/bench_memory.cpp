#include "mpi/bench_memory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bench/memory/memory_case.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/memory/ours.hpp"
#include "mpi/commands.hpp"
#include "mpi/serializer.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"

namespace paraes::mpi {

// A row, as rank 0 describes it to the others.
struct Measurement {
  bench::Job job;  // of all ranks together
  std::string kernel;
  bool scatters = false;
  // Rank 0's buffers, for the ranks on its host; known once the row is set up.
  struct Shared {
    std::string path;
    FileId id;
  };
  Shared in = {};
  Shared out = {};
};

// The steps of a session, which rank 0 sends after the Measurement.
enum class Step : std::uint64_t { run, gather_output, end };

template <>
inline constexpr EnumRange<Step> enum_range<Step> = {Step::end, "unexpected step of a measurement"};

template <>
inline constexpr EnumRange<bench::Mode> enum_range<bench::Mode> = {bench::Mode::gcm,
                                                                   "unexpected mode"};

template <>
inline constexpr EnumRange<Direction> enum_range<Direction> = {Direction::decrypt,
                                                               "unexpected direction"};

void serialize(auto& archive, MaybeConst<bench::Job> auto& job) {
  archive(job.mode, job.key_bits, job.direction, job.unit, job.bytes, job.threads, job.in_place,
          job.offset);
}

void serialize(auto& archive, MaybeConst<Measurement::Shared> auto& buffer) {
  archive(buffer.path, buffer.id);
}

void serialize(auto& archive, MaybeConst<Measurement> auto& measurement) {
  archive(measurement.job, measurement.kernel, measurement.scatters, measurement.in,
          measurement.out);
}

namespace {

using bench::Job;
using Clock = std::chrono::steady_clock;

// The number of bytes of each rank. Shares begin at a multiple of the grain, or of the XTS data
// unit.
std::vector<int> share_sizes(const Job& job, int ranks) {
  const std::uint64_t grain =
      job.mode == bench::Mode::xts ? std::max<std::uint64_t>(job.unit, 1) : bench::grain_bytes;
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

// The share of rank `rank` in a job.
Job share_of(Job job, const std::vector<int>& sizes, int rank) {
  for (int other = 0; other < rank; ++other) {
    job.offset += static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(other)]);
  }
  job.bytes = static_cast<std::uint64_t>(sizes[static_cast<std::size_t>(rank)]);
  return job;
}

FileId id_of(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    throw IoError("cannot open another process's memory: " + path, errno);
  }
  return FileId(status);
}

Measurement::Shared describe(const bench::Buffer& buffer) {
  try {
    return {buffer.path(), id_of(buffer.path())};
  } catch (const IoError& error) {
    throw bench::Skip(error.what());
  }
}

// The path contains a process ID, which is that of another process where ranks of one host are in
// containers with process IDs of their own. The buffer will be written to.
bench::Buffer open_shared(const Measurement::Shared& buffer, std::uint64_t bytes) {
  if (!(id_of(buffer.path) == buffer.id)) {
    throw IoError("the memory of rank 0 is not at " + buffer.path +
                      ": start the ranks of a host in one PID namespace",
                  0);
  }
  return {buffer.path, bytes};
}

// One rank's share of the work. On rank 0's host, its data is in the buffers that all rows of a
// size use, of one process or of many: rows with other pages would not compare, because one set of
// pages can be half as fast again as another. On other hosts, and if rank 0 sends the data, it has
// private buffers.
class RankShare {
 public:
  // `arena`: the arena of rank 0, and null on other ranks.
  RankShare(const Ranks& ranks, const Measurement& measurement, const bench::Arena* arena)
      : sizes_(share_sizes(measurement.job, ranks.size())),
        job_(share_of(measurement.job, sizes_, ranks.rank())) {
    if (measurement.scatters || !ranks.on_root_host()) {
      in_buffer_ = bench::Buffer(std::max<std::size_t>(bytes(), 1));
      out_buffer_ = bench::Buffer(std::max<std::size_t>(bytes(), 1));
      in_ = in_buffer_.data();
      out_ = out_buffer_.data();
    } else if (arena != nullptr) {
      in_ = share_in(arena->in_buffer());
      out_ = share_in(arena->out_buffer());
    } else {
      in_buffer_ = open_shared(measurement.in, measurement.job.bytes);
      out_buffer_ = open_shared(measurement.out, measurement.job.bytes);
      in_ = share_in(in_buffer_);
      out_ = share_in(out_buffer_);
    }
    bench::pattern(job_.offset, in_, bytes());
    spoil();
    ours_ = bench::make_ours(job_, measurement.kernel);
  }

  void run() {
    if (bytes() != 0) ours_->run(in_, out_, nullptr);
  }
  void spoil() { std::memset(out_, 0xa5, bytes()); }

  [[nodiscard]] const std::vector<int>& sizes() const { return sizes_; }  // of all ranks
  [[nodiscard]] std::uint8_t* in() const { return in_; }
  [[nodiscard]] std::uint8_t* out() const { return out_; }

 private:
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(job_.bytes); }
  // Asks for huge pages for the share.
  [[nodiscard]] std::uint8_t* share_in(const bench::Buffer& buffer) const {
    buffer.collapse(job_.offset, bytes());
    return buffer.data() + job_.offset;
  }

  std::vector<int> sizes_;
  Job job_;
  bench::Buffer in_buffer_;
  bench::Buffer out_buffer_;
  std::uint8_t* in_ = nullptr;
  std::uint8_t* out_ = nullptr;
  std::unique_ptr<bench::Implementation> ours_;
};

// Runs the share of this rank. All ranks call it at the same time. `all_in` and `all_out`: the
// whole data, on rank 0 only.
void run_share(const Ranks& ranks, RankShare& share, bool scatters, const std::uint8_t* all_in,
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
    ranks.scatter(all_in, share.sizes(), share.in());
    lap("scatter");
  }
  share.run();
  lap("kernel");
  if (scatters) {
    ranks.gather(share.out(), share.sizes(), all_out);
    lap("gather");
  }
}

// Repeats `call` after another row has run: two ranks may share a core while the threads of that
// row still look for work, and until the scheduler has moved them.
void repeat_until_settled(const auto& call) {
  constexpr std::chrono::milliseconds long_enough(10);
  const Clock::time_point start = Clock::now();
  do {
    call();
  } while (Clock::now() - start < long_enough);
}

class RanksMemoryCase : public bench::Case {
 public:
  RanksMemoryCase(bench::Row row, const Ranks& ranks, const Job& job, bool scatters, int session,
                  std::shared_ptr<bench::Arena> arena)
      : Case(std::move(row)),
        ranks_(ranks),
        measurement_{.job = job, .kernel = this->row().kernel, .scatters = scatters},
        session_(session),
        arena_(std::move(arena)) {}
  ~RanksMemoryCase() override {
    if (session_is_open_) end();
  }

  void set_up() override {
    if (!ranks_.has_thread_multiple()) {
      throw bench::Skip("this MPI does not allow calls from several threads at once");
    }
    arena_->hold();
    measurement_.in = describe(arena_->in_buffer());
    measurement_.out = describe(arena_->out_buffer());
    Command command;
    command.task = Task::measure;
    command.session = session_;
    ranks_.send_to_others(Tag::command, serialized(command));
    ranks_.send_to_others(Tag::step, serialized(measurement_), session_);
    session_is_open_ = true;
    share_ = std::make_unique<RankShare>(ranks_, measurement_, arena_.get());
    std::string error;
    for (int other = 1; other < ranks_.size(); ++other) {
      // Another rank replies to a Measurement and to Step::run with an error, or nothing.
      const auto reply = ranks_.receive(other, Tag::step_reply, session_).read<std::string>();
      if (error.empty() && !reply.empty()) error = ranks_.name(other) + ": " + reply;
    }
    if (!error.empty()) {
      end();
      throw bench::Skip(error);
    }
    // The ranges that no rank of this host has written.
    arena_->fill();
  }

  void lead_in() override {
    repeat_until_settled([this] { call_untimed(); });
  }

  void call() override {
    send_step(Step::run);
    run_share(ranks_, *share_, measurement_.scatters, arena_->in(), arena_->out(),
              measurement_.scatters ? &times_ : nullptr);
    for (int other = 1; other < ranks_.size(); ++other) {
      static_cast<void>(ranks_.receive_soon(other, Tag::step_reply, session_));
    }
  }

  [[nodiscard]] bool verify() override {
    if (measurement_.scatters) {
      arena_->spoil_out();
      call();
      return is_answer(measurement_.job, arena_->out(), nullptr);
    }
    std::vector<std::uint8_t> all(measurement_.job.bytes);
    send_step(Step::gather_output);
    share_->spoil();
    share_->run();
    ranks_.gather(share_->out(), share_->sizes(), all.data());
    return is_answer(measurement_.job, all.data(), nullptr);
  }

  [[nodiscard]] bench::PhaseNanoseconds take_phases() override { return std::exchange(times_, {}); }
  [[nodiscard]] bool is_kernel_alone() const override { return !measurement_.scatters; }

 private:
  void send_step(Step step) { ranks_.send_to_others(Tag::step, serialized(step), session_); }

  void end() noexcept {
    try {
      send_step(Step::end);
    } catch (const Error&) {
      ranks_.abort(1);
    }
    session_is_open_ = false;
    share_.reset();
  }

  const Ranks& ranks_;
  Measurement measurement_;
  int session_;
  std::shared_ptr<bench::Arena> arena_;
  bool session_is_open_ = false;  // the other ranks wait for the next step
  std::unique_ptr<RankShare> share_;
  bench::PhaseNanoseconds times_;  // since the last take_phases()
};

class AloneCase : public bench::MemoryCase {
 public:
  using MemoryCase::MemoryCase;

  void lead_in() override {
    repeat_until_settled([this] { call_untimed(); });
  }
};

}  // namespace

std::unique_ptr<bench::Case> make_memory_on_ranks(bench::Row row, const Ranks& ranks,
                                                  const Job& job, bool scatters, int session,
                                                  std::shared_ptr<bench::Arena> arena) {
  return std::make_unique<RanksMemoryCase>(std::move(row), ranks, job, scatters, session,
                                           std::move(arena));
}

std::unique_ptr<bench::Case> make_memory_alone(bench::Row row, const Job& job,
                                               std::shared_ptr<bench::Arena> arena) {
  auto ours = bench::make_ours(job, row.kernel);
  return std::make_unique<AloneCase>(std::move(row), job, std::move(ours), std::move(arena));
}

void measure_on_worker(const Ranks& ranks, int session, const std::string& error_text) {
  const auto measurement = ranks.receive(0, Tag::step, session).read<Measurement>();
  std::optional<RankShare> share;
  std::string ready = error_text;
  if (error_text.empty()) {
    try {
      share.emplace(ranks, measurement, nullptr);
    } catch (const std::exception& error) {
      ready = error.what();
    }
  }
  ranks.send(0, Tag::step_reply, serialized(ready), session);
  for (;;) {
    const auto step = ranks.receive_soon(0, Tag::step, session).read<Step>();
    if (step == Step::end) return;
    if (!share) throw Error("unexpected step of a measurement");
    if (step == Step::run) {
      run_share(ranks, *share, measurement.scatters, nullptr, nullptr, nullptr);
      ranks.send(0, Tag::step_reply, serialized(std::string()), session);
    } else {
      share->spoil();
      share->run();
      ranks.gather(share->out(), share->sizes(), nullptr);
    }
  }
}

}  // namespace paraes::mpi
