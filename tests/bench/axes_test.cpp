// Tests of the parsing of axes, and of the plans that they give.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "bench/axes.hpp"
#include "bench/suites/suites.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/threads.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

// Axes that a test leaves out are empty.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace paraes::bench {
namespace {

std::uint64_t plain_size(std::string_view text, std::string_view flag) {
  char* end = nullptr;
  const std::string copy(text);
  const std::uint64_t value = std::strtoull(copy.c_str(), &end, 10);
  if (*end != '\0') throw InvalidArgument(std::string(flag) + ": no size");
  return value;
}

std::uint64_t plain_number(std::string_view text, std::string_view flag, std::uint64_t least,
                           std::uint64_t most) {
  const std::uint64_t value = plain_size(text, flag);
  if (value < least || value > most) throw InvalidArgument(std::string(flag) + ": out of range");
  return value;
}

Axes axes_of(const AxisTexts& texts) { return parse_axes(texts, {plain_size, plain_number}); }

AxisTexts texts_with(std::string AxisTexts::*axis, const std::string& value) {
  AxisTexts texts;
  texts.kernel = "reference";
  texts.*axis = value;
  return texts;
}

TEST(Axes, EllipsisInSizesIsAGeometricSeries) {
  using Sizes = std::vector<std::uint64_t>;
  const auto sizes = [](const std::string& list) {
    return axes_of(texts_with(&AxisTexts::size, list)).sizes;
  };
  EXPECT_EQ(sizes("64,16"), (Sizes{16, 64}));
  EXPECT_EQ(sizes("16,...,1024"), (Sizes{16, 64, 256, 1024}));
  EXPECT_EQ(sizes("16,32,...,128"), (Sizes{16, 32, 64, 128}));
  EXPECT_EQ(sizes("16,\u2026,100"), (Sizes{16, 64, 100}));
  for (const char* wrong : {"0", "...,16", "16,...", "16,...,...,64", "16,16,,", "x"}) {
    EXPECT_THROW((void)sizes(wrong), InvalidArgument) << wrong;
  }
}

TEST(Axes, UnknownValuesAreRefused) {
  const std::pair<std::string AxisTexts::*, const char*> wrong[] = {
      {&AxisTexts::device, "gpu"},      {&AxisTexts::kernel, "fast"},
      {&AxisTexts::device, "cpu,"},     {&AxisTexts::device, "cuda:x"},
      {&AxisTexts::device, "hip:0+0"},  {&AxisTexts::kernel, "ttable-simple"},
      {&AxisTexts::mode, "ctr,cfb"},    {&AxisTexts::key_bits, "129"},
      {&AxisTexts::direction, "both"},  {&AxisTexts::threads, "-1"},
      {&AxisTexts::threads, "two"},     {&AxisTexts::executor, "tbb"},
      {&AxisTexts::scope, "disk"},      {&AxisTexts::in_place, "maybe"},
      {&AxisTexts::format, "zip"},      {&AxisTexts::transfer, "mail"},
      {&AxisTexts::key_expansion, "x"}, {&AxisTexts::rivals, "botan"},
      {&AxisTexts::unit, "15"},         {&AxisTexts::message, "0"},
      {&AxisTexts::message, "half"},    {&AxisTexts::message, "whole,...,64"},
      {&AxisTexts::message, "64,"},     {&AxisTexts::keys, "two"},
  };
  for (const auto& [axis, value] : wrong) {
    EXPECT_THROW((void)axes_of(texts_with(axis, value)), InvalidArgument) << value;
  }
}

TEST(Axes, TuningsOfGpusAreListsOfNames) {
  AxisTexts texts = texts_with(&AxisTexts::device, "opencl:0");
  ASSERT_EQ(axes_of(texts).gpu_tunings.size(), 1U);  // paraes's own choice
  EXPECT_EQ(axes_of(texts).gpu_tunings[0].text, "");
  EXPECT_EQ(axes_of(texts).gpu_tunings[0].meaning, GpuTuning{});
  texts.gpu_tunings = {"streams=8,launch=2097152", "tables=4,groups=2,ghash=tensor"};
  const auto tunings = axes_of(texts).gpu_tunings;
  ASSERT_EQ(tunings.size(), 2U);
  EXPECT_EQ(tunings[0].text, "streams=8,launch=2097152");
  EXPECT_EQ(tunings[0].meaning, (GpuTuning{.streams = 8, .launch_bytes = 2 << 20}));
  EXPECT_EQ(tunings[1].meaning,
            (GpuTuning{.tables = 4, .groups_per_processor = 2, .tensor_hash = true}));
  for (const char* const wrong :
       {"", "streams", "streams=0", "streams=65", "streams=2,streams=3", "launch=1024", "tables=3",
        "groups=9", "ghash=integer", "threads=4", "launch=536870912", "streams=8,"}) {
    texts.gpu_tunings = {wrong};
    EXPECT_THROW(static_cast<void>(axes_of(texts)), InvalidArgument) << wrong;
  }
  // A CPU has no tuning.
  AxisTexts on_cpu = texts_with(&AxisTexts::device, "cpu");
  on_cpu.gpu_tunings = {"streams=8"};
  EXPECT_THROW(static_cast<void>(axes_of(on_cpu)), InvalidArgument);
}

// Why the axes are refused; empty if they are not.
std::string refusal(const AxisTexts& texts) {
  return support::message_of<InvalidArgument>([&] { (void)axes_of(texts); });
}

TEST(Axes, GroupThreadsAreMultiplesOfAWarp) {
  AxisTexts texts = texts_with(&AxisTexts::device, "opencl:0");
  EXPECT_EQ(axes_of(texts).group_threads, (std::vector<unsigned>{0}));  // the kernel's own
  texts.group_threads = "512,32,1024,512";
  EXPECT_EQ(axes_of(texts).group_threads, (std::vector<unsigned>{512, 32, 1024}));
  for (const char* wrong : {"0", "16", "48", "1025", "1056", "x", "64,", "all"}) {
    texts.group_threads = wrong;
    EXPECT_HAS(refusal(texts), "--group-threads: ");
  }
}

TEST(Axes, ThatNoRowCanHaveAreRefused) {
  const std::pair<AxisTexts, const char*> wrong[] = {
      {{.scope = "file", .in_place = "no,yes"}, "--in-place"},
      {{.format = "raw"}, "--format"},
      {{.transfer = "mapped"}, "--transfer"},
      {{.device = "opencl:0", .scope = "file", .transfer = "locked"}, "--transfer locked"},
      {{.scope = "transfer", .transfer = "mapped"}, "--transfer"},
      {{.group_threads = "256"}, "--group-threads goes with a GPU"},
      {{.device = "cpu,opencl:0", .scope = "file", .group_threads = "256"},
       "--group-threads goes with a GPU"},
      {{.mode = "ctr", .unit = "512"}, "--unit"},
      {{.mode = "ctr,xts", .message = "64", .keys = "each"}, "--message goes with --mode gcm"},
      {{.message = "64", .keys = "each", .scope = "file"}, "--message goes with --scope memory"},
      {{.device = "opencl:0", .message = "64", .keys = "each"},
       "--message goes with --scope memory"},
      {{.keys = "one"}, "--keys goes with --message"},
  };
  for (const auto& [texts, part] : wrong) EXPECT_HAS(refusal(texts), part);
  for (const AxisTexts& right :
       {AxisTexts{.scope = "file,memory", .in_place = "no,yes"},
        AxisTexts{.scope = "file", .in_place = "no"}, AxisTexts{.scope = "file", .format = "raw"},
        AxisTexts{.device = "cpu,opencl:0", .scope = "transfer", .transfer = "mapped"},
        AxisTexts{.device = "cpu,opencl:0", .group_threads = "256"},
        AxisTexts{.device = "cpu,opencl:0", .scope = "file,transfer", .group_threads = "256"},
        AxisTexts{.unit = "512"}, AxisTexts{.message = "64", .keys = "each"}}) {
    EXPECT_EQ(refusal(right), "");
  }
}

// The message sizes, numbers and keys of the planned rows, and the reasons of those skipped.
std::multiset<std::string> messages_of(const AxisTexts& texts) {
  const BenchPlan plan = make_plan(axes_of(texts));
  std::multiset<std::string> rows;
  for (const Group& group : plan.groups) {
    for (const auto& planned : group) {
      const Row& row = planned->row();
      rows.insert(std::string(to_string(*row.mode)) + " " + std::to_string(row.messages) + " " +
                  row.keys);
    }
  }
  for (const Skipped& skipped : plan.skipped) rows.insert(skipped.reason);
  return rows;
}

TEST(Plan, MessagesAreRowsBesideTheWhole) {
  using Rows = std::multiset<std::string>;
  const auto rows = [](const std::string& mode, const std::string& size, const std::string& message,
                       const std::string& keys = "") {
    return messages_of({.kernel = "reference",
                        .mode = mode,
                        .direction = "encrypt",
                        .size = size,
                        .message = message,
                        .keys = keys,
                        .rivals = "none"});
  };
  EXPECT_EQ(rows("gcm", "2001", "64,whole,1000", "all"),
            (Rows{"gcm 1 ", "gcm 32 one", "gcm 32 each", "gcm 32 once", "gcm 3 one", "gcm 3 each",
                  "gcm 3 once"}));
  // Modes by default have no reasons, and named ones do.
  EXPECT_EQ(rows("", "2001", "64"), Rows{"gcm 32 one"});
  EXPECT_EQ(rows("ctr,gcm", "2001", "64"),
            (Rows{"gcm 32 one", "many messages at once are for --mode gcm"}));
  EXPECT_EQ(rows("gcm", "2001", "2001,2002"),
            (Rows{"gcm 1 one",
                  "a message would have more bytes than all together: --size is their sum"}));
  EXPECT_EQ(rows("gcm", "5000000", "1"),
            Rows{"at most 4194304 messages: choose a smaller --size or a larger --message"});
  EXPECT_EQ(rows("gcm", "5000", "1", "each"), Rows{"a key each is for up to 4096 messages: choose "
                                                   "a smaller --size or a larger --message"});
}

TEST(Axes, NoRivalHasTheNameOfAKernel) {
  AxisTexts texts = texts_with(&AxisTexts::rivals, "all");
  for (const std::string& rival : axes_of(texts).rivals) {
    for (const KernelInfo& kernel : kernels()) EXPECT_NE(rival, kernel.name);
  }
  EXPECT_HAS(refusal(texts_with(&AxisTexts::rivals, "memcpy,openssl")), "openssl-evp");
}

// The file of the library that holds `symbol`.
std::string file_of(const void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0) return {};
  return std::filesystem::canonical(info.dli_fname).string();
}

