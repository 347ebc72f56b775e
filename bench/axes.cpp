#include "bench/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/file/tools.hpp"
#include "bench/lists.hpp"
#include "bench/memory/openmp.hpp"
#include "bench/memory/ports.hpp"
#include "bench/memory/transfer.hpp"
#include "bench/rivals/rivals.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/streams.hpp"
#include "paraes/threads.hpp"
#include "src/gpu/pool.hpp"
#include "src/gpu/programs/program_variant.hpp"

namespace paraes::bench {
namespace {

std::vector<std::string> split(std::string_view list, std::string_view flag) {
  std::vector<std::string> words;
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view word = list.substr(0, comma);
    if (word.empty()) throw InvalidArgument(std::string(flag) + ": the list has an empty item");
    words.emplace_back(word);
    if (comma == std::string_view::npos) return words;
    list.remove_prefix(comma + 1);
  }
}

[[noreturn]] void refuse_word(std::string_view flag, std::string_view word,
                              const std::vector<std::string>& known) {
  throw InvalidArgument(
      fmt::format("{}: '{}' is not one of {}", flag, word, fmt::join(known, ", ")));
}

// The values in a list for an axis, each once. `all` stands for every known value.
std::vector<std::string> choose(std::string_view flag, std::string_view list) {
  const std::vector<std::string> known = axis_words(flag);
  std::vector<std::string> chosen;
  for (const std::string& word : split(list, flag)) {
    if (word == "all") {
      for (const std::string& name : known) add_once(chosen, name);
    } else if (has(known, word)) {
      add_once(chosen, word);
    } else {
      std::vector<std::string> names = known;
      names.emplace_back("all");
      refuse_word(flag, word, names);
    }
  }
  return chosen;
}

std::vector<std::string> parse_devices(std::string_view list) {
  std::vector<std::string> devices;
  for (const std::string& word : split(list, "--device")) {
    const bool has_number = word.find(':') != std::string::npos;
    add_once(devices, !gpu::parse_device(word) ? "cpu" : has_number ? word : word + ":0");
  }
  return devices;
}

// The kernels that `list` names for one kind of device, whose kernels are `own`. `all` and `auto`
// choose among these; explicit names may be any of `known`.
std::vector<std::string> parse_kernels(std::string_view list, const std::vector<KernelInfo>& own,
                                       std::string_view device,
                                       const std::vector<std::string>& known) {
  const auto select = [&](std::string_view request) {
    return std::string(select_kernel(request, device, false).name);
  };
  if (list.empty()) return {select("")};
  std::vector<std::string> chosen;
  for (const std::string& word : split(list, "--kernel")) {
    if (word == "auto") {
      add_once(chosen, select("auto"));
    } else if (word == "all") {
      for (const KernelInfo& info : own) add_once(chosen, info.name);
    } else if (has(known, word)) {
      add_once(chosen, word);
    } else {
      std::vector<std::string> names = known;
      names.insert(names.begin(), {"auto", "all"});
      refuse_word("--kernel", word, names);
    }
  }
  return chosen;
}

void parse_kernels(std::string_view list, Axes& axes) {
  const bool on_cpu = has(axes.devices, "cpu");
  const bool on_gpu = axes.devices.size() > (on_cpu ? 1 : 0);
  std::vector<std::string> known;
  for (const KernelInfo& info : on_cpu ? kernels() : gpu_kernels()) add_once(known, info.name);
  if (on_gpu) {
    for (const KernelInfo& info : gpu_kernels()) add_once(known, info.name);
  }
  if (on_cpu) axes.kernels = parse_kernels(list, kernels(), "cpu", known);
  // All GPUs have the same kernels, so "cuda" stands for any of them.
  if (on_gpu) axes.gpu_kernels = parse_kernels(list, gpu_kernels(), "cuda", known);
}

// Words are sizes, `...`, and `zero`, if it is given, for 0.
std::vector<std::uint64_t> parse_sizes(std::string_view flag, std::string_view list,
                                       const NumberParsers& parsers, std::string_view zero = {}) {
  const std::string name(flag);
  const auto is_ellipsis = [](std::string_view w) { return w == "..." || w == "\u2026"; };
  std::vector<std::uint64_t> sizes;
  const std::vector<std::string> words = split(list, flag);
  const bool has_zero = has(words, zero);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == zero) continue;
    if (!is_ellipsis(words[i])) {
      const std::uint64_t size = parsers.size(words[i], flag);
      if (size == 0) throw InvalidArgument(name + ": a size must be at least 1 byte");
      add_once(sizes, size);
      continue;
    }
    if (sizes.empty() || words[i - 1] == zero || i + 1 == words.size() ||
        is_ellipsis(words[i + 1]) || words[i + 1] == zero) {
      throw InvalidArgument(name + ": … must stand between two sizes");
    }
    const std::uint64_t last = parsers.size(words[i + 1], flag);
    std::uint64_t factor = 4;
    if (sizes.size() > 1) factor = sizes.back() / sizes[sizes.size() - 2];
    if (factor < 2) throw InvalidArgument(name + ": sizes before … must at least double");
    while (sizes.back() < last / factor) sizes.push_back(sizes.back() * factor);
  }
  if (has_zero) sizes.push_back(0);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

