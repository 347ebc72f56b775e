// The axes of a benchmark: lists of values. The rows are their product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/row.hpp"

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

struct Axes {
  std::vector<std::string> devices;  // "cpu", "cuda:0", "opencl:0+1"
  // Names with `auto` resolved. If both the CPU and a GPU are named, either list may contain
  // kernels that only the other has; their rows are skipped.
  std::vector<std::string> kernels;      // on the CPU
  std::vector<std::string> gpu_kernels;  // on GPUs
  std::vector<Mode> modes;
  bool modes_named = false;  // false if modes are the default
  std::vector<int> key_bits;
  bool key_bits_named = false;
  std::vector<Direction> directions;
  std::vector<int> threads;            // at least 1 each
  std::vector<std::string> executors;  // for memory scope on several CPU threads
  std::vector<std::uint64_t> sizes;    // empty for the default of each scope
  // In memory scope on the CPU: bytes of each of many GCM messages; 0 is one message of all bytes.
  std::vector<std::uint64_t> messages;
  std::vector<bool> key_each;  // whether each of many messages has its own key
  std::vector<std::string> scopes;
  std::vector<bool> in_place;
  std::vector<std::string> formats;
  std::vector<std::string> key_expansions;
  std::vector<unsigned> group_threads;  // of GPU kernels; 0 is the kernel's own number
  // Of GPUs: what --gpu-tuning says, and its meaning; an empty text is paraes's own choice.
  struct Tuning {
    std::string text;
    GpuTuning meaning;
  };
  std::vector<Tuning> gpu_tunings;
  std::vector<std::string> transfers;
  std::size_t unit = 4096;
  std::vector<std::string> rivals;  // of all scopes
  bool rivals_named = false;
  bool overlap = true;
  std::string folder;   // for the file scope; empty to choose one (workspace_root)
  std::string program;  // path of paraes itself, for the file scope
};

// The functions that read numbers and sizes; both throw InvalidArgument, which names the flag.
struct NumberParsers {
  std::uint64_t (*size)(std::string_view text, std::string_view flag);
  std::uint64_t (*number)(std::string_view text, std::string_view flag, std::uint64_t least,
                          std::uint64_t most);
};

// The words that an axis takes besides `all`; none for axes of numbers, devices and kernels.
[[nodiscard]] std::vector<std::string> axis_words(std::string_view flag);

// "streams=8,launch=2MiB,tables=4,groups=2,ghash=tensor", each at most once. Throws
// InvalidArgument, which names --gpu-tuning.
[[nodiscard]] GpuTuning parse_tuning(const std::string& text, const NumberParsers& parsers);
// The text of which parse_tuning() makes this; empty for paraes's own choice.
[[nodiscard]] std::string text_of(const GpuTuning& tuning);

// Throws InvalidArgument, with the known values of the axis, if a value is unknown, also for an
// axis that was given and that no row of the run can have, and whatever select_kernel throws. In a
// list of sizes, `...` or `…` between two sizes stands for a geometric series. Its factor is that
// of the two sizes before the ellipsis, or 4 if only one precedes it.
[[nodiscard]] Axes parse_axes(const AxisTexts& texts, const NumberParsers& parsers);

}  // namespace paraes::bench
