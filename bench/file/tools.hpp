// Programs that encrypt, decrypt or copy a file: paraes itself and the rivals of the file scope. To
// add a rival, add a function in tools.cpp and a row in file_rivals().
#pragma once

#include <functional>
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

// A program's work on a file.
struct FileTask {
  Direction direction;
  const Workspace& workspace;
  const std::string& in;
  const std::string& out;
};

// A program, and how it is called. All functions but `command` may be empty.
struct FileTool {
  // A name for the kind of ciphertext. Cases with equal names share one ciphertext file.
  std::string ciphertext;
  std::function<std::vector<std::string>(const FileTask& task)> command;
  // Called before the first command, when the workspace exists. Throws Skip.
  std::function<void(const Workspace& workspace)> prepare = {};
  // The phases of an execution that printed `output`, as far as the program reports them.
  std::function<PhaseNanoseconds(const std::string& output)> phases = {};
  // Why an execution that printed `output` and exited with 0 must not be counted; empty if it may.
  std::function<std::string(const std::string& output)> objection = {};
};

// `program` is the path of paraes; `row` gives device, kernel, threads and the other flags. Throws
// Skip without a program.
[[nodiscard]] FileTool paraes_tool(const FileRowJob& job, const Row& row,
                                   const std::string& program);
// Throws Skip without openssl, or for a job that `openssl enc` lacks.
[[nodiscard]] FileTool openssl_enc_tool(const FileRowJob& job, const Row& row = {},
                                        const std::string& program = {});

// The rival that copies with as many threads as paraes has: bench/file/copy_threads.hpp.
inline constexpr std::string_view copy_threads = "copy-threads";

struct FileRival {
  std::string_view name;
  // `program` is the path of paraes. Throws Skip.
  FileTool (*make)(const FileRowJob& job, const Row& row, const std::string& program);
  std::vector<std::string> version_command = {};  // empty if it is part of paraes
  bool follows_job = false;  // uses the job's format, mode and key size rather than its own format
  bool copies = false;       // has no direction
  bool has_threads = false;  // has a row for each number of threads
};

[[nodiscard]] const std::vector<FileRival>& file_rivals();

}  // namespace paraes::bench
