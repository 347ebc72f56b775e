// Tests of memory scope: paraes and every rival are verified on every job, and wrong results are
// detected.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/memory/memory_case.hpp"
#include "bench/memory/oracle.hpp"
#include "bench/memory/ours.hpp"
#include "bench/memory/ports.hpp"
#include "bench/rivals/rivals.hpp"
#include "paraes/error.hpp"
#include "paraes/kernels.hpp"
#include "tests/bench/fake_case.hpp"
#include "tests/bench/memory_jobs.hpp"
#include "tests/support/environment.hpp"

namespace paraes::bench {
namespace {

bool verifies(const Job& job, std::unique_ptr<Implementation> implementation) {
  MemoryCase memory_case(row_of(job), job, std::move(implementation),
                         std::make_shared<Arena>(buffer_bytes(job), job.threads));
  memory_case.set_up();
  return memory_case.verify();
}

std::vector<Job> all_jobs() {
  std::vector<Job> all = jobs();
  for (const Job& job : jobs_of_messages()) all.push_back(job);
  return all;
}

TEST(Memory, OwnKernelIsVerifiedOnEveryJob) {
  for (const Job& job : all_jobs()) {
    // Messages of segments have no 192-bit keys.
    if (job.message != 0 && job.keys != Keys::once && job.key_bits == 192) {
      EXPECT_THROW(static_cast<void>(make_ours(job, "ttable")), Skip) << name_of(job);
    } else {
      EXPECT_TRUE(verifies(job, make_ours(job, "ttable"))) << name_of(job);
    }
  }
}

TEST(Memory, KeysOfAllRowsAreLimited) {
  Job job{Mode::gcm, 128, Direction::encrypt, 4096, max_keys, 1, false};
  job.message = 1;
  job.keys = Keys::each;
  std::vector<std::unique_ptr<Implementation>> rows;
  for (int i = 0; i < 4; ++i) rows.push_back(make_ours(job, "ttable"));
  EXPECT_THROW(static_cast<void>(make_ours(job, "ttable")), Skip);
  rows.pop_back();
  EXPECT_NO_THROW(static_cast<void>(make_ours(job, "ttable")));
}

TEST(Memory, MessagesHaveOwnNoncesAndKeys) {
  Job job{Mode::gcm, 128, Direction::encrypt, 4096, 160, 1, false};
  job.message = 16;
  const std::uint64_t size = buffer_bytes(job);
  ASSERT_EQ(size, 10 * 32U);
  const std::vector<std::uint8_t> in(size);
  for (const Keys keys : {Keys::one, Keys::each, Keys::once}) {
    job.keys = keys;
    std::vector<std::uint8_t> out(size);
    make_ours(job, "ttable")->run(in.data(), out.data(), nullptr);
    std::set<std::vector<std::uint8_t>> sealed;
    for (auto at = out.begin(); at != out.end(); at += 32) sealed.emplace(at, at + 32);
    EXPECT_EQ(sealed.size(), 10U);
  }
  EXPECT_NE(message_key(0), message_key(1));
}

// Shares of a message, computed separately, give the bytes of the whole.
TEST(Memory, SharesOfAMessageGiveTheWholeResult) {
  for (Job job : jobs()) {
    if (job.in_place) continue;
    const bool serial = job.mode == Mode::cbc && job.direction == Direction::encrypt;
    std::vector<std::uint8_t> in(job.bytes);
    std::vector<std::uint8_t> out(job.bytes);
    pattern(0, in.data(), in.size());
    const Job whole = job;
    constexpr std::uint64_t border = 3 * 4096;
    for (const auto& [from, to] : {std::pair(std::uint64_t{0}, border), {border, whole.bytes}}) {
      job.offset = from;
      job.bytes = to - from;
      if (from != 0 && (serial || job.mode == Mode::gcm)) {
        EXPECT_THROW(static_cast<void>(make_ours(job, "auto")), Skip) << name_of(job);
        continue;
      }
      std::array<std::uint8_t, 16> tag{};
      if (job.mode == Mode::gcm) continue;
      make_ours(job, "auto")->run(in.data() + from, out.data() + from, tag.data());
    }
    if (serial || job.mode == Mode::gcm) continue;
    EXPECT_TRUE(is_answer(whole, out.data(), nullptr)) << name_of(whole);
  }
}

// A copy of the libcrypto of this process, which lives beside it.
TEST(Memory, AnotherLibcryptoIsVerifiedOnEveryJob) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&OpenSSL_version), &info), 0);
  const std::string file = info.dli_fname;
  if (file.find("libcrypto") == std::string::npos) GTEST_SKIP() << "libcrypto is linked statically";
  const std::string copy = ::testing::TempDir() + "paraes-libcrypto-" + std::to_string(getpid());
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(file, copy + "/libcrypto.so");
  MemoryRival rival;
  try {
    rival = open_libcrypto(copy + "/libcrypto.so");
    std::filesystem::remove_all(copy);
  } catch (const InvalidArgument& error) {
    if (std::string(error.what()).find("sanitizer") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(rival.version(), OpenSSL_version(OPENSSL_VERSION));
  for (const Job& job : all_jobs()) {
    try {
      EXPECT_TRUE(verifies(job, rival.make(job))) << name_of(job);
    } catch (const Skip& skip) {
      // As the rival openssl-evp.
      EXPECT_THROW((void)openssl_rival().make(job), Skip) << name_of(job) << ": " << skip.what();
    }
  }
}

TEST(Memory, RivalsAreVerifiedOrSkippedWithReasons) {
  for (const MemoryRival& rival : memory_rivals()) {
    if (rival.copies) continue;
    for (const Job& job : all_jobs()) {
      try {
        EXPECT_TRUE(verifies(job, rival.make(job))) << rival.name << " " << name_of(job);
      } catch (const Skip& skip) {
        EXPECT_STRNE(skip.what(), "");
        EXPECT_NE(rival.name == "openssl-evp" && job.threads == 1, true) << skip.what();
      }
    }
  }
}

TEST(Memory, CopiesAreVerifiedAndRefuseToWorkInPlace) {
  std::vector<std::string_view> names;
  for (const MemoryRival& rival : memory_rivals()) {
    if (!rival.copies) continue;
    names.push_back(rival.name);
    for (const std::uint64_t bytes : {1, 63, 64, 511, 512, 513, 100003}) {
      Job job;
      job.mode.reset();
      job.bytes = bytes;
      job.threads = 2;
      EXPECT_TRUE(verifies(job, rival.make(job))) << rival.name << " " << bytes;
      job.in_place = true;
      EXPECT_THROW((void)rival.make(job), Skip) << rival.name;
    }
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"memcpy", "stream-copy"}));
}

