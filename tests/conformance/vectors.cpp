#include "tests/conformance/vectors.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "tests/support/hex.hpp"

namespace paraes::conformance {

namespace fs = std::filesystem;

fs::path vector_root() {
  const char* root = std::getenv("PARAES_VECTOR_ROOT");
  return root != nullptr && *root != '\0' ? root : PARAES_DEFAULT_VECTOR_ROOT;
}

std::string why_missing(const fs::path& path) {
  const fs::path full = vector_root() / path;
  if (fs::exists(full)) return {};
  return full.string() +
         " is missing: run tests/fetch_vectors, or set PARAES_VECTOR_ROOT to the folder that "
         "it has filled";
}

bool vectors_required() {
  const char* text = std::getenv("PARAES_REQUIRE_VECTORS");
  return text != nullptr && std::string_view(text) == "1";
}

const std::string& Record::text(const std::string& name) const {
  const auto found = fields.find(name);
  if (found == fields.end()) throw std::runtime_error(where + ": the case has no field " + name);
  return found->second;
}

std::vector<std::uint8_t> Record::bytes(const std::string& name) const {
  return support::from_hex(text(name));
}

namespace {

std::string trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::vector<Record> read_response_file(const fs::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::vector<Record> records;
  std::string section;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const std::string text = trim(line);
    if (text.empty() || text[0] == '#') continue;
    if (text[0] == '[') {
      // Headings such as "[Keylen = 128]" repeat what the fields show.
      if (text.find('=') == std::string::npos) section = trim(text.substr(1, text.size() - 2));
      continue;
    }
    const std::size_t equals = text.find('=');
    const std::string name = lower(trim(text.substr(0, equals)));
    if (name == "count") {
      records.emplace_back();
      records.back().section = section;
      records.back().where = path.filename().string() + ":" + std::to_string(number);
    } else if (records.empty()) {
      throw std::runtime_error(path.string() + ": a field precedes the first COUNT");
    }
    const std::string value = equals == std::string::npos ? "" : trim(text.substr(equals + 1));
    records.back().fields.emplace(name, value);
  }
  return records;
}

std::vector<fs::path> files_in(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == extension) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace paraes::conformance
