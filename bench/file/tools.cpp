#include "bench/file/tools.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "bench/file/child.hpp"
#include "bench/file/copy_threads.hpp"
#include "bench/harness/case.hpp"
#include "src/core/system/program_path.hpp"

namespace paraes::bench {
namespace {

std::string hex(const std::uint8_t* data, std::size_t bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) {
    text += digits[data[i] >> 4];
    text += digits[data[i] & 15];
  }
  return text;
}

std::string need_program(const std::string& name) {
  std::string path = system::find_in_path(name);
  if (path.empty()) throw Skip(name + " is not installed");
  return path;
}

std::string job_name(const FileRowJob& job) {
  return job.format + "-" + std::string(to_string(job.mode)) + "-" + std::to_string(job.key_bits);
}

bool pads(Mode mode) { return mode == Mode::ecb || mode == Mode::cbc; }

class Paraes : public FileTool {
 public:
  Paraes(std::string program, const FileRowJob& job, Row row)
      : program_(std::move(program)), job_(job), row_(std::move(row)) {
    if (program_.empty()) throw Skip("the path of this executable cannot be found");
  }

  [[nodiscard]] std::vector<std::string> command(Direction direction, const Workspace& workspace,
                                                 const std::string& in,
                                                 const std::string& out) const override {
    std::vector<std::string> words = {
        program_, std::string(to_string(direction)), "--quiet", "--json", "--format", job_.format};
    const auto add = [&](std::initializer_list<std::string> more) {
      words.insert(words.end(), more);
    };
    const auto key_size = static_cast<std::size_t>(job_.key_bits / 8);
    if (job_.format == "openssl") {
      add({"--mode", std::string(to_string(job_.mode)), "--key-bits", std::to_string(job_.key_bits),
           "--passphrase-file", workspace.passphrase_file()});
    } else if (job_.format == "raw") {
      add({"--mode", std::string(to_string(job_.mode)), "--key-file",
           workspace.key_file(job_.mode == Mode::xts ? 2 * key_size : key_size)});
      if (job_.mode == Mode::xts) {
        add({"--iv-hex", hex(xts_tweak(material().first_unit).data(), 16), "--unit",
             std::to_string(job_.unit)});
      } else if (job_.mode != Mode::ecb) {
        add({"--iv-hex", hex(material().iv.data(), 16)});
      }
      if (pads(job_.mode)) add({"--nopad"});
    } else {
      add({"--key-file", workspace.key_file(key_size)});
    }
    add({"--device", row_.device, "--kernel", row_.kernel});
    if (row_.device == "cpu") {
      add({"--threads", std::to_string(row_.threads)});
    } else {
      add({"--transfer", row_.transfer, "--key-expansion", row_.key_expansion});
    }
    if (!row_.overlap) add({"--no-overlap"});
    add({"--output", out, in});
    return words;
  }

  // From the object that --json prints.
  [[nodiscard]] PhaseNanoseconds phases(const std::string& output) const override {
    const nlohmann::json timeline = field(output, "timeline_ns");
    if (!timeline.is_object()) return {};
    std::vector<const char*> measured = {"read", "key_expansion", "kernel", "write"};
    // With mapped memory there are no copies: the kernels read and write host memory.
    if (row_.device != "cpu" && row_.transfer == "staged") {
      measured.insert(measured.end(), {"host_to_device", "device_to_host"});
    }
    PhaseNanoseconds phases;
    for (const char* name : measured) phases[name] = timeline.value(name, 0.0);
    return phases;
  }

  // Times of the fallback device must not be reported under the name of this one.
  [[nodiscard]] std::string objection(const std::string& output) const override {
    const nlohmann::json fallback = field(output, "fallback");
    if (!fallback.is_string()) return {};
    return "another device was used instead of " + row_.device + ": " + fallback.get<std::string>();
  }

  [[nodiscard]] std::string ciphertext() const override { return job_name(job_); }

 private:
  // The member `name` of the JSON object in `output`, or null.
  static nlohmann::json field(const std::string& output, const char* name) {
    const auto json = nlohmann::json::parse(output, nullptr, false);
    return json.is_object() && json.contains(name) ? json[name] : nlohmann::json();
  }

  std::string program_;
  FileRowJob job_;
  Row row_;
};

class OpensslEnc : public FileTool {
 public:
  explicit OpensslEnc(const FileRowJob& job) : program_(need_program("openssl")), job_(job) {
    if (job.mode == Mode::xts || job.mode == Mode::gcm) {
      throw Skip("openssl enc has neither XTS nor GCM");
    }
  }

