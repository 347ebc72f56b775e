// Tests of the report: the JSON has exactly the keys of the schema, and the table at most 100
// columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/report.hpp"
#include "tests/gpu/expect_has.hpp"

namespace paraes::bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& json) {
  std::vector<std::string> list;
  for (const auto& item : json.items()) list.push_back(item.key());
  return list;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

const std::vector<std::string> axis_keys = words_of(
    "rival device kernel mode key_bits direction threads executor ranks bytes messages keys scope "
    "format in_place cache key_expansion group_threads gpu_tuning transfer traffic distribution "
    "overlap");

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Result result_named(const std::string& kernel, const std::string& rival, double ns) {
  Result result;
  result.row.kernel = kernel;
  result.row.rival = rival;
  result.row.mode = Mode::ctr;
  result.row.key_bits = 128;
  result.row.direction = Direction::encrypt;
  result.row.bytes = 1000000;
  result.samples_ns = {ns, ns, 10 * ns};
  result.statistics = statistics_of(result.samples_ns);
  result.timeline["kernel"] = ns;
  result.energy_reason = "no counter";
  result.counters_reason = "no counter of cycles";
  result.verified = true;
  return result;
}

Result ours(double ns) { return result_named("aesni", "", ns); }
Result ours(const std::string& kernel, double ns) { return result_named(kernel, "", ns); }
Result rival(const std::string& name, double ns) { return result_named("", name, ns); }

Outcome outcome_of(std::vector<Result> results) {
  Outcome outcome;
  outcome.results = std::move(results);
  return outcome;
}

TEST(Report, JsonHasTheKeysOfTheSchema) {
  const auto context_keys = words_of(
      "time host machine kernel_release container hypervisor cpu cpu_id microcode features cores "
      "threads numa memory_bytes governor clock_hz thp first_touch last_level_cache_bytes gpus "
      "drivers compiler flags git dirty libraries omp");
  const auto measured = words_of(
      "samples_ns outliers median_ns mad_ns min_ns bytes_per_second timeline_ns "
      "timeline_samples_ns energy_joules energy_reason counters counters_reason verified");
  const auto phases =
      words_of("read key_expansion host_to_device kernel device_to_host write scatter gather");
  Outcome outcome = outcome_of({ours(1e5)});
  outcome.skipped.push_back({Row{}, "why"});
  const Json json = report(42, context("", ""), outcome);
  EXPECT_EQ(keys(json), words_of("schema seed context results skipped"));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["seed"], 42);
  EXPECT_EQ(keys(json["context"]), context_keys);
  EXPECT_EQ(keys(json["results"][0]), axis_keys + measured);
  EXPECT_EQ(keys(json["results"][0]["timeline_ns"]), phases);
  EXPECT_EQ(keys(json["skipped"][0]), axis_keys + words_of("reason"));
}

TEST(Report, JsonSaysWhyNobodyCanVerifyARow) {
  Result generates = rival("mine", 1e5);
  generates.row.traffic = "generates only";
  generates.verified = false;
  generates.unverifiable = "it stores nothing";
  const Json row = report(1, context("", ""), outcome_of({generates}))["results"][0];
  EXPECT_EQ(row["traffic"], "generates only");
  EXPECT_TRUE(row["verified"].is_null());
  EXPECT_EQ(row["verified_reason"], "it stores nothing");
}

TEST(Report, JsonHasNullForMissingValues) {
  Outcome outcome = outcome_of({rival("memcpy", 1e5)});
  outcome.results[0].row.mode.reset();
  const Json json = report(0, Json::object(), outcome)["results"][0];
  EXPECT_EQ(json["rival"], "memcpy");
  EXPECT_TRUE(json["kernel"].is_null());
  EXPECT_TRUE(json["mode"].is_null());
  EXPECT_TRUE(json["format"].is_null());
  EXPECT_TRUE(json["executor"].is_null());
  EXPECT_TRUE(json["energy_joules"].is_null());
  EXPECT_EQ(json["samples_ns"].size(), 3U);
  EXPECT_EQ(json["outliers"], Json::array({2}));
  EXPECT_EQ(json["median_ns"], 1e5);
  EXPECT_EQ(json["bytes_per_second"], 10000000000);
  EXPECT_TRUE(json["bytes_per_second"].is_number_integer());
  EXPECT_EQ(json["timeline_ns"]["kernel"], 1e5);
  EXPECT_TRUE(json["timeline_ns"]["read"].is_null());
  EXPECT_EQ(json["timeline_samples_ns"], Json::object());
}

