// The axes of a benchmark: lists whose product is the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/row.hpp"

namespace paraes::bench {

// As they stand on the command line, each a comma list; empty: the default.
struct AxisTexts {
  std::string device;
  std::string kernel;
  std::string mode;
  std::string key_bits;
  std::string direction;
  std::string threads;
  std::string executor;
  std::string size;
  std::string scope;
  std::string in_place;
  std::string format;
  std::string key_expansion;
  std::string transfer;
  std::string unit;
  std::string rivals;
};

struct Axes {
  std::vector<std::string> devices;  // "cpu", "cuda:0", "opencl:0+1"
  // Names with `auto` resolved. Where CPU and GPUs are named, a list may have names of the other.
  std::vector<std::string> kernels;      // on the CPU
  std::vector<std::string> gpu_kernels;  // on GPUs
  std::vector<Mode> modes;
  bool modes_named = false;  // whether modes were asked for, rather than the default
  std::vector<int> key_bits;
  bool key_bits_named = false;
  std::vector<Direction> directions;
  std::vector<int> threads;            // at least 1 each
  std::vector<std::string> executors;  // of memory scope, for several threads of the CPU
  std::vector<std::uint64_t> sizes;    // empty: each scope has its own default
  std::vector<std::string> scopes;
  std::vector<bool> in_place;
  std::vector<std::string> formats;
  std::vector<std::string> key_expansions;
  std::vector<std::string> transfers;
  std::size_t unit = 4096;
  std::vector<std::string> rivals;  // of any scope
  bool rivals_named = false;
  bool overlap = true;
  std::string folder;   // of the file scope; empty: chosen
  std::string program;  // paraes itself, for the file scope
};

using SizeParser = std::uint64_t (*)(std::string_view text, std::string_view flag);

// Throws InvalidArgument that lists the values of the axis when one is unknown, and what
// select_kernel throws. In a list of sizes `…` or `...` between two sizes stands for a geometric
// series: by the factor of the two sizes before it, or by 4.
[[nodiscard]] Axes parse_axes(const AxisTexts& texts, SizeParser parse_size);

}  // namespace paraes::bench
