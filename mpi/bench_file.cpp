#include "mpi/bench_file.hpp"

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/memory/job.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"

namespace paraes::mpi {
namespace {

class RanksFileCase : public bench::Case {
 public:
  RanksFileCase(bench::Row row, const Ranks& ranks, std::optional<Distribution> distribution,
                std::shared_ptr<bench::Workspace> workspace)
      : Case(std::move(row)),
        distribution_(distribution),
        root_(ranks, distribution.value_or(Distribution::shared),
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
    if (!encrypts()) seal();
  }

  void tear_down() noexcept override {
    if (holds_) workspace_->release();
    holds_ = false;
  }

  [[nodiscard]] bool needs_restore() const override { return true; }
  void restore() override { (void)unlink((encrypts() ? sealed_ : opened_).c_str()); }

  void call() override { encrypts() ? seal() : open(); }

  [[nodiscard]] bool verify() override {
    restore();
    call();
    if (encrypts()) {
      (void)unlink(opened_.c_str());
      open();
    }
    return workspace_->is_plaintext(opened_);
  }

  [[nodiscard]] bench::PhaseNanoseconds take_phases() override {
    const PhaseTimes times = std::exchange(times_, {});
    if (distribution_ == Distribution::scatter) {
      return bench::phases_of(times, {"read", "kernel", "write", "scatter", "gather"});
    }
    return bench::phases_of(times, {"read", "kernel", "write"});
  }

 private:
  [[nodiscard]] bool encrypts() const { return row().direction == Direction::encrypt; }
  [[nodiscard]] Execution execution() const {
    Execution execution;
    execution.kernel = row().kernel;
    execution.threads = row().threads;
    return execution;
  }
  [[nodiscard]] Bytes key() const {
    return Bytes(bench::material().key).first(static_cast<std::size_t>(*row().key_bits / 8));
  }
  // As the command has it, but with a name for its temporary also where rank 0 is alone.
  static FileSink::Options sink_options() {
    FileSink::Options options;
    options.overwrite = true;
    options.named = true;
    return options;
  }

  void seal() {
    FileSource from = FileSource::open(workspace_->plaintext());
    const Message message =
        Message(new_paraes_message(Preface::for_key(key().size()), key(), {}), execution());
    FileSink to(sealed_, sink_options());
    TransferOptions options;
    options.threads = row().threads;
    const TransferResult result =
        distribution_ ? root_.seal(from, message, to, options,
                                   {workspace_->plaintext(), to.temporary(), sealed_})
                      : seal_message(from, message, to, options);
    to.commit();
    times_ += result.times;
  }

  void open() {
    FileSource from = FileSource::open(sealed_);
    std::vector<std::uint8_t> header(paraes_header_bytes);
    header.resize(from.read(header));
    const Message message = Message(open_paraes_message(header, key(), {}), execution());
    FileSink to(opened_, sink_options());
    OpenOptions options;
    options.threads = row().threads;
    const OpenResult result =
        distribution_ ? root_.open(from, message, &to, options, {sealed_, to.temporary(), opened_})
                      : open_message(from, message, &to, options);
    to.commit();
    times_ += result.times;
  }

  std::optional<Distribution> distribution_;
  Root root_;
  std::shared_ptr<bench::Workspace> workspace_;
  bool holds_ = false;
  std::string sealed_;
  std::string opened_;
  PhaseTimes times_;  // of calls whose phases nobody has taken
};

}  // namespace

std::unique_ptr<bench::Case> make_file_on_ranks(bench::Row row, const Ranks& ranks,
                                                std::optional<Distribution> distribution,
                                                std::shared_ptr<bench::Workspace> workspace) {
  return std::make_unique<RanksFileCase>(std::move(row), ranks, distribution, std::move(workspace));
}

}  // namespace paraes::mpi
