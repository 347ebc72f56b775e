// --update: which inputs a run leaves out, because their outputs exist.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "cli/files/place.hpp"
#include "cli/files/probe_file.hpp"
#include "cli/plan/plan.hpp"

namespace paraes::cli {

// An output has the time of its input. When encrypting, any other time shows that the input was
// replaced, perhaps by an older file, and so does a size that does not fit. When decrypting, a
// newer output is left as it is: somebody may have written it.
class UpdateRule {
 public:
  // Keeps a reference to the plan.
  UpdateRule(const Plan& plan, Probing probing) : plan_(plan), probing_(probing) {}

  // Whether an input is left out because of an output in `folder`. `encrypted`: returns the place
  // of that one of the two that is encrypted, of which a header may have to be read. The first call
  // for an output that is newer makes a file in the folder, to see whether its file system keeps
  // times, and removes it. Thread-safe.
  [[nodiscard]] bool leaves_out(const struct stat& input, const struct stat& output,
                                const std::shared_ptr<const Folder>& folder,
                                const std::function<Place()>& encrypted);

 private:
  [[nodiscard]] bool sizes_fit(const struct stat& input, const struct stat& output,
                               const std::function<Place()>& encrypted) const;
  [[nodiscard]] bool keeps_times(const std::shared_ptr<const Folder>& folder, dev_t device);

  const Plan& plan_;
  const Probing probing_;
  std::mutex mutex_;
  std::map<dev_t, bool> keeps_times_;  // by file system
};

}  // namespace paraes::cli
