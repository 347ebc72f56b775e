// Commands, replies and chunks that ranks send each other: reading returns what was written, and
// malformed messages are refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mpi/chunks.hpp"
#include "mpi/commands.hpp"
#include "paraes/error.hpp"
#include "src/core/locked_memory.hpp"
#include "tests/support/message_of.hpp"

namespace paraes::mpi {
namespace {

using support::message_of;

Command a_command() {
  Command command;
  command.task = Task::open;
  command.number = 7;
  command.exit_status = -3;
  command.session = 12;
  command.parts.header = {1, 2, 3};
  command.parts.layout = {56, 16384, 16384, 1000, SegmentLayout::Last::any};
  command.parts.secret.key = SecretBytes(32);
  command.parts.secret.key.data()[31] = 0xab;
  command.parts.secret.base_nonce[11] = 9;
  command.parts.secret.nonces = SegmentCipher::Nonces::prefixed;
  command.parts.commits = true;
  command.seals = false;
  command.source = "in";
  command.sink = "out";
  command.shown = "shown";
  command.samples.nonce[31] = 21;
  command.samples.offsets = {0, 4096};
  command.samples.digest[31] = 22;
  command.sink_id.device = 23;
  command.sink_id.inode = 1234567890123U;
  command.tokens.seed[31] = 24;
  command.tokens.begin = 65536;
  command.version.id.device = 5;
  command.version.id.inode = 6;
  command.version.size = std::uint64_t{1} << 40;
  command.version.modified = {.tv_sec = -1, .tv_nsec = 999999999};
  command.overlap = false;
  command.salvages = true;
  command.offset = 17;
  command.length = 18;
  return command;
}

template <class T>
std::string error_of_reading(const Serializer& bytes) {
  return message_of<Error>([&] { return bytes.read<T>(); });
}

Serializer copy_of(const Serializer& bytes, std::size_t size) {
  Serializer copy(size);
  std::fill_n(copy.data(), size, std::uint8_t{0});
  std::copy_n(bytes.data(), std::min(size, bytes.size()), copy.data());
  return copy;
}

TEST(Serializer, Command_IsReadAsWritten) {
  const Command sent = a_command();
  const auto command = serialized(sent).read<Command>();
  EXPECT_EQ(command.task, Task::open);
  EXPECT_EQ(command.number, 7U);
  EXPECT_EQ(command.exit_status, -3);
  EXPECT_EQ(command.session, 12);
  EXPECT_EQ(command.parts.header, (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(command.parts.layout.header_bytes, 56U);
  EXPECT_EQ(command.parts.layout.max_segments, 1000U);
  EXPECT_EQ(command.parts.layout.last, SegmentLayout::Last::any);
  EXPECT_TRUE(constant_time_equal(command.parts.secret.key.span(), sent.parts.secret.key.span()));
  EXPECT_EQ(command.parts.secret.base_nonce, sent.parts.secret.base_nonce);
  EXPECT_EQ(command.parts.secret.nonces, SegmentCipher::Nonces::prefixed);
  EXPECT_TRUE(command.parts.commits);
  EXPECT_FALSE(command.seals);
  EXPECT_EQ(command.source, "in");
  EXPECT_EQ(command.sink, "out");
  EXPECT_EQ(command.shown, "shown");
  EXPECT_EQ(command.samples.nonce, sent.samples.nonce);
  EXPECT_EQ(command.samples.offsets, (std::vector<std::uint64_t>{0, 4096}));
  EXPECT_EQ(command.samples.digest, sent.samples.digest);
  EXPECT_EQ(command.sink_id, sent.sink_id);
  EXPECT_EQ(command.tokens.seed, sent.tokens.seed);
  EXPECT_EQ(command.tokens.begin, 65536U);
  EXPECT_EQ(command.version.id.device, 5U);
  EXPECT_EQ(command.version.id.inode, 6U);
  EXPECT_EQ(command.version.size, std::uint64_t{1} << 40);
  EXPECT_EQ(command.version.modified.tv_sec, -1);
  EXPECT_EQ(command.version.modified.tv_nsec, 999999999);
  EXPECT_FALSE(command.overlap);
  EXPECT_TRUE(command.salvages);
  EXPECT_EQ(command.offset, 17U);
  EXPECT_EQ(command.length, 18U);
}

TEST(Serializer, EmptyCommand_IsReadAsWritten) {
  Command quit;
  quit.exit_status = 3;
  const auto command = serialized(quit).read<Command>();
  EXPECT_EQ(command.task, Task::quit);
  EXPECT_EQ(command.exit_status, 3);
  EXPECT_TRUE(command.parts.secret.key.empty());
  EXPECT_FALSE(command.length.has_value());
}

bool is_in_locked_memory(const std::uint8_t* data, std::size_t size) {
  const auto arenas = locked_arenas();
  return std::any_of(arenas.begin(), arenas.end(), [&](const auto& arena) {
    return !std::less<>()(data, arena.data()) &&
           !std::less<>()(arena.data() + arena.size(), data + size);
  });
}

// Whether the locked memory contains `size` bytes 0xab, of which the key below consists.
bool locked_memory_has_key(std::size_t size) {
  const auto arenas = locked_arenas();
  const std::vector<std::uint8_t> key(size, 0xab);
  return std::any_of(arenas.begin(), arenas.end(), [&](const auto& arena) {
    return std::search(arena.begin(), arena.end(), key.begin(), key.end()) != arena.end();
  });
}

TEST(Serializer, BytesAndKeyOfCommand_AreInLockedMemoryAndWiped) {
  {
    Command sent = a_command();
    std::fill_n(sent.parts.secret.key.data(), 32, std::uint8_t{0xab});
    const Serializer bytes = serialized(sent);
    EXPECT_TRUE(is_in_locked_memory(bytes.data(), bytes.size()));
    Serializer received(bytes.size(), true);
    EXPECT_TRUE(is_in_locked_memory(received.data(), received.size()));
    std::copy_n(bytes.data(), bytes.size(), received.data());
    Serializer moved(std::move(received));
    EXPECT_TRUE(is_in_locked_memory(moved.data(), moved.size()));
    const auto command = moved.read<Command>();
    EXPECT_TRUE(is_in_locked_memory(command.parts.secret.key.data(), 32));
    EXPECT_TRUE(locked_memory_has_key(32));
  }
  EXPECT_FALSE(locked_memory_has_key(8));
}

TEST(Serializer, BytesWithoutKeys_AreNotInLockedMemory) {
  // Chunks have megabytes, more than many systems allow to be locked.
  const Serializer bytes = serialized(Reply{});
  EXPECT_FALSE(is_in_locked_memory(bytes.data(), bytes.size()));
}

TEST(Serializer, Reply_IsReadAsWritten) {
  Reply sent;
  sent.kind = Reply::Kind::failed;
  sent.error = ErrorKind::io_error;
  sent.number = 4;
  sent.threads = 64;
  sent.text = "no room";
  sent.code = 28;
  sent.result.segments = 3;
  sent.result.intact = 2;
  sent.result.truncated = true;
  sent.result.times.write = 5;
  sent.bad = {{.offset = 1, .bytes = 2}, {.offset = 3, .bytes = 4}};
  const auto reply = serialized(sent).read<Reply>();
  EXPECT_EQ(reply.kind, Reply::Kind::failed);
  EXPECT_EQ(reply.error, ErrorKind::io_error);
  EXPECT_EQ(reply.number, 4U);
  EXPECT_EQ(reply.threads, 64U);
  EXPECT_EQ(reply.text, "no room");
  EXPECT_EQ(reply.code, 28);
  EXPECT_EQ(reply.result.segments, 3U);
  EXPECT_EQ(reply.result.intact, 2U);
  EXPECT_TRUE(reply.result.truncated);
  EXPECT_EQ(reply.result.times.write, 5U);
  ASSERT_EQ(reply.bad.size(), 2U);
  EXPECT_EQ(reply.bad[1].offset, 3U);
  EXPECT_EQ(reply.bad[1].bytes, 4U);
}

TEST(Serializer, UnknownTask_IsRefused) {
  Serializer bytes = serialized(a_command());
  bytes.data()[0] = static_cast<std::uint8_t>(Task::measure) + 1;
  EXPECT_NE(error_of_reading<Command>(bytes).find("unexpected command"), std::string::npos);
  bytes.data()[0] = 0;
  bytes.data()[7] = 1;
  EXPECT_NE(error_of_reading<Command>(bytes).find("unexpected command"), std::string::npos);
}

TEST(Serializer, CommandOfWrongSize_IsRefused) {
  const Serializer bytes = serialized(a_command());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of_reading<Command>(copy_of(bytes, size)).find("too short"), std::string::npos)
        << size;
  }
  EXPECT_NE(error_of_reading<Command>(copy_of(bytes, bytes.size() + 1)).find("too long"),
            std::string::npos);
}

TEST(Serializer, NumberOutOfRange_IsRefused) {
  Serializer bytes(8);
  std::fill_n(bytes.data(), 8, std::uint8_t{0xff});
  EXPECT_NE(error_of_reading<bool>(bytes), "");
  EXPECT_NE(error_of_reading<unsigned>(bytes), "");
  EXPECT_EQ(bytes.read<int>(), -1);
  EXPECT_NE(error_of_reading<std::string>(bytes), "");
  EXPECT_NE(error_of_reading<std::vector<BadRange>>(bytes), "");
}

struct Segments {
  std::array<std::uint8_t, 40> in{};
  std::array<std::uint8_t, 72> out{};
  std::array<SegmentCipher::Segment, 2> run{};

