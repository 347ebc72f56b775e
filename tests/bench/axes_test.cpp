// Tests of the parsing of axes, and of the plans that they give.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "bench/axes.hpp"
#include "bench/suites/suites.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "paraes/threads.hpp"
#include "tests/support/message_of.hpp"

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

TEST(Axes, GroupThreadsAreMultiplesOfAWarp) {
  AxisTexts texts = texts_with(&AxisTexts::device, "opencl:0");
  EXPECT_EQ(axes_of(texts).group_threads, (std::vector<unsigned>{0}));  // the kernel's own
  texts.group_threads = "512,32,1024,512";
  EXPECT_EQ(axes_of(texts).group_threads, (std::vector<unsigned>{512, 32, 1024}));
  for (const char* wrong : {"0", "16", "48", "1025", "1056", "x", "64,", "all"}) {
    texts.group_threads = wrong;
    EXPECT_NE(support::message_of<InvalidArgument>([&] {
                (void)axes_of(texts);
              }).find("--group-threads: "),
              std::string::npos)
        << wrong;
  }
}

TEST(Axes, ThatNoRowCanHaveAreRefused) {
  const auto refused = [](const AxisTexts& texts) {
    return support::message_of<InvalidArgument>([&] { (void)axes_of(texts); });
  };
  AxisTexts file = texts_with(&AxisTexts::scope, "file");
  file.in_place = "no,yes";
  EXPECT_NE(refused(file).find("--in-place"), std::string::npos);
  file.scope = "file,memory";
  EXPECT_EQ(refused(file), "");
  file.scope = "file";
  file.in_place = "no";
  EXPECT_EQ(refused(file), "");
  AxisTexts memory = texts_with(&AxisTexts::format, "raw");
  EXPECT_NE(refused(memory).find("--format"), std::string::npos);
  memory.scope = "file";
  EXPECT_EQ(refused(memory), "");
  AxisTexts transfer = texts_with(&AxisTexts::transfer, "mapped");
  EXPECT_NE(refused(transfer).find("--transfer"), std::string::npos);
  transfer.scope = "transfer";
  EXPECT_NE(refused(transfer).find("--transfer"), std::string::npos);
  transfer.device = "cpu,opencl:0";
  EXPECT_EQ(refused(transfer), "");
  AxisTexts groups = texts_with(&AxisTexts::group_threads, "256");
  EXPECT_NE(refused(groups).find("--group-threads goes with a GPU"), std::string::npos);
  groups.device = "cpu,opencl:0";
  EXPECT_EQ(refused(groups), "");
  groups.scope = "file";
  EXPECT_NE(refused(groups).find("--group-threads goes with a GPU"), std::string::npos);
  groups.scope = "file,transfer";
  EXPECT_EQ(refused(groups), "");
  AxisTexts unit = texts_with(&AxisTexts::unit, "512");
  EXPECT_EQ(refused(unit), "");
  unit.mode = "ctr";
  EXPECT_NE(refused(unit).find("--unit"), std::string::npos);
  AxisTexts message = texts_with(&AxisTexts::message, "64");
  message.keys = "each";
  EXPECT_EQ(refused(message), "");
  message.mode = "ctr,xts";
  EXPECT_NE(refused(message).find("--message goes with --mode gcm"), std::string::npos);
  message.mode.clear();
  message.scope = "file";
  EXPECT_NE(refused(message).find("--message goes with --scope memory"), std::string::npos);
  message.scope.clear();
  message.device = "opencl:0";
  message.kernel.clear();
  EXPECT_NE(refused(message).find("--message goes with --scope memory"), std::string::npos);
  AxisTexts keys = texts_with(&AxisTexts::keys, "one");
  EXPECT_NE(refused(keys).find("--keys goes with --message"), std::string::npos);
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
  AxisTexts texts = texts_with(&AxisTexts::message, "64,whole,1000");
  texts.mode = "gcm";
  texts.direction = "encrypt";
  texts.size = "2001";
  texts.rivals = "none";
  texts.keys = "all";
  EXPECT_EQ(messages_of(texts),
            (Rows{"gcm 1 ", "gcm 32 one", "gcm 32 each", "gcm 3 one", "gcm 3 each"}));
  // Modes by default have no reasons, and named ones do.
  texts.message = "64";
  texts.keys.clear();
  texts.mode.clear();
  EXPECT_EQ(messages_of(texts), Rows{"gcm 32 one"});
  texts.mode = "ctr,gcm";
  EXPECT_EQ(messages_of(texts), (Rows{"gcm 32 one", "many messages at once are for --mode gcm"}));
  // A message is at most the whole.
  texts.mode = "gcm";
  texts.message = "2001,2002";
  EXPECT_EQ(messages_of(texts),
            (Rows{"gcm 1 one",
                  "a message would have more bytes than all together: --size is their sum"}));
  texts.message = "1";
  texts.size = "5000000";
  EXPECT_EQ(messages_of(texts),
            Rows{"at most 4194304 messages: choose a smaller --size or a larger --message"});
  texts.keys = "each";
  texts.size = "5000";
  EXPECT_EQ(messages_of(texts), Rows{"a key each is for up to 4096 messages: choose a smaller "
                                     "--size or a larger --message"});
}

