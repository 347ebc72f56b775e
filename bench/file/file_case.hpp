// File scope: a call is one execution of a program from file to file, process start and exit
// included.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/file/tools.hpp"
#include "bench/file/workspace.hpp"
#include "bench/harness/case.hpp"

namespace paraes::bench {

class FileCase : public Case {
 public:
  // How verify() checks the output: it equals the plaintext; it equals the bytes that OpenSSL
  // computes (raw); or `checker` decrypts it to the plaintext (undo). For decryption, `checker`
  // also makes the ciphertext.
  enum class Check { plaintext, raw, undo };

  FileCase(Row row, const FileRowJob& job, Check check, FileTool tool, FileTool checker,
           std::shared_ptr<Workspace> workspace);

  void set_up() override;
  [[nodiscard]] bool needs_restore() const override { return true; }
  void restore() override;  // removes the output
  void call() override;
  [[nodiscard]] bool verify() override;
  [[nodiscard]] PhaseNanoseconds take_phases() override;

 private:
  // Returns what the program printed. Throws Failure, a Skip or a runtime_error, if it failed.
  template <class Failure>
  std::string run(Direction direction, const FileTool& tool, const std::string& in,
                  const std::string& out) const;
  [[nodiscard]] Direction direction() const { return row().direction.value_or(Direction::encrypt); }

  FileRowJob job_;
  Check check_;
  FileTool tool_;
  FileTool checker_;
  std::shared_ptr<Workspace> workspace_;
  std::string in_;
  std::string out_;
  std::vector<std::string> outputs_;  // of the calls since take_phases()
};

}  // namespace paraes::bench