  Segments() {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i);
    run[0] = {
        .index = 5, .last = false, .in = Bytes(in).first(30), .out = MutableBytes(out).first(46)};
    run[1] = {.index = 6,
              .last = true,
              .in = Bytes(in).subspan(30),
              .out = MutableBytes(out).subspan(46)};
  }
};

TEST(Chunks, SegmentsAndResults_AreReadAsWritten) {
  Segments segments;
  const Serializer sent = serialized_chunk(segments.run);
  HeldChunk chunk(sent, true);
  ASSERT_EQ(chunk.segments().size(), 2U);
  EXPECT_EQ(chunk.segments()[0].index, 5U);
  EXPECT_FALSE(chunk.segments()[0].last);
  EXPECT_EQ(chunk.segments()[1].index, 6U);
  EXPECT_TRUE(chunk.segments()[1].last);
  for (SegmentCipher::Segment& segment : chunk.segments()) {
    ASSERT_EQ(segment.out.size(), segment.in.size() + segment_tag_bytes);
    std::copy(segment.in.begin(), segment.in.end(), segment.out.begin());
    segment.intact = segment.last;
  }
  EXPECT_EQ(take_result(chunk.serialized_result(99), segments.run), 99U);
  EXPECT_FALSE(segments.run[0].intact);
  EXPECT_TRUE(segments.run[1].intact);
  EXPECT_EQ(segments.out[29], 29);
  EXPECT_EQ(segments.out[46], 30);
}

TEST(Chunks, ResultOfOtherSegmentsAndSegmentWithoutTag_AreRefused) {
  Segments segments;
  const Serializer sent = serialized_chunk(segments.run);
  HeldChunk chunk(sent, true);
  const Serializer result = chunk.serialized_result(1);
  EXPECT_THROW(static_cast<void>(take_result(result, std::span(segments.run).first(1))), Error);
  // The second segment has 10 bytes, fewer than a tag.
  EXPECT_THROW(HeldChunk(sent, false), Error);
}

}  // namespace
}  // namespace paraes::mpi
