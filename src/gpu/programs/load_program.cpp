#include "src/gpu/programs/load_program.hpp"

#include <utility>

#include "paraes/error.hpp"
#include "src/core/checked_path.hpp"
#include "src/gpu/programs/program_files.hpp"

namespace paraes::gpu {
namespace {

[[noreturn]] void refuse(const DeviceInfo& info, const ProgramVariant& variant,
                         const Error& error) {
  throw MissingProgram(
      "there is no compiler of programs for " + info.id + " (" + info.name + "): " + error.what() +
          "; or put programs that were compiled elsewhere" +
          (variant.any_address ? " (with --any-address, for texts that do not begin at multiples "
                                 "of 16 bytes)"
                               : "") +
          " into a folder of PARAES_PROGRAM_PATH",
      info.target);
}

Binary compile(Device& device, const ProgramVariant& variant) {
  const std::string source = source_of(*variant.kernel);
  try {
    return device.compile(source, options_of(variant));
  } catch (const Unavailable& error) {
    refuse(device.info(), variant, error);
  } catch (const InvalidArgument& error) {  // no compiler knows the device's target
    refuse(device.info(), variant, error);
  }
}

}  // namespace

LoadedProgram load_program(Device& device, const ProgramVariant& variant) {
  const DeviceInfo& info = device.info();
  const std::string prepared = prepared_name(variant, info.target);
  for (const std::string& folder : prepared_folders()) {
    const std::string path = std::string(folder).append("/").append(prepared);
    const CheckedPath checked = check_path(path);
    const std::vector<std::uint8_t> file = read_program_file(checked.path);
    if (file.empty()) continue;
    // The user has chosen this file, so that it is an error if it cannot be trusted or is damaged.
    if (!checked.reason.empty()) {
      throw Unavailable("the program " + path + " is not used, because " + checked.reason +
                        ": put it where only you or root can change it");
    }
    try {
      return {device.load(unpack(file)), path};
    } catch (const IntegrityError& error) {
      throw DamagedProgram(path, info.target, error.what());
    }
  }
  const std::string folder = program_cache().folder;
  const std::string name = cached_name(variant, info);
  if (!folder.empty()) {
    const std::vector<std::uint8_t> file = read_program_file(folder + "/" + name);
    if (!file.empty()) {
      try {
        return {device.load(unpack(file)), "cached"};
      } catch (const Error&) {
        // Damaged, or from another driver that reports the same version: compile it again below.
      }
    }
  }
  const Binary binary = compile(device, variant);
  auto program = device.load(binary);
  if (!folder.empty()) {
    try {
      write_program_file(folder, name, pack(binary));
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
      // The program is compiled again next time.
    }
  }
  return {std::move(program), "compiled"};
}

}  // namespace paraes::gpu