TEST(Axes, NoRivalHasTheNameOfAKernel) {
  AxisTexts texts = texts_with(&AxisTexts::rivals, "all");
  for (const std::string& rival : axes_of(texts).rivals) {
    for (const KernelInfo& kernel : kernels()) EXPECT_NE(rival, kernel.name);
  }
  texts.rivals = "memcpy,openssl";
  EXPECT_NE(support::message_of<InvalidArgument>([&] { (void)axes_of(texts); }).find("openssl-evp"),
            std::string::npos);
}

// The file of the library that holds `symbol`.
std::string file_of(const void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0) return {};
  return std::filesystem::canonical(info.dli_fname).string();
}

TEST(Axes, FilesThatAreNoLibcryptoAreRefusedWithTheReason) {
  const auto refused = [](const std::string& file) {
    return support::message_of<InvalidArgument>(
        [&] { (void)axes_of(texts_with(&AxisTexts::rivals, "memcpy,openssl-evp@" + file)); });
  };
  const std::string folder = ::testing::TempDir() + "paraes-libcrypto-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = folder + "/text";
  std::ofstream(text) << "text";
  const std::string libc = file_of(reinterpret_cast<const void*>(&dladdr));
  // Before a comma, a file is another one, as in all lists.
  const std::pair<std::string, const char*> wrong[] = {
      {"", "needs a libcrypto file"},
      {folder + "/absent", "No such file"},
      {folder + "/absent,memcpy", "No such file"},
      {folder, "it is no regular file"},
      {pipe, "it is no regular file"},
      {text, ""},  // the loader's words
      {libc, "it has no EVP_CIPHER_CTX_new: it is no libcrypto"},
      {PARAES_OLD_LIBCRYPTO, "it has no OpenSSL_version: it is no libcrypto, or older than 1.1.0"},
  };
  for (const auto& [file, reason] : wrong) {
    const std::string message = refused(file);
    EXPECT_EQ(message.rfind("--rivals: ", 0), 0U) << file << ": " << message;
    if (message.find("sanitizer") != std::string::npos) continue;
    EXPECT_NE(message.find(reason), std::string::npos) << file << ": " << message;
  }
  // Others could have changed it.
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  EXPECT_NE(refused(text).find("everybody can write"), std::string::npos) << refused(text);
  std::filesystem::remove_all(folder);
}