TEST(Report, JsonHasTheProcessorsCountersOrTheReason) {
  Outcome outcome = outcome_of({ours(1e5), ours(1e5)});
  outcome.results[0].counters = {{"cycles", 123456.7}, {"instructions", 5}};
  outcome.results[0].counters_reason.clear();
  const Json rows = report(0, Json::object(), outcome)["results"];
  EXPECT_EQ(rows[0]["counters"], (Json{{"cycles", 123456.7}, {"instructions", 5.0}}));
  EXPECT_FALSE(rows[0].contains("counters_reason"));
  EXPECT_TRUE(rows[1]["counters"].is_null());
  EXPECT_EQ(rows[1]["counters_reason"], "no counter of cycles");
}

TEST(Report, JsonListsTheSamplesOfMeasuredPhasesInOrder) {
  Outcome outcome = outcome_of({ours(1e5)});
  PhaseSamples& samples = outcome.results[0].timeline_samples_ns;
  samples["gather"] = {1, 2.04, 3};
  samples["key_expansion"] = {4.06};
  const Json json = report(0, Json::object(), outcome)["results"][0]["timeline_samples_ns"];
  EXPECT_EQ(keys(json), (std::vector<std::string>{"key_expansion", "gather"}));
  EXPECT_EQ(json["gather"], Json::array({1.0, 2.0, 3.0}));
  EXPECT_EQ(json["key_expansion"], Json::array({4.1}));
}

TEST(Report, ContextDescribesTheMachine) {
  EXPECT_TRUE(context("", "")["machine"].is_null());
  const Json json = context("", "rack 7");
  EXPECT_EQ(json["machine"], "rack 7");
  EXPECT_GT(json["memory_bytes"], 1 << 20);
  EXPECT_TRUE(json["cpu"].is_string());
  for (const char* name : {"cpu_id", "hypervisor", "microcode"}) {
    EXPECT_TRUE(json[name].is_null() || !json[name].get<std::string>().empty()) << name;
  }
#if defined(__x86_64__)
  EXPECT_HAS(json["cpu_id"].get<std::string>(), " stepping ");
  EXPECT_TRUE(json["hypervisor"].is_string());
#endif
  EXPECT_EQ(keys(json["drivers"]), words_of("cuda hip opencl"));
  for (const Json& gpu : json["gpus"]) {
    EXPECT_EQ(keys(gpu), words_of("id name memory type driver compiler target"));
    EXPECT_GT(gpu["memory"].get<std::uint64_t>(), 0U);
  }
  EXPECT_TRUE(json["features"].is_array());
  EXPECT_GE(json["threads"].get<int>(), 1);
  EXPECT_TRUE(json["libraries"]["openssl"].is_string());
}

TEST(Table, RatiosAreToTheRivalOfTheSameJob) {
  Outcome outcome = outcome_of({ours(1e5), rival("openssl-evp", 2e5), rival("openssl-evp", 8e5)});
  outcome.results[2].row.mode = Mode::gcm;
  const std::string text = table(outcome);
  EXPECT_HAS(text, "2.00");
  EXPECT_LACKS(text, "8.00");
  EXPECT_LACKS(text, "WRONG");
}

TEST(Table, RatiosAndSlowRatesKeepTwoSignificantDigits) {
  const std::pair<double, std::string> cases[] = {
      {0.00345, "0.0034"}, {0.000012, "0.000012"}, {0.098, "0.098"}, {0.34, "0.34"},  {1, "1.00"},
      {2.604, "2.60"},     {12.34, "12.3"},        {123.4, "123"},   {12345, "12345"}};
  for (const auto& [ratio, shown] : cases) {
    const std::string text = table(outcome_of({ours(1e9), rival("openssl-evp", ratio * 1e9)}));
    // Kernel, MB/s, spread, ratio.
    EXPECT_EQ(words_of(text.substr(text.find("aesni")))[3], shown);
  }
  Outcome outcome = outcome_of({ours(2e6)});
  outcome.results[0].row.bytes = 10;
  EXPECT_HAS(table(outcome), "0.0050");
}

