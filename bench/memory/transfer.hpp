// Transfer scope: a call encrypts or decrypts a message from host memory to host memory on a GPU,
// copies included, through the public classes.
#pragma once

#include <memory>

#include "bench/harness/case.hpp"
#include "bench/memory/arena.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

[[nodiscard]] std::unique_ptr<Case> make_transfer(Row row, const Job& job,
                                                  std::shared_ptr<Arena> arena,
                                                  const Execution& execution);

}  // namespace paraes::bench
