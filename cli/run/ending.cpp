#include "cli/run/ending.hpp"

#include <fmt/format.h>

#include "cli/arguments/options.hpp"
#include "cli/files/compact_set.hpp"
#include "cli/files/output.hpp"
#include "cli/run/report.hpp"
#include "cli/terminal/messages.hpp"

namespace paraes::cli {

void Ending::add_output(const Place& output) {
  if (!run_.plan.several) return;  // the sink of the only one syncs it
  std::string folder = output.folder();
  // Most files go to the same folder as the one before.
  if (last_folder_ && last_folder_->first == output.root && last_folder_->second == folder) return;
  last_folder_.emplace(output.root, std::move(folder));
  folders_.insert(*last_folder_);
}

void Ending::remove_later(const FileJob& job, CommittedFile& committed) {
  Removal removal;
  removal.input = committed.input;
  removal.output = *committed.written;
  removal.found = job.found;
  // The list of files has the others.
  if (job.found == nullptr || !(committed.output == *job.output)) {
    removal.places = std::make_unique<const RemovalPlaces>(
        RemovalPlaces{job.input, std::move(committed.output)});
  }
  to_remove_.push_back(std::move(removal));
}

std::vector<std::string> Ending::finish_folders(OutputTree& outputs, bool useless) {
  if (useless) {
    outputs.remove_empty();
    return {};
  }
  const mode_t most = run_.plan.verb == Verb::encrypt ? 0777U : default_mode(0777);
  const bool keeps = run_.plan.keeps_attributes;
  OutputTree::Finished finished = outputs.finish(most, keeps);
  if (!finished.errors.empty()) to_remove_.clear();
  if (run_.plan.reporting.verbose) {
    for (const auto& [folder, names] : finished.lost) say(not_kept_text(folder, names, keeps));
  }
  for (const std::string& folder : outputs.changed_folders()) {
    folders_.emplace(outputs.root(), folder);
  }
  return std::move(finished.errors);
}

std::vector<std::string> Ending::sync_folders() {
  std::vector<std::string> errors;
  for (const auto& [root, path] : folders_) {
    try {
      root->open(path)->sync(run_.plan.removes);
    } catch (const IoError& error) {
      to_remove_.clear();
      errors.push_back(fmt::format("{}; the outputs in it may not be on the disk", error.what()));
    }
  }
  return errors;
}

std::vector<std::string> Ending::remove_sources(const FoundFiles* found) {
  std::vector<std::string> errors;
  const bool keep_identities = run_.messages.kind() == SecretKind::recipients;
  FileIdSet removed;  // inputs can overlap: t and t/sub
  for (const Removal& removal : to_remove_) {
    const RemovalPlaces places = removal.places ? *removal.places
                                                : RemovalPlaces{found->files.place(*removal.found),
                                                                *found->output(*removal.found)};
    if (!removed.insert(removal.input.id) && !is_there(places.input)) continue;
    const auto error = remove_source(places.input, {removal.input, places.output, removal.output},
                                     run_.files, keep_identities);
    if (error) errors.push_back(*error);
  }
  return errors;
}

}  // namespace paraes::cli