TEST(Table, NoisyRowsAreMarkedAndHaveNoRatios) {
  const auto with_spread = [](Result result, double part) {
    const double ns = result.samples_ns[0];
    result.samples_ns = {ns * (1 - part), ns, ns * (1 + part)};
    result.statistics = statistics_of(result.samples_ns);
    return result;
  };
  constexpr double noisy = 0.31 / 1.4826;
  constexpr double quiet = 0.29 / 1.4826;
  for (const bool rival_is_noisy : {false, true}) {
    Outcome outcome;
    outcome.results.push_back(with_spread(ours(1e6), rival_is_noisy ? quiet : noisy));
    outcome.results.push_back(
        with_spread(rival("openssl-evp", 2e6), rival_is_noisy ? noisy : quiet));
    const std::string text = table(outcome);
    EXPECT_HAS(text, "31.0!");
    EXPECT_HAS(text, "29.0");
    EXPECT_LACKS(text, "29.0!");
    EXPECT_LACKS(text, "2.00");
    EXPECT_HAS(text, "more than 30 %");
    const Json row = report(0, Json::object(), outcome)["results"][0];
    EXPECT_EQ(row["median_ns"], 1e6);
    EXPECT_EQ(row["samples_ns"].size(), 3U);
  }
  Outcome outcome = outcome_of({with_spread(ours(1e6), quiet), rival("openssl-evp", 2e6)});
  EXPECT_HAS(table(outcome), "2.00");
  EXPECT_EQ(table(outcome).find('!'), std::string::npos) << table(outcome);
}

TEST(Table, VersionsOfRivalsStandBesideTheirRatios) {
  Outcome outcome = outcome_of({ours(1e5)});
  EXPECT_LACKS(table(outcome), "versions");
  outcome.results.push_back(rival("openssl-evp", 2e5));
  outcome.results.push_back(rival("ports-aesni", 2e5));  // has none
  const std::string text = table(outcome);
  const std::string line = "\nversions: openssl-evp " + version_of_rival("openssl-evp") + "\n";
  EXPECT_HAS(text, line);
  const std::string openssl = context("", "")["libraries"]["openssl"];
  EXPECT_EQ(version_of_rival("openssl-evp"), openssl);
  EXPECT_EQ(version_of_rival("ports-aesni"), "");
  // Programs have versions as well; the test of the widest table has lines that wrap.
  outcome.results.push_back(rival("cp", 2e5));
  const std::string cp = version_of_rival("cp");
  if (cp.empty()) GTEST_SKIP() << "cp says no version";
  EXPECT_HAS(table(outcome), "; cp " + cp);
}

TEST(Table, GroupThreadsAreToldApart) {
  Outcome outcome;
  for (const unsigned threads : {64U, 512U}) {
    outcome.results.push_back(ours("ttable", 1e5));
    outcome.results.back().row.device = "opencl:0";
    outcome.results.back().row.group_threads = threads;
  }
  outcome.results.push_back(rival("pinned-copy", 1e5));
  EXPECT_HAS(table(outcome), "group");
  const Json rows = report(1, Json::object(), outcome)["results"];
  EXPECT_EQ(rows[0]["group_threads"], 64);
  EXPECT_TRUE(rows[2]["group_threads"].is_null());
  outcome.results.erase(outcome.results.begin());
  EXPECT_HAS(table(outcome), "groups of 512 threads");
}

