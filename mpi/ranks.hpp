// The ranks of a run: a thin layer over MPI. Waiting sleeps between polls, because a host may have
// more ranks than cores.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mpi/serializer.hpp"

namespace paraes::mpi {

// The MPI tags of messages. A stop has the number of a command in which a rank has failed, so that
// the others stop. Chunks and their results have one tag for each slot, and the steps of
// measurements one for each session: slot or session is added to the number.
enum class Tag : int {
  command = 1,
  reply = 2,
  stop = 3,
  progress = 4,
  chunk = 1000,
  chunk_result = 10000,
  step = 20000,
  step_reply = 25000
};

class Ranks {
 public:
  // Calls MPI_Init_thread, and asks for MPI_THREAD_MULTIPLE. Redirects standard output and standard
  // error of ranks other than 0 to /dev/null: rank 0 reports for all.
  Ranks(int* argc, char*** argv);
  // Calls MPI_Finalize, which waits for all ranks.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool is_root() const noexcept { return rank_ == 0; }
  // Whether several threads of a rank may send and receive at once.
  [[nodiscard]] bool has_thread_multiple() const noexcept { return has_thread_multiple_; }
  // The number of this rank among those of its host.
  [[nodiscard]] unsigned local_rank() const noexcept { return local_rank_; }
  // Whether rank 0 is on this rank's host.
  [[nodiscard]] bool on_root_host() const noexcept { return on_root_host_; }
  [[nodiscard]] std::string name(int rank) const {
    return "rank " + std::to_string(rank) + " (" + hosts_.at(static_cast<std::size_t>(rank)) + ")";
  }

  // Returns the texts of all ranks, on every rank.
  [[nodiscard]] std::vector<std::string> gather_everywhere(const std::string& own) const;

  void send(int to, Tag tag, const Serializer& message, int slot = 0) const;
  void send_to_others(Tag tag, const Serializer& message, int slot = 0) const;
  // The next message from rank `from`, or from any rank (any_rank), if one has arrived.
  struct Received {
    int from;
    Serializer message;
  };
  static constexpr int any_rank = -1;
  [[nodiscard]] std::optional<Received> poll(int from, Tag tag, int slot = 0) const;
  // Waits for that message. Calls `meanwhile` between polls, and returns nullopt when that returns
  // false.
  [[nodiscard]] std::optional<Received> wait(int from, Tag tag, int slot = 0,
                                             const std::function<bool()>& meanwhile = {}) const;
  [[nodiscard]] Serializer receive(int from, Tag tag, int slot = 0) const;
  // Like receive, but spins for a moment before it sleeps: for measurements.
  [[nodiscard]] Serializer receive_soon(int from, Tag tag, int slot) const;

  // MPI_Scatterv and MPI_Gatherv of bytes, with rank 0 as the root.
  void scatter(const std::uint8_t* all, const std::vector<int>& sizes, std::uint8_t* own) const;
  void gather(const std::uint8_t* own, const std::vector<int>& sizes, std::uint8_t* all) const;

  // Prints a line on standard error, even on ranks other than 0.
  void print_error(const std::string& text) const;

  // Ends all ranks at once.
  [[noreturn]] void abort(int status) const;

 private:
  int rank_ = 0;
  int size_ = 1;
  bool has_thread_multiple_ = false;
  unsigned local_rank_ = 0;
  bool on_root_host_ = true;
  int standard_error_ = -1;
  std::vector<std::string> hosts_;
};

}  // namespace paraes::mpi
