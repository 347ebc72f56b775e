// The axes of a benchmark: lists of values. The rows are their product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.hpp"
#include "bench/harness/row.hpp"

namespace paraes::bench {

// The value of --transfer for texts in page-locked memory.
inline constexpr std::string_view page_locked = "locked";

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
  std::vector<Keys> keys;  // of many messages
  std::vector<std::string> scopes;
  std::vector<bool> in_place;
  std::vector<std::string> formats;
  std::vector<std::string> key_expansions;
  std::vector<unsigned> group_threads;  // of GPU kernels; 0 is the kernel's own number
  // The text of --gpu-tuning and its meaning; an empty text is paraes's own choice.
  struct Tuning {
    std::string text;
    GpuTuning meaning;
  };
  std::vector<Tuning> gpu_tunings;
  std::vector<std::string> transfers;  // transfer_names, or page_locked
  std::size_t unit = 4096;
  std::vector<std::string> rivals;  // of all scopes
  bool rivals_named = false;
  bool overlap = true;
  std::string folder;   // for the file scope; empty to choose one (workspace_root)
  std::string program;  // path of paraes itself, for the file scope
};

// The text of which parse_tuning() makes this; empty for paraes's own choice.
[[nodiscard]] std::string text_of(const GpuTuning& tuning);

// Throws InvalidArgument, with the known values of the axis, if a value is unknown, also for an
// axis that was given and that no row of the run can have, and whatever select_kernel throws. In a
// list of sizes, `...` or `…` between two sizes stands for a geometric series. Its factor is that
// of the two sizes before the ellipsis, or 4 if only one precedes it.
[[nodiscard]] Axes parse_axes(const AxisTexts& texts, const NumberParsers& parsers);

}  // namespace paraes::bench
