#include "cli/plan/named_descriptors.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "cli/arguments/options.hpp"
#include "cli/streams/descriptors.hpp"
#include "paraes/error.hpp"
#include "src/core/system/descriptors.hpp"

namespace paraes::cli {

std::string check_named_descriptors(const CryptOptions& options, const Plan& plan) {
  const bool launched = plan.output.launched;
  const auto check = [&](const std::string& name, Access access, std::optional<int> number) {
    if (number && !launched) check_descriptor(*number, name, access);
    // Other ranks have other standard descriptors.
    if (number && launched && *number > STDERR_FILENO) {
      throw InvalidArgument(fmt::format(
          "{}: paraes-mpi reads and writes no other descriptors than standard input and output: "
          "name a file",
          name));
    }
    return number.has_value();
  };
  std::string found;
  if (check(plan.output.path.value_or(""), Access::write, plan.output.descriptor)) {
    found = *plan.output.path;
  }
  for (const std::string& input : plan.inputs) {
    if (check(input, Access::read, system::descriptor_in(input)) && found.empty()) found = input;
  }
  if (launched) return found;
  for (const SecretSources* sources : {&options.keys, &options.to}) {
    std::vector<std::string> names = sources->files();
    names.insert(names.end(), sources->recipients_files.begin(), sources->recipients_files.end());
    for (const std::string& name : names) {
      check(name, Access::read, system::descriptor_in(name));
    }
  }
  return found;
}

}  // namespace paraes::cli
