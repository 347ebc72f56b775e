// Records which functions of this process are entered, without changes to their source.
#pragma once

#include <string>
#include <vector>

namespace paraes::support {

// While armed, every watched function starts with a breakpoint instruction. The first entry of each
// function is recorded, and restores its original first instruction. This shows which code the
// processor executed, whatever name the code reports. Only one probe may exist at a time; Linux on
// x86-64 and AArch64 only.
class EntryProbe {
 public:
  // Empty if the system allows code to be patched, else the reason why not.
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
