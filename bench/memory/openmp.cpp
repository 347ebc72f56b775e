#include "bench/memory/openmp.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include "bench/harness/open_library.hpp"
#include "src/core/checked_path.hpp"
#include "src/core/executor.hpp"
#include "src/core/system/process.hpp"

namespace paraes::bench {
namespace {

namespace fs = std::filesystem;

// The module beside the executable, as in a build or a folder of copied files, or where it is
// installed.
std::string find_module() {
  const fs::path self = system::executable_path();
  if (self.empty()) {
    throw Skip("the executable, beside which OpenMP's module lies, is not found: " +
               std::generic_category().message(errno));
  }
  const fs::path folder = self.parent_path();
  constexpr const char* name = "paraes_openmp.so";
  const fs::path beside = folder / name;
  const fs::path installed = (folder / PARAES_MODULE_FOLDER / name).lexically_normal();
  for (const fs::path& path : {beside, installed}) {
    if (!check_path(path).path.empty()) return path;
  }
  throw Skip("neither " + beside.string() + " nor " + installed.string() +
             " exists: they come with paraes if it is built with OpenMP");
}

const OpenMpFunctions& open_module() {
  // The caller of a setuid process may have linked the executable into a folder of theirs.
  if (system::has_more_rights_than_caller())
    throw Skip("a setuid process does not open OpenMP's module");
  const std::string path = find_module();
  try {
    // If this fails, OpenMP's library is missing, which the error of the loader names.
    const bool trusted = check_path(path).reason.empty();
    const DynamicLibrary module(std::array{path.c_str()},
                                trusted ? "install that library (the package libgomp1)" : "");
    decltype(&paraes_openmp_functions_1) functions = LibraryFunction{module, openmp_functions_name};
    return *functions();
  } catch (const Unavailable& error) {
    throw Skip(std::string("OpenMP: ") + error.what());
  }
}

void spread(unsigned ranges, TaskRef body) {
  openmp_functions().spread(
      ranges,
      [](const void* object, unsigned range) { (*static_cast<const TaskRef*>(object))(range); },
      &body);
}

}  // namespace

const OpenMpFunctions& openmp_functions() {
  static const OpenMpFunctions& functions = open_module();
  return functions;
}

OpenMpCase::OpenMpCase(Row row, const Job& job, std::unique_ptr<Implementation> implementation,
                       std::shared_ptr<Arena> arena)
    : MemoryCase(std::move(row), job, std::move(implementation), std::move(arena)),
      functions_(openmp_functions()) {}

void OpenMpCase::call() {
  const SpreadScope scope(spread);
  MemoryCase::call();
}

// After rest(), OpenMP starts new threads, and the scheduler may place two of them on one core for
// a while. Until that is over they run empty loops, which leave the caches unchanged.
void OpenMpCase::lead_in() {
  constexpr std::chrono::milliseconds long_enough(5);
  const auto end = std::chrono::steady_clock::now() + long_enough;
  do {
    functions_.spread(
        static_cast<unsigned>(row().threads), [](const void*, unsigned) {}, nullptr);
  } while (std::chrono::steady_clock::now() < end);
  MemoryCase::lead_in();
}

// OpenMP's threads would otherwise spin on the cores of the next rows: for milliseconds, or without
// end, depending on OMP_WAIT_POLICY.
void OpenMpCase::rest() noexcept { functions_.end_threads(); }

}  // namespace paraes::bench
