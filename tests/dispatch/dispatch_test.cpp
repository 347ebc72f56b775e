// Which kernel runs: CPU features and PARAES_CPU_MASK, the kernel table, selection by name and by
// `auto`, and a check that the processor enters functions of the selected kernel only.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/threads.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/entry_probe.hpp"
#include "tests/support/kernels.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/operations.hpp"

namespace paraes {
namespace {

using support::caught;
using support::EntryProbe;
using support::kernel_name;
using support::mask_text;
using support::Operation;
using support::ScopedEnvironment;
using support::Task;
using support::throws;
using enum CpuFeature;

// ---- features ----

// Each architecture's features with those that they directly depend on, which repeats the library's
// table to check it, and what the tests below need to know about them.
#if defined(__x86_64__)
const std::map<CpuFeature, CpuFeatureSet> dependencies = {
    {ssse3, CpuFeatureSet()},
    {sse41, CpuFeatureSet(ssse3)},
    {aes, CpuFeatureSet(sse41)},
    {pclmulqdq, CpuFeatureSet(sse41)},
    {avx, CpuFeatureSet(sse41)},
    {avx2, CpuFeatureSet(avx)},
    {vaes, CpuFeatureSet(aes, avx2)},
    {vpclmulqdq, CpuFeatureSet(pclmulqdq, avx2)},
    {avx512f, CpuFeatureSet(avx2)},
    {avx512dq, CpuFeatureSet(avx512f)},
    {avx512bw, CpuFeatureSet(avx512f)},
    {avx512vl, CpuFeatureSet(avx512f)},
    {avx512vbmi2, CpuFeatureSet(avx512bw)},
};
constexpr std::string_view architecture = "x86_64";
constexpr const char* cpuinfo_key = "flags";
#elif defined(__AARCH64EL__)
const std::map<CpuFeature, CpuFeatureSet> dependencies = {
    {asimd, CpuFeatureSet()},
    {aes, CpuFeatureSet(asimd)},
    {pmull, CpuFeatureSet(aes)},
    {sha3, CpuFeatureSet(asimd)},
};
constexpr std::string_view architecture = "aarch64";
constexpr const char* cpuinfo_key = "Features";
#else
const std::map<CpuFeature, CpuFeatureSet> dependencies = {};
constexpr std::string_view architecture = "another";
constexpr const char* cpuinfo_key = "";
#endif

bool is_consistent(CpuFeatureSet set) {
  return std::all_of(dependencies.begin(), dependencies.end(), [&](const auto& entry) {
    return !set.has(entry.first) || set.contains(entry.second);
  });
}

CpuFeatureSet from_bits(std::uint32_t bits) {
  CpuFeatureSet set;
  set.bits = bits;
  return set;
}

static_assert(cpu_feature_count <= 16, "the tests try every set of features");
constexpr std::uint32_t every_feature = (std::uint32_t{1} << cpu_feature_count) - 1;

// The consistent subsets of the features that this process may use.
std::vector<CpuFeatureSet> consistent_subsets() {
  const std::uint32_t usable = usable_cpu_features().bits;
  std::vector<CpuFeatureSet> subsets;
  for (std::uint32_t bits = 0; bits <= every_feature; ++bits) {
    if ((bits & ~usable) == 0 && is_consistent(from_bits(bits))) subsets.push_back(from_bits(bits));
  }
  return subsets;
}

std::string mask_leaving(CpuFeatureSet subset) {
  return mask_text(from_bits(detected_cpu_features().bits & ~subset.bits));
}

TEST(Features, FollowThoseThatTheyDependOn) {
  ASSERT_EQ(dependencies.size(), cpu_feature_count);
  for (const auto& [feature, needed] : dependencies) {
    EXPECT_LT(needed.bits, std::uint32_t{1} << static_cast<unsigned>(feature))
        << "a feature precedes one that it depends on";
  }
}

// Whole words: "avx" is not in "avx2".
std::set<std::string> words_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// Linux lists a feature only if it also saves its registers, and the library must do the same.
// Under QEMU, /proc/cpuinfo is the host's: tests/emulated lists the features that Linux would.
TEST(Features, Detected_AreThoseOfProcCpuinfoOrOfTheEmulatedCpu) {
  std::set<std::string> words;
  if (const char* emulated = std::getenv("PARAES_EMULATED_FEATURES")) {
    words = words_of(emulated);
  } else if (cpu_feature_count != 0) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; words.empty() && std::getline(file, line);) {
      if (line.starts_with(cpuinfo_key)) words = words_of(line.substr(line.find(':') + 1));
    }
    if (words.empty()) GTEST_SKIP() << "/proc/cpuinfo has no " << cpuinfo_key << " here";
  }
  CpuFeatureSet expected;
  for (const auto& [feature, needed] : dependencies) {
    std::string name(cpu_feature_name(feature));
    if (name == "sse4.1") name = "sse4_1";
    if (words.count(name) != 0) expected.add(feature);
  }
  // A hypervisor may list features without those that they depend on.
  while (!is_consistent(expected)) {
    for (const auto& [feature, needed] : dependencies) {
      if (!expected.contains(needed)) expected.remove(feature);
    }
  }
  EXPECT_EQ(cpu_feature_names(detected_cpu_features()), cpu_feature_names(expected));
}