#if defined(__x86_64__)
// Its stores need an aligned address, but its caller's output may be anywhere.
TEST(Memory, StreamCopyWithEachWidthOfVector_CopiesToEveryAlignment) {
  std::vector<std::uint8_t> in(5000);
  pattern(0, in.data(), in.size());
  for (const char* mask :
       {"", "avx512f,avx512dq,avx512bw,avx512vl,avx512_vbmi2",
        "avx,avx2,vaes,vpclmulqdq,avx512f,avx512dq,avx512bw,avx512vl,avx512_vbmi2"}) {
    const support::ScopedEnvironment masked("PARAES_CPU_MASK", mask);
    for (std::size_t at = 0; at <= 64; ++at) {
      std::vector<std::uint8_t> out(at + in.size() + 64, 0xa5);
      std::vector<std::uint8_t> expected = out;
      std::copy(in.begin(), in.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
      Job job;
      job.mode.reset();
      job.bytes = in.size();
      stream_copy_rival().make(job)->run(in.data(), out.data() + at, nullptr);
      EXPECT_EQ(out, expected) << stream_copy_rival().version() << " at " << at;
    }
  }
}
#endif

// Returns the ports whose instructions this machine has.
std::vector<Ports> ports_here() {
  std::vector<Ports> list;
  for (const Ports& ports : all_ports()) {
    for (const KernelInfo& kernel : kernels()) {
      if (kernel.name == ports.kernel && kernel.available) list.push_back(ports);
    }
  }
  return list;
}

Job job_of(const Ports& ports, int bits = 128, int threads = 1) {
  return {ports.mode, bits, Direction::encrypt, 0, 100000, threads, false};
}

bool verifies(const Ports& ports, const Job& job) {
  return make_ports(row_of(job), job, ports)->verify();
}

TEST(Memory, PortsAreVerified) {
  if (ports_here().empty()) GTEST_SKIP() << "this machine has no AES instructions";
  for (const Ports& ports : ports_here()) {
    ASSERT_LE(ports.registers * ports.register_bytes, max_ports_bytes);
    for (const int bits : {128, 192, 256}) {
      for (const int threads : {1, 3}) {
        const Job job = job_of(ports, bits, threads);
        EXPECT_TRUE(verifies(ports, job)) << ports.rival << name_of(job);
      }
    }
  }
}

TEST(Memory, EachInstructionSetHasALimitOfRoundsAndOneOfGcm) {
  std::vector<std::string> gcm;
  std::vector<std::string> rounds;
  for (const Ports& ports : all_ports()) {
    const bool is_gcm = ports.mode == Mode::gcm;
    (is_gcm ? gcm : rounds).emplace_back(ports.kernel);
    EXPECT_EQ(ports.rival, (is_gcm ? "ports-gcm-" : "ports-") + std::string(ports.kernel));
  }
  EXPECT_EQ(gcm, rounds);
}

TEST(Memory, PortsThatSkipAnIterationAreNotVerified) {
  if (ports_here().empty()) GTEST_SKIP() << "this machine has no AES instructions";
  static Ports whole;
  for (const Ports& ports : ports_here()) {
    whole = ports;
    Ports lazy = whole;
    lazy.iterate = [](const std::uint8_t(*keys)[16], unsigned rounds, std::uint8_t* data,
                      std::uint64_t times) { whole.iterate(keys, rounds, data, times - 1); };
    Job job = job_of(ports);
    EXPECT_FALSE(verifies(lazy, job)) << ports.rival;
    job.bytes = 1000;
    EXPECT_THROW((void)make_ports(row_of(job), job, whole), Skip) << ports.rival;
  }
}

// Where a register of a GCM limit begins.
std::size_t at_register(const Ports& ports, std::size_t number) {
  return number * ports.register_bytes;
}

TEST(Memory, GcmPortsThatLeaveOutTheirLastLaneAreNotVerified) {
  if (ports_here().empty()) GTEST_SKIP() << "this machine has no AES instructions";
  static Ports whole;
  static std::size_t left_out;  // its first byte
  for (const Ports& ports : ports_here()) {
    if (ports.mode != Mode::gcm) continue;
    whole = ports;
    Ports lazy = whole;
    lazy.iterate = [](const std::uint8_t(*keys)[16], unsigned rounds, std::uint8_t* data,
                      std::uint64_t times) {
      std::array<std::uint8_t, 16> lane{};
      std::copy_n(data + left_out, lane.size(), lane.begin());
      whole.iterate(keys, rounds, data, times);
      std::copy_n(lane.begin(), lane.size(), data + left_out);
    };
    for (const std::size_t end : {gcm_block_registers, gcm_registers - 1}) {
      left_out = at_register(ports, end) - 16;
      EXPECT_FALSE(verifies(lazy, job_of(ports))) << ports.rival << " " << end;
    }
  }
}

// Otherwise the processor would multiply zeros.
TEST(Memory, ProductsOfGcmPortsDoNotEndAtZero) {
  if (ports_here().empty()) GTEST_SKIP() << "this machine has no AES instructions";
  static Ports whole;
  static std::set<std::vector<std::uint8_t>> halves;
  for (const Ports& ports : ports_here()) {
    if (ports.mode != Mode::gcm) continue;
    whole = ports;
    halves.clear();
    Ports watched = whole;
    watched.iterate = [](const std::uint8_t(*keys)[16], unsigned rounds, std::uint8_t* data,
                         std::uint64_t times) {
      whole.iterate(keys, rounds, data, times);
      const std::uint8_t* const end = data + at_register(whole, gcm_registers - 1);
      for (const std::uint8_t* at = data; at != end; at += 8) halves.emplace(at, at + 8);
    };
    EXPECT_TRUE(verifies(watched, job_of(ports))) << ports.rival;
    EXPECT_EQ(halves.size(), at_register(ports, gcm_registers - 1) / 8) << ports.rival;
    EXPECT_FALSE(halves.contains(std::vector<std::uint8_t>(8))) << ports.rival;
  }
}

// A correct implementation whose output is damaged afterwards.
class Damaged : public Implementation {
 public:
  enum class Where { first_byte, last_byte, tag, nothing_written, nowhere };

  Damaged(const Job& job, Where where)
      : inner_(make_ours(job, "ttable")), job_(job), where_(where) {}

  void run(const std::uint8_t* in, std::uint8_t* out, std::uint8_t* tag) override {
    if (where_ == Where::nothing_written) return;
    inner_->run(in, out, tag);
    if (where_ == Where::first_byte) out[0] ^= 0x01;
    if (where_ == Where::last_byte) out[end() - 1] ^= 0x80;
    if (where_ == Where::tag) (job_.message == 0 ? tag : out + end())[15] ^= 0x80;
  }

 private:
  // Where the text ends.
  [[nodiscard]] std::uint64_t end() const {
    return buffer_bytes(job_) - (job_.message == 0 ? 0 : tag_bytes);
  }

  std::unique_ptr<Implementation> inner_;
  Job job_;
  Where where_;
};

TEST(Memory, WrongBitIsNotVerified) {
  using Where = Damaged::Where;
  for (const Job& job : all_jobs()) {
    if (job.message != 0 && job.key_bits == 192) continue;
    for (const auto where :
         {Where::first_byte, Where::last_byte, Where::tag, Where::nothing_written}) {
      // Decryption writes no tag, and other modes have none.
      const bool has_tag = job.mode == Mode::gcm && job.direction == Direction::encrypt;
      if (where == Where::tag && !has_tag) continue;
      EXPECT_FALSE(verifies(job, std::make_unique<Damaged>(job, where)))
          << name_of(job) << " " << static_cast<int>(where);
    }
  }
}

// Implementations that check the tags refuse messages of which one tag is wrong.
TEST(Memory, DecryptionOfMessagesChecksEveryTag) {
  Job job{Mode::gcm, 128, Direction::decrypt, 4096, 1000, 1, false};
  job.message = 100;
  std::vector<std::uint8_t> in(buffer_bytes(job));
  std::vector<std::uint8_t> out(in.size());
  pattern(0, in.data(), in.size());
  write_tags_of_pattern(job, in.data());
  std::vector<std::unique_ptr<Implementation>> all;
  all.push_back(make_ours(job, "ttable"));
  for (const MemoryRival& rival : memory_rivals()) {
    if (rival.copies) continue;
    try {
      all.push_back(rival.make(job));
    } catch (const Skip& skip) {
      EXPECT_STRNE(skip.what(), "");
    }
  }
  EXPECT_GE(all.size(), 2U);
  for (const auto& implementation : all) {
    implementation->run(in.data(), out.data(), nullptr);
    in.back() ^= 1;
    EXPECT_ANY_THROW(implementation->run(in.data(), out.data(), nullptr));
    in.back() ^= 1;
  }
}

TEST(Memory, PatternHasNoEqualBlocksAndCanStartAnywhere) {
  std::vector<std::uint8_t> bytes(1 << 16);
  pattern(0, bytes.data(), bytes.size());
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < bytes.size(); i += 16) {
    blocks.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                        bytes.begin() + static_cast<std::ptrdiff_t>(i) + 16);
  }
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::adjacent_find(blocks.begin(), blocks.end()), blocks.end());
  // A range has the same bytes as in the whole.
  std::vector<std::uint8_t> range(1000);
  pattern(4099, range.data(), range.size());
  EXPECT_TRUE(std::equal(range.begin(), range.end(), bytes.begin() + 4099));
}

