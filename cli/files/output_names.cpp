#include "cli/files/output_names.hpp"

#include <filesystem>

namespace paraes::cli {

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

}  // namespace paraes::cli