// On x86-64 all 8,192 masks, as on a machine with all features.
TEST(Features, Mask_IsAcceptedIfTheRemainingSetIsConsistent) {
  const CpuFeatureSet all = from_bits(every_feature);
  for (std::uint32_t bits = 0; bits <= every_feature; ++bits) {
    const CpuFeatureSet left = from_bits(bits);
    const std::uint32_t hidden = every_feature & ~bits;
    const std::string mask = mask_text(from_bits(hidden));
    if (is_consistent(left)) {
      ASSERT_EQ(masked_cpu_features(all, mask).bits, left.bits) << mask;
      continue;
    }
    const auto e = caught<InvalidArgument>([&] { return masked_cpu_features(all, mask); });
    ASSERT_TRUE(e);
    // The features that the message names make the mask consistent.
    const std::string text = e->what();
    const std::size_t colon = text.rfind(": ");
    ASSERT_NE(colon, std::string::npos) << text;
    const std::string more = mask + "," + text.substr(colon + 2);
    ASSERT_NO_THROW(static_cast<void>(masked_cpu_features(all, more))) << text;
  }
}

TEST(Features, Mask_AcceptsListsAndRefusesUnknownNames) {
#if defined(__x86_64__)
  const CpuFeatureSet without_aes(ssse3, sse41);
  const char* missing = "avx512f";
  const char* in_message = "avx512_vbmi2";
#elif defined(__AARCH64EL__)
  const CpuFeatureSet without_aes(asimd);
  const char* missing = "sha3";
  const char* in_message = "asimd, aes, pmull, sha3";
#else
  const CpuFeatureSet without_aes;
  const char* missing = "";
  const char* in_message = "no kernel for this architecture needs any";
#endif
  CpuFeatureSet some = without_aes;
#if defined(__x86_64__) || defined(__AARCH64EL__)
  some.add(aes);
  EXPECT_EQ(masked_cpu_features(some, ",aes,,").bits, without_aes.bits);
#endif
  EXPECT_EQ(masked_cpu_features(some, "").bits, some.bits);
  EXPECT_EQ(masked_cpu_features(some, ",,").bits, some.bits);
  EXPECT_EQ(masked_cpu_features(some, missing).bits, some.bits)
      << "hides a feature that is missing";
  for (const char* wrong : {"sse9", "AES", "aes ", "aes;pclmulqdq", "all"}) {
    const auto e = caught<InvalidArgument>([&] { return masked_cpu_features(some, wrong); });
    ASSERT_TRUE(e);
    const std::string text = e->what();
    EXPECT_NE(text.find("PARAES_CPU_MASK"), std::string::npos) << text;
    EXPECT_NE(text.find(in_message), std::string::npos) << "does not name the features: " << text;
  }
}

