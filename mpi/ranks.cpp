#include "mpi/ranks.hpp"

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <thread>

#include "cli/terminal/messages.hpp"

namespace paraes::mpi {
namespace {

int tag_of(Tag tag, int slot) { return static_cast<int>(tag) + slot; }

// A message that MPI has matched.
struct Matched {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
};

std::optional<Matched> match(int from, int tag) {
  int found = 0;
  Matched matched;
  MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, &matched.message, &matched.status);
  return found == 0 ? std::nullopt : std::optional(matched);
}

Serializer receive_matched(Matched matched) {
  int size = 0;
  MPI_Get_count(&matched.status, MPI_BYTE, &size);
  // Only commands have keys: see holds_keys.
  const bool has_keys = matched.status.MPI_TAG == static_cast<int>(Tag::command);
  Serializer bytes(static_cast<std::size_t>(size), has_keys);
  MPI_Mrecv(bytes.data(), size, MPI_BYTE, &matched.message, MPI_STATUS_IGNORE);
  return bytes;
}

std::vector<int> offsets(const std::vector<int>& sizes) {
  std::vector<int> list(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), list.begin(), 0);
  return list;
}

}  // namespace

Ranks::Ranks(int* argc, char*** argv) {
  // MPI's default for its own errors stays: it prints a message and ends all ranks.
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  has_thread_multiple_ = provided == MPI_THREAD_MULTIPLE;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  int local = 0;
  MPI_Comm_rank(host, &local);
  local_rank_ = static_cast<unsigned>(local);
  int first = rank_;
  MPI_Bcast(&first, 1, MPI_INT, 0, host);
  on_root_host_ = first == 0;
  MPI_Comm_free(&host);
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  hosts_ = gather_everywhere({name.data(), static_cast<std::size_t>(length)});
  standard_error_ = STDERR_FILENO;
  if (rank_ == 0) return;
  standard_error_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  const int null_device = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null_device < 0) return;
  static_cast<void>(dup2(null_device, STDOUT_FILENO));
  static_cast<void>(dup2(null_device, STDERR_FILENO));
  close(null_device);
}

Ranks::~Ranks() {
  // Receive stop and progress messages that arrived too late: otherwise MPICH prints complaints
  // about them on standard output.
  MPI_Barrier(MPI_COMM_WORLD);
  for (int polls = 0; polls < 20; ++polls) {
    const auto matched = match(MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (!matched) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      continue;
    }
    static_cast<void>(receive_matched(*matched));
    polls = 0;
  }
  MPI_Finalize();
}

std::vector<std::string> Ranks::gather_everywhere(const std::string& own) const {
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(size_));
  MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, MPI_COMM_WORLD);
  const std::vector<int> at = offsets(lengths);
  std::string all(static_cast<std::size_t>(at.back() + lengths.back()), '\0');
  MPI_Allgatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), at.data(), MPI_CHAR,
                 MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(at[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

void Ranks::send(int to, Tag tag, const Serializer& message, int slot) const {
  if (message.size() > std::numeric_limits<int>::max()) {
    throw Error("a message between ranks has more than 2 GiB");
  }
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, to, tag_of(tag, slot),
            MPI_COMM_WORLD, &request);
  for (int spins = 0;; ++spins) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker): MPI_Test has ended it
    if (spins < 50) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

void Ranks::send_to_others(Tag tag, const Serializer& message, int slot) const {
  for (int other = 0; other < size_; ++other) {
    if (other != rank_) send(other, tag, message, slot);
  }
}

std::optional<Ranks::Received> Ranks::poll(int from, Tag tag, int slot) const {
  const auto matched = match(from == any_rank ? MPI_ANY_SOURCE : from, tag_of(tag, slot));
  if (!matched) return std::nullopt;
  return Received{matched->status.MPI_SOURCE, receive_matched(*matched)};
}

std::optional<Ranks::Received> Ranks::wait(int from, Tag tag, int slot,
                                           const std::function<bool()>& meanwhile) const {
  using namespace std::chrono_literals;
  for (int polls = 0;; ++polls) {
    if (auto received = poll(from, tag, slot)) return received;
    if (meanwhile && !meanwhile()) return std::nullopt;
    if (polls < 50) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(polls < 2000 ? 50us : 1000us);
    }
  }
}

Serializer Ranks::receive(int from, Tag tag, int slot) const {
  return std::move(wait(from, tag, slot)->message);
}

Serializer Ranks::receive_soon(int from, Tag tag, int slot) const {
  // Longer than the time between two calls, but short compared with a sample: spinning takes a
  // core.
  constexpr auto patience = std::chrono::microseconds(300);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    if (auto received = poll(from, tag, slot)) return std::move(received->message);
    if (std::chrono::steady_clock::now() - start > patience) return receive(from, tag, slot);
    sched_yield();
  }
}

void Ranks::scatter(const std::uint8_t* all, const std::vector<int>& sizes,
                    std::uint8_t* own) const {
  const std::vector<int> at = offsets(sizes);
  MPI_Scatterv(all, sizes.data(), at.data(), MPI_BYTE, own, sizes[static_cast<std::size_t>(rank_)],
               MPI_BYTE, 0, MPI_COMM_WORLD);
}

void Ranks::gather(const std::uint8_t* own, const std::vector<int>& sizes,
                   std::uint8_t* all) const {
  const std::vector<int> at = offsets(sizes);
  MPI_Gatherv(own, sizes[static_cast<std::size_t>(rank_)], MPI_BYTE, all, sizes.data(), at.data(),
              MPI_BYTE, 0, MPI_COMM_WORLD);
}

void Ranks::print_error(const std::string& text) const {
  const std::string line = "paraes: " + cli::printable(name(rank_) + ": " + text) + "\n";
  static_cast<void>(!write(standard_error_, line.data(), line.size()));
}

void Ranks::abort(int status) const {
  MPI_Abort(MPI_COMM_WORLD, status);
  std::abort();
}

}  // namespace paraes::mpi
