// Pieces of a message on their way between ranks.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cli/clock.hpp"
#include "mpi/packet.hpp"
#include "paraes/segments.hpp"

namespace paraes::mpi {

// That each thread of another rank has in hand: one that it computes, one that waits.
inline constexpr unsigned pieces_a_thread = 2;

inline Packet pack_piece(std::span<const SegmentCipher::Segment> run) {
  Packet packet;
  std::size_t bytes = 0;
  for (const SegmentCipher::Segment& segment : run) bytes += segment.in.size() + 32;
  packet.reserve(bytes + 8);
  packet.add(std::uint64_t{run.size()});
  for (const SegmentCipher::Segment& segment : run) {
    packet.add(segment.index);
    packet.add(std::uint64_t{segment.last});
    packet.add(std::uint64_t{segment.out.size()});
    packet.add(segment.in);
  }
  return packet;
}

// A piece as the other rank holds it: `run` points into the packet and into `out`.
struct HeldPiece {
  std::vector<SegmentCipher::Segment> run;
  std::vector<std::uint8_t> out;
};

inline HeldPiece unpack_piece(Packet& packet) {
  HeldPiece piece;
  const std::uint64_t count = packet.number();
  std::size_t total = 0;
  std::vector<std::size_t> sizes;
  for (std::uint64_t i = 0; i < count; ++i) {
    SegmentCipher::Segment segment;
    segment.index = packet.number();
    segment.last = packet.number() != 0;
    sizes.push_back(static_cast<std::size_t>(packet.number()));
    segment.in = packet.bytes();
    total += sizes.back();
    piece.run.push_back(segment);
  }
  piece.out.resize(total);
  std::size_t at = 0;
  for (std::size_t i = 0; i < piece.run.size(); ++i) {
    piece.run[i].out = MutableBytes(piece.out).subspan(at, sizes[i]);
    at += sizes[i];
  }
  return piece;
}

// What became of it, after the nanoseconds that it took.
inline Packet pack_result(const HeldPiece& piece, std::uint64_t nanoseconds) {
  Packet packet;
  packet.reserve(piece.out.size() + 8 * piece.run.size() + 32);
  packet.add(nanoseconds);
  for (const SegmentCipher::Segment& segment : piece.run) {
    packet.add(std::uint64_t{segment.intact});
  }
  packet.add(Bytes(piece.out));
  return packet;
}

inline std::uint64_t unpack_result(Packet& packet, std::span<SegmentCipher::Segment> run) {
  const std::uint64_t nanoseconds = packet.number();
  for (SegmentCipher::Segment& segment : run) segment.intact = packet.number() != 0;
  const Bytes out = packet.bytes();
  std::size_t at = 0;
  for (SegmentCipher::Segment& segment : run) {
    if (segment.out.size() > out.size() - at) throw Error("a rank gave back another piece");
    std::memcpy(segment.out.data(), out.data() + at, segment.out.size());
    at += segment.out.size();
  }
  return nanoseconds;
}

using cli::nanoseconds_since;

}  // namespace paraes::mpi
