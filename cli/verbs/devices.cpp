// devices: lists what this machine can run, and why it cannot run the rest.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.hpp"
#include "cli/files/output.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/verbs/verbs.hpp"
#include "cli/words/errors.hpp"
#include "cli/words/numbers.hpp"
#include "cli/words/sizes.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/threads.hpp"

namespace paraes::cli {
namespace {

const char* timing_name(Timing timing) {
  switch (timing) {
    case Timing::constant:
      return "constant";
    case Timing::library:
      return "library";
    case Timing::leaky:
      return "leaky";
  }
  return "?";
}

using nlohmann::ordered_json;

ordered_json or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return text;
}

// One row for each kernel name, with the devices that have a kernel of that name.
ordered_json kernel_table() {
  ordered_json rows = ordered_json::array();
  const std::vector<KernelInfo> on_gpu = gpu_kernels();
  const auto is_listed = [&](const std::vector<KernelInfo>& list, std::string_view name) {
    return std::ranges::any_of(list, [&](const KernelInfo& kernel) { return kernel.name == name; });
  };
  std::vector<KernelInfo> all = kernels();
  for (const KernelInfo& kernel : on_gpu) {
    if (!is_listed(all, kernel.name)) all.push_back(kernel);
  }
  for (const KernelInfo& kernel : all) {
    ordered_json row;
    row["name"] = kernel.name;
    row["devices"] = ordered_json::array();
    if (is_listed(kernels(), kernel.name)) row["devices"].push_back("cpu");
    if (is_listed(on_gpu, kernel.name)) {
      for (const std::string_view runtime : gpu_runtimes) row["devices"].push_back(runtime);
    }
    row["available"] = kernel.available;
    row["constant_time"] = kernel.timing == Timing::constant;
    row["reason"] = or_null(kernel.available ? "" : kernel.reason);
    row["timing"] = timing_name(kernel.timing);
    row["variant"] = kernel.variant;
    row["needs"] = kernel.needs;
    rows.push_back(row);
  }
  return rows;
}

std::string as_json() {
  ordered_json root;
  root["cpu"]["model"] = cpu_model();
  root["cpu"]["features"] = cpu_features();
  root["kernels"] = kernel_table();
  root["devices"] = ordered_json::array();
  for (const DeviceInfo& device : devices()) {
    ordered_json row;
    row["id"] = device.id;
    row["name"] = or_null(device.name);
    row["memory"] =
        device.memory_bytes == 0 ? ordered_json(nullptr) : ordered_json(device.memory_bytes);
    row["type"] = device.name.empty() ? ordered_json(nullptr) : device.is_cpu ? "cpu" : "gpu";
    row["driver"] = or_null(device.driver);
    row["compiler"] = or_null(device.compiler);
    row["compiler_reason"] = or_null(device.compiler_reason);
    row["target"] = or_null(device.target);
    row["same_as"] = or_null(device.same_as);
    row["available"] = device.available;
    row["reason"] = or_null(device.reason);
    root["devices"].push_back(row);
  }
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

// The kernel that --kernel auto means, or empty.
std::string_view automatic(const std::vector<KernelInfo>& list) {
  const auto first = std::ranges::find_if(list, [](const KernelInfo& kernel) {
    return kernel.available && kernel.timing == Timing::constant;
  });
  return first == list.end() ? std::string_view() : first->name;
}

// The GPUs, and the reasons why runtimes or GPUs are unavailable.
std::string gpus_as_text(const std::vector<DeviceInfo>& list) {
  std::string text;
  for (const DeviceInfo& device : list) {
    if (device.id == "cpu") continue;
    if (!device.available) {
      text += fmt::format("{:<10}{}{}unavailable: {}\n", device.id, device.name,
                          device.name.empty() ? "" : ": ", device.reason);
      continue;
    }
    text += fmt::format("{:<10}{}{}\n          {} of memory, driver {}, {}\n", device.id,
                        device.name, device.is_cpu ? " (the CPU, through OpenCL: for tests)" : "",
                        format_size(device.memory_bytes), device.driver,
                        device.compiler.empty() ? "no compiler: " + device.compiler_reason
                                                : "compiler " + device.compiler);
    if (!device.same_as.empty()) {
      text += fmt::format("          the same GPU as {}, which `auto` prefers\n", device.same_as);
    }
  }
  const bool runs_programs = std::ranges::any_of(
      list, [](const DeviceInfo& device) { return device.id != "cpu" && device.available; });
  const std::string reason = runs_programs ? why_programs_are_not_kept() : "";
  if (!reason.empty()) text += fmt::format("programs  compiled again in each run: {}\n", reason);
  return text + "\n";
}

std::string as_text() {
  const std::vector<KernelInfo> list = kernels();
  const std::string_view chosen = automatic(list);
  const std::vector<DeviceInfo> all = devices();
  const std::vector<std::string_view> names = cpu_features();
  const std::string features = names.empty() ? "none" : fmt::format("{}", fmt::join(names, " "));
  std::string text =
      fmt::format("cpu       {}\n          {} cores, {} of memory\nfeatures  {}\n", all[0].name,
                  available_cores(), format_size(all[0].memory_bytes), features);
  text += gpus_as_text(all);
  text += fmt::format("{:<12}{:<10}{:<10}\n", "kernel", "variant", "timing");
  for (const KernelInfo& kernel : list) {
    text += fmt::format("{:<12}{:<10}{:<10}", kernel.name,
                        kernel.variant.empty() ? "-" : kernel.variant, timing_name(kernel.timing));
    if (!kernel.available) {
      text += "unavailable: " + kernel.reason;
    } else {
      text += kernel.name == chosen ? "available, used by --kernel auto" : "available";
    }
    text += '\n';
  }
  text += "\non GPUs:";
  for (const KernelInfo& kernel : gpu_kernels()) {
    text += fmt::format(" {} ({}){}", kernel.name, timing_name(kernel.timing), ",");
  }
  text.back() = '\n';
  text +=
      "\ntiming: the timing of constant kernels does not depend on key or data. Leaky ones look "
      "tables\n"
      "up, and run only when named or, on GPUs, with --allow-leaky. library: up to OpenSSL";
  return text;
}

struct DevicesOptions {
  bool json = false;
  bool compile = false;
  std::vector<std::string> targets;
  std::string kernel;
  std::string tuning;
  std::string folder;
  bool any_address = false;
};

void compile(const DevicesOptions& options) {
  if (options.targets.empty() || options.folder.empty()) {
    throw InvalidArgument("--compile needs --arch, as in --arch sm_90,gfx90a, and -o FOLDER");
  }
  const bool all = options.kernel.empty() || options.kernel == "all";
  // All GPUs have the same kernels, so "cuda" stands for any of them.
  const std::vector<KernelInfo> chosen =
      all ? gpu_kernels() : std::vector{select_kernel(options.kernel, "cuda", false)};
  ProgramFileOptions files;
  if (!options.tuning.empty()) {
    if (all) throw InvalidArgument("--gpu-tuning needs --kernel: not every kernel has a choice");
    files.tuning = bench::parse_tuning(options.tuning, {parse_size, parse_number});
    if (files.tuning.streams != 0 || files.tuning.launch_bytes != 0) {
      throw InvalidArgument("--gpu-tuning: a program depends on tables, groups and ghash only");
    }
  }
  for (const std::string& target : options.targets) require_program_target(target);
  files.any_address = options.any_address;
  files.mode = default_mode(0666);
  TemporaryName temporary;
  files.on_temporary = [&](int folder, const std::string& name) { temporary.set(folder, name); };
  for (const std::string& target : options.targets) {
    for (const KernelInfo& kernel : chosen) {
      for (const std::string& path : prepare_programs(kernel.name, target, options.folder, files)) {
        print_line(stdout, path);
      }
    }
  }
}

void run(const DevicesOptions& options) {
  if (!options.compile) {
    if (!options.targets.empty() || !options.folder.empty() || !options.kernel.empty() ||
        !options.tuning.empty() || options.any_address) {
      throw InvalidArgument(
          "--arch, --kernel, --gpu-tuning, --any-address and -o go with --compile");
    }
    print_line(stdout, options.json ? as_json() : as_text());
    return;
  }
  compile(options);
}

constexpr const char* devices_footer = R"(
Examples:
  paraes devices
  paraes devices --compile --arch sm_90,gfx90a -o programs)";

}  // namespace