TEST(Features, InvalidMask_IsRefusedByPublicFunctions) {
  std::vector<std::string> masks = {"no-such-feature"};
  // Hiding a feature alone is inconsistent if the machine has another that depends on it.
  for (const auto& [feature, needed] : dependencies) {
    if (!detected_cpu_features().has(feature) || needed.bits == 0) continue;
    masks.emplace_back(cpu_feature_names(needed).front());
    break;
  }
  for (const std::string& mask : masks) {
    const ScopedEnvironment environment("PARAES_CPU_MASK", mask);
    EXPECT_THROW(static_cast<void>(kernels()), InvalidArgument) << mask;
    EXPECT_THROW(static_cast<void>(select_kernel("reference")), InvalidArgument) << mask;
    EXPECT_THROW(static_cast<void>(cpu_features()), InvalidArgument) << mask;
    EXPECT_THROW(Ecb(support::make_key(16)), InvalidArgument) << mask;
  }
}

TEST(Features, Names_AreUniqueAndThoseOfUsableFeaturesAreReported) {
  const auto names = cpu_feature_names(from_bits(every_feature));
  EXPECT_EQ(names.size(), cpu_feature_count);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(cpu_features(), cpu_feature_names(usable_cpu_features()));
  EXPECT_FALSE(cpu_model().empty());
  EXPECT_GE(available_cores(), 1);
}

// ---- the table ----

// A kernel as text: name, variant, timing, needs. The needs matter on machines that lack them: one
// that is missing in the table would end the program with SIGILL there.
std::string line_of(const Kernel& kernel) {
  std::string text(kernel.name);
  text.append(" ").append(kernel.variant.empty() ? "-" : kernel.variant);
  text += kernel.timing == Timing::constant ? " constant" : "";
  text += kernel.timing == Timing::leaky ? " leaky" : "";
  text += kernel.timing == Timing::library ? " library" : "";
  for (const std::string_view name : cpu_feature_names(kernel.needs)) text.append(" ").append(name);
  return text;
}

TEST(KernelTable, HasTheRowsThatTheListExpects) {
  std::vector<std::string> expected;
  std::ifstream list(PARAES_KERNELS_FILE);
  for (std::string line; std::getline(list, line);) {
    std::istringstream stream(line);
    std::string of;
    if (!(stream >> of) || of.starts_with("#") || (of != architecture && of != "any")) continue;
    expected.emplace_back();
    for (std::string word; stream >> word;) {
      if (!expected.back().empty()) expected.back() += ' ';
      expected.back() += word;
    }
  }
  ASSERT_FALSE(expected.empty()) << PARAES_KERNELS_FILE;
  std::vector<std::string> kernels;
  for (const Kernel* kernel : support::compiled_kernels()) kernels.push_back(line_of(*kernel));
  EXPECT_EQ(kernels, expected);
}

const void* address(auto* function) {
  return function == nullptr ? nullptr : reinterpret_cast<const void*>(function);
}

// The functions that every kernel has.
std::vector<const void*> required_functions_of(const Kernel& kernel) {
  return {address(kernel.expand),      address(kernel.ecb_encrypt), address(kernel.ecb_decrypt),
          address(kernel.cbc_encrypt), address(kernel.cbc_decrypt), address(kernel.ctr),
          address(kernel.ghash_init),  address(kernel.ghash)};
}

// The functions that a kernel has in both directions or in none.
std::vector<std::pair<const void*, const void*>> optional_pairs_of(const Kernel& kernel) {
  return {{address(kernel.xts_encrypt), address(kernel.xts_decrypt)},
          {address(kernel.ecb_encrypt_nontemporal), address(kernel.ecb_decrypt_nontemporal)},
          {address(kernel.xts_encrypt_nontemporal), address(kernel.xts_decrypt_nontemporal)},
          {address(kernel.gcm_encrypt), address(kernel.gcm_decrypt)},
          {address(kernel.gcm_encrypt_nontemporal), address(kernel.gcm_decrypt_nontemporal)},
          {address(kernel.gcm_seal), address(kernel.gcm_open)},
          {address(kernel.gcm_seal_short), address(kernel.gcm_open_short)},
          {address(kernel.gcm_seal_many), address(kernel.gcm_open_many)}};
}

