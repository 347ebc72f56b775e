// The interface for transferring a message, from source to sink, by several processes: paraes-mpi
// implements it, because this library must not know MPI.
#pragma once

#include <string>

#include "paraes/messages.hpp"

namespace paraes::cli {

// For messages in authenticated formats. Throws the errors of seal_message and open_message.
class Distributor {
 public:
  // Paths by which other processes open the source and the sink; empty if it is not a file.
  struct Names {
    std::string source;
    std::string sink;
    std::string shown;  // the sink's name in errors
  };

  virtual ~Distributor() = default;

  virtual TransferResult seal(Source& source, const Message& message, Sink& sink,
                              const TransferOptions& options, const Names& names) = 0;
  virtual OpenResult open(Source& source, const Message& message, Sink* sink,
                          const OpenOptions& options, const Names& names) = 0;

  // Whether an output needs a name while it is written, because other processes open it.
  [[nodiscard]] virtual bool names_files() const = 0;
};

}  // namespace paraes::cli
