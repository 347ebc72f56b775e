#include "bench/file/tools.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "bench/file/child.hpp"
#include "bench/file/copy_threads.hpp"
#include "src/core/system/program_path.hpp"

namespace paraes::bench {
namespace {

std::string hex(Bytes data) { return fmt::format("{:02x}", fmt::join(data, "")); }

std::string need_program(const std::string& name) {
  std::string path = system::find_in_path(name);
  if (path.empty()) throw Skip(name + " is not installed");
  return path;
}

std::string job_name(const FileRowJob& job) {
  return job.format + "-" + std::string(to_string(job.mode)) + "-" + std::to_string(job.key_bits);
}

bool pads(Mode mode) { return mode == Mode::ecb || mode == Mode::cbc; }

using Words = std::vector<std::string>;

void add(Words& words, std::initializer_list<std::string> more) { words.insert(words.end(), more); }

Words paraes_command(const FileRowJob& job, const Row& row, const std::string& program,
                     const FileTask& task) {
  Words words = {program,   std::string(to_string(task.direction)), "--quiet", "--json", "--format",
                 job.format};
  const auto key_size = static_cast<std::size_t>(job.key_bits / 8);
  if (job.format == "openssl") {
    add(words,
        {"--mode", std::string(to_string(job.mode)), "--key-bits", std::to_string(job.key_bits),
         "--passphrase-file", task.workspace.passphrase_file()});
  } else if (job.format == "raw") {
    add(words, {"--mode", std::string(to_string(job.mode)), "--key-file",
                task.workspace.key_file(job.mode == Mode::xts ? 2 * key_size : key_size)});
    if (job.mode == Mode::xts) {
      add(words,
          {"--iv-hex", hex(xts_tweak(material().first_unit)), "--unit", std::to_string(job.unit)});
    } else if (job.mode != Mode::ecb) {
      add(words, {"--iv-hex", hex(material().iv)});
    }
    if (pads(job.mode)) add(words, {"--nopad"});
  } else {
    add(words, {"--key-file", task.workspace.key_file(key_size)});
  }
  add(words, {"--device", row.device, "--kernel", row.kernel});
  if (row.device == "cpu") {
    add(words, {"--threads", std::to_string(row.threads)});
  } else {
    add(words, {"--transfer", row.transfer, "--key-expansion", row.key_expansion});
  }
  if (!row.overlap) add(words, {"--no-overlap"});
  add(words, {"--output", task.out, task.in});
  return words;
}

// The member `name` of the JSON object that --json prints, or null.
nlohmann::json field(const std::string& output, const char* name) {
  const auto json = nlohmann::json::parse(output, nullptr, false);
  return json.is_object() && json.contains(name) ? json[name] : nlohmann::json();
}

PhaseNanoseconds paraes_phases(const Row& row, const std::string& output) {
  const nlohmann::json timeline = field(output, "timeline_ns");
  if (!timeline.is_object()) return {};
  std::vector<const char*> measured = {"read", "key_expansion", "kernel", "write"};
  // With mapped memory there are no copies: the kernels read and write host memory.
  if (row.device != "cpu" && row.transfer == "staged") {
    measured.insert(measured.end(), {"host_to_device", "device_to_host"});
  }
  PhaseNanoseconds phases;
  for (const char* name : measured) phases[name] = timeline.value(name, 0.0);
  return phases;
}

Words openssl_enc_command(const FileRowJob& job, const std::string& program, const FileTask& task) {
  Words words = {program, "enc", task.direction == Direction::encrypt ? "-e" : "-d",
                 "-aes-" + std::to_string(job.key_bits) + "-" + std::string(to_string(job.mode))};
  if (job.format == "openssl") {
    add(words, {"-pbkdf2", "-iter", "10000", "-pass", "file:" + task.workspace.passphrase_file()});
  } else {
    add(words,
        {"-K", hex(Bytes(material().key).first(static_cast<std::size_t>(job.key_bits / 8)))});
    if (job.mode != Mode::ecb) add(words, {"-iv", hex(material().iv)});
    if (pads(job.mode)) add(words, {"-nopad"});
  }
  add(words, {"-in", task.in, "-out", task.out});
  return words;
}

FileTool age_tool(const FileRowJob&, const Row&, const std::string&) {
  const auto key = [](const Workspace& workspace) { return workspace.path("age-key"); };
  return {.ciphertext = "age",
          .command =
              [program = need_program("age"), key](const FileTask& task) {
                return Words{
                    program,      task.direction == Direction::encrypt ? "--encrypt" : "--decrypt",
                    "--identity", key(task.workspace),
                    "--output",   task.out,
                    task.in};
              },
          .prepare =
              [keygen = need_program("age-keygen"), key](const Workspace& workspace) {
                (void)run_child({keygen, "-o", key(workspace)});
              }};
}

FileTool cp_tool(const FileRowJob&, const Row&, const std::string&) {
  // With a reflink, nothing would be copied.
  return {.ciphertext = "copy", .command = [program = need_program("cp")](const FileTask& task) {
            return Words{program, "--reflink=never", task.in, task.out};
          }};
}

FileTool copy_threads_tool(const FileRowJob&, const Row& row, const std::string& program) {
  return {.ciphertext = "copy",
          .command = [program, threads = std::to_string(row.threads)](const FileTask& task) {
            return Words{program, std::string(copy_threads_word), threads, task.in, task.out};
          }};
}

}  // namespace

FileTool paraes_tool(const FileRowJob& job, const Row& row, const std::string& program) {
  if (program.empty()) throw Skip("the path of this executable cannot be found");
  return {.ciphertext = job_name(job),
          .command = [=](const FileTask& task) { return paraes_command(job, row, program, task); },
          .phases = [row](const std::string& output) { return paraes_phases(row, output); },
          // Times of the fallback device must not be reported under the name of this one.
          .objection = [device = row.device](const std::string& output) -> std::string {
            const nlohmann::json fallback = field(output, "fallback");
            if (!fallback.is_string()) return {};
            return "another device was used instead of " + device + ": " +
                   fallback.get<std::string>();
          }};
}

FileTool openssl_enc_tool(const FileRowJob& job, const Row&, const std::string&) {
  if (job.mode == Mode::xts || job.mode == Mode::gcm) {
    throw Skip("openssl enc has neither XTS nor GCM");
  }
  return {.ciphertext = job_name(job),
          .command = [job, program = need_program("openssl")](const FileTask& task) {
            return openssl_enc_command(job, program, task);
          }};
}

const std::vector<FileRival>& file_rivals() {
  static const std::vector<FileRival> rows = {
      {.name = "openssl-enc",
       .make = openssl_enc_tool,
       .version_command = {"openssl", "version"},
       .follows_job = true},
      {.name = "age", .make = age_tool, .version_command = {"age", "--version"}},
      {.name = "cp", .make = cp_tool, .version_command = {"cp", "--version"}, .copies = true},
      {.name = copy_threads, .make = copy_threads_tool, .copies = true, .has_threads = true},
  };
  return rows;
}

}  // namespace paraes::bench