std::set<const void*> functions_of(const Kernel& kernel) {
  const std::vector<const void*> required = required_functions_of(kernel);
  std::set<const void*> all(required.begin(), required.end());
  for (const auto& [one, other] : optional_pairs_of(kernel)) all.insert({one, other});
  all.insert({address(kernel.ctr_nontemporal), address(kernel.cbc_decrypt_nontemporal),
              address(kernel.xts_tweaks), address(kernel.gcm_expand)});
  all.erase(nullptr);
  return all;
}

// The functions in which kernels differ: kernels may share the others.
std::set<const void*> parallel_functions_of(const Kernel& kernel) {
  std::set<const void*> all = functions_of(kernel);
  for (const void* shared : {address(kernel.expand), address(kernel.cbc_encrypt),
                             address(kernel.ghash_init), address(kernel.ghash)}) {
    all.erase(shared);
  }
  return all;
}

TEST(KernelTable, RowsHaveAllFunctionsForShortKeysOrNone) {
  for (const Kernel* kernel : support::compiled_kernels()) {
    const std::set functions = {address(kernel->gcm_expand), address(kernel->gcm_seal_short),
                                address(kernel->gcm_open_short), address(kernel->gcm_seal_many),
                                address(kernel->gcm_open_many)};
    EXPECT_EQ(functions.size(), functions.count(nullptr) == 0 ? 5U : 1U) << kernel_name(*kernel);
  }
}

TEST(KernelTable, RowsAreCompleteAndInOrder) {
  std::set<std::string> seen;
  const Kernel* before = nullptr;
  for (const Kernel* kernel : support::compiled_kernels()) {
    const std::string name = kernel_name(*kernel);
    SCOPED_TRACE(name);
    EXPECT_TRUE(seen.insert(name).second) << "two kernels have this name";
    if (before != nullptr && before->name == kernel->name) {
      // Selection takes the first kernel that can run, so the one that needs most features comes
      // first.
      EXPECT_TRUE(before->needs.contains(kernel->needs));
      EXPECT_NE(before->needs.bits, kernel->needs.bits);
      EXPECT_EQ(before->timing, kernel->timing);
    } else {
      for (const Kernel* other : support::compiled_kernels()) {
        if (other == kernel) break;
        EXPECT_NE(other->name, kernel->name) << "the variants of a kernel must be adjacent";
      }
    }
    if (before != nullptr) {
      EXPECT_LE(before->timing, kernel->timing) << "constant-time kernels must come first";
    }
    for (const void* function : required_functions_of(*kernel)) EXPECT_NE(function, nullptr);
    // src/cipher looks for one direction and uses both.
    for (const auto& [one, other] : optional_pairs_of(*kernel)) {
      EXPECT_EQ(one == nullptr, other == nullptr);
    }
    before = kernel;
  }
}

TEST(KernelTable, NoTwoRowsShareParallelFunctions) {
  std::map<const void*, std::string> owner;
  for (const Kernel* kernel : support::compiled_kernels()) {
    for (const void* function : parallel_functions_of(*kernel)) {
      const auto [entry, added] = owner.emplace(function, kernel_name(*kernel));
      EXPECT_TRUE(added) << kernel_name(*kernel) << " shares a function with " << entry->second;
    }
  }
}

// ---- selection ----

// The kernel that must be selected for `request` if `features` are usable, or nullptr.
const Kernel* expected_row(std::string_view request, CpuFeatureSet features) {
  for (const Kernel* kernel : kernel_table()) {
    if (request == "auto" ? kernel->timing != Timing::constant : kernel->name != request) continue;
    if (features.contains(kernel->needs)) return kernel;
  }
  return nullptr;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Kernel* kernel : kernel_table()) {
    if (names.empty() || names.back() != kernel->name) names.emplace_back(kernel->name);
  }
  return names;
}

