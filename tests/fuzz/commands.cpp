// Fuzzes what ranks of paraes-mpi send each other: bytes are refused with an Error, or they are
// read to a structure that has just these bytes. Chunks that were computed give their segments, and
// results of other chunks are refused.

#include "mpi/commands.hpp"

#include "mpi/chunks.hpp"
#include "paraes/error.hpp"
#include "tests/fuzz/input.hpp"

namespace paraes::fuzz {
namespace {

using mpi::Serializer;

Serializer received(Bytes bytes) {
  Serializer made(bytes.size());
  std::copy(bytes.begin(), bytes.end(), made.data());
  return made;
}

Bytes bytes_of(const Serializer& serializer) { return {serializer.data(), serializer.size()}; }

template <class T>
void check_read(Bytes bytes) {
  const Serializer given = received(bytes);
  try {
    const T thing = given.read<T>();
    require(equal(bytes_of(mpi::serialized(thing)), bytes));
  } catch (const InvalidArgument&) {
    std::abort();  // rank 0 would blame the caller
  } catch (const Error&) {
    return;
  }
}

std::string any_string(Input& input) { return input.ConsumeRandomLengthString(40); }

mpi::Command any_command(Input& input) {
  mpi::Command command;
  command.task = static_cast<mpi::Task>(number(input, 0, 5));
  command.number = input.ConsumeIntegral<std::uint64_t>();
  command.exit_status = input.ConsumeIntegral<int>();
  command.session = input.ConsumeIntegral<int>();
  command.parts.header = take(input, number(input, 0, 40));
  command.parts.layout.header_bytes = input.ConsumeIntegral<std::uint64_t>();
  command.parts.layout.last =
      input.ConsumeBool() ? SegmentLayout::Last::any : SegmentLayout::Last::shorter;
  command.parts.secret.key = SecretBytes(Bytes(take(input, number(input, 0, 40))));
  command.parts.commits = input.ConsumeBool();
  command.source = any_string(input);
  command.version.size = input.ConsumeIntegral<std::uint64_t>();
  command.version.modified.tv_nsec = input.ConsumeIntegral<long>();
  for (std::size_t n = number(input, 0, 5); n != 0; --n) {
    command.samples.offsets.push_back(input.ConsumeIntegral<std::uint64_t>());
  }
  command.sink = any_string(input);
  command.overlap = input.ConsumeBool();
  if (input.ConsumeBool()) command.length = input.ConsumeIntegral<std::uint64_t>();
  return command;
}

mpi::Reply any_reply(Input& input) {
  mpi::Reply reply;
  reply.kind = static_cast<mpi::Reply::Kind>(number(input, 0, 2));
  const auto last = static_cast<std::size_t>(mpi::enum_range<ErrorKind>.last);
  reply.error = static_cast<ErrorKind>(number(input, 0, last));
  reply.number = input.ConsumeIntegral<std::uint64_t>();
  reply.threads = input.ConsumeIntegral<unsigned>();
  reply.text = any_string(input);
  reply.code = input.ConsumeIntegral<int>();
  reply.result.truncated = input.ConsumeBool();
  for (std::size_t n = number(input, 0, 5); n != 0; --n) {
    reply.bad.push_back({.offset = input.ConsumeIntegral<std::uint64_t>(), .bytes = n});
  }
  return reply;
}

// The reply of a failed rank becomes an Error, whose reply says the same, or names a base of it.
void check_reply(const mpi::Reply& reply) {
  mpi::Reply again;
  try {
    mpi::throw_reply(reply, "rank 3", {"some file"});
  } catch (const Error& error) {
    // The text of an exception ends at its first zero byte.
    const std::string text = mpi::with_rank(reply.text, "rank 3", {"some file"});
    require(text.c_str() == std::string(error.what()));
    again = mpi::reply_of_current_exception();
  }
  require(again.kind == mpi::Reply::Kind::failed);
  require(again.error == ErrorKind::error || is_a(reply.error, again.error));
  require(again.error != ErrorKind::io_error || again.code == reply.code);
}

template <class T>
void check_made(Input& input, const T& thing) {
  const Serializer made = mpi::serialized(thing);
  Buffer bytes(made.data(), made.data() + made.size());
  const T again = received(bytes).template read<T>();
  require(equal(bytes_of(mpi::serialized(again)), bytes));
  damage(input, bytes);
  check_read<T>(bytes);
}

struct Segments {
  explicit Segments(Input& input, bool seals) {
    for (std::size_t n = number(input, 0, 6); n != 0; --n) {
      const std::size_t plain = number(input, 0, 50);
      in.push_back(take(input, plain + (seals ? 0 : segment_tag_bytes)));
      out.emplace_back(plain + (seals ? segment_tag_bytes : 0));
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      list.push_back({.index = input.ConsumeIntegral<std::uint64_t>(),
                      .last = input.ConsumeBool(),
                      .in = in[i],
                      .out = out[i]});
    }
  }