void add_devices(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand(
      "devices", "Lists CPU features, kernels and devices, or compiles programs for GPUs.");
  const auto options = std::make_shared<DevicesOptions>();
  verb->add_flag("--json", options->json, "Print one JSON object.");
  verb->add_flag("--compile", options->compile,
                 "Compile programs for GPUs and print the file names; this machine needs no GPU. "
                 "Machines without a compiler find the files through PARAES_PROGRAM_PATH.");
  verb->add_option("--arch", options->targets, "With --compile: the chips to compile for.")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("sm_90,gfx90a,...");
  verb->add_option("--kernel", options->kernel,
                   "With --compile: the kernel to compile (default: all).")
      ->type_name("NAME");
  verb->add_option("--gpu-tuning", options->tuning,
                   "With --compile and --kernel: a variant of the program, as `paraes bench` takes "
                   "it.")
      ->type_name("tables=N,groups=N,ghash=WAY");
  verb->add_flag("--any-address", options->any_address,
                 "With --compile: also the programs for data in device memory that does not begin "
                 "at a multiple of 16 bytes.");
  verb->add_option("-o,--output", options->folder, "With --compile: the folder for the files.")
      ->type_name("FOLDER");
  verb->footer(devices_footer);
  verb->callback([options, &status] {
    run(*options);
    status = exit_done;
  });
}

}  // namespace paraes::cli