  [[nodiscard]] std::vector<std::string> command(Direction direction, const Workspace& workspace,
                                                 const std::string& in,
                                                 const std::string& out) const override {
    std::vector<std::string> words = {
        program_, "enc", direction == Direction::encrypt ? "-e" : "-d",
        "-aes-" + std::to_string(job_.key_bits) + "-" + std::string(to_string(job_.mode))};
    const auto add = [&](std::initializer_list<std::string> more) {
      words.insert(words.end(), more);
    };
    if (job_.format == "openssl") {
      add({"-pbkdf2", "-iter", "10000", "-pass", "file:" + workspace.passphrase_file()});
    } else {
      add({"-K", hex(material().key.data(), static_cast<std::size_t>(job_.key_bits / 8))});
      if (job_.mode != Mode::ecb) add({"-iv", hex(material().iv.data(), 16)});
      if (pads(job_.mode)) add({"-nopad"});
    }
    add({"-in", in, "-out", out});
    return words;
  }

  [[nodiscard]] std::string ciphertext() const override { return job_name(job_); }

 private:
  std::string program_;
  FileRowJob job_;
};

class Age : public FileTool {
 public:
  Age() : program_(need_program("age")), keygen_(need_program("age-keygen")) {}

  void prepare(const Workspace& workspace) override {
    (void)run_child({keygen_, "-o", workspace.path("age-key")});
  }

  [[nodiscard]] std::vector<std::string> command(Direction direction, const Workspace& workspace,
                                                 const std::string& in,
                                                 const std::string& out) const override {
    return {program_,
            direction == Direction::encrypt ? "--encrypt" : "--decrypt",
            "--identity",
            workspace.path("age-key"),
            "--output",
            out,
            in};
  }

  [[nodiscard]] std::string ciphertext() const override { return "age"; }

 private:
  std::string program_;
  std::string keygen_;
};

class Cp : public FileTool {
 public:
  Cp() : program_(need_program("cp")) {}

  [[nodiscard]] std::vector<std::string> command(Direction /*direction*/,
                                                 const Workspace& /*workspace*/,
                                                 const std::string& in,
                                                 const std::string& out) const override {
    // With a reflink, nothing would be copied.
    return {program_, "--reflink=never", in, out};
  }

  [[nodiscard]] std::string ciphertext() const override { return "copy"; }

 private:
  std::string program_;
};

class CopyThreads : public FileTool {
 public:
  CopyThreads(std::string program, int threads) : program_(std::move(program)), threads_(threads) {}

  [[nodiscard]] std::vector<std::string> command(Direction /*direction*/,
                                                 const Workspace& /*workspace*/,
                                                 const std::string& in,
                                                 const std::string& out) const override {
    return {program_, std::string(copy_threads_word), std::to_string(threads_), in, out};
  }

  [[nodiscard]] std::string ciphertext() const override { return "copy"; }

 private:
  std::string program_;
  int threads_;
};

std::unique_ptr<FileTool> make_openssl_enc(const FileRowJob& job, const Row&, const std::string&) {
  return make_openssl_enc(job);
}

std::unique_ptr<FileTool> make_age(const FileRowJob&, const Row&, const std::string&) {
  return std::make_unique<Age>();
}

std::unique_ptr<FileTool> make_cp(const FileRowJob&, const Row&, const std::string&) {
  return std::make_unique<Cp>();
}

std::unique_ptr<FileTool> make_copy_threads(const FileRowJob&, const Row& row,
                                            const std::string& program) {
  return std::make_unique<CopyThreads>(program, row.threads);
}

}  // namespace

std::unique_ptr<FileTool> make_paraes(std::string program, const FileRowJob& job, Row row) {
  return std::make_unique<Paraes>(std::move(program), job, std::move(row));
}

std::unique_ptr<FileTool> make_openssl_enc(const FileRowJob& job) {
  return std::make_unique<OpensslEnc>(job);
}

const std::vector<FileRival>& file_rivals() {
  static const std::vector<FileRival> rows = {
      {.name = "openssl-enc",
       .make = make_openssl_enc,
       .version_command = {"openssl", "version"},
       .follows_job = true},
      {.name = "age", .make = make_age, .version_command = {"age", "--version"}},
      {.name = "cp", .make = make_cp, .version_command = {"cp", "--version"}, .copies = true},
      {.name = copy_threads, .make = make_copy_threads, .copies = true, .has_threads = true},
  };
  return rows;
}

}  // namespace paraes::bench
