#include "cli/files/output_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace paraes::cli {
namespace {

// The inputs of a run whose names end in .PAES or the like, as shown, by their outlines.
std::multimap<std::string, std::string> inputs_in_other_case(const FoundFiles& found) {
  std::multimap<std::string, std::string> inputs;
  for (const FoundFile& input : found.files) {
    const bool ends_so = outline_of(input.name).ends_with(suffix);
    if (!ends_so || (found.verb == Verb::encrypt && has_suffix(input.name))) continue;
    inputs.emplace(outline_of(input.name), found.files.shown(input));
  }
  return inputs;
}

}  // namespace

void OutputNames::add_folder(std::string shown) {
  if (!shown.empty() && shown.back() != '/') shown += '/';
  // A name at the end makes "" and "./" equal, which are the same folder.
  const std::string normal = std::filesystem::path(shown + "-").lexically_normal().string();
  const auto next = static_cast<std::uint32_t>(folder_numbers_.size());
  folders_.push_back(folder_numbers_.try_emplace(normal, next).first->second);
  folder_outlines_.push_back(outline_numbers_.try_emplace(outline_of(normal), next).first->second);
}

void OutputNames::add_outline(std::uint32_t number) {
  if (outlines_.insert(number)) return;
  const std::uint32_t first = outlines_.equal_to(number);
  std::vector<std::uint32_t>& group = sharing_[first];
  if (group.empty()) group.push_back(first);
  group.push_back(number);
}

void refuse_outputs_over_inputs(FoundFiles& found, const ReplacedFiles& replaced,
                                const ProtectedFiles& inputs, NameProbe& probe) {
  std::optional<std::multimap<std::string, std::string>> in_other_case;
  // Whether the place of the output is that of an input whose name ends in .PAES or the like, in
  // another spelling, on a file system that takes both for one. Other inputs cannot be meant: an
  // output's name ends in .paes where those of the inputs do not, and the other way round.
  const auto shares_a_name = [&](const Place& output) {
    if (!outline_of(output.path).ends_with(suffix)) return false;
    if (!in_other_case) in_other_case = inputs_in_other_case(found);
    const auto [first, last] = in_other_case->equal_range(outline_of(output.name()));
    return std::any_of(
        first, last, [&](const auto& input) { return probe.are_one(input.second, output.shown); });
  };
  for (const auto& [number, target] : replaced) {
    FoundFile& file = found.files[number];
    const Place output = *found.output(file);
    if (!inputs.is_input(target) && !shares_a_name(output)) continue;
    // Even if it is not older: then it is not the output of this input.
    found.refuse(file,
                 fmt::format("{}: its output would be {}, which is an input of this run and is not "
                             "overwritten; write elsewhere with -o",
                             found.files.shown(file), output.shown));
  }
}

void refuse_shared_names(FoundFiles& found, const OutputNames& names, NameProbe& probe) {
  for (const auto& [first, numbers] : names.sharing()) {
    std::vector<std::string> outputs;
    for (const std::uint32_t number : numbers) {
      const FoundFile& file = found.files[number];
      outputs.push_back(found.output(file).value_or(found.files.place(file)).shown);
    }
    for (const std::size_t repeated : probe.find_repeated(outputs)) {
      FoundFile& file = found.files[numbers[repeated]];
      if (file.state == FileState::refused) continue;
      found.refuse(
          file,
          fmt::format("{}: its file system takes it for the same name as {}", outputs[repeated],
                      has_outputs(found.verb) ? "the output of another input of this run; write "
                                                "elsewhere with -o"
                                              : "another input of this run"));
    }
  }
}

}  // namespace paraes::cli