void add_names(std::vector<std::string>& names, const auto& list) {
  for (const auto& one : list) names.emplace_back(one.name);
}

std::vector<std::string> rival_names() {
  std::vector<std::string> names;
  add_names(names, memory_rivals());
  for (const Ports& ports : all_ports()) names.emplace_back(ports.rival);
  add_names(names, file_rivals());
  names.emplace_back(pinned_copy_name);
  return names;
}

// Opens the libraries of --rival and returns their names, which nothing else may have.
std::vector<std::string> open_own_rivals(const std::vector<std::string>& texts) {
  std::vector<std::string> names;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    std::vector<std::string> taken = rival_names();
    add_names(taken, kernels());
    add_names(taken, gpu_kernels());
    taken.insert(taken.end(), {"all", "none", "openssl", "paraes"});
    if (has(taken, name)) {
      throw InvalidArgument("--rival: " + name + " is the name of something else: choose another");
    }
    names.push_back(add_own(text));
  }
  return names;
}

// The list with the rivals' names in place of `openssl-evp@FILE`.
std::string with_libcryptos_opened(std::string_view list) {
  std::vector<std::string> names = split(list, "--rivals");
  for (std::string& name : names) {
    if (name.rfind(libcrypto_prefix, 0) == 0) {
      name = add_libcrypto(name.substr(libcrypto_prefix.size()));
    }
  }
  return fmt::format("{}", fmt::join(names, ","));
}

// Empty is the kernel's own number.
std::vector<unsigned> parse_group_threads(const std::string& list, const NumberParsers& parsers) {
  if (list.empty()) return {0};
  constexpr std::string_view flag = "--group-threads";
  std::vector<unsigned> numbers;
  for (const std::string& word : split(list, flag)) {
    const auto threads = static_cast<unsigned>(
        parsers.number(word, flag, gpu::warp_threads, gpu::most_group_threads));
    try {
      gpu::check_group_threads(threads);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(std::string(flag) + ": " + error.what());
    }
    add_once(numbers, threads);
  }
  return numbers;
}

std::vector<Axes::Tuning> parse_tunings(const std::vector<std::string>& texts,
                                        const NumberParsers& parsers) {
  std::vector<Axes::Tuning> tunings;
  tunings.reserve(texts.size());
  for (const std::string& text : texts) {
    tunings.push_back({text, parse_tuning(text, parsers)});
  }
  if (tunings.empty()) tunings.emplace_back();
  return tunings;
}

// Refuses axes that no row of the run can have.
void refuse_unused(const AxisTexts& texts, const Axes& axes) {
  const bool on_gpu = !axes.gpu_kernels.empty();
  const bool memory = has(axes.scopes, "memory");
  const bool memory_on_cpu = memory && has(axes.devices, "cpu");
  const bool transfer = has(axes.scopes, "transfer");
  const bool file = has(axes.scopes, "file");
  const bool many = axes.messages.back() != 0;
  const struct {
    bool is_refused;
    const char* why;
  } rules[] = {
      {has(axes.in_place, true) && !memory && !transfer,
       "--in-place goes with --scope memory or transfer"},
      {!texts.format.empty() && !file, "--format goes with --scope file"},
      {!texts.transfer.empty() && !(on_gpu && (transfer || file)),
       "--transfer goes with a GPU and --scope transfer or file"},
      {has(axes.transfers, page_locked) && !transfer,
       "--transfer locked goes with --scope transfer"},
      {!texts.group_threads.empty() && !(on_gpu && (memory || transfer)),
       "--group-threads goes with a GPU and --scope memory or transfer"},
      {!texts.gpu_tunings.empty() && !(on_gpu && (memory || transfer)),
       "--gpu-tuning goes with a GPU and --scope memory or transfer"},
      {many && !memory_on_cpu, "--message goes with --scope memory on the cpu"},
      {many && !has(axes.modes, Mode::gcm), "--message goes with --mode gcm"},
      {!texts.own_rivals.empty() && !memory, "--rival goes with --scope memory"},
      {!texts.keys.empty() && !many, "--keys goes with --message"},
      {!texts.unit.empty() && !has(axes.modes, Mode::xts), "--unit goes with --mode xts"},
  };
  for (const auto& rule : rules) {
    if (rule.is_refused) throw InvalidArgument(rule.why);
  }
}

