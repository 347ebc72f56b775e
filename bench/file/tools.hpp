// Programs that encrypt, decrypt or copy a file: paraes itself, and the rivals of the file scope.
// NEW RIVAL = one class in tools.cpp and one row in file_rivals().
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/file/workspace.hpp"
#include "bench/harness/case.hpp"
#include "bench/harness/row.hpp"

namespace paraes::bench {

// What a file is to become.
struct FileRowJob {
  std::string format;  // of --format; rivals know raw and openssl
  Mode mode = Mode::gcm;
  int key_bits = 256;
  std::size_t unit = 4096;  // of raw XTS
};

class FileTool {
 public:
  FileTool() = default;
  virtual ~FileTool() = default;
  FileTool(const FileTool&) = delete;
  FileTool& operator=(const FileTool&) = delete;

  // Before the first command, with the workspace there; throws Skip.
  virtual void prepare(const Workspace& /*workspace*/) {}

  [[nodiscard]] virtual std::vector<std::string> command(Direction direction,
                                                         const Workspace& workspace,
                                                         const std::string& in,
                                                         const std::string& out) const = 0;

  // The phases of a run that printed `output`, as far as the program tells.
  [[nodiscard]] virtual PhaseNanoseconds phases(const std::string& /*output*/) const { return {}; }

  // Why a run that printed `output` and ended well still does not count; empty if it does.
  [[nodiscard]] virtual std::string objection(const std::string& /*output*/) const { return {}; }

  // Names the kind of ciphertext, so that variants can share one.
  [[nodiscard]] virtual std::string ciphertext() const = 0;
};

// `program` is the path of paraes; `row` says how it works: on which device, with which kernel, ….
[[nodiscard]] std::unique_ptr<FileTool> make_paraes(std::string program, const FileRowJob& job,
                                                    Row row);
// Throws Skip without openssl, or for a job that `openssl enc` lacks.
[[nodiscard]] std::unique_ptr<FileTool> make_openssl_enc(const FileRowJob& job);
[[nodiscard]] std::unique_ptr<FileTool> make_age(const FileRowJob& job);
[[nodiscard]] std::unique_ptr<FileTool> make_cp(const FileRowJob& job);

struct FileRival {
  std::string_view name;
  std::unique_ptr<FileTool> (*make)(const FileRowJob& job);
  std::vector<std::string> version_command;
  bool follows_job;  // computes the job's own format, mode and key; others have only their own
  bool copies;       // there is only one direction
};

[[nodiscard]] const std::vector<FileRival>& file_rivals();

}  // namespace paraes::bench
