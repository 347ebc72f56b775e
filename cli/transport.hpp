// Who carries whole messages from source to sink: this process, or several.
#pragma once

#include <string>

#include "paraes/messages.hpp"

namespace paraes::cli {

// The authenticated formats. Errors are those of the library's functions of the same meaning.
class Transport {
 public:
  // Names by which other processes find the source and the sink; empty for what is no file.
  struct Names {
    std::string source;
    std::string sink;
    std::string shown;  // what the user calls the sink
  };

  virtual ~Transport() = default;

  virtual TransferResult seal(Source& source, const Message& message, Sink& sink,
                              const TransferOptions& options, const Names& names) = 0;
  virtual OpenResult open(Source& source, const Message& message, Sink* sink,
                          const OpenOptions& options, const Names& names) = 0;

  // Whether files should have a name before they are whole.
  [[nodiscard]] virtual bool names_files() const = 0;
};

}  // namespace paraes::cli
