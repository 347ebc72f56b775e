#include "mpi/orders.hpp"

#include <algorithm>

#include "cli/report.hpp"
#include "paraes/threads.hpp"

namespace paraes::mpi {

Packet pack(const Order& order) {
  Packet packet;
  packet.add(static_cast<std::uint64_t>(order.task));
  packet.add(order.number);
  const SegmentLayout& layout = order.parts.layout;
  packet.add(Bytes(order.parts.header));
  packet.add(layout.header_bytes);
  packet.add(layout.first_bytes);
  packet.add(layout.segment_bytes);
  packet.add(layout.most_segments);
  packet.add(static_cast<std::uint64_t>(layout.last));
  packet.add(Bytes(order.parts.secret.key.span()));
  packet.add(Bytes(order.parts.secret.base_nonce));
  packet.add(static_cast<std::uint64_t>(order.parts.secret.nonces));
  packet.add(std::uint64_t{order.parts.commits});
  packet.add(std::uint64_t{order.encrypts});
  packet.add(order.source);
  packet.add(order.sink);
  packet.add(order.shown);
  packet.add(order.inode);
  packet.add(std::uint64_t{order.version.id.inode});
  packet.add(order.version.size);
  packet.add(static_cast<std::uint64_t>(order.version.modified.tv_sec));
  packet.add(static_cast<std::uint64_t>(order.version.modified.tv_nsec));
  packet.add(std::uint64_t{order.overlap});
  packet.add(std::uint64_t{order.salvages});
  packet.add(order.offset);
  packet.add(std::uint64_t{order.length.has_value()});
  packet.add(order.length.value_or(0));
  return packet;
}

Order unpack_order(Task task, Packet& packet) {
  Order order;
  order.task = task;
  order.number = packet.number();
  const Bytes header = packet.bytes();
  order.parts.header.assign(header.begin(), header.end());
  SegmentLayout& layout = order.parts.layout;
  layout.header_bytes = packet.number();
  layout.first_bytes = packet.number();
  layout.segment_bytes = packet.number();
  layout.most_segments = packet.number();
  layout.last = static_cast<SegmentLayout::Last>(packet.number());
  order.parts.secret.key = SecretBytes(packet.bytes());
  const Bytes nonce = packet.bytes();
  if (nonce.size() != order.parts.secret.base_nonce.size()) throw Error("a nonce of another size");
  std::copy(nonce.begin(), nonce.end(), order.parts.secret.base_nonce.begin());
  order.parts.secret.nonces = static_cast<SegmentCipher::Nonces>(packet.number());
  order.parts.commits = packet.number() != 0;
  order.encrypts = packet.number() != 0;
  order.source = packet.text();
  order.sink = packet.text();
  order.shown = packet.text();
  order.inode = packet.number();
  order.version.id.inode = packet.number();
  order.version.size = packet.number();
  order.version.modified.tv_sec = static_cast<time_t>(packet.number());
  order.version.modified.tv_nsec = static_cast<long>(packet.number());
  order.overlap = packet.number() != 0;
  order.salvages = packet.number() != 0;
  order.offset = packet.number();
  const bool has_length = packet.number() != 0;
  const std::uint64_t length = packet.number();
  if (has_length) order.length = length;
  return order;
}

Packet pack_stop(std::uint64_t number) {
  Packet packet;
  packet.add(number);
  return packet;
}

unsigned threads_of(const Execution& execution) {
  return static_cast<unsigned>(execution.threads == 0 ? available_cores() : execution.threads);
}

Packet pack(const Answer& answer) {
  Packet packet;
  packet.add(static_cast<std::uint64_t>(answer.kind));
  packet.add(answer.number);
  packet.add(answer.text);
  packet.add(answer.code);
  packet.add(answer.result.segments);
  packet.add(answer.result.intact);
  packet.add(std::uint64_t{answer.result.truncated});
  for (const Phase& phase : phase_table) packet.add(answer.result.times.*phase.busy_ns);
  packet.add(std::uint64_t{answer.bad.size()});
  for (const BadRange& range : answer.bad) {
    packet.add(range.offset);
    packet.add(range.bytes);
  }
  return packet;
}

Answer unpack_answer(Packet& packet) {
  Answer answer;
  answer.kind = static_cast<Answer::Kind>(packet.number());
  answer.number = packet.number();
  answer.text = packet.text();
  answer.code = packet.number();
  answer.result.segments = packet.number();
  answer.result.intact = packet.number();
  answer.result.truncated = packet.number() != 0;
  for (const Phase& phase : phase_table) answer.result.times.*phase.busy_ns = packet.number();
  const std::uint64_t count = packet.number();
  for (std::uint64_t i = 0; i < count; ++i) {
    BadRange range;
    range.offset = packet.number();
    range.bytes = packet.number();
    answer.bad.push_back(range);
  }
  return answer;
}

Answer answer_of_current_exception() noexcept {
  using Kind = Answer::Kind;
  Answer answer;
  try {
    try {
      throw;
    } catch (const Stopped&) {
      answer.kind = Kind::stopped;
    } catch (const IoError& error) {
      answer.kind = Kind::io;
      answer.code = static_cast<std::uint64_t>(error.code());
      answer.text = error.what();
    } catch (const InvalidArgument& error) {
      answer.kind = Kind::invalid_argument;
      answer.text = cli::error_text(error);
    } catch (const Unavailable& error) {
      answer.kind = Kind::unavailable;
      answer.text = error.what();
    } catch (const DeviceError& error) {
      answer.kind = Kind::device;
      answer.text = error.what();
    } catch (const IntegrityError& error) {
      answer.kind = Kind::integrity;
      answer.text = cli::error_text(error);
    } catch (const WrongKey& error) {
      answer.kind = Kind::wrong_key;
      answer.text = error.what();
    } catch (const std::bad_alloc&) {
      answer.kind = Kind::other;
      answer.text = "out of memory";
    } catch (const std::exception& error) {
      answer.kind = Kind::other;
      answer.text = error.what();
    }
  } catch (...) {
    answer.kind = Kind::other;
  }
  return answer;
}

void throw_answer(const Answer& answer, const std::string& rank) {
  const std::string text = rank + ": " + answer.text;
  switch (answer.kind) {
    case Answer::Kind::invalid_argument:
      throw InvalidArgument(text);
    case Answer::Kind::unavailable:
      throw Unavailable(text);
    case Answer::Kind::device:
      throw DeviceError(text);
    case Answer::Kind::integrity:
      throw IntegrityError(text);
    case Answer::Kind::wrong_key:
      throw WrongKey(text);
    case Answer::Kind::io:
      throw IoError(text, static_cast<int>(answer.code));
    default:
      throw Error(text);
  }
}

}  // namespace paraes::mpi
