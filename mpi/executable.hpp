// Describes the executable paraes-mpi: for its main function, and for its manual page, which is
// also made where there is no MPI.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "bench/bench.hpp"
#include "cli/arguments/options.hpp"
#include "cli/verbs/app.hpp"
#include "cli/words/choices.hpp"
#include "mpi/distribution.hpp"

namespace paraes::mpi {

inline constexpr std::array<cli::Word<Distribution>, 2> distribution_choices = {
    {{"shared", Distribution::shared}, {"scatter", Distribution::scatter}}};

// The flags that paraes does not have.
struct Flags {
  std::string distribute = "shared";             // of files
  std::string distributions = "shared,scatter";  // of bench
};

// Carry out the verbs; each returns the exit status.
struct Actions {
  std::function<int(const cli::CryptOptions& options)> crypt;
  std::function<int(const bench::Axes& axes, const bench::Options& options)> measure;
};

// Its callbacks refer to `flags`.
[[nodiscard]] cli::ExecutableInfo mpi_executable(Flags& flags, const Actions& actions);

}  // namespace paraes::mpi