  std::vector<Buffer> in;
  std::vector<Buffer> out;
  std::vector<SegmentCipher::Segment> list;
};

void check_chunk(Input& input) {
  const bool seals = input.ConsumeBool();
  Segments segments(input, seals);
  const Serializer sent = mpi::serialized_chunk(segments.list);
  mpi::HeldChunk held(sent, seals);
  require(held.segments().size() == segments.list.size());
  for (std::size_t i = 0; i < segments.list.size(); ++i) {
    SegmentCipher::Segment& segment = held.segments()[i];
    require(segment.index == segments.list[i].index && segment.last == segments.list[i].last);
    require(equal(segment.in, segments.in[i]) && segment.out.size() == segments.out[i].size());
    std::fill(segment.out.begin(), segment.out.end(), static_cast<std::uint8_t>(i + 1));
    segment.intact = i % 2 == 0;
  }
  const Serializer result = held.serialized_result(7);
  require(mpi::take_result(result, segments.list) == 7);
  for (std::size_t i = 0; i < segments.list.size(); ++i) {
    require(segments.list[i].intact == (i % 2 == 0));
    require(segments.out[i] == Buffer(segments.out[i].size(), static_cast<std::uint8_t>(i + 1)));
  }
  Buffer other(result.data(), result.data() + result.size());
  damage(input, other);
  static_cast<void>(
      throws<Error>([&] { static_cast<void>(mpi::take_result(received(other), segments.list)); }));
}

// A chunk of any bytes is refused, or has room for all its segments.
void check_held(Input& input, Bytes bytes) {
  const bool seals = input.ConsumeBool();
  const Serializer given = received(bytes);
  static_cast<void>(throws<Error>([&] {
    mpi::HeldChunk held(given, seals);
    for (const SegmentCipher::Segment& segment : held.segments()) {
      require(seals ? segment.out.size() == segment.in.size() + segment_tag_bytes
                    : segment.out.size() + segment_tag_bytes == segment.in.size());
    }
  }));
}

}  // namespace

void fuzz(Input& input) {
  switch (number(input, 0, 3)) {
    case 0:
      check_made(input, any_command(input));
      break;
    case 1: {
      const mpi::Reply reply = any_reply(input);
      check_reply(reply);
      check_made(input, reply);
      break;
    }
    case 2:
      check_chunk(input);
      break;
    default: {
      const Buffer bytes = input.ConsumeRemainingBytes<std::uint8_t>();
      check_read<mpi::Command>(bytes);
      check_read<mpi::Reply>(bytes);
      check_read<std::uint64_t>(bytes);
      check_read<mpi::ProgressReport>(bytes);
      check_read<mpi::RankChunk>(bytes);
      check_read<mpi::ChunkResult>(bytes);
      check_held(input, bytes);
    }
  }
}

}  // namespace paraes::fuzz
