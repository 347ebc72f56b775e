// The interface through which files go to several processes: whole messages from source to sink.
#pragma once

#include <string>

#include "paraes/messages.hpp"

namespace paraes::cli {

// The authenticated formats. Errors are those of the library's functions of the same meaning.
class Distributor {
 public:
  // The names by which other processes open the source and the sink; empty where it is no file.
  struct Names {
    std::string source;
    std::string sink;
    std::string shown;  // what the user calls the sink
  };

  virtual ~Distributor() = default;

  virtual TransferResult seal(Source& source, const Message& message, Sink& sink,
                              const TransferOptions& options, const Names& names) = 0;
  virtual OpenResult open(Source& source, const Message& message, Sink* sink,
                          const OpenOptions& options, const Names& names) = 0;

  // Whether files should have a name before they are whole.
  [[nodiscard]] virtual bool names_files() const = 0;
};

}  // namespace paraes::cli
