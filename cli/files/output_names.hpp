// The names that the outputs of a run will have, to find those that two inputs would share, or that
// an input has.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments/options.hpp"
#include "cli/files/compact_set.hpp"
#include "cli/files/file_list.hpp"
#include "cli/files/inputs.hpp"
#include "cli/files/name_probe.hpp"
#include "cli/files/output.hpp"

namespace paraes::cli {

// Knows files and folders by their numbers in a list. The folders of outputs have names as shown.
class OutputNames {
 public:
  // Keeps a reference to the list.
  OutputNames(const FileList& files, Verb verb)
      : OutputNames(
            {files, folders_, hash_of_bytes, have_same_bytes, false},
            {files, folder_outlines_, hash_of_outline, have_same_outline, verb == Verb::decrypt}) {}

  OutputNames(const OutputNames&) = delete;
  OutputNames& operator=(const OutputNames&) = delete;

  // The next folder of the list has its outputs in the folder `shown`.
  void add_folder(std::string shown);
  // Adds the output of a file. Returns false if another file has the same.
  [[nodiscard]] bool add(std::uint32_t number) { return names_.insert(number); }
  // Notes that a file system may take the name of this file's output for that of another one.
  void add_outline(std::uint32_t number);
  // The files of which that is so, by the first one of each group.
  [[nodiscard]] const std::map<std::uint32_t, std::vector<std::uint32_t>>& sharing() const {
    return sharing_;
  }

 private:
  // Equality and hashes of the outputs' names in a list of files, by number.
  class Same {
   public:
    // `decrypts`: without the suffix; dots and spaces before it are then at the end.
    Same(const FileList& files, const std::deque<std::uint32_t>& targets,
         std::uint64_t (*hash)(std::string_view), bool (*same)(std::string_view, std::string_view),
         bool decrypts)
        : files_(files), targets_(targets), hash_(hash), same_(same), decrypts_(decrypts) {}

    [[nodiscard]] std::uint64_t operator()(std::uint32_t number) const {
      return SpreadBits()(hash_(name_of(number)) + targets_[files_[number].folder]);
    }
    [[nodiscard]] bool operator()(std::uint32_t a, std::uint32_t b) const {
      return targets_[files_[a].folder] == targets_[files_[b].folder] &&
             same_(name_of(a), name_of(b));
    }

   private:
    [[nodiscard]] std::string_view name_of(std::uint32_t number) const {
      std::string_view name = files_[number].name;
      if (decrypts_ && has_suffix(name)) name.remove_suffix(suffix.size());
      return name;
    }

    const FileList& files_;
    const std::deque<std::uint32_t>& targets_;
    std::uint64_t (*hash_)(std::string_view);
    bool (*same_)(std::string_view, std::string_view);
    bool decrypts_;
  };

  OutputNames(const Same& names, const Same& outlines)
      : names_(names, names), outlines_(outlines, outlines) {}
  static std::uint64_t hash_of_bytes(std::string_view name) {
    return std::hash<std::string_view>()(name);
  }
  static bool have_same_bytes(std::string_view a, std::string_view b) { return a == b; }
  static bool have_same_outline(std::string_view a, std::string_view b) {
    return outline_of(a) == outline_of(b);
  }

  // The folders of outputs by their names, and their numbers by those of the input folders.
  std::map<std::string, std::uint32_t> folder_numbers_;
  std::deque<std::uint32_t> folders_;
  CompactSet<std::uint32_t, ~std::uint32_t{0}, Same, Same> names_;
  // These do for outlines what the members above do for names.
  std::map<std::string, std::uint32_t> outline_numbers_;
  std::deque<std::uint32_t> folder_outlines_;
  CompactSet<std::uint32_t, ~std::uint32_t{0}, Same, Same> outlines_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> sharing_;
};

// The existing files in the places of outputs, by the numbers of the inputs.
using ReplacedFiles = std::deque<std::pair<std::uint32_t, FileId>>;

// Refuses outputs that would replace another input: that one would be lost, or change while read.
void refuse_outputs_over_inputs(FoundFiles& found, const ReplacedFiles& replaced,
                                const ProtectedFiles& inputs, NameProbe& probe);

// Refuses outputs that the file system would give the name of another output of the run.
void refuse_shared_names(FoundFiles& found, const OutputNames& names, NameProbe& probe);

}  // namespace paraes::cli