TEST(Selection, FindsTheExpectedRowUnderEveryFeatureSubset) {
  std::vector<std::string> requests = kernel_names();
  requests.emplace_back("auto");
  for (const CpuFeatureSet subset : consistent_subsets()) {
    const ScopedEnvironment environment("PARAES_CPU_MASK", mask_leaving(subset));
    SCOPED_TRACE("PARAES_CPU_MASK=" + mask_leaving(subset));
    ASSERT_EQ(usable_cpu_features().bits, subset.bits);
    for (const std::string& request : requests) {
      const Kernel* const expected = expected_row(request, subset);
      if (expected != nullptr) {
        ASSERT_EQ(&find_kernel(request), expected) << request;
        const KernelInfo info = select_kernel(request);
        ASSERT_EQ(info.name, expected->name);
        ASSERT_EQ(info.timing, expected->timing);
        ASSERT_EQ(info.variant, expected->variant);
        ASSERT_TRUE(info.available);
        ASSERT_EQ(info.reason, "");
        ASSERT_EQ(info.needs, cpu_feature_names(expected->needs));
        continue;
      }
      try {
        static_cast<void>(find_kernel(request));
        FAIL() << request << " was selected";
      } catch (const Unavailable& e) {
        const std::string text = e.what();
        // The message names the features that the least demanding variant lacks.
        const Kernel* least = nullptr;
        for (const Kernel* kernel : kernel_table()) {
          if (kernel->name == request) least = kernel;
        }
        ASSERT_NE(least, nullptr) << text;
        ASSERT_NE(text.find("'" + request + "'"), std::string::npos) << text;
        const std::set<std::string> words = words_of(text);
        for (const auto& [feature, needed] : dependencies) {
          const bool is_missing = least->needs.has(feature) && !subset.has(feature);
          const std::string name(cpu_feature_name(feature));
          ASSERT_EQ(words.count(name) != 0, is_missing) << name << " in: " << text;
        }
      }
    }
    // kernels() lists each name once, in the order of the table, with the variant that would run.
    const std::vector<KernelInfo> list = kernels();
    ASSERT_EQ(list.size(), kernel_names().size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Kernel* const expected = expected_row(list[i].name, subset);
      ASSERT_EQ(list[i].name, kernel_names()[i]);
      ASSERT_EQ(list[i].available, expected != nullptr) << list[i].name;
      ASSERT_EQ(list[i].reason.empty(), list[i].available) << list[i].name;
      if (expected != nullptr) {
        ASSERT_EQ(list[i].variant, expected->variant);
      }
    }
  }
}

TEST(Selection, UnknownName_IsRefused) {
  for (const char* name : {"no-such-kernel", "AESNI", "aesni ", "bitslice_avx2", "auto,aesni"}) {
    const auto select = [&] { return select_kernel(name); };
    EXPECT_TRUE(throws<InvalidArgument>(select, name));
    for (const std::string& known : kernel_names()) {
      EXPECT_TRUE(throws<InvalidArgument>(select, known)) << "does not name all kernels";
    }
  }
  EXPECT_THROW(Ctr(support::make_key(16), support::pattern(16), {"no-such-kernel", 1}),
               InvalidArgument);
}

TEST(Selection, EmptyRequest_TakesTheKernelNamedInTheEnvironment) {
  {
    const ScopedEnvironment environment("PARAES_KERNEL", "ttable");
    EXPECT_EQ(select_kernel("").name, "ttable");
    EXPECT_EQ(select_kernel("reference").name, "reference") << "a name in the request has priority";
    EXPECT_EQ(Ecb(support::make_key(16)).kernel(), "ttable");
  }
  {
    const ScopedEnvironment environment("PARAES_KERNEL", "");
    EXPECT_EQ(select_kernel("").name, select_kernel("auto").name);
  }
  const ScopedEnvironment environment("PARAES_KERNEL", "no-such-kernel");
  EXPECT_TRUE(throws<InvalidArgument>([&] { return select_kernel(""); }, "PARAES_KERNEL"));
}