TEST(Table, DevicesAreToldApartAndNotCompared) {
  Outcome outcome = outcome_of({ours(1e5), rival("openssl-evp", 2e5)});
  EXPECT_LACKS(table(outcome), "device");
  outcome.results.push_back(ours("ttable", 5e4));
  Row& row = outcome.results[2].row;
  row.device = "opencl:0";
  row.threads = 0;
  row.key_expansion = "host";
  const std::string text = table(outcome);
  EXPECT_HAS(text, "1 thread, keys expanded on the host");
  EXPECT_HAS(text, "device");
  // A GPU is not compared with a rival on the CPU.
  EXPECT_LACKS(text, "4.00");
  outcome.results.erase(outcome.results.begin(), outcome.results.begin() + 2);
  EXPECT_HAS(table(outcome), "memory scope, opencl:0");
}

TEST(Table, CopiesAreComparedWithEveryTransferOfTheirDevice) {
  Outcome outcome;
  for (const char* transfer : {"staged", "mapped"}) {
    outcome.results.push_back(ours("ttable", 1e5));
    outcome.results.back().row.transfer = transfer;
  }
  outcome.results.push_back(rival("pinned-copy", 5e4));
  outcome.results[2].row.mode.reset();
  outcome.results[2].row.key_bits.reset();
  outcome.results[2].row.direction.reset();
  for (Result& result : outcome.results) {
    result.row.device = "cuda:0";
    result.row.scope = "transfer";
    result.row.threads = 0;
  }
  // On another device there was no copy.
  outcome.results.push_back(ours("ttable", 2e5));
  outcome.results.back().row = outcome.results[0].row;
  outcome.results.back().row.device = "cuda:1";
  const std::string text = table(outcome);
  const std::size_t first = text.find("0.50");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_NE(text.find("0.50", first + 1), std::string::npos) << text;
  EXPECT_LACKS(text, "0.25");
}

TEST(Table, FileRivalsAreComparedWithEveryDevice) {
  Outcome outcome = outcome_of({ours("bitslice", 1e5), rival("openssl-enc", 3e5)});
  outcome.results[0].row.device = "cuda:0";
  outcome.results[0].row.threads = 0;
  for (Result& result : outcome.results) {
    result.row.scope = "file";
    result.row.format = "raw";
  }
  EXPECT_HAS(table(outcome), "3.00");
}

TEST(Table, ExecutorsAreToldApart) {
  Outcome outcome = outcome_of({ours(1e5)});
  EXPECT_LACKS(table(outcome), "exec");
  outcome.results.push_back(ours(1e5));
  outcome.results[1].row.threads = 2;
  outcome.results[1].row.executor = "threads";
  EXPECT_LACKS(table(outcome), "exec");
  outcome.results.push_back(outcome.results[1]);
  outcome.results[2].row.executor = "openmp";
  EXPECT_HAS(table(outcome), "exec");
  EXPECT_HAS(table(outcome), "openmp");
  outcome.results.erase(outcome.results.begin(), outcome.results.begin() + 2);
  EXPECT_HAS(table(outcome), "2 threads, OpenMP");
  const Json rows = report(0, Json::object(), outcome)["results"];
  EXPECT_EQ(rows[0]["executor"], "openmp");
}

TEST(Table, ManyMessagesHaveTheirRateAndOwnRatios) {
  Outcome outcome = outcome_of({ours(1e5)});
  EXPECT_LACKS(table(outcome), "msg");
  outcome.results[0].row.messages = 61;  // on a GPU
  EXPECT_LACKS(table(outcome), "msg");
  outcome.results[0].row.messages = 20000;
  outcome.results[0].row.keys = "each";
  std::string text = table(outcome);
  EXPECT_HAS(text, "20000 messages, a key each");
  EXPECT_HAS(text, "Mmsg/s");
  EXPECT_HAS(text, "200");  // 20000 messages in 100 us
  // Not compared with the whole, with one key, or with another number.
  outcome.results.push_back(rival("openssl-evp", 2e5));
  outcome.results.push_back(rival("openssl-evp", 3e5));
  outcome.results[2].row.keys = "one";
  outcome.results[2].row.messages = 20000;
  outcome.results.push_back(rival("openssl-evp", 4e5));
  outcome.results[3].row.keys = "each";
  outcome.results[3].row.messages = 10000;
  text = table(outcome);
  for (const char* ratio : {"2.00", "3.00", "4.00"}) {
    EXPECT_LACKS(text, ratio);
  }
  outcome.results.push_back(rival("openssl-evp", 5e5));
  outcome.results[4].row.keys = "each";
  outcome.results[4].row.messages = 20000;
  EXPECT_HAS(table(outcome), "5.00");
  const Json rows = report(0, Json::object(), outcome)["results"];
  EXPECT_EQ(rows[0]["keys"], "each");
  EXPECT_EQ(rows[0]["messages"], 20000);
  EXPECT_TRUE(rows[1]["keys"].is_null());
}