std::string refusal_of_libcrypto(const std::string& file) {
  return refusal(texts_with(&AxisTexts::rivals, "memcpy,openssl-evp@" + file));
}

TEST(Axes, FilesThatAreNoLibcryptoAreRefusedWithTheReason) {
  const support::TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = folder.write("text", std::string("text"));
  const std::string libc = file_of(reinterpret_cast<const void*>(&dladdr));
  // Before a comma, a file is another one, as in all lists.
  const std::pair<std::string, const char*> wrong[] = {
      {"", "needs a libcrypto file"},
      {folder.path("absent"), "No such file"},
      {folder.path("absent,memcpy"), "No such file"},
      {folder.path(), "it is no regular file"},
      {pipe, "it is no regular file"},
      {text, ""},  // the loader's words
      {libc, "it has no EVP_CIPHER_CTX_new: it is no libcrypto"},
      {PARAES_OLD_LIBCRYPTO, "it has no OpenSSL_version: it is no libcrypto, or older than 1.1.0"},
  };
  for (const auto& [file, reason] : wrong) {
    const std::string message = refusal_of_libcrypto(file);
    EXPECT_EQ(message.rfind("--rivals: ", 0), 0U) << file << ": " << message;
    if (message.find("sanitizer") != std::string::npos) continue;
    EXPECT_HAS(message, reason);
  }
  // Others could have changed it.
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  EXPECT_HAS(refusal_of_libcrypto(text), "everybody can write");
}