// ---- executed code ----

// All functions of all kernels, without duplicates.
std::vector<const void*> all_functions() {
  std::set<const void*> all;
  for (const Kernel* kernel : support::compiled_kernels()) all.merge(functions_of(*kernel));
  return {all.begin(), all.end()};
}

// The function that an operation on one thread must call for a message of `bytes` bytes.
const void* main_function(const Kernel& kernel, const Operation& operation, std::size_t bytes) {
  const auto directed = [&](auto* encrypt, auto* decrypt) {
    return address(operation.direction == Direction::encrypt ? encrypt : decrypt);
  };
  const auto first = [](auto... functions) {
    const void* found = nullptr;
    ((found = found != nullptr ? found : functions), ...);
    return found;
  };
  const std::string mode = std::string(operation.name).substr(0, 3);
  const void* const ecb = directed(kernel.ecb_encrypt, kernel.ecb_decrypt);
  if (mode == "ECB") return ecb;
  if (mode == "CBC") return directed(kernel.cbc_encrypt, kernel.cbc_decrypt);
  if (mode == "CTR") return address(kernel.ctr);
  if (mode == "XTS") return first(directed(kernel.xts_encrypt, kernel.xts_decrypt), ecb);
  if (bytes <= kernel.max_short_bytes && kernel.gcm_expand != nullptr) {
    return operation.direction == Direction::encrypt ? address(kernel.gcm_seal_short)
                                                     : address(kernel.gcm_open_short);
  }
  const void* const whole = operation.direction == Direction::encrypt ? address(kernel.gcm_seal)
                                                                      : address(kernel.gcm_open);
  return first(whole, directed(kernel.gcm_encrypt, kernel.gcm_decrypt), address(kernel.ctr));
}

std::string owners(const void* function) {
  std::string names;
  for (const Kernel* kernel : support::compiled_kernels()) {
    if (functions_of(*kernel).count(function) != 0) names += " " + kernel_name(*kernel);
  }
  return names;
}

// Runs `task` and checks that only functions of `kernel` were entered, among them the main one.
void check_executed_code(EntryProbe* probe, const Kernel& kernel, const Operation& operation,
                         const Task& task, int threads) {
  support::Buffer out(task.in.size());
  if (probe != nullptr) probe->arm();
  const std::string wrong =
      run_task(operation, task, {std::string(kernel.name), threads}, task.in, out);
  std::vector<const void*> entered;
  if (probe != nullptr) {
    probe->disarm();
    entered = probe->entered();
  }
  ASSERT_EQ(wrong, "") << operation.name << " with " << kernel_name(kernel);
  if (probe == nullptr) return;
  const auto own = functions_of(kernel);
  for (const void* function : entered) {
    ASSERT_EQ(own.count(function), 1U)
        << operation.name << " with " << kernel_name(kernel) << " ran code of" << owners(function);
  }
  const void* main = threads == 1 ? main_function(kernel, operation, task.in.size()) : nullptr;
  if (main != nullptr) {
    ASSERT_NE(std::find(entered.begin(), entered.end(), main), entered.end())
        << operation.name << " did not run its function of " << kernel_name(kernel);
  }
  const auto expands = [&](const void* function) {
    return function == address(kernel.expand) ||
           (function != nullptr && function == address(kernel.gcm_expand));
  };
  ASSERT_TRUE(std::any_of(entered.begin(), entered.end(), expands))
      << operation.name << " did not expand its key with " << kernel_name(kernel);
}