// `mode`, `key_bits` and `bytes` of a result for the table of openssl speed.
Result speed_result(Result result, Mode mode, int key_bits, std::uint64_t bytes) {
  result.row.mode = mode;
  result.row.key_bits = key_bits;
  result.row.bytes = bytes;
  result.row.in_place = true;
  return result;
}

// The line of `text` that begins with `start`, without its end.
std::string line_of(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(start, 0) == 0) return line;
  }
  return "no line begins with " + start;
}

TEST(OpensslSpeed, HasTheFormOfOpenssl) {
  Outcome outcome;
  // Out of order: the table sorts jobs and sizes, and has paraes before its rivals.
  for (const std::uint64_t bytes : {8192U, 16U}) {
    outcome.results.push_back(speed_result(rival("openssl-evp", 1000), Mode::gcm, 256, bytes));
    outcome.results.push_back(speed_result(ours("vaes512", 500), Mode::gcm, 256, bytes));
    outcome.results.push_back(speed_result(ours("vaes512", 250), Mode::ctr, 128, bytes));
  }
  const std::string text = openssl_speed_table(outcome);
  EXPECT_HAS(text,
             "The 'numbers' are in 1000s of bytes per second processed.\n"
             "type                       16 bytes   8192 bytes\n"
             "AES-128-CTR vaes512        64000.00k 32768000.00k\n"
             "AES-256-GCM vaes512        32000.00k 16384000.00k\n"
             "AES-256-GCM openssl-evp    16000.00k  8192000.00k\n");
  EXPECT_HAS(text, "version: paraes ");
  EXPECT_HAS(text, "; openssl-evp " + version_of_rival("openssl-evp") + "\nCPU: ");
  EXPECT_HAS(text, "; kernel: vaes512\n");
  EXPECT_HAS(text, "on one thread, in place: medians of 3 or more samples");
  EXPECT_LACKS(text, "WRONG");
}

TEST(OpensslSpeed, HasTheWidthOfOpensslsOwnWhereNamesAreShort) {
  Outcome outcome = outcome_of({rival("memcpy", 337)});
  outcome.results[0].row.bytes = 16;
  outcome.results[0].row.mode.reset();
  const std::string text = openssl_speed_table(outcome);
  EXPECT_EQ(line_of(text, "type"), "type             16 bytes");
  EXPECT_EQ(line_of(text, "memcpy"), "memcpy           47477.74k");
  EXPECT_LACKS(text, "GCM");
  EXPECT_HAS(text, "one thread, in place:");  // what the copy does is no choice of the user
  outcome.results.push_back(speed_result(ours("vaes512", 500), Mode::ctr, 128, 16));
  outcome.results[1].row.in_place = false;
  EXPECT_HAS(openssl_speed_table(outcome), "one thread, not in place:");
}

TEST(OpensslSpeed, LimitsOfGcmAreNoMessages) {
  Outcome outcome;
  outcome.results.push_back(speed_result(ours("vaes512", 500), Mode::ctr, 128, 16));
  outcome.results.push_back(speed_result(rival("ports-gcm-vaes512", 400), Mode::gcm, 128, 16));
  EXPECT_LACKS(openssl_speed_table(outcome), "whole message");
  outcome.results.push_back(speed_result(ours("vaes512", 500), Mode::gcm, 128, 16));
  EXPECT_HAS(openssl_speed_table(outcome), "whole message");
}

