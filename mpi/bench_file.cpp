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
    workspace_->need_room(3);
    static int number = 0;
    sealed_ = workspace_->path("sealed" + std::to_string(++number));
    opened_ = workspace_->path("opened" + std::to_string(number));
    if (!encrypts()) seal();
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
  // As in the command, but the temporary has a name even if rank 0 is alone: the rows do the same.
  static FileSink::Options sink_options() {
    FileSink::Options options;
    options.overwrite = true;
    options.named = true;
    return options;
  }

  void seal() {
    FileSource source = FileSource::open(workspace_->plaintext());
    const Message message =
        Message(new_paraes_message(Preface::for_key(key().size()), key(), {}), execution());
    FileSink sink(sealed_, sink_options());
    TransferOptions options;
    options.threads = row().threads;
    const TransferResult result =
        distribution_ ? root_.seal(source, message, sink, options,
                                   {workspace_->plaintext(), sink.temporary(), sealed_})
                      : seal_message(source, message, sink, options);
    sink.commit();
    times_ += result.times;
  }

  void open() {
    FileSource source = FileSource::open(sealed_);
    std::vector<std::uint8_t> header(paraes_header_bytes);
    header.resize(source.read(header));
    const Message message = Message(open_paraes_message(header, key(), {}), execution());
    FileSink sink(opened_, sink_options());
    OpenOptions options;
    options.threads = row().threads;
    const OpenResult result = distribution_ ? root_.open(source, message, &sink, options,
                                                         {sealed_, sink.temporary(), opened_})
                                            : open_message(source, message, &sink, options);
    sink.commit();
    times_ += result.times;
  }

  std::optional<Distribution> distribution_;
  Root root_;
  std::shared_ptr<bench::Workspace> workspace_;
  std::string sealed_;
  std::string opened_;
  PhaseTimes times_;  // since the last take_phases()
};

}  // namespace

std::unique_ptr<bench::Case> make_file_on_ranks(bench::Row row, const Ranks& ranks,
                                                std::optional<Distribution> distribution,
                                                std::shared_ptr<bench::Workspace> workspace) {
  return std::make_unique<RanksFileCase>(std::move(row), ranks, distribution, std::move(workspace));
}

}  // namespace paraes::mpi
