// The processes of the run, over MPI. All waiting sleeps: ranks may have fewer cores than there are
// of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mpi/serializer.hpp"

namespace paraes::mpi {

// Kinds of messages. Chunks and their results have a tag for each slot, and the steps of
// measurements one for each session, counted from these numbers.
enum class Tag : int {
  command = 1,
  reply = 2,
  stop = 3,
  progress = 4,
  chunk = 1000,
  chunk_result = 10000,
  step = 20000,
  stepped = 25000
};

class Ranks {
 public:
  // MPI_Init_thread, for any number of threads if the MPI offers that. What ranks other than 0
  // write to standard output and error goes nowhere from then on: rank 0 speaks for all.
  Ranks(int* argc, char*** argv);
  // MPI_Finalize, which waits for all.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool is_root() const noexcept { return rank_ == 0; }
  // Whether several threads of a rank may send and receive at once.
  [[nodiscard]] bool any_threads() const noexcept { return any_threads_; }
  // The number of this rank among those of its host.
  [[nodiscard]] unsigned local_rank() const noexcept { return local_rank_; }
  // Whether rank 0 is on this rank's host.
  [[nodiscard]] bool on_root_host() const noexcept { return on_root_host_; }
  [[nodiscard]] const std::string& host(int rank) const {
    return hosts_.at(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] std::string name(int rank) const {
    return "rank " + std::to_string(rank) + " (" + host(rank) + ")";
  }

  // The text of every rank, everywhere.
  [[nodiscard]] std::vector<std::string> gather_everywhere(const std::string& own) const;

  void send(int to, Tag tag, const Serializer& message, int slot = 0) const;
  void send_to_others(Tag tag, const Serializer& message, int slot = 0) const;
  // The next message from `from`, or from anybody (any_rank), if it is there.
  struct Received {
    int from;
    Serializer message;
  };
  static constexpr int any_rank = -1;
  [[nodiscard]] std::optional<Received> poll(int from, Tag tag, int slot = 0) const;
  // Waits for it; calls `meanwhile` now and then. Gives up, with nothing, when that returns false.
  [[nodiscard]] std::optional<Received> wait(int from, Tag tag, int slot = 0,
                                             const std::function<bool()>& meanwhile = {}) const;
  [[nodiscard]] Serializer receive(int from, Tag tag, int slot = 0) const;
  // Like receive, but busy for a moment before it sleeps: for measurements.
  [[nodiscard]] Serializer receive_soon(int from, Tag tag, int slot) const;

  // MPI_Scatterv and MPI_Gatherv of bytes, with rank 0 as the root.
  void scatter(const std::uint8_t* all, const std::vector<int>& sizes, std::uint8_t* own) const;
  void gather(const std::uint8_t* own, const std::vector<int>& sizes, std::uint8_t* all) const;

  // A line on standard error, where only rank 0 may write otherwise.
  void complain(const std::string& text) const;

  // Ends all ranks at once.
  [[noreturn]] void abort(int status) const;

 private:
  int rank_ = 0;
  int size_ = 1;
  bool any_threads_ = false;
  unsigned local_rank_ = 0;
  bool on_root_host_ = true;
  int standard_error_ = -1;
  std::vector<std::string> hosts_;
};

}  // namespace paraes::mpi
