// The ranks other than 0: they execute the commands of rank 0.
#pragma once

#include <thread>
#include <vector>

#include "mpi/commands.hpp"
#include "mpi/ranks.hpp"
#include "paraes/ciphers.hpp"

namespace paraes::mpi {

class Worker {
 public:
  // Keeps references to its arguments. `execution`: how this rank computes.
  Worker(const Ranks& ranks, const Execution& execution) : ranks_(ranks), execution_(execution) {}

  // Executes commands until Task::quit, and returns the exit status of that command. Ends all ranks
  // if it receives a message that it cannot decode.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Command next_command() const;
  void share(Command& command, Reply& reply) const;
  void measure(int session);
  void compute(Command& command) const;

  const Ranks& ranks_;
  const Execution& execution_;
  std::vector<std::thread> sessions_;  // one for each row that is measured
};

}  // namespace paraes::mpi
