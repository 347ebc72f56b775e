// devices: what this machine can run, and why it cannot run the rest.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "paraes/kernels.hpp"
#include "report.hpp"
#include "sizes.hpp"

namespace paraes::cli {
namespace {

std::uint64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGE_SIZE);
  if (pages <= 0 || page <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

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

std::string join(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text.empty() ? "none" : text;
}

std::string as_json() {
  using nlohmann::ordered_json;
  ordered_json root;
  root["cpu"]["model"] = cpu_model();
  root["cpu"]["features"] = cpu_features();
  root["kernels"] = ordered_json::array();
  for (const KernelInfo& kernel : kernels()) {
    ordered_json row;
    row["name"] = kernel.name;
    row["devices"] = ordered_json::array({"cpu"});
    row["available"] = kernel.available;
    row["constant_time"] = kernel.timing == Timing::constant;
    row["reason"] = kernel.available ? ordered_json(nullptr) : ordered_json(kernel.reason);
    row["timing"] = timing_name(kernel.timing);
    row["variant"] = kernel.variant;
    row["needs"] = kernel.needs;
    root["kernels"].push_back(row);
  }
  ordered_json cpu;
  cpu["id"] = "cpu";
  cpu["name"] = cpu_model();
  cpu["memory"] = memory_bytes();
  cpu["driver"] = nullptr;
  cpu["compiler"] = nullptr;
  cpu["available"] = true;
  cpu["reason"] = nullptr;
  root["devices"] = ordered_json::array({cpu});
  return root.dump(2);
}

// The kernel that --kernel auto means, or empty.
std::string_view automatic(const std::vector<KernelInfo>& list) {
  const auto first = std::find_if(list.begin(), list.end(), [](const KernelInfo& kernel) {
    return kernel.available && kernel.timing == Timing::constant;
  });
  return first == list.end() ? std::string_view() : first->name;
}

std::string as_text() {
  const std::vector<KernelInfo> list = kernels();
  const std::string_view chosen = automatic(list);
  std::string text =
      fmt::format("cpu       {}\n          {} cores, {} of memory\nfeatures  {}\n\n", cpu_model(),
                  available_cores(), format_size(memory_bytes()), join(cpu_features()));
  text += fmt::format("{:<12}{:<10}{:<10}\n", "kernel", "variant", "timing");
  for (const KernelInfo& kernel : list) {
    text += fmt::format("{:<12}{:<10}{:<10}", kernel.name,
                        kernel.variant.empty() ? "-" : kernel.variant, timing_name(kernel.timing));
    if (!kernel.available) {
      text += "unavailable: " + kernel.reason;
    } else {
      text += kernel.name == chosen ? "available, runs for --kernel auto" : "available";
    }
    text += '\n';
  }
  text +=
      "\ntiming: constant is independent of key and data; leaky kernels look tables up and run "
      "only "
      "when\nnamed; library is decided by OpenSSL";
  return text;
}

}  // namespace

void add_devices(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("devices", "Lists CPU features, kernels and devices.");
  const auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Print one JSON object.");
  verb->callback([json, &status] {
    print_line(stdout, *json ? as_json() : as_text());
    status = exit_done;
  });
}

}  // namespace paraes::cli
