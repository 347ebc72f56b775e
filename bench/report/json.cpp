#include "bench/report/report.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace paraes::bench {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

// Rounds to tenths of a nanosecond, finer than the clock, to keep the file readable.
double tenth(double ns) { return std::round(ns * 10) / 10; }

Json tenths(const std::vector<double>& samples_ns) {
  Json json = Json::array();
  for (const double ns : samples_ns) json.push_back(tenth(ns));
  return json;
}

Json axes_of(const Row& row) {
  Json json;
  json["rival"] = or_null(row.rival);
  json["device"] = or_null(row.device);
  json["kernel"] = or_null(row.kernel);
  json["mode"] = row.mode ? Json(std::string(to_string(*row.mode))) : Json();
  json["key_bits"] = row.key_bits ? Json(*row.key_bits) : Json();
  json["direction"] = row.direction ? Json(std::string(to_string(*row.direction))) : Json();
  json["threads"] = row.threads;
  json["executor"] = or_null(row.executor);
  json["ranks"] = row.ranks;
  json["bytes"] = row.bytes;
  json["messages"] = row.messages;
  json["keys"] = or_null(row.keys);
  json["scope"] = row.scope;
  json["format"] = or_null(row.format);
  json["in_place"] = row.in_place;
  json["cache"] = or_null(row.cache);
  json["key_expansion"] = or_null(row.key_expansion);
  json["group_threads"] = row.group_threads ? Json(*row.group_threads) : Json();
  json["gpu_tuning"] = or_null(row.gpu_tuning);
  json["transfer"] = or_null(row.transfer);
  json["traffic"] = or_null(row.traffic);
  json["distribution"] = or_null(row.distribution);
  json["overlap"] = row.overlap;
  return json;
}

Json result_of(const Result& result) {
  Json json = axes_of(result.row);
  const bool measured = !result.samples_ns.empty();
  json["samples_ns"] = tenths(result.samples_ns);
  const Statistics& s = result.statistics;
  json["outliers"] = s.outliers;
  json["median_ns"] = measured ? Json(tenth(s.median)) : Json();
  json["mad_ns"] = measured ? Json(tenth(s.mad)) : Json();
  json["min_ns"] = measured ? Json(tenth(s.min)) : Json();
  json["bytes_per_second"] =
      measured ? Json(std::llround(static_cast<double>(result.row.bytes) * 1e9 / s.median))
               : Json();
  Json timeline = Json::object();
  Json phase_samples = Json::object();
  for (const Phase& phase : phase_table) {
    const std::string name(phase.name);
    const auto median = result.timeline.find(phase.name);
    timeline[name] = median != result.timeline.end() ? Json(tenth(median->second)) : Json();
    const auto samples = result.timeline_samples_ns.find(phase.name);
    if (samples != result.timeline_samples_ns.end()) phase_samples[name] = tenths(samples->second);
  }
  json["timeline_ns"] = std::move(timeline);
  json["timeline_samples_ns"] = std::move(phase_samples);
  json["energy_joules"] = or_null(result.energy_joules);
  if (!result.energy_joules) json["energy_reason"] = or_null(result.energy_reason);
  Json counters = Json::object();
  for (const auto& [name, count] : result.counters) counters[name] = tenth(count);
  json["counters"] = result.counters.empty() ? Json() : std::move(counters);
  if (!result.counters_reason.empty()) json["counters_reason"] = result.counters_reason;
  const bool unverifiable = !result.unverifiable.empty();
  json["verified"] = unverifiable ? Json() : Json(result.verified);
  if (unverifiable) json["verified_reason"] = result.unverifiable;
  return json;
}

}  // namespace

Json report(std::uint64_t seed, const Json& context, const Outcome& outcome) {
  Json json;
  json["schema"] = 1;
  json["seed"] = seed;
  json["context"] = context;
  json["results"] = Json::array();
  for (const Result& result : outcome.results) json["results"].push_back(result_of(result));
  json["skipped"] = Json::array();
  for (const Skipped& skipped : outcome.skipped) {
    Json row = axes_of(skipped.row);
    row["reason"] = skipped.reason;
    json["skipped"].push_back(std::move(row));
  }
  return json;
}

}  // namespace paraes::bench