std::string or_default(const std::string& text, const char* value) {
  return text.empty() ? value : text;
}

// Whether each of the chosen words is `word`.
std::vector<bool> choose_flags(std::string_view flag, const std::string& list,
                               std::string_view word) {
  std::vector<bool> flags;
  for (const std::string& chosen : choose(flag, list)) flags.push_back(chosen == word);
  return flags;
}

// Modes, key sizes and directions.
void parse_jobs(const AxisTexts& texts, const NumberParsers& parsers, Axes& axes) {
  axes.modes_named = !texts.mode.empty();
  for (const std::string& word : choose("--mode", or_default(texts.mode, "all"))) {
    for (const Mode mode : all_modes) {
      if (to_string(mode) == word) axes.modes.push_back(mode);
    }
  }
  axes.key_bits_named = !texts.key_bits.empty();
  std::vector<std::string> key_bits = split(or_default(texts.key_bits, "128"), "--key-bits");
  for (std::string& word : key_bits) {  // without leading zeros
    if (word != "all") word = std::to_string(parsers.number(word, "--key-bits", 128, 256));
  }
  for (const std::string& word :
       choose("--key-bits", fmt::format("{}", fmt::join(key_bits, ",")))) {
    axes.key_bits.push_back(std::stoi(word));
  }
  for (const std::string& word : choose("--direction", or_default(texts.direction, "all"))) {
    axes.directions.push_back(word == "encrypt" ? Direction::encrypt : Direction::decrypt);
  }
}

std::size_t parse_unit(const std::string& text, const NumberParsers& parsers) {
  const std::size_t unit = parsers.size(text, "--unit");
  if (unit != 0 && (unit < 16 || unit > max_xts_unit_bytes)) {
    throw InvalidArgument(
        "--unit: an XTS data unit has 16 bytes to 2^20 blocks, or 0 for the whole message");
  }
  return unit;
}

// Refuses a library of --rival of which no row could run.
void refuse_idle(const MemoryRival& rival, const Axes& axes) {
  const bool on_cpu = rival.on_cpu && has(axes.devices, "cpu");
  const bool on_gpu = rival.on_gpus != nullptr && !axes.gpu_kernels.empty();
  const std::string name = "--rival: " + rival.name;
  if (!on_cpu && !on_gpu) {
    throw InvalidArgument(rival.on_cpu ? name + " is for the CPU: add cpu to --device"
                                       : name + " is for GPUs: add one to --device");
  }
  if (!on_gpu && !has(axes.modes, Mode::ecb)) {
    throw InvalidArgument(name + " goes with --mode ecb, the only one that rival_ecb computes");
  }
}

void parse_rivals(const AxisTexts& texts, Axes& axes) {
  const std::vector<std::string> own = open_own_rivals(texts.own_rivals);
  for (const MemoryRival& rival : memory_rivals()) {
    if (has(own, rival.name)) refuse_idle(rival, axes);
  }
  axes.rivals_named = !texts.rivals.empty();
  if (texts.rivals != "none") {
    if (!texts.rivals.empty() && has(split(texts.rivals, "--rivals"), "openssl")) {
      throw InvalidArgument(
          "--rivals: openssl is a kernel; the rivals are openssl-evp (memory) and openssl-enc "
          "(files)");
    }
    // Adds to rival_names().
    const std::string rivals =
        with_libcryptos_opened(or_default(texts.rivals, "openssl-evp,openssl-enc,pinned-copy"));
    axes.rivals = choose("--rivals", rivals);
  }
  for (const std::string& name : own) add_once(axes.rivals, name);
}

}  // namespace