TEST(OpensslSpeed, SmallNumbersAreNotInThousands) {
  const Outcome outcome = outcome_of({speed_result(ours("reference", 4e6), Mode::ecb, 128, 16)});
  EXPECT_EQ(words_of(line_of(openssl_speed_table(outcome), "AES-128-ECB")).back(), "4000.00");
}

TEST(OpensslSpeed, WrongMissingAndNoisyNumbersAreMarked) {
  Outcome outcome = outcome_of({speed_result(ours("vaes512", 500), Mode::gcm, 128, 16),
                                speed_result(ours("vaes512", 500), Mode::gcm, 128, 64),
                                speed_result(rival("gcrypt", 500), Mode::gcm, 128, 64)});
  outcome.results[1].verified = false;
  outcome.results[2].samples_ns = {300, 500, 700};
  outcome.results[2].statistics = statistics_of(outcome.results[2].samples_ns);
  outcome.skipped.push_back({Row{.rival = "ipsec-mb"}, "it is not installed"});
  const std::string text = openssl_speed_table(outcome);
  EXPECT_EQ(words_of(line_of(text, "AES-128-GCM vaes512")).back(), "WRONG");
  EXPECT_EQ(words_of(line_of(text, "AES-128-GCM gcrypt")),
            words_of("AES-128-GCM gcrypt - 128000.00k"));
  EXPECT_HAS(text, "WRONG: AES-128-GCM vaes512, 64 B: the result is not the expected one\n");
  EXPECT_HAS(text, "The samples of 1 of the numbers vary by more than 30 %");
  EXPECT_HAS(text, "skipped ipsec-mb: it is not installed\n");
}

TEST(OpensslSpeed, DirectionsAreToldApart) {
  Outcome outcome = outcome_of({speed_result(ours("vaes512", 500), Mode::gcm, 128, 16),
                                speed_result(ours("vaes512", 250), Mode::gcm, 128, 16)});
  outcome.results[0].row.direction = Direction::decrypt;
  const std::string text = openssl_speed_table(outcome);
  EXPECT_EQ(words_of(line_of(text, "AES-128-GCM vaes512 ")).back(), "64000.00k");
  EXPECT_EQ(words_of(line_of(text, "AES-128-GCM vaes512, decrypt")).back(), "32000.00k");
}

TEST(OpensslSpeed, WithoutResultsListsTheReasons) {
  Outcome outcome;
  outcome.skipped.push_back({Row{.kernel = "vaes512"}, "the CPU lacks vaes"});
  EXPECT_EQ(openssl_speed_table(outcome), "skipped vaes512: the CPU lacks vaes\n");
}

TEST(Table, WrongRowsAreMarked) {
  Outcome outcome = outcome_of({ours(1e5)});
  outcome.results[0].verified = false;
  EXPECT_HAS(table(outcome), "WRONG: aesni");
}

TEST(Table, TableHasAtMostAHundredColumns) {
  Outcome outcome;
  for (const char* rival :
       {"", "openssl-evp", "ipsec-mb", "gcrypt", "memcpy", "openssl-enc", "age", "cp"}) {
    for (const unsigned kind : {0U, 1U, 3U, 6U, 7U, 8U, 15U}) {
      Result result = result_named(*rival == '\0' ? "reference" : "", rival, 1e3);
      result.row.mode = (kind & 1U) == 0 ? Mode::ctr : Mode::gcm;
      result.row.threads = (kind & 1U) == 0 ? 1 : 4096;
      result.row.bytes = (kind & 2U) == 0 ? 16U << 10 : 1U << 30;
      result.row.in_place = (kind & 4U) != 0;
      result.row.direction = (kind & 8U) == 0 ? Direction::encrypt : Direction::decrypt;
      result.row.key_bits = (kind & 8U) == 0 ? 128 : 256;
      outcome.results.push_back(result);
    }
  }
  std::istringstream lines(table(outcome));
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::count_if(line.begin(), line.end(),
                                       [](unsigned char c) { return (c & 0xc0U) != 0x80U; });
    EXPECT_LE(columns, 100) << line;
  }
}

}  // namespace
}  // namespace paraes::bench
