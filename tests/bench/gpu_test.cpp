// Tests of rows on GPUs: every mode is verified, and the report says what ran. PARAES_TEST_DEVICE
// names the device; the default is opencl:0, which is PoCL on a machine without a GPU.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measure.hpp"
#include "bench/harness/statistics.hpp"
#include "bench/memory/device_memory.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/report/report.hpp"
#include "bench/suites/suites.hpp"
#include "bench/suites/tune.hpp"
#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/test_device.hpp"

namespace paraes::bench {
namespace {

using Json = nlohmann::ordered_json;

using support::test_device;

class BenchGpu : public testing::Test {
 protected:
  void SetUp() override { PARAES_NEEDS_DEVICE(test_device()); }

  static AxisTexts texts() {
    AxisTexts texts;
    texts.device = test_device();
    texts.kernel = "reference";
    texts.mode = "ctr,gcm";
    texts.size = "65536";
    return texts;
  }

  static Axes axes_of(const AxisTexts& texts) {
    const auto number = [](std::string_view text, std::string_view, auto...) {
      return static_cast<std::uint64_t>(std::strtoull(std::string(text).c_str(), nullptr, 10));
    };
    return parse_axes(texts, {number, number});
  }

  static Json measured(const AxisTexts& texts) { return measured(axes_of(texts)); }

  // Every measured phase has its median and as many samples as the row. Exceptions: a kernel phase
  // that is the call itself has no samples, and key expansion outside the calls has nine.
  static void expect_samples_of_phases(const Json& row, bool keys_apart) {
    const bool kernel_alone = row["scope"] == "memory";
    for (const auto& [name, median] : row["timeline_ns"].items()) {
      const bool timed = !median.is_null() && !(kernel_alone && name == "kernel");
      EXPECT_EQ(row["timeline_samples_ns"].contains(name), timed) << name;
      if (!timed || !row["timeline_samples_ns"].contains(name)) continue;
      const auto samples = row["timeline_samples_ns"][name].get<std::vector<double>>();
      const bool apart = keys_apart && name == "key_expansion";
      EXPECT_EQ(samples.size(), apart ? 9U : row["samples_ns"].size()) << name;
      EXPECT_NEAR(median.get<double>(), median_of(samples), 0.11) << name;
    }
  }

  // If `right` is true, no call may fail.
  static Json measured(const Axes& axes, bool right = true) {
    const BenchPlan plan = make_plan(axes);
    Random random(1);
    EnergyMeter energy;
    Outcome all;
    all.skipped = plan.skipped;
    for (const Group& group : plan.groups) {
      Outcome outcome =
          measure(group, Settings{2, 0, 0, 1000}, random, energy, [](double, const Row&) {});
      for (Result& result : outcome.results) {
        if (right) {
          EXPECT_EQ(result.error, "");
        }
        all.results.push_back(std::move(result));
      }
      for (Skipped& skipped : outcome.skipped) all.skipped.push_back(std::move(skipped));
    }
    return report(1, Json::object(), all);
  }
};

TEST_F(BenchGpu, MemoryRowsAreVerified) {
  AxisTexts axes = texts();
  axes.device += ",cpu";
  axes.key_expansion = "host,device";
  const Json json = measured(axes);
  unsigned on_gpu = 0;
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    if (row["device"] == "cpu") {
      EXPECT_EQ(row["threads"], 1);
      EXPECT_EQ(row["messages"], 1);
      continue;
    }
    ++on_gpu;
    EXPECT_EQ(row["device"], test_device());
    EXPECT_EQ(row["kernel"], "reference");
    EXPECT_EQ(row["scope"], "memory");
    EXPECT_EQ(row["threads"], 0);
    EXPECT_EQ(row["bytes"], 65536);
    EXPECT_EQ(row["messages"], row["mode"] == "gcm" ? 4 : 1);  // segments of 16 KiB
    EXPECT_TRUE(row["transfer"].is_null());
    EXPECT_TRUE(row["cache"].is_null());
    EXPECT_TRUE(row["energy_joules"].is_null());
    EXPECT_EQ(row["timeline_ns"]["kernel"], row["median_ns"]);
    EXPECT_GT(row["timeline_ns"]["key_expansion"], 0);
    EXPECT_TRUE(row["timeline_ns"]["host_to_device"].is_null());
    expect_samples_of_phases(row, true);
  }
  EXPECT_EQ(on_gpu, 2U * 2U * 2U);  // modes, directions, where keys are expanded
}

TEST_F(BenchGpu, RowsInPlaceLeaveTheOthersTheirTags) {
  AxisTexts axes = texts();
  axes.in_place = "no,yes";
  axes.mode = "gcm";
  const Json json = measured(axes);
  ASSERT_EQ(json["results"].size(), 3U);  // decryption in place cannot be repeated
  for (const Json& row : json["results"]) EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
}

TEST_F(BenchGpu, TransferRowsAreVerified) {
  AxisTexts axes = texts();
  axes.scope = "transfer";
  axes.transfer = "staged,mapped";
  axes.rivals = "pinned-copy";
  const Json json = measured(axes);
  ASSERT_EQ(json["results"].size(), 2U * 2U * 2U + 1U) << json["skipped"].dump();
  EXPECT_EQ(json["results"][0]["rival"], "pinned-copy");
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    EXPECT_EQ(row["device"], test_device());
    EXPECT_EQ(row["scope"], "transfer");
    EXPECT_EQ(row["threads"], 0);
    EXPECT_TRUE(row["overlap"].get<bool>());
    expect_samples_of_phases(row, true);
    if (!row["rival"].is_null()) {
      EXPECT_TRUE(row["timeline_samples_ns"].empty());
      continue;
    }
    EXPECT_EQ(row["key_expansion"], "host");
    const bool staged = row["transfer"] == "staged";
    EXPECT_TRUE(staged || row["transfer"] == "mapped");
    const Json& phases = row["timeline_ns"];
    EXPECT_GT(phases["kernel"], 0);
    EXPECT_TRUE(phases["key_expansion"].is_number());
    EXPECT_EQ(phases["host_to_device"].is_number(), staged);
    EXPECT_EQ(phases["device_to_host"].is_number(), staged);
    EXPECT_TRUE(phases["read"].is_null());
  }
}