// A build with a sanitizer opens no other libcrypto.
#define SKIP_IF_SANITIZED(refusal) \
  if ((refusal).find("sanitizer") != std::string::npos) GTEST_SKIP() << (refusal)

TEST(Axes, AnotherLibcryptoIsARivalWithItsVersion) {
  const std::string file = file_of(reinterpret_cast<const void*>(&OpenSSL_version));
  if (file.find("libcrypto") == std::string::npos) GTEST_SKIP() << "libcrypto is linked statically";
  SKIP_IF_SANITIZED(refusal_of_libcrypto(file));
  AxisTexts texts = {.kernel = "reference",
                     .mode = "gcm",
                     .direction = "encrypt",
                     .size = "1024",
                     .rivals = "openssl-evp@" + file + ",memcpy"};
  const std::string name = std::string("openssl-evp@") + OpenSSL_version(OPENSSL_VERSION_STRING);
  std::vector<std::string> rivals = {name, "memcpy"};
  EXPECT_EQ(axes_of(texts).rivals, rivals);
  // A file under two names is one rival.
  const support::TemporaryFolder folder;
  std::filesystem::create_symlink(file, folder.path("link"));
  texts.rivals += ",openssl-evp@" + folder.path("link") + ",openssl-evp@" + file;
  EXPECT_EQ(axes_of(texts).rivals, rivals);
  // Another file of the same version is a separate rival.
  std::filesystem::copy_file(file, folder.path("copy"));
  texts.rivals += ",openssl-evp@" + folder.path("copy");
  rivals.push_back(name + "#2");
  EXPECT_EQ(axes_of(texts).rivals, rivals);

  std::multiset<std::string> planned;
  const BenchPlan plan = make_plan(axes_of(texts));
  ASSERT_EQ(plan.groups.size(), 1U);
  for (const auto& row : plan.groups[0]) planned.insert(row->row().who());
  EXPECT_EQ(planned, (std::multiset<std::string>{"reference", "memcpy", name, name + "#2"}));
}

