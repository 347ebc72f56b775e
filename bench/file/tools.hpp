// Programs that encrypt, decrypt or copy a file: paraes itself and the rivals of the file scope. To
// add a rival, add a class in tools.cpp and a row in file_rivals().
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

// The task of a row in file scope.
struct FileRowJob {
  std::string format;  // a value of --format; `openssl enc` knows raw and openssl
  Mode mode = Mode::gcm;
  int key_bits = 256;
  std::size_t unit = 4096;  // bytes of an XTS data unit (raw)
};

class FileTool {
 public:
  FileTool() = default;
  virtual ~FileTool() = default;
  FileTool(const FileTool&) = delete;
  FileTool& operator=(const FileTool&) = delete;

  // Called before the first command, when the workspace exists. Throws Skip.
  virtual void prepare(const Workspace& /*workspace*/) {}

  [[nodiscard]] virtual std::vector<std::string> command(Direction direction,
                                                         const Workspace& workspace,
                                                         const std::string& in,
                                                         const std::string& out) const = 0;

  // The phases of an execution that printed `output`, as far as the program reports them.
  [[nodiscard]] virtual PhaseNanoseconds phases(const std::string& /*output*/) const { return {}; }

  // Why an execution that printed `output` and exited with 0 must not be counted; empty if it may.
  [[nodiscard]] virtual std::string objection(const std::string& /*output*/) const { return {}; }

  // A name for the kind of ciphertext. Cases with equal names share one ciphertext file.
  [[nodiscard]] virtual std::string ciphertext() const = 0;
};

// `program` is the path of paraes; `row` gives device, kernel, threads and the other flags.
[[nodiscard]] std::unique_ptr<FileTool> make_paraes(std::string program, const FileRowJob& job,
                                                    Row row);
// Throws Skip without openssl, or for a job that `openssl enc` lacks.
[[nodiscard]] std::unique_ptr<FileTool> make_openssl_enc(const FileRowJob& job);

// The rival that copies with as many threads as paraes has: bench/file/copy_threads.hpp.
inline constexpr std::string_view copy_threads = "copy-threads";

struct FileRival {
  std::string_view name;
  // `program` is the path of paraes. Throws Skip.
  std::unique_ptr<FileTool> (*make)(const FileRowJob& job, const Row& row,
                                    const std::string& program);
  std::vector<std::string> version_command = {};  // empty if it is part of paraes
  bool follows_job = false;  // uses the job's format, mode and key size rather than its own format
  bool copies = false;       // has no direction
  bool has_threads = false;  // has a row for each number of threads
};

[[nodiscard]] const std::vector<FileRival>& file_rivals();

}  // namespace paraes::bench
