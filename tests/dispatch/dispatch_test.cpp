// Which kernel runs: CPU features and PARAES_CPU_MASK, the kernel table, selection by name and by
// `auto`, and a check that the processor enters functions of the selected row only.

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
#include "tests/support/builds.hpp"
#include "tests/support/entry_probe.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/operations.hpp"

namespace paraes {
namespace {

using support::build_name;
using support::caught;
using support::EntryProbe;
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

// A row as text: name, variant, timing, needs. The needs matter on machines that lack them: one
// that is missing in the table would end the program with SIGILL there.
std::string line_of(const Kernel& row) {
  std::string text(row.name);
  text.append(" ").append(row.variant.empty() ? "-" : row.variant);
  text += row.timing == Timing::constant ? " constant" : "";
  text += row.timing == Timing::leaky ? " leaky" : "";
  text += row.timing == Timing::library ? " library" : "";
  for (const std::string_view name : cpu_feature_names(row.needs)) text.append(" ").append(name);
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
  std::vector<std::string> rows;
  for (const support::Build row : support::all_builds()) rows.push_back(line_of(*row));
  EXPECT_EQ(rows, expected);
}

const void* address(auto* function) {
  return function == nullptr ? nullptr : reinterpret_cast<const void*>(function);
}

// The functions that every row has.
std::vector<const void*> required_functions_of(const Kernel& row) {
  return {address(row.expand),      address(row.ecb_encrypt), address(row.ecb_decrypt),
          address(row.cbc_encrypt), address(row.cbc_decrypt), address(row.ctr),
          address(row.ghash_init),  address(row.ghash)};
}

// Those that a row has in both directions or in none.
std::vector<std::pair<const void*, const void*>> optional_pairs_of(const Kernel& row) {
  return {{address(row.xts_encrypt), address(row.xts_decrypt)},
          {address(row.ecb_encrypt_nontemporal), address(row.ecb_decrypt_nontemporal)},
          {address(row.xts_encrypt_nontemporal), address(row.xts_decrypt_nontemporal)},
          {address(row.gcm_encrypt), address(row.gcm_decrypt)},
          {address(row.gcm_encrypt_nontemporal), address(row.gcm_decrypt_nontemporal)},
          {address(row.gcm_seal), address(row.gcm_open)},
          {address(row.gcm_seal_many), address(row.gcm_open_many)}};
}

std::set<const void*> functions_of(const Kernel& row) {
  const std::vector<const void*> required = required_functions_of(row);
  std::set<const void*> all(required.begin(), required.end());
  for (const auto& [one, other] : optional_pairs_of(row)) all.insert({one, other});
  all.insert({address(row.ctr_nontemporal), address(row.cbc_decrypt_nontemporal),
              address(row.xts_tweaks)});
  all.erase(nullptr);
  return all;
}

// Those in which kernels differ: rows may share the others.
std::set<const void*> parallel_functions_of(const Kernel& row) {
  std::set<const void*> all = functions_of(row);
  for (const void* shared : {address(row.expand), address(row.cbc_encrypt), address(row.ghash_init),
                             address(row.ghash)}) {
    all.erase(shared);
  }
  return all;
}

TEST(KernelTable, RowsAreCompleteAndInOrder) {
  std::set<std::string> seen;
  const Kernel* before = nullptr;
  for (const support::Build row : support::all_builds()) {
    const std::string name = build_name(*row);
    SCOPED_TRACE(name);
    EXPECT_TRUE(seen.insert(name).second) << "two rows have this name";
    if (before != nullptr && before->name == row->name) {
      // Selection takes the first row that can run, so the build that needs most features comes
      // first.
      EXPECT_TRUE(before->needs.contains(row->needs));
      EXPECT_NE(before->needs.bits, row->needs.bits);
      EXPECT_EQ(before->timing, row->timing);
    } else {
      for (const support::Build other : support::all_builds()) {
        if (other == row) break;
        EXPECT_NE(other->name, row->name) << "the builds of a kernel must be adjacent";
      }
    }
    if (before != nullptr) {
      EXPECT_LE(before->timing, row->timing) << "constant-time kernels must come first";
    }
    for (const void* function : required_functions_of(*row)) EXPECT_NE(function, nullptr);
    // src/cipher looks for one direction and uses both.
    for (const auto& [one, other] : optional_pairs_of(*row)) {
      EXPECT_EQ(one == nullptr, other == nullptr);
    }
    before = row;
  }
}

TEST(KernelTable, NoTwoRowsShareParallelFunctions) {
  std::map<const void*, std::string> owner;
  for (const support::Build row : support::all_builds()) {
    for (const void* function : parallel_functions_of(*row)) {
      const auto [entry, added] = owner.emplace(function, build_name(*row));
      EXPECT_TRUE(added) << build_name(*row) << " shares a function with " << entry->second;
    }
  }
}

// ---- selection ----

// The row that must be selected for `request` if `features` are usable, or nullptr.
const Kernel* expected_row(std::string_view request, CpuFeatureSet features) {
  for (const Kernel* row : kernel_rows()) {
    if (request == "auto" ? row->timing != Timing::constant : row->name != request) continue;
    if (features.contains(row->needs)) return row;
  }
  return nullptr;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const Kernel* row : kernel_rows()) {
    if (names.empty() || names.back() != row->name) names.emplace_back(row->name);
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
        // The message names the features that the least demanding build lacks.
        const Kernel* least = nullptr;
        for (const Kernel* row : kernel_rows()) {
          if (row->name == request) least = row;
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
    // kernels() lists each name once, in the order of the table, with the build that would run.
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

// All functions of all rows, without duplicates.
std::vector<const void*> all_functions() {
  std::set<const void*> all;
  for (const support::Build row : support::all_builds()) all.merge(functions_of(*row));
  return {all.begin(), all.end()};
}

// The function that an operation on one thread must call.
const void* main_function(const Kernel& row, const Operation& operation) {
  const auto directed = [&](auto* encrypt, auto* decrypt) {
    return address(operation.direction == Direction::encrypt ? encrypt : decrypt);
  };
  const auto first = [](auto... functions) {
    const void* found = nullptr;
    ((found = found != nullptr ? found : functions), ...);
    return found;
  };
  const std::string mode = std::string(operation.name).substr(0, 3);
  const void* const ecb = directed(row.ecb_encrypt, row.ecb_decrypt);
  if (mode == "ECB") return ecb;
  if (mode == "CBC") return directed(row.cbc_encrypt, row.cbc_decrypt);
  if (mode == "CTR") return address(row.ctr);
  if (mode == "XTS") return first(directed(row.xts_encrypt, row.xts_decrypt), ecb);
  const void* const whole =
      operation.direction == Direction::encrypt ? address(row.gcm_seal) : address(row.gcm_open);
  return first(whole, directed(row.gcm_encrypt, row.gcm_decrypt), address(row.ctr));
}

std::string owners(const void* function) {
  std::string names;
  for (const support::Build row : support::all_builds()) {
    if (functions_of(*row).count(function) != 0) names += " " + build_name(*row);
  }
  return names;
}

// Runs `task` and checks that only functions of `row` were entered, among them the main one.
void check_executed_code(EntryProbe* probe, const Kernel& row, const Operation& operation,
                         const Task& task, int threads) {
  support::Buffer out(task.in.size());
  if (probe != nullptr) probe->arm();
  const std::string wrong =
      run_task(operation, task, {std::string(row.name), threads}, task.in, out);
  std::vector<const void*> entered;
  if (probe != nullptr) {
    probe->disarm();
    entered = probe->entered();
  }
  ASSERT_EQ(wrong, "") << operation.name << " with " << build_name(row);
  if (probe == nullptr) return;
  const auto own = functions_of(row);
  for (const void* function : entered) {
    ASSERT_EQ(own.count(function), 1U)
        << operation.name << " with " << build_name(row) << " ran code of" << owners(function);
  }
  const void* main = threads == 1 ? main_function(row, operation) : nullptr;
  if (main != nullptr) {
    ASSERT_NE(std::find(entered.begin(), entered.end(), main), entered.end())
        << operation.name << " did not run its function of " << build_name(row);
  }
  ASSERT_NE(std::find(entered.begin(), entered.end(), address(row.expand)), entered.end())
      << operation.name << " did not expand its key with " << build_name(row);
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
      const Kernel* const row = expected_row(name, subset);
      const Execution execution{name, 1};
      if (row == nullptr) {
        ASSERT_THROW(Ecb(tasks[0].key, execution), Unavailable) << name;
        ASSERT_THROW(Gcm(tasks[0].key, execution), Unavailable) << name;
        continue;
      }
      ASSERT_EQ(Ecb(tasks[0].key, execution).kernel(), name);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        check_executed_code(probe ? &*probe : nullptr, *row, support::all_operations()[i], tasks[i],
                            1);
        if (HasFatalFailure()) return;
      }
      ran.insert(build_name(*row));
    }
  }
  // Every build that this machine can run has run.
  for (const support::Build row : support::all_builds()) {
    EXPECT_EQ(ran.count(build_name(*row)) != 0, support::why_unavailable(*row).empty())
        << build_name(*row);
  }
}

TEST(ExecutedCode, Auto_RunsOnlyFunctionsOfTheSelectedRow) {
  if (const std::string reason = EntryProbe::why_unavailable(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  EntryProbe probe(all_functions());
  const support::Buffer key = support::make_key(16);
  for (const CpuFeatureSet subset : consistent_subsets()) {
    const Kernel* const row = expected_row("auto", subset);
    ASSERT_NE(row, nullptr);
    const ScopedEnvironment environment("PARAES_CPU_MASK", mask_leaving(subset));
    support::Buffer data(1600);
    probe.arm();
    Ctr ctr(key, support::pattern(16), {"auto", 1});
    ctr.process(data, data);
    probe.disarm();
    ASSERT_EQ(ctr.kernel(), row->name);
    const auto entered = probe.entered();
    ASSERT_EQ(std::set(entered.begin(), entered.end()),
              (std::set{address(row->expand), address(row->ctr)}))
        << mask_leaving(subset);
  }
}

class ExecutedCodeOnThreads : public support::BuildTest {};

TEST_P(ExecutedCodeOnThreads, ForcedKernel_RunsOnlyItsOwnFunctions) {
  if (const std::string reason = EntryProbe::why_unavailable(); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  EntryProbe probe(all_functions());
  for (const Operation& operation : support::all_operations()) {
    const std::size_t n = 200001 / operation.step * operation.step;
    const Task task = operation.prepare(operation.direction, n, operation.key_bytes.back());
    check_executed_code(&probe, row(), operation, task, 3);
    if (HasFatalFailure()) return;
  }
}

PARAES_FOR_EVERY_BUILD(ExecutedCodeOnThreads);

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
