#include "bench/file/file_case.hpp"

#include <unistd.h>

#include <stdexcept>
#include <utility>

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

}  // namespace

FileCase::FileCase(Row row, const FileRowJob& job, Check check, FileTool tool, FileTool checker,
                   std::shared_ptr<Workspace> workspace)
    : Case(std::move(row)),
      job_(job),
      check_(check),
      tool_(std::move(tool)),
      checker_(std::move(checker)),
      workspace_(std::move(workspace)) {}

template <class Failure>
std::string FileCase::run(Direction direction, const FileTool& tool, const std::string& in,
                          const std::string& out) const {
  const auto command = tool.command({direction, *workspace_, in, out});
  ChildResult result = run_child(command);
  if (result.status != 0) throw Failure(error_message(command, result));
  const std::string why = tool.objection ? tool.objection(result.output) : "";
  if (!why.empty()) throw Failure(why);
  return std::move(result.output);
}

void FileCase::set_up() {
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

void FileCase::restore() { (void)unlink(out_.c_str()); }

void FileCase::call() {
  outputs_.push_back(run<std::runtime_error>(direction(), tool_, in_, out_));
}

bool FileCase::verify() {
  restore();
  call();
  switch (check_) {
    case Check::plaintext:
      return workspace_->is_plaintext(out_);
    case Check::raw: {
      const MappedFile file(out_);
      Job job;
      job.mode = job_.mode;
      job.key_bits = job_.key_bits;
      job.unit = job_.unit;
      job.bytes = workspace_->bytes();
      return file.size() == job.bytes && is_answer(job, file.data(), nullptr);
    }
    case Check::undo:
      break;
  }
  const std::string plain = workspace_->path("decrypted");
  static_cast<void>(run<std::runtime_error>(Direction::decrypt, checker_, out_, plain));
  const bool same = workspace_->is_plaintext(plain);
  (void)unlink(plain.c_str());
  return same;
}

PhaseNanoseconds FileCase::take_phases() {
  const std::vector<std::string> outputs = std::exchange(outputs_, {});
  PhaseNanoseconds sum;
  if (!tool_.phases) return sum;
  for (const std::string& output : outputs) {
    for (const auto& [name, ns] : tool_.phases(output)) sum[name] += ns;
  }
  return sum;
}

}  // namespace paraes::bench
