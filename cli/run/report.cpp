#include "cli/run/report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/words/spelling.hpp"

namespace paraes::cli {
namespace {

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string to_json(const RunReport& report) {
  nlohmann::ordered_json object;
  object["input"] = report.input;
  object["output"] = or_null(report.output);
  object["format"] = or_null(report.format);
  object["bytes"] = report.bytes;
  object["seconds"] = report.seconds;
  object["device"] = or_null(report.device);
  object["kernel"] = or_null(report.kernel);
  object["fallback"] = or_null(report.fallback);
  object["status"] = report.status;
  if (report.reason) object["reason"] = *report.reason;
  object["exit"] = report.exit;
  if (report.rekeyed) object["rekeyed"] = *report.rekeyed;
  if (report.replaces) object["replaces"] = *report.replaces;
  object["timeline_ns"] = nullptr;
  if (report.timeline_ns) {
    for (const Phase& phase : phase_table) {
      object["timeline_ns"][std::string(phase.name)] = *report.timeline_ns.*phase.busy_ns;
    }
    if (report.timeline_ns->scatter == 0) {  // not a run on several ranks
      object["timeline_ns"].erase("scatter");
      object["timeline_ns"].erase("gather");
    }
  }
  if (report.bad_ranges) {
    object["bad_ranges"] = nlohmann::ordered_json::array();
    for (const BadRange& range : *report.bad_ranges) {
      object["bad_ranges"].push_back({{"offset", range.offset}, {"bytes", range.bytes}});
    }
  }
  // JSON is UTF-8; a file's name may not be.
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string not_kept_text(const std::string& output, const std::vector<std::string>& names,
                          bool asked) {
  return fmt::format("{}: not kept: {}{}", output, listed(names, "and"),
                     asked ? "" : " (--xattrs keeps them)");
}

std::string to_json(const RunSummary& summary) {
  nlohmann::ordered_json object;
  object["files"] = summary.files;
  object["bytes"] = summary.bytes;
  object["salvaged"] = summary.salvaged;
  object["up_to_date"] = summary.up_to_date;
  object["skipped"] = summary.skipped;
  object["failed"] = summary.failed;
  object["seconds"] = summary.seconds;
  object["exit"] = summary.exit;
  return object.dump();
}

}  // namespace paraes::cli