TEST(Axes, AnotherLibcryptoIsKeptApartFromThatOfTheProcess) {
  SKIP_IF_SANITIZED(refusal_of_libcrypto(PARAES_FAKE_LIBCRYPTO));
  AxisTexts texts = texts_with(&AxisTexts::rivals, "openssl-evp@" PARAES_FAKE_LIBCRYPTO);
  EXPECT_EQ(axes_of(texts).rivals, std::vector<std::string>{"openssl-evp@99.0.1-fake"});
  // It has no ciphers, which is a reason for each row.
  texts.mode = "gcm";
  std::set<std::string> reasons;
  for (const Skipped& skipped : make_plan(axes_of(texts)).skipped) reasons.insert(skipped.reason);
  EXPECT_EQ(reasons,
            std::set<std::string>{"OpenSSL 99.0.1-fake 1 Jan 2099 has no EVP_aes_128_gcm"});
}

TEST(Axes, AllNamesEveryKernelOnceAndZeroAllCores) {
  AxisTexts texts = texts_with(&AxisTexts::kernel, "reference,all");
  texts.threads = "0";
  EXPECT_EQ(axes_of(texts).kernels.size(), kernels().size());
  EXPECT_EQ(axes_of(texts).threads, std::vector<int>{available_cores()});
}

