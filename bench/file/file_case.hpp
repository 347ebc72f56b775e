// File scope: a call is one execution of a program from file to file, process start and exit
// included.
#pragma once

#include <memory>

#include "bench/file/tools.hpp"
#include "bench/file/workspace.hpp"
#include "bench/harness/case.hpp"

namespace paraes::bench {

// How a row checks its output: it equals the plaintext; it equals the bytes that OpenSSL computes
// (raw); or `checker` decrypts it to the plaintext (undo). For decryption, `checker` also makes the
// ciphertext.
enum class FileCheck { plaintext, raw, undo };

[[nodiscard]] std::unique_ptr<Case> make_file_case(Row row, const FileRowJob& job, FileCheck check,
                                                   FileTool tool, FileTool checker,
                                                   std::shared_ptr<Workspace> workspace);

}  // namespace paraes::bench