TEST(ExecutedCode, ForcedKernel_RunsOnlyItsOwnFunctions) {
  std::optional<EntryProbe> probe;
  if (const std::string reason = EntryProbe::why_unavailable(); reason.empty()) {
    probe.emplace(all_functions());
  } else {
    ASSERT_EQ(std::getenv("PARAES_REQUIRE_PROBE"), nullptr) << reason;
  }
  std::vector<Task> tasks;
  for (const Operation& operation : support::all_operations()) {
    tasks.push_back(operation.prepare(operation.direction, 1600, operation.key_bytes.back()));
  }
  std::set<std::string> ran;
  for (const CpuFeatureSet subset : consistent_subsets()) {
    const ScopedEnvironment environment("PARAES_CPU_MASK", mask_leaving(subset));
    SCOPED_TRACE("PARAES_CPU_MASK=" + mask_leaving(subset));
    for (const std::string& name : kernel_names()) {
      const Kernel* const kernel = expected_row(name, subset);
      const Execution execution{name, 1};
      if (kernel == nullptr) {
        ASSERT_THROW(Ecb(tasks[0].key, execution), Unavailable) << name;
        ASSERT_THROW(Gcm(tasks[0].key, execution), Unavailable) << name;
        continue;
      }
      ASSERT_EQ(Ecb(tasks[0].key, execution).kernel(), name);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        check_executed_code(probe ? &*probe : nullptr, *kernel, support::all_operations()[i],
                            tasks[i], 1);
        if (HasFatalFailure()) return;
      }
      ran.insert(kernel_name(*kernel));
    }
  }
  // Every kernel that this machine can run has run.
  for (const Kernel* kernel : support::compiled_kernels()) {
    EXPECT_EQ(ran.count(kernel_name(*kernel)) != 0, support::why_unavailable(*kernel).empty())
        << kernel_name(*kernel);
  }
}

TEST(ExecutedCode, Auto_RunsOnlyFunctionsOfTheSelectedRow) {
  if (const std::string reason = EntryProbe::why_unavailable(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  EntryProbe probe(all_functions());
  const support::Buffer key = support::make_key(16);
  for (const CpuFeatureSet subset : consistent_subsets()) {
    const Kernel* const kernel = expected_row("auto", subset);
    ASSERT_NE(kernel, nullptr);
    const ScopedEnvironment environment("PARAES_CPU_MASK", mask_leaving(subset));
    support::Buffer data(1600);
    probe.arm();
    Ctr ctr(key, support::pattern(16), {"auto", 1});
    ctr.process(data, data);
    probe.disarm();
    ASSERT_EQ(ctr.kernel(), kernel->name);
    const auto entered = probe.entered();
    ASSERT_EQ(std::set(entered.begin(), entered.end()),
              (std::set{address(kernel->expand), address(kernel->ctr)}))
        << mask_leaving(subset);
  }
}

class ExecutedCodeOnThreads : public support::KernelTest {};

TEST_P(ExecutedCodeOnThreads, ForcedKernel_RunsOnlyItsOwnFunctions) {
  if (const std::string reason = EntryProbe::why_unavailable(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  EntryProbe probe(all_functions());
  for (const Operation& operation : support::all_operations()) {
    const std::size_t n = 200001 / operation.step * operation.step;
    const Task task = operation.prepare(operation.direction, n, operation.key_bytes.back());
    check_executed_code(&probe, kernel(), operation, task, 3);
    if (HasFatalFailure()) return;
  }
}

PARAES_FOR_EVERY_KERNEL(ExecutedCodeOnThreads);

// The environment is read when an object is made. A later change does not affect the object.
TEST(Selection, Object_KeepsItsKernel) {
  const support::Buffer key = support::make_key(32);
  std::optional<Ctr> ctr;
  std::string name;
  {
    const ScopedEnvironment environment("PARAES_KERNEL", "reference");
    ctr.emplace(key, support::pattern(16));
    name = ctr->kernel();
  }
  EXPECT_EQ(name, "reference");
  const ScopedEnvironment environment("PARAES_KERNEL", "ttable");
  EXPECT_EQ(ctr->kernel(), "reference");
  const support::Buffer in = support::pattern(100);
  support::Buffer out(in.size());
  ctr->process(in, out);
  EXPECT_EQ(out, support::evp_ctr(key, support::pattern(16), in));
  EXPECT_EQ(Ctr(key, support::pattern(16)).kernel(), "ttable");
}

}  // namespace
}  // namespace paraes
