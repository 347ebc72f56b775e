// Rank 0: transfers messages with the help of the other ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/run/distributor.hpp"
#include "mpi/commands.hpp"
#include "mpi/distribution.hpp"
#include "mpi/ranks.hpp"

namespace paraes::mpi {

class Root : public cli::Distributor {
 public:
  // `threads`: the number of threads of each rank.
  Root(const Ranks& ranks, Distribution distribution, std::vector<unsigned> threads)
      : ranks_(ranks), distribution_(distribution), threads_(std::move(threads)) {}

  TransferResult seal(Source& source, const Message& message, Sink& sink,
                      const TransferOptions& options, const Names& names) override;
  OpenResult open(Source& source, const Message& message, Sink* sink, const OpenOptions& options,
                  const Names& names) override;
  [[nodiscard]] bool names_files() const override {
    return distribution_ == Distribution::shared && ranks_.size() > 1;
  }

 private:
  class Progress;

  [[nodiscard]] Command new_command(Task task, const Message& message, const Names& names);
  void send_to_all(const Command& command) const;
  // Waits for the replies of all other ranks to `command`. Throws the first error among them,
  // unless `quiet`.
  std::vector<Reply> collect(const Command& command, Progress* progress, bool quiet) const;
  // Sends `command` to the other ranks, calls work(options) for this rank's share, and adds the
  // results of all. The output, if there is one, gets at most `max_bytes`.
  OpenResult share(Command command, const Source& source, const Sink* sink, std::uint64_t max_bytes,
                   const OpenOptions& options, const auto& work);
  // Calls work(options) with options that let the other ranks compute chunks.
  OpenResult scatter(Command command, const Message& message, const OpenOptions& options,
                     const auto& work);

  const Ranks& ranks_;
  Distribution distribution_;
  std::vector<unsigned> threads_;
  std::uint64_t number_ = 0;  // of the last command
};

// Tells the other ranks to exit with `status`.
void dismiss(const Ranks& ranks, int status);

}  // namespace paraes::mpi