// OpenCL does not say what is page-locked. With CUDA and HIP, the rows are measured.
TEST_F(BenchGpu, RowsInPageLockedMemoryAreVerifiedOrSkipped) {
  AxisTexts axes = texts();
  axes.scope = "transfer,file";
  axes.mode = "ctr,gcm";
  axes.transfer = "staged,locked";
  axes.rivals = "none";
  const Json json = measured(axes);
  const bool says = !test_device().starts_with("opencl");
  std::multiset<std::string> measured_rows;
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    measured_rows.insert(row["scope"].get<std::string>() + ' ' +
                         row["transfer"].get<std::string>());
  }
  EXPECT_EQ(measured_rows.count("transfer staged"), 4U);
  EXPECT_EQ(measured_rows.count("transfer locked"), says ? 4U : 0U);
  EXPECT_EQ(measured_rows.count("file locked"), 0U);
  std::multiset<std::string> reasons;
  for (const Json& row : json["skipped"]) {
    if (row["transfer"] == "locked") {
      reasons.insert(row["scope"].get<std::string>() + ": " + row["reason"].get<std::string>());
    }
  }
  EXPECT_EQ(reasons.count("transfer: " + test_device() +
                          " does not say which memory is page-locked, so it is staged"),
            says ? 0U : 4U);
  EXPECT_GT(reasons.count("file: files are read into memory of the streams"), 0U);
}

TEST_F(BenchGpu, RowsOfEveryNumberOfGroupThreadsAreVerified) {
  AxisTexts axes = texts();
  axes.device += ",cpu";
  axes.kernel = "reference-shared";
  axes.mode = "ctr";
  axes.direction = "encrypt";
  axes.scope = "memory,transfer";
  axes.group_threads = "64,512";
  const Json json = measured(axes);
  std::multiset<std::string> found;
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    if (row["device"] == "cpu" || !row["rival"].is_null()) {
      EXPECT_TRUE(row["group_threads"].is_null()) << row.dump();
      continue;
    }
    found.insert(row["scope"].get<std::string>() + " " + row["group_threads"].dump());
  }
  const std::multiset<std::string> expected = {"memory 64", "memory 512", "transfer 64",
                                               "transfer 512"};
  EXPECT_EQ(found, expected) << json["skipped"].dump();
}