TEST(Axes, AnotherLibcryptoIsARivalWithItsVersion) {
  const std::string file = file_of(reinterpret_cast<const void*>(&OpenSSL_version));
  if (file.find("libcrypto") == std::string::npos) GTEST_SKIP() << "libcrypto is linked statically";
  AxisTexts texts = texts_with(&AxisTexts::rivals, "openssl-evp@" + file + ",memcpy");
  std::vector<std::string> rivals;
  try {
    rivals = axes_of(texts).rivals;
  } catch (const InvalidArgument& error) {
    if (std::string(error.what()).find("sanitizer") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
  const std::string name = std::string("openssl-evp@") + OpenSSL_version(OPENSSL_VERSION_STRING);
  EXPECT_EQ(rivals, (std::vector<std::string>{name, "memcpy"}));
  // The same file by another name is the same rival.
  const std::string folder = ::testing::TempDir() + "paraes-libcryptos-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  std::filesystem::create_symlink(file, folder + "/link");
  texts.rivals += ",openssl-evp@" + folder + "/link,openssl-evp@" + file;
  EXPECT_EQ(axes_of(texts).rivals, rivals);
  // Another file of the same version is another one.
  std::filesystem::copy_file(file, folder + "/copy");
  texts.rivals += ",openssl-evp@" + folder + "/copy";
  rivals.push_back(name + "#2");
  EXPECT_EQ(axes_of(texts).rivals, rivals);

  texts.mode = "gcm";
  texts.direction = "encrypt";
  texts.size = "1024";
  std::multiset<std::string> planned;
  const BenchPlan plan = make_plan(axes_of(texts));
  std::filesystem::remove_all(folder);
  ASSERT_EQ(plan.groups.size(), 1U);
  for (const auto& row : plan.groups[0]) planned.insert(row->row().who());
  EXPECT_EQ(planned, (std::multiset<std::string>{"reference", "memcpy", name, name + "#2"}));
}

TEST(Axes, AnotherLibcryptoIsKeptApartFromThatOfTheProcess) {
  AxisTexts texts = texts_with(&AxisTexts::rivals, "openssl-evp@" PARAES_FAKE_LIBCRYPTO);
  try {
    EXPECT_EQ(axes_of(texts).rivals, std::vector<std::string>{"openssl-evp@99.0.1-fake"});
  } catch (const InvalidArgument& error) {
    if (std::string(error.what()).find("sanitizer") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
  // It has no ciphers, which is a reason for each row.
  texts.mode = "gcm";
  std::set<std::string> reasons;
  for (const Skipped& skipped : make_plan(axes_of(texts)).skipped) reasons.insert(skipped.reason);
  EXPECT_EQ(reasons,
            std::set<std::string>{"OpenSSL 99.0.1-fake 1 Jan 2099 has no EVP_aes_128_gcm"});
}

TEST(Axes, AllNamesEveryKernelOnce) {
  const Axes axes = axes_of(texts_with(&AxisTexts::kernel, "reference,all"));
  EXPECT_EQ(axes.kernels.size(), kernels().size());
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
  AxisTexts texts;
  texts.device = "opencl:0";
  texts.kernel = "auto";
  EXPECT_EQ(axes_of(texts).gpu_kernels, Names{"bitslice"});
  EXPECT_TRUE(axes_of(texts).kernels.empty());
  texts.kernel = "aesni";
  EXPECT_THROW((void)axes_of(texts), InvalidArgument);
  texts.device = "cpu,opencl:0";
  EXPECT_EQ(axes_of(texts).gpu_kernels, Names{"aesni"});  // its rows are skipped
  texts.kernel = "all";
  EXPECT_EQ(axes_of(texts).kernels.size(), kernels().size());
  EXPECT_EQ(axes_of(texts).gpu_kernels.size(), gpu_kernels().size());
}

TEST(Axes, ZeroThreadsAreAllCores) {
  const Axes axes = axes_of(texts_with(&AxisTexts::threads, "0"));
  EXPECT_EQ(axes.threads, std::vector<int>{available_cores()});
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
  AxisTexts texts;
  texts.mode = "ecb,ctr";
  texts.key_bits = "all";
  texts.size = "16,64,4096";
  texts.rivals = "openssl-evp,memcpy";
  const BenchPlan plan = plan_with(texts);
  ASSERT_EQ(plan.groups.size(), 3U);  // one for each size
  for (const Group& group : plan.groups) {
    // Modes, key sizes, directions, and paraes with OpenSSL; one copy.
    EXPECT_EQ(group.size(), 2U * 3U * 2U * 2U + 1U);
  }
  EXPECT_TRUE(plan.skipped.empty());
}

TEST(Plan, ExecutorsHaveRowsForSeveralThreadsOnly) {
  AxisTexts texts;
  texts.mode = "ctr";
  texts.direction = "encrypt";
  texts.size = "65536";
  texts.threads = "1,2";
  texts.rivals = "memcpy";
  // Those of OpenMP are skipped where its module is missing.
  const auto rows = [&] {
    std::set<std::string> list;
    const auto add = [&](const Row& row) {
      list.insert(row.who() + " " + std::to_string(row.threads) + " " + row.executor);
    };
    const BenchPlan plan = plan_with(texts);
    for (const auto& planned : plan.groups.front()) add(planned->row());
    for (const Skipped& skipped : plan.skipped) add(skipped.row);
    return list;
  };
  using Rows = std::set<std::string>;
  EXPECT_EQ(rows(), (Rows{"memcpy 1 ", "reference 1 ", "memcpy 2 threads", "reference 2 threads"}));
  texts.executor = "openmp,threads";
  EXPECT_EQ(rows(), (Rows{"memcpy 1 ", "reference 1 ", "memcpy 2 threads", "reference 2 openmp",
                          "reference 2 threads"}));
}

TEST(Plan, OpenMpIsSkippedInFileScope) {
  AxisTexts texts;
  texts.executor = "openmp";
  texts.rivals = "none";
  EXPECT_FALSE(skips(plan_with(texts), "their own threads"));
  texts.scope = "file";
  EXPECT_TRUE(skips(plan_with(texts), "their own threads"));
  texts.executor.clear();
  EXPECT_FALSE(skips(plan_with(texts), "their own threads"));
}

TEST(Plan, ImpossibleRowsAreSkippedWithReasons) {
  AxisTexts texts;
  texts.mode = "all";
  texts.key_bits = "192";
  texts.size = "40";
  texts.threads = "2";
  texts.rivals = "none";
  texts.scope = "memory,transfer";
  texts.device = "cpu,cuda:77";
  const BenchPlan plan = plan_with(texts);
  EXPECT_TRUE(skips(plan, "whole blocks"));
  EXPECT_TRUE(skips(plan, "XTS has no AES-192"));
  EXPECT_TRUE(skips(plan, "nothing to transfer"));
  texts.size = "64";
  EXPECT_TRUE(skips(plan_with(texts), "CBC encryption is serial"));
}

TEST(Plan, MissingDeviceIsSkippedInEveryScope) {
  AxisTexts texts;
  texts.device = "cuda:77";
  texts.scope = "memory,transfer,file";
  texts.rivals = "memcpy,pinned-copy";
  const BenchPlan plan = plan_with(texts);
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
  AxisTexts texts;
  texts.device = "cuda:77";
  texts.scope = "file";
  texts.rivals = "cp";
  const BenchPlan plan = plan_with(texts);
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.folder, "");
  texts.device = "cpu,cuda:77";
  EXPECT_EQ(plan_with(texts).groups.size(), 1U);
}

TEST(Plan, CopyThreadsHasOneRowForEachNumberOfThreads) {
  AxisTexts texts;
  texts.scope = "file";
  texts.threads = "1,2,3";
  texts.rivals = "copy-threads,cp";
  const BenchPlan plan = plan_with(texts);
  ASSERT_EQ(plan.groups.size(), 1U);
  std::vector<int> threads;
  for (const auto& row : plan.groups[0]) {
    if (row->row().rival == "copy-threads") threads.push_back(row->row().threads);
  }
  EXPECT_EQ(threads, (std::vector<int>{1, 2, 3}));
}

TEST(Plan, ModesOfAuthenticatedFormatsOtherThanGcmAreSkipped) {
  AxisTexts texts;
  texts.scope = "file";
  texts.mode = "ctr";
  texts.rivals = "none";
  EXPECT_TRUE(skips(plan_with(texts), "has only GCM"));
  EXPECT_TRUE(plan_with(texts).groups.empty());
  texts.format = "raw,paraes";
  EXPECT_TRUE(skips(plan_with(texts), "has only GCM"));
  EXPECT_EQ(plan_with(texts).groups.size(), 1U);
  texts.mode = "ctr,gcm";
  EXPECT_FALSE(skips(plan_with(texts), "has only GCM"));
}

TEST(Plan, FileRowsAreSkippedWhereTheExecutableIsNotFound) {
  AxisTexts texts;
  texts.kernel = "reference";
  texts.scope = "file";
  texts.rivals = "none";
  const BenchPlan plan = make_plan(axes_of(texts));
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_TRUE(skips(plan, "the path of this executable cannot be found"));
}

TEST(Plan, KeyExpansionOnDeviceIsSkippedForTheCpuInFileScope) {
  AxisTexts texts;
  texts.scope = "file";
  texts.key_expansion = "device";
  const BenchPlan plan = plan_with(texts);
  ASSERT_TRUE(skips(plan, "the cpu expands keys itself"));
  EXPECT_EQ(plan.skipped[0].row.scope, "file");
}

TEST(Plan, CopiesAreNeverInPlace) {
  AxisTexts texts;
  texts.mode = "ctr";
  texts.direction = "encrypt";
  texts.in_place = "yes";
  texts.size = "64";
  texts.rivals = "memcpy";
  const BenchPlan plan = plan_with(texts);
  ASSERT_EQ(plan.groups.size(), 1U);
  ASSERT_EQ(plan.groups[0].size(), 2U);
  EXPECT_FALSE(plan.groups[0][0]->row().in_place);
  EXPECT_TRUE(plan.groups[0][1]->row().in_place);
}

}  // namespace
}  // namespace paraes::bench
