// Observes which functions of this process are entered, without their help.
#pragma once

#include <string>
#include <vector>

namespace paraes::support {

// While armed, every watched function starts with a breakpoint; the first entry of each is noted
// and gives the function its own first byte back. So the answer comes from the processor that ran
// the code, not from a name that the code reports. One probe at a time; x86-64 Linux only.
class EntryProbe {
 public:
  // Empty where code may be patched, else why it may not.
  [[nodiscard]] static std::string why_unavailable();

  explicit EntryProbe(std::vector<const void*> functions);  // without duplicates
  ~EntryProbe();
  EntryProbe(const EntryProbe&) = delete;
  EntryProbe& operator=(const EntryProbe&) = delete;

  void arm();  // forgets earlier entries
  void disarm();

  // The watched functions that were entered since arm().
  [[nodiscard]] std::vector<const void*> entered() const;
};

}  // namespace paraes::support