TEST_F(BenchGpu, TuneMeasuresTheTuningsThatTheDeviceCanHave) {
  TuneOptions options;
  options.sizes = {64 << 10};
  options.least_tuned_bytes = options.sizes[0];
  options.program = PARAES_PROGRAM;
  options.devices = {test_device()};
  // Tunings are left out if the first of three passes, which compiles programs, takes the time of
  // two. That is far more than one small size takes, but a busy machine gets more still.
  Tuned tuned;
  for (options.seconds = 120; options.seconds <= 480; options.seconds *= 4) {
    const auto start = std::chrono::steady_clock::now();
    tuned = tune(options, [](const std::string&) {});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (took.count() < options.seconds * 2 / 3) break;
  }
  std::set<std::string> names;
  for (const Rate& rate : tuned.rates) {
    if (rate.name.gpu_tuning.empty()) continue;
    EXPECT_GE(rate.bytes, options.least_tuned_bytes);
    EXPECT_GT(rate.bytes_per_second.median, 0);
    names.insert(rate.name.kernel + ' ' + rate.name.gpu_tuning);
  }
  EXPECT_EQ(names.count("bitslice streams=6"), 1U);
  EXPECT_EQ(names.count("bitslice launch=2048KiB"), 1U);
  EXPECT_EQ(names.count("ttable streams=24"), 1U);
  // `bitslice` has no tables, and OpenCL neither a choice of groups nor tensor cores.
  EXPECT_EQ(names.count("ttable groups=2"), 0U);
  EXPECT_EQ(names.count("bitslice tables=4"), 0U);
  EXPECT_EQ(names.count("ttable ghash=tensor"), 0U);
  for (const Unmeasured& one : tuned.unmeasured) EXPECT_EQ(one.name.gpu_tuning, "");
}

TEST_F(BenchGpu, TakePhasesSumsTheCallsSinceTheLastOne) {
  AxisTexts axes = texts();
  axes.scope = "transfer";
  axes.mode = "ctr";
  axes.direction = "encrypt";
  axes.rivals = "none";
  const BenchPlan plan = make_plan(axes_of(axes));
  ASSERT_EQ(plan.groups.size(), 1U) << plan.skipped[0].reason;
  Case& transfer_case = *plan.groups[0][0];
  transfer_case.set_up();
  transfer_case.call();
  PhaseNanoseconds once = transfer_case.take_phases();
  EXPECT_GT(once["kernel"], 0);
  EXPECT_FALSE(once.contains("key_expansion"));  // outside the calls
  EXPECT_EQ(transfer_case.take_phases().at("kernel"), 0);
  EXPECT_TRUE(transfer_case.expand_key());
  PhaseNanoseconds expansion = transfer_case.take_phases();
  EXPECT_TRUE(expansion.contains("key_expansion"));
  EXPECT_EQ(expansion.at("kernel"), 0);  // another cipher expands the key
  EXPECT_FALSE(transfer_case.take_phases().contains("key_expansion"));
}

TEST_F(BenchGpu, PhasesWithoutOverlapAreDisjoint) {
  AxisTexts texts_of_row = texts();
  texts_of_row.scope = "transfer";
  texts_of_row.mode = "ctr";
  texts_of_row.direction = "encrypt";
  texts_of_row.size = "8388608";  // at least one launch for each stream
  texts_of_row.rivals = "pinned-copy";
  Axes axes = axes_of(texts_of_row);
  axes.overlap = false;
  const BenchPlan plan = make_plan(axes);
  ASSERT_EQ(plan.groups.size(), 1U) << plan.skipped[0].reason;
  ASSERT_EQ(plan.groups[0].size(), 2U);
  for (const auto& timed : plan.groups[0]) {
    EXPECT_FALSE(timed->row().overlap);
    timed->set_up();
    timed->call();
    static_cast<void>(timed->take_phases());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) timed->call();
    const auto took =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin);
    PhaseNanoseconds phases = timed->take_phases();
    EXPECT_TRUE(timed->verify());
    if (!timed->row().rival.empty()) continue;
    const double busy =
        phases.at("host_to_device") + phases.at("kernel") + phases.at("device_to_host");
    EXPECT_GT(busy, 0);
    EXPECT_LE(busy, took.count());
  }
}

class BenchGpuFiles : public BenchGpu {
 protected:
  static AxisTexts texts() {
    AxisTexts texts = BenchGpu::texts();
    texts.scope = "file";
    texts.mode = "";
    texts.rivals = "none";
    return texts;
  }

  // A program that runs `script` when a GPU is requested, with the files in $from and $to, and
  // paraes for the CPU.
  [[nodiscard]] std::string program(const std::string& script) const {
    return folder_.write_script("program",
                                "case \"$*\" in *' --device cpu '*) exec '" PARAES_PROGRAM
                                "' \"$@\" ;; esac\n"
                                "for word; do to=$from; from=$word; done\n" +
                                    script);
  }

  // The report of file scope, where `program` is used as paraes.
  Json of_files(const AxisTexts& texts, const std::string& program = PARAES_PROGRAM,
                bool right = true) {
    Axes axes = axes_of(texts);
    axes.program = program;
    axes.folder = folder_.path();
    axes.overlap = overlap_;
    return measured(axes, right);
  }