// The exit status; the output is discarded.
int status_of(BenchPlan plan, const Options& options) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_plan(std::move(plan), options);
  static_cast<void>(testing::internal::GetCapturedStdout());
  static_cast<void>(testing::internal::GetCapturedStderr());
  return status;
}

TEST(Run, CasesOfAGroupAreGoneBeforeTheNextOneIsSetUp) {
  BenchPlan plan;
  for (const char* name : {"first", "second"}) {
    plan.groups.emplace_back();
    plan.groups.back().push_back(std::make_unique<Fake>(name));
  }
  const auto buffers = std::make_shared<int>();
  static_cast<Fake&>(*plan.groups[0][0]).on_rest = [buffers] {};
  long holders = 0;
  static_cast<Fake&>(*plan.groups[1][0]).on_set_up = [&] { holders = buffers.use_count(); };
  EXPECT_EQ(status_of(std::move(plan), {.samples = 2, .warmup = 0}), 0);
  EXPECT_EQ(holders, 1);
}

TEST(Run, WrongRowAndEmptyPlanExitWithOne) {
  EXPECT_EQ(status_of({}, {}), 1);
  const Job job{Mode::ctr, 128, Direction::encrypt, 4096, 4096, 1, false};
  for (const auto where : {Damaged::Where::last_byte, Damaged::Where::nowhere}) {
    BenchPlan plan;
    plan.groups.emplace_back();
    plan.groups[0].push_back(
        std::make_unique<MemoryCase>(row_of(job), job, std::make_unique<Damaged>(job, where),
                                     std::make_shared<Arena>(job.bytes, job.threads)));
    const int expected = where == Damaged::Where::nowhere ? 0 : 1;
    EXPECT_EQ(status_of(std::move(plan), {.samples = 2, .warmup = 0}), expected);
  }
}

}  // namespace
}  // namespace paraes::bench
