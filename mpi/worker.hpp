// All ranks but 0: they carry out the commands of rank 0.
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

  // Carries out commands until Task::quit, and returns the exit status of that. What another rank
  // sends and this one cannot read ends all ranks.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Command next_command() const;
  void share(Command& command, Reply& reply) const;
  void measure(int session);
  void compute(Command& command) const;

  const Ranks& ranks_;
  const Execution& execution_;
  std::vector<std::thread> sessions_;  // of measurements
};

}  // namespace paraes::mpi