  support::TemporaryFolder folder_;
  bool overlap_ = true;
};

TEST_F(BenchGpuFiles, GpuAndCpuRowsOfOneSizeAreVerified) {
  AxisTexts axes = texts();
  axes.device = "cpu," + test_device();
  axes.transfer = "staged,mapped";
  axes.rivals = "cp";
  const BenchPlan plan = make_plan(axes_of(axes));
  ASSERT_EQ(plan.groups.size(), 1U);  // rows of one size are interleaved
  const Json json = of_files(axes);
  ASSERT_EQ(json["results"].size(), 1U + 2U + 2U * 2U) << json["skipped"].dump();
  unsigned on_gpu = 0;
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    EXPECT_EQ(row["scope"], "file");
    expect_samples_of_phases(row, false);
    if (!row["rival"].is_null()) continue;
    EXPECT_EQ(row["kernel"], "reference");  // leaky, and named
    EXPECT_EQ(row["format"], "paraes");
    EXPECT_TRUE(row["overlap"].get<bool>());
    const Json& phases = row["timeline_ns"];
    for (const char* phase : {"read", "key_expansion", "kernel", "write"}) {
      EXPECT_GT(phases[phase], 0) << phase;
    }
    if (row["device"] == "cpu") {
      EXPECT_EQ(row["threads"], 1);
      EXPECT_TRUE(row["transfer"].is_null());
      EXPECT_TRUE(phases["host_to_device"].is_null());
      continue;
    }
    ++on_gpu;
    EXPECT_EQ(row["device"], test_device());
    EXPECT_EQ(row["threads"], 0);
    EXPECT_EQ(row["key_expansion"], "host");
    EXPECT_TRUE(row["energy_joules"].is_null());
    const bool staged = row["transfer"] == "staged";
    EXPECT_EQ(phases["host_to_device"].is_number(), staged);
    EXPECT_EQ(phases["device_to_host"].is_number(), staged);
    if (!staged) continue;
    EXPECT_GT(phases["host_to_device"], 0);
    EXPECT_GT(phases["device_to_host"], 0);
  }
  EXPECT_EQ(on_gpu, 2U * 2U);
}

TEST_F(BenchGpuFiles, UnauthenticatedFormatsAreVerified) {
  AxisTexts axes = texts();
  axes.format = "raw,openssl";
  axes.mode = "cbc,xts";
  axes.key_expansion = "device";
  const Json json = of_files(axes);
  // raw has both modes, openssl only CBC. CBC encryption is left to the CPU.
  ASSERT_EQ(json["results"].size(), 2U + 1U + 1U) << json["skipped"].dump();
  for (const Json& row : json["results"]) {
    EXPECT_TRUE(row["verified"].get<bool>()) << row.dump();
    EXPECT_EQ(row["key_expansion"], "device");
  }
  unsigned serial = 0;
  for (const Json& row : json["skipped"]) {
    if (row["reason"].get<std::string>().find("serial") != std::string::npos) ++serial;
  }
  EXPECT_EQ(serial, 2U);
}

TEST_F(BenchGpuFiles, CommandHasTheFlagsOfTheRow) {
  AxisTexts axes = texts();
  axes.direction = "encrypt";
  axes.transfer = "mapped";
  axes.key_expansion = "device";
  axes.threads = "2";
  axes.kernel = "bitslice";
  overlap_ = false;
  const Json json = of_files(axes, program("echo \" $* \" >\"$folder/words\"; exit 1"));
  ASSERT_EQ(json["skipped"].size(), 1U);
  EXPECT_FALSE(json["skipped"][0]["overlap"].get<bool>());
  const std::string text = folder_.text("words");
  const std::string device = "--device " + test_device();
  for (const std::string flag : {"encrypt", device.c_str(), "--kernel bitslice",
                                 "--transfer mapped", "--key-expansion device", "--no-overlap"}) {
    EXPECT_HAS(text, " " + flag + " ");
  }
  EXPECT_LACKS(text, "--threads");
}

TEST_F(BenchGpuFiles, ProgramThatDecryptsItsOwnWrongOutputIsNotVerified) {
  const Json json = of_files(texts(), program("cp \"$from\" \"$to\"; echo '{}'"), false);
  ASSERT_EQ(json["results"].size(), 2U) << json["skipped"].dump();
  for (const Json& row : json["results"]) {
    EXPECT_FALSE(row["verified"].get<bool>()) << row.dump();
  }
}