GpuTuning parse_tuning(const std::string& text, const NumberParsers& parsers) {
  constexpr std::string_view flag = "--gpu-tuning";
  GpuTuning tuning;
  std::vector<std::string> seen;
  for (const std::string& word : split(text, flag)) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    const std::string value = at == std::string::npos ? "" : word.substr(at + 1);
    if (has(seen, name)) {
      throw InvalidArgument("--gpu-tuning: '" + name + "' is given twice");
    }
    seen.push_back(name);
    // apply() knows how large they may be.
    const auto number = [&] {
      return static_cast<unsigned>(
          parsers.number(value, flag, 1, std::numeric_limits<unsigned>::max()));
    };
    if (name == "streams") {
      tuning.streams = number();
    } else if (name == "launch") {
      tuning.launch_bytes = parsers.size(value, flag);
    } else if (name == "tables") {
      tuning.tables = number();
    } else if (name == "groups") {
      tuning.groups_per_processor = number();
    } else if (name == "ghash" && (value == "tensor" || value == "scalar")) {
      tuning.tensor_hash = value == "tensor";
    } else {
      throw InvalidArgument("--gpu-tuning: '" + word +
                            "' is none of streams=N, launch=SIZE, tables=N, groups=N, "
                            "ghash=tensor and ghash=scalar");
    }
  }
  gpu::PoolOptions options;
  try {
    gpu::apply(tuning, options);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(std::string(flag) + ": " + error.what());
  }
  return tuning;
}

std::string text_of(const GpuTuning& tuning) {
  std::string text;
  const auto add = [&](const char* name, std::uint64_t number, const char* unit = "") {
    if (number == 0) return;
    text += (text.empty() ? "" : ",") + std::string(name) + '=' + std::to_string(number) + unit;
  };
  add("streams", tuning.streams);
  add("launch", tuning.launch_bytes >> 10, "KiB");
  add("tables", tuning.tables);
  add("groups", tuning.groups_per_processor);
  if (tuning.tensor_hash) {
    text += (text.empty() ? "ghash=" : ",ghash=") +
            std::string(*tuning.tensor_hash ? "tensor" : "scalar");
  }
  return text;
}

std::vector<std::string> axis_words(std::string_view flag) {
  if (flag == "--mode") {
    std::vector<std::string> modes;
    for (const Mode mode : all_modes) modes.emplace_back(to_string(mode));
    return modes;
  }
  if (flag == "--key-bits") return {"128", "192", "256"};
  if (flag == "--direction") return {"encrypt", "decrypt"};
  if (flag == "--executor") return {std::string(own_threads), std::string(openmp)};
  if (flag == "--keys") return {"one", "each", "once"};
  if (flag == "--scope") return {"memory", "transfer", "file"};
  if (flag == "--in-place") return {"no", "yes"};
  if (flag == "--format") return {format_names.begin(), format_names.end()};
  if (flag == "--key-expansion") return {key_expansion_names.begin(), key_expansion_names.end()};
  if (flag == "--transfer") {
    std::vector<std::string> transfers(transfer_names.begin(), transfer_names.end());
    transfers.emplace_back(page_locked);
    return transfers;
  }
  if (flag == "--rivals") return rival_names();
  return {};
}

Axes parse_axes(const AxisTexts& texts, const NumberParsers& parsers) {
  Axes axes;
  axes.devices = parse_devices(or_default(texts.device, "cpu"));
  parse_kernels(texts.kernel, axes);
  parse_jobs(texts, parsers, axes);
  for (const std::string& word : split(or_default(texts.threads, "1"), "--threads")) {
    const auto threads = static_cast<int>(parsers.number(word, "--threads", 0, 4096));
    add_once(axes.threads, threads == 0 ? available_cores() : threads);
  }
  axes.executors = choose("--executor", or_default(texts.executor, "threads"));
  if (!texts.size.empty()) axes.sizes = parse_sizes("--size", texts.size, parsers);
  axes.messages = parse_sizes("--message", or_default(texts.message, "whole"), parsers, "whole");
  for (const std::string& word : choose("--keys", or_default(texts.keys, "one"))) {
    axes.keys.push_back(word == "one" ? Keys::one : word == "each" ? Keys::each : Keys::once);
  }
  axes.scopes = choose("--scope", or_default(texts.scope, "memory"));
  axes.in_place = choose_flags("--in-place", or_default(texts.in_place, "no"), "yes");
  axes.formats = choose("--format", or_default(texts.format, "paraes"));
  axes.key_expansions = choose("--key-expansion", or_default(texts.key_expansion, "host"));
  axes.group_threads = parse_group_threads(texts.group_threads, parsers);
  axes.gpu_tunings = parse_tunings(texts.gpu_tunings, parsers);
  axes.transfers = choose("--transfer", or_default(texts.transfer, "staged"));
  if (!texts.unit.empty()) axes.unit = parse_unit(texts.unit, parsers);
  parse_rivals(texts, axes);
  refuse_unused(texts, axes);
  return axes;
}

}  // namespace paraes::bench
