// Sources, and how messages are carried, as the input chooses.
#pragma once

#include <memory>
#include <optional>

#include "paraes/messages.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/split_pipe.hpp"
#include "tests/support/memory_io.hpp"

namespace paraes::fuzz {

// A file, something that is read in order, also with pauses, or a pipe.
class AnySource {
 public:
  // The header of a message is skipped where a file would still have it.
  AnySource(Input& input, const Buffer& data, std::size_t header_bytes = 0) {
    const Buffer body(data.begin() + static_cast<std::ptrdiff_t>(header_bytes), data.end());
    switch (number(input, 0, 3)) {
      case 0:
        file_ = std::make_unique<support::RandomSource>(data);
        break;
      case 1:
        ordered_ = std::make_unique<support::OrderedSource>(body);
        break;
      case 3:
        ordered_ = std::make_unique<support::TricklingSource>(body);
        break;
      default:
        pipe_ = std::make_unique<SplitPipe>(input, body);
    }
  }

  [[nodiscard]] Source& source() noexcept {
    if (file_) return *file_;
    if (ordered_) return *ordered_;
    return pipe_->source();
  }
  [[nodiscard]] bool is_file() const noexcept { return file_ != nullptr; }

 private:
  std::unique_ptr<support::RandomSource> file_;
  std::unique_ptr<support::OrderedSource> ordered_;
  std::unique_ptr<SplitPipe> pipe_;
};

// A file, or something that is written in order.
class AnySink {
 public:
  explicit AnySink(Input& input) : is_file_(input.ConsumeBool()) {}

  [[nodiscard]] Sink& sink() noexcept {
    if (is_file_) return file_;
    return ordered_;
  }
  [[nodiscard]] bool is_file() const noexcept { return is_file_; }
  [[nodiscard]] const Buffer& data() const noexcept {
    return is_file_ ? file_.data : ordered_.data;
  }

 private:
  bool is_file_;
  support::RandomSink file_;
  support::OrderedSink ordered_;
};

// Threads, overlap, and whether somebody else computes. `message` must outlive the options.
[[nodiscard]] inline TransferOptions any_options(Input& input, const Message& message,
                                                 Direction direction) {
  TransferOptions options;
  options.threads = static_cast<int>(number(input, 0, 4));
  options.overlap = input.ConsumeBool();
  if (input.ConsumeBool()) {
    options.workers = static_cast<unsigned>(number(input, 1, 3));
    options.compute = [&message, direction](unsigned, std::span<SegmentCipher::Segment> segments) {
      message.cipher().crypt(direction, segments);
    };
  }
  return options;
}

}  // namespace paraes::fuzz
