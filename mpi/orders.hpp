// What rank 0 tells the others to do, and what they answer.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "mpi/packet.hpp"
#include "paraes/messages.hpp"

namespace paraes::mpi {

enum class Task : std::uint64_t {
  quit,  // with the status that all exit with
  seal,  // its share of a message, from file to file
  open,  // the same
  help,  // with pieces of a message, until `enough`
  enough,
  measure,  // a row of bench: see measure.hpp
};

// Of seal, open and help.
struct Order {
  Task task = Task::quit;
  std::uint64_t number = 0;  // counts orders
  Message::Parts parts;
  bool encrypts = true;  // of help
  std::string source;
  std::string sink;         // empty: there is none
  std::string shown;        // what the user calls it
  std::uint64_t inode = 0;  // of the sink
  FileVersion version;      // of the source; its device differs between hosts
  bool overlap = true;
  bool salvages = false;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

[[nodiscard]] Packet pack(const Order& order);
// What follows the task of a packet.
[[nodiscard]] Order unpack_order(Task task, Packet& packet);

// That this rank has failed in the order with this number, for Tag::stop.
[[nodiscard]] Packet pack_stop(std::uint64_t number);

// How many threads a rank computes with.
[[nodiscard]] unsigned threads_of(const Execution& execution);

// How an order ended.
struct Answer {
  enum class Kind : std::uint64_t {
    good,
    stopped,  // because another rank failed
    invalid_argument,
    unavailable,
    device,
    integrity,
    wrong_key,
    io,
    other
  };
  Kind kind = Kind::good;
  std::uint64_t number = 0;  // of the order
  std::string text;
  std::uint64_t code = 0;  // of Kind::io
  OpenResult result;
  std::vector<BadRange> bad;
};

[[nodiscard]] Packet pack(const Answer& answer);
[[nodiscard]] Answer unpack_answer(Packet& packet);

// Thrown out of a share when another rank has failed. Not an Error: nobody is told of it.
struct Stopped {};

// The exception that is being handled, as an answer.
[[nodiscard]] Answer answer_of_current_exception() noexcept;

// Throws what the answer stands for, with the name of its rank before it.
[[noreturn]] void throw_answer(const Answer& answer, const std::string& rank);

}  // namespace paraes::mpi