TEST_F(BenchGpuFiles, RowComputedByAnotherDeviceIsSkipped) {
  const Json json =
      of_files(texts(), program("cp \"$from\" \"$to\"; echo '{\"fallback\": \"no memory\"}'"));
  EXPECT_TRUE(json["results"].empty());
  ASSERT_EQ(json["skipped"].size(), 2U);
  EXPECT_EQ(json["skipped"][0]["reason"],
            "another device was used instead of " + test_device() + ": no memory");
}

TEST_F(BenchGpu, EveryModeIsVerifiedInDeviceMemory) {
  for (const char* kernel : {"reference", "bitslice"}) {
    for (const Mode mode : all_modes) {
      // Several segments and data units, with an incomplete block at the end if the mode allows it.
      const bool odd = mode == Mode::ctr || mode == Mode::gcm;
      const auto arena = std::make_shared<DeviceMemoryArena>(
          test_device(), kernel, gpu::VariantOptions{}, odd ? 40007 : 40960);
      for (const int bits : {128, 192, 256}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
          if (mode == Mode::xts && bits == 192) continue;
          if (mode == Mode::cbc && direction == Direction::encrypt) continue;
          const Job job{mode, bits, direction, 4096, odd ? 40007U : 40960U, 1, false};
          DeviceMemoryCase memory_case(
              Row{}, job, bits == 256 ? KeyExpansion::device : KeyExpansion::host, arena);
          memory_case.set_up();
          EXPECT_TRUE(memory_case.verify())
              << kernel << " " << to_string(mode) << "-" << bits << " " << to_string(direction);
          // Expanding a key for the timeline does not change the key of the calls.
          EXPECT_TRUE(memory_case.expand_key());
          EXPECT_TRUE(memory_case.verify());
        }
      }
    }
  }
}

TEST_F(BenchGpu, JobsLeftToTheCpuAreSkipped) {
  AxisTexts axes = texts();
  axes.mode = "cbc,xts";
  axes.size = "6144";  // one and a half data units
  axes.direction = "encrypt";
  const Json json = measured(axes);
  EXPECT_TRUE(json["results"].empty());
  ASSERT_EQ(json["skipped"].size(), 2U) << json["skipped"].dump();
  EXPECT_HAS(json["skipped"][0]["reason"].get<std::string>(), "serial");
  EXPECT_HAS(json["skipped"][1]["reason"].get<std::string>(), "whole");
}

// The right result of a job in segments, computed by the CPU.
struct Segmented {
  std::vector<std::uint8_t> text;
  std::vector<std::uint8_t> tags;
};

Segmented by_cpu(const Job& job) {
  Segmented made{std::vector<std::uint8_t>(job.bytes),
                 std::vector<std::uint8_t>(16 * segments(job.bytes))};
  const Bytes key{material().key.data(), key_bytes(job)};
  Gcm gcm(key);
  for (std::uint64_t s = 0; s < segments(job.bytes); ++s) {
    const std::uint64_t at = s * segment_bytes;
    std::vector<std::uint8_t> given(std::min<std::uint64_t>(segment_bytes, job.bytes - at));
    pattern(at, given.data(), given.size());
    const auto nonce = segment_nonce(s);
    std::vector<std::uint8_t> other(given.size());
    const MutableBytes text{made.text.data() + at, given.size()};
    const MutableBytes tag{made.tags.data() + 16 * s, 16};
    gcm.encrypt(nonce, {}, given, text, tag);
    // GCM encrypts with a key stream, so encryption also decrypts the text; only the tag differs.
    // The tag of the decrypted text, encrypted again, is that of the pattern as ciphertext.
    if (job.direction == Direction::decrypt) gcm.encrypt(nonce, {}, text, other, tag);
  }
  return made;
}

TEST(Segments, WrongBitIsDetected) {
  for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
    const Job job{Mode::gcm, 256, direction, 4096, 40007, 1, false};
    Segmented made = by_cpu(job);
    const auto right = [&] {
      return is_answer_in_segments(job, made.text.data(), made.tags.data());
    };
    EXPECT_TRUE(right());
    for (std::uint8_t* const byte :
         {made.text.data(), &made.text.back(), made.tags.data(), &made.tags.back()}) {
      *byte ^= 0x10;
      EXPECT_FALSE(right()) << to_string(direction);
      *byte ^= 0x10;
    }
  }
}

TEST(Segments, SegmentNoncesDiffer) {
  EXPECT_NE(segment_nonce(0), segment_nonce(1));
  EXPECT_NE(segment_nonce(1), segment_nonce(256));
  EXPECT_NE(segment_nonce(0), segment_nonce(std::uint64_t{1} << 32));
}

}  // namespace
}  // namespace paraes::bench
