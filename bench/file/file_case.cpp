#include "bench/file/file_case.hpp"

#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/file/child.hpp"
#include "bench/memory/oracle.hpp"

namespace paraes::bench {
namespace {

// The first line of the program's output, as an error message.
std::string error_message(const std::vector<std::string>& command, const ChildResult& result) {
  std::string text = result.output.substr(0, result.output.find('\n'));
  if (const std::string own = "paraes: "; text.rfind(own, 0) == 0) text.erase(0, own.size());
  if (text.empty()) text = command[0] + ": exit status " + std::to_string(result.status);
  return text;
}

class FileCase : public Case {
 public:
  FileCase(Row row, const FileRowJob& job, FileCheck check, FileTool tool, FileTool checker,
           std::shared_ptr<Workspace> workspace)
      : Case(std::move(row)),
        job_(job),
        check_(check),
        tool_(std::move(tool)),
        checker_(std::move(checker)),
        workspace_(std::move(workspace)) {}

  void set_up() override {
    workspace_->acquire();
    if (tool_.prepare) tool_.prepare(*workspace_);
    out_ = workspace_->path("output");
    in_ = workspace_->plaintext();
    workspace_->need_room(2);
    // The program may lack what the job needs: then the row is skipped.
    restore();
    static_cast<void>(run<Skip>(Direction::encrypt, tool_, in_, out_));
    if (direction() == Direction::encrypt) return;
    // The checker makes the ciphertext: a faulty tool might well decrypt its own wrong output.
    const std::string ciphertext = workspace_->path("ciphertext-" + checker_.ciphertext);
    if (!workspace_->has(ciphertext)) {
      static_cast<void>(run<Skip>(Direction::encrypt, checker_, in_, ciphertext));
      workspace_->add(ciphertext);
    }
    in_ = ciphertext;
  }

  [[nodiscard]] bool needs_restore() const override { return true; }
  // Removes the output.
  void restore() override { (void)unlink(out_.c_str()); }

  void call() override {
    outputs_.push_back(run<std::runtime_error>(direction(), tool_, in_, out_));
  }

  [[nodiscard]] bool verify() override {
    restore();
    call();
    if (check_ == FileCheck::plaintext) return workspace_->is_plaintext(out_);
    if (check_ == FileCheck::raw) {
      const MappedFile file(out_);
      const Job job = {.mode = job_.mode,
                       .key_bits = job_.key_bits,
                       .unit = job_.unit,
                       .bytes = workspace_->bytes()};
      return file.size() == job.bytes && is_answer(job, file.data(), nullptr);
    }
    const std::string plain = workspace_->path("decrypted");
    static_cast<void>(run<std::runtime_error>(Direction::decrypt, checker_, out_, plain));
    const bool same = workspace_->is_plaintext(plain);
    (void)unlink(plain.c_str());
    return same;
  }

  [[nodiscard]] PhaseNanoseconds take_phases() override {
    const std::vector<std::string> outputs = std::exchange(outputs_, {});
    PhaseNanoseconds sum;
    if (!tool_.phases) return sum;
    for (const std::string& output : outputs) {
      for (const auto& [name, ns] : tool_.phases(output)) sum[name] += ns;
    }
    return sum;
  }

 private:
  // Returns what the program printed. Throws Failure, a Skip or a runtime_error, if it failed.
  template <class Failure>
  std::string run(Direction direction, const FileTool& tool, const std::string& in,
                  const std::string& out) const {
    const auto command = tool.command({direction, *workspace_, in, out});
    ChildResult result = run_child(command);
    if (result.status != 0) throw Failure(error_message(command, result));
    const std::string why = tool.objection ? tool.objection(result.output) : "";
    if (!why.empty()) throw Failure(why);
    return std::move(result.output);
  }
  [[nodiscard]] Direction direction() const { return row().direction.value_or(Direction::encrypt); }

  FileRowJob job_;
  FileCheck check_;
  FileTool tool_;
  FileTool checker_;
  std::shared_ptr<Workspace> workspace_;
  std::string in_;
  std::string out_;
  std::vector<std::string> outputs_;  // of the calls since take_phases()
};

}  // namespace

std::unique_ptr<Case> make_file_case(Row row, const FileRowJob& job, FileCheck check, FileTool tool,
                                     FileTool checker, std::shared_ptr<Workspace> workspace) {
  return std::make_unique<FileCase>(std::move(row), job, check, std::move(tool), std::move(checker),
                                    std::move(workspace));
}

}  // namespace paraes::bench
