// No run key, input key or identity stays in memory that is freed, or in the locked memory.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "paraes/recipients.hpp"
#include "tests/support/age_file.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/freed_memory.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

using support::Buffer;
using support::expect_nothing_left;
using support::watch_for;

TEST(ZeroiseRecipients, SlotThatWasSealedAndOpened_LeavesNoKeys) {
  const Buffer run_key = support::make_key(32, 1);
  for (const std::size_t key_bytes : {16U, 32U}) {
    const Buffer input_key = support::make_key(key_bytes, 2);
    const Buffer age_file = support::make_age_file();
    const Preface preface =
        Preface::for_recipients(static_cast<unsigned>(8 * key_bytes), age_file.size());
    watch_for({run_key, input_key});
    expect_nothing_left([&] {
      const auto start = preface.encode();
      Buffer header(start.begin(), start.end());
      const Buffer wrap = make_wrap(preface, age_file, run_key, input_key);
      header.insert(header.end(), wrap.begin(), wrap.end());
      const SecretBytes opened = open_slot(header, run_key);
      EXPECT_EQ(support::difference(opened.span(), input_key), "");
      EXPECT_GE(support::needles_in_arena(), 1U) << "the test searches memory that holds no keys";
      header.back() ^= 1;
      EXPECT_ANY_THROW(static_cast<void>(open_slot(header, run_key)));
    });
  }
}

TEST(ZeroiseRecipients, AgeThatPrintsAKey_LeavesNone) {
  const support::TemporaryFolder folder;
  const Buffer run_key = support::make_key(32, 3);
  folder.write("key", run_key);
  folder.write("identities", std::string("AGE-SECRET-KEY-1\n"));
  AgeProgram program;
  for (const char* end : {"exit 0", "exit 1", "cat \"$folder/key\"", "kill -9 $$"}) {
    program.name = folder.write_script("age", "cat \"$folder/key\"; " + std::string(end));
    watch_for({run_key});
    expect_nothing_left([&] {
      try {
        const AgeIdentities identities({folder.path("identities")});
        const SecretBytes key = identities.decrypt(program, support::make_age_file());
        EXPECT_EQ(support::difference(key.span(), run_key), "");
      } catch (const Error&) {
        EXPECT_STRNE(end, "exit 0");
      }
    });
  }
}

TEST(ZeroiseRecipients, IdentityThatCameThroughAPipe_LeavesNoCopy) {
  const support::TemporaryFolder folder;
  const Buffer identity = support::make_key(64, 4);
  folder.write("key", support::make_key(32, 5));
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::thread writer([&] {
    const int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(write(end, identity.data(), identity.size()), 64);
    close(end);
  });
  AgeProgram program;
  program.name = folder.write_script("age", "cat \"$3\" > \"$folder/got\"; cat \"$folder/key\"");
  watch_for({identity});
  expect_nothing_left([&] {
    const AgeIdentities identities({fifo});
    EXPECT_GE(support::needles_in_arena(), 1U) << "the test searches memory that holds no identity";
    static_cast<void>(identities.decrypt(program, support::make_age_file()));
  });
  writer.join();
  const std::string got = folder.text("got");
  EXPECT_EQ(support::difference(support::bytes_of(got), identity), "");
}

}  // namespace
}  // namespace paraes