TEST(Axes, DeviceNamesBecomeIdsOnceEach) {
  const auto devices = [](const std::string& list) {
    return axes_of(texts_with(&AxisTexts::device, list)).devices;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(devices("auto,cpu"), Names{"cpu"});
  EXPECT_EQ(devices("opencl,cpu,opencl:0,cuda:0+1"), (Names{"opencl:0", "cpu", "cuda:0+1"}));
  EXPECT_EQ(devices("cpu+cuda,cpu+cuda:0,cpu"), (Names{"cpu+cuda:0", "cpu"}));
}

TEST(Axes, KernelsAreChosenForTheKindsOfDevices) {
  using Names = std::vector<std::string>;
  const auto axes = [](const std::string& device, const std::string& kernel) {
    return axes_of({.device = device, .kernel = kernel});
  };
  EXPECT_EQ(axes("opencl:0", "auto").gpu_kernels, Names{"bitslice"});
  EXPECT_TRUE(axes("opencl:0", "auto").kernels.empty());
  EXPECT_THROW((void)axes("opencl:0", "aesni"), InvalidArgument);
  EXPECT_EQ(axes("cpu,opencl:0", "aesni").gpu_kernels, Names{"aesni"});  // its rows are skipped
  EXPECT_EQ(axes("cpu,opencl:0", "all").kernels.size(), kernels().size());
  EXPECT_EQ(axes("cpu,opencl:0", "all").gpu_kernels.size(), gpu_kernels().size());
}

BenchPlan plan_with(AxisTexts texts) {
  if (texts.kernel.empty()) texts.kernel = "reference";
  Axes axes = axes_of(texts);
  axes.program = "paraes";
  return make_plan(axes);
}

bool skips(const BenchPlan& plan, const std::string& part) {
  for (const Skipped& skipped : plan.skipped) {
    if (skipped.reason.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Plan, RowsAreTheProductOfTheAxesInOneGroupPerSize) {
  const BenchPlan plan = plan_with(
      {.mode = "ecb,ctr", .key_bits = "all", .size = "16,64,4096", .rivals = "openssl-evp,memcpy"});
  ASSERT_EQ(plan.groups.size(), 3U);  // one for each size
  for (const Group& group : plan.groups) {
    // Modes, key sizes, directions, and paraes with OpenSSL; one copy.
    EXPECT_EQ(group.size(), 2U * 3U * 2U * 2U + 1U);
  }
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(Plan, ExecutorsHaveRowsForSeveralThreadsOnly) {
  // Rows of OpenMP are skipped where its module is missing.
  const auto rows = [&](const std::string& executor) {
    std::set<std::string> list;
    const auto add = [&](const Row& row) {
      list.insert(row.who() + " " + std::to_string(row.threads) + " " + row.executor);
    };
    const BenchPlan plan = plan_with({.mode = "ctr",
                                      .direction = "encrypt",
                                      .threads = "1,2",
                                      .executor = executor,
                                      .size = "65536",
                                      .rivals = "memcpy"});
    for (const auto& planned : plan.groups.front()) add(planned->row());
    for (const Skipped& skipped : plan.skipped) add(skipped.row);
    return list;
  };
  using Rows = std::set<std::string>;
  EXPECT_EQ(rows(""),
            (Rows{"memcpy 1 ", "reference 1 ", "memcpy 2 threads", "reference 2 threads"}));
  EXPECT_EQ(rows("openmp,threads"), (Rows{"memcpy 1 ", "reference 1 ", "memcpy 2 threads",
                                          "reference 2 openmp", "reference 2 threads"}));
}

TEST(Plan, ImpossibleRowsAreSkippedWithReasons) {
  AxisTexts impossible = {.device = "cpu,cuda:77",
                          .mode = "all",
                          .key_bits = "192",
                          .threads = "2",
                          .size = "40",
                          .scope = "memory,transfer",
                          .rivals = "none"};
  AxisTexts serial = impossible;
  serial.size = "64";
  const struct {
    AxisTexts texts;
    const char* reason;
    bool skipped = true;
  } cases[] = {
      {impossible, "whole blocks"},
      {impossible, "XTS has no AES-192"},
      {impossible, "nothing to transfer"},
      {serial, "CBC encryption is serial"},
      {{.executor = "openmp", .rivals = "none"}, "their own threads", false},
      {{.executor = "openmp", .scope = "file", .rivals = "none"}, "their own threads"},
      {{.scope = "file", .rivals = "none"}, "their own threads", false},
      {{.mode = "ctr", .scope = "file", .rivals = "none"}, "has only GCM"},
      {{.mode = "ctr", .scope = "file", .format = "raw,paraes", .rivals = "none"}, "has only GCM"},
      {{.mode = "ctr,gcm", .scope = "file", .format = "raw,paraes", .rivals = "none"},
       "has only GCM",
       false},
      {{.scope = "file", .key_expansion = "device"}, "the cpu expands keys itself"},
  };
  for (const auto& [texts, reason, skipped] : cases) {
    EXPECT_EQ(skips(plan_with(texts), reason), skipped) << reason << ": " << texts.mode;
  }
  EXPECT_EQ(plan_with({.scope = "file", .key_expansion = "device"}).skipped[0].row.scope, "file");
  // Only raw has other modes than GCM.
  for (const auto& [format, groups] : {std::pair{"", 0U}, {"raw,paraes", 1U}}) {
    const AxisTexts texts = {.mode = "ctr", .scope = "file", .format = format, .rivals = "none"};
    EXPECT_EQ(plan_with(texts).groups.size(), groups) << format;
  }
}

TEST(Plan, MissingDeviceIsSkippedInEveryScope) {
  const BenchPlan plan = plan_with(
      {.device = "cuda:77", .scope = "memory,transfer,file", .rivals = "memcpy,pinned-copy"});
  EXPECT_TRUE(plan.groups.empty());
  std::vector<std::string> scopes;
  for (const Skipped& skipped : plan.skipped) {
    EXPECT_NE(skipped.reason, "");
    if (skipped.row.device != "cuda:77") continue;
    EXPECT_EQ(skipped.row.threads, 0);
    scopes.push_back(skipped.row.scope);
  }
  EXPECT_EQ(scopes, (std::vector<std::string>{"memory", "transfer", "file"}));
  EXPECT_TRUE(skips(plan, "it runs on the cpu"));  // memcpy
}

TEST(Plan, FileScopeWithoutADeviceHasNoRivals) {
  const auto plan = [](const std::string& device) {
    return plan_with({.device = device, .scope = "file", .rivals = "cp"});
  };
  EXPECT_TRUE(plan("cuda:77").groups.empty());
  EXPECT_EQ(plan("cuda:77").folder, "");
  EXPECT_EQ(plan("cpu,cuda:77").groups.size(), 1U);
}

TEST(Plan, CopyThreadsHasOneRowForEachNumberOfThreads) {
  const BenchPlan plan =
      plan_with({.threads = "1,2,3", .scope = "file", .rivals = "copy-threads,cp"});
  ASSERT_EQ(plan.groups.size(), 1U);
  std::vector<int> threads;
  for (const auto& row : plan.groups[0]) {
    if (row->row().rival == "copy-threads") threads.push_back(row->row().threads);
  }
  EXPECT_EQ(threads, (std::vector<int>{1, 2, 3}));
}

TEST(Plan, FileRowsAreSkippedWhereTheExecutableIsNotFound) {
  const BenchPlan plan =
      make_plan(axes_of({.kernel = "reference", .scope = "file", .rivals = "none"}));
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_TRUE(skips(plan, "the path of this executable cannot be found"));
}

TEST(Plan, CopiesAreNeverInPlace) {
  const BenchPlan plan = plan_with(
      {.mode = "ctr", .direction = "encrypt", .size = "64", .in_place = "yes", .rivals = "memcpy"});
  ASSERT_EQ(plan.groups.size(), 1U);
  ASSERT_EQ(plan.groups[0].size(), 2U);
  EXPECT_FALSE(plan.groups[0][0]->row().in_place);
  EXPECT_TRUE(plan.groups[0][1]->row().in_place);
}

}  // namespace
}  // namespace paraes::bench
