// The bench as the command line and paraes-mpi call it. It includes no other header of the bench.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/ciphers.hpp"

namespace paraes::bench {

// The axes as on the command line, each a comma-separated list; empty for the default.
struct AxisTexts {
  std::string device;
  std::string kernel;
  std::string mode;
  std::string key_bits;
  std::string direction;
  std::string threads;
  std::string executor;
  std::string size;
  std::string message;
  std::string keys;
  std::string scope;
  std::string in_place;
  std::string format;
  std::string key_expansion;
  std::string group_threads;
  std::vector<std::string> gpu_tunings;
  std::string transfer;
  std::string unit;
  std::string rivals;
  std::vector<std::string> own_rivals;  // NAME=FILE each
};

// The words that an axis takes besides `all`; none for axes of numbers, devices and kernels.
[[nodiscard]] std::vector<std::string> axis_words(std::string_view flag);

// The functions that read numbers and sizes; both throw InvalidArgument, which names the flag.
struct NumberParsers {
  std::uint64_t (*size)(std::string_view text, std::string_view flag);
  std::uint64_t (*number)(std::string_view text, std::string_view flag, std::uint64_t least,
                          std::uint64_t most);
};

// "streams=8,launch=2MiB,tables=4,groups=2,ghash=tensor", each at most once. Throws
// InvalidArgument, which names --gpu-tuning.
[[nodiscard]] GpuTuning parse_tuning(const std::string& text, const NumberParsers& parsers);

struct Options {
  std::optional<unsigned> samples = {};    // of each row, at the least
  double min_seconds = 0;                  // of timed work, for each row
  std::optional<unsigned> warmup = {};     // untimed calls, for each row
  std::optional<std::uint64_t> seed = {};  // of the order of the samples; none: a random one
  bool quick = false;                      // a short table for every kernel, in seconds
  bool openssl_speed = false;              // the table in the form of `openssl speed`
  bool list = false;                       // lists the rows without running them
  bool overlap = true;                     // of the phases of a call
  std::string folder = {};                 // for the file scope; empty to choose one
  std::string program = {};                // path of paraes itself, for the file scope
  std::string machine = {};                // the user's name for it; valid UTF-8, or empty
  std::string json = {};                   // a file, or `-` for standard output; empty for none
  // Shows what is measured, or with an empty text that nothing is; may be empty.
  std::function<void(const std::string& text)> progress = {};
};

// The axes, parsed.
struct Axes;

// Plans the rows of the axes, and runs them with run_plan(), or calls `measure`, if that is given,
// instead. Returns the exit status. Throws InvalidArgument for texts that parse_axes() refuses.
using Measure = std::function<int(const Axes& axes, const Options& options)>;
[[nodiscard]] int run(AxisTexts texts, Options options, const NumberParsers& parsers,
                      const Measure& measure = {});

struct BenchPlan;

// Runs the plan, or only lists it if options.list is set. The table goes to standard output, or to
// standard error when JSON goes to standard output. Returns the exit status: 1 if a row is wrong or
// none could run, 128 + the number of the signal that ended the run, else 0. Throws InvalidArgument
// if options.json names a file that is not a report, and IoError if the report cannot be written.
[[nodiscard]] int run_plan(BenchPlan plan, const Options& options);

}  // namespace paraes::bench
