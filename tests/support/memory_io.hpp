// Sources and sinks in memory, in order (like pipes) and at any offset (like files). All of them
// throw IoError at the byte `fail_at` if that is set.
#pragma once

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"
#include "paraes/recipients.hpp"
#include "tests/support/buffers.hpp"
#include "tests/support/event_count.hpp"

namespace paraes::support {

using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Ranges with offset and size, such as those of a salvage, as values that can be compared.
template <class Ranges>
Pairs pairs_of(const Ranges& ranges) {
  Pairs pairs;
  for (const auto& range : ranges) pairs.emplace_back(range.offset, range.bytes);
  return pairs;
}

class OrderedSource : public Source {
 public:
  explicit OrderedSource(Buffer data) : data_(std::move(data)) {}

  std::size_t read(MutableBytes buffer) override {
    if (fail_at && at_ + buffer.size() > *fail_at) throw IoError("cannot read it", EIO);
    const std::size_t n = std::min(buffer.size(), data_.size() - at_);
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(at_), n, buffer.begin());
    at_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return std::nullopt; }

  std::optional<std::uint64_t> fail_at;

 private:
  Buffer data_;
  std::size_t at_ = 0;
};

// A pipe whose writer pauses after every piece: it gives the least that is wanted, and some more.
class TricklingSource : public OrderedSource {
 public:
  using OrderedSource::OrderedSource;

  Ready read_ready(MutableBytes buffer, std::size_t least) override {
    pieces_ = pieces_ * 6364136223846793005U + 1442695040888963407U;
    const auto more = static_cast<std::size_t>(pieces_ >> 33U) % (buffer.size() - least + 1);
    const std::size_t wanted = least + more / (1 + (pieces_ >> 8U) % 64);
    const std::size_t n = read(buffer.first(wanted));
    return {.bytes = n, .ended = n < wanted};
  }

 private:
  std::uint64_t pieces_ = 1;  // of a linear congruential generator
};

// After its data, reads wait until they are cancelled.
class SilentSource : public OrderedSource {
 public:
  using OrderedSource::OrderedSource;

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = OrderedSource::read(buffer);
    if (n == buffer.size()) return n;
    waits.add();
    std::unique_lock lock(mutex_);
    wakes_.wait(lock, [this] { return cancelled_; });
    throw IoError("cancelled", ECANCELED);
  }
  void cancel() noexcept override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    wakes_.notify_all();
  }

  EventCount waits;

 private:
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool cancelled_ = false;
};

// A source that records which ranges were read.
class RandomSource : public PositionalSource {
 public:
  explicit RandomSource(Buffer data) : data_(std::move(data)), size_(data_.size()) {}

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = read_at(at_, buffer);
    at_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return size_ - at_; }

  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    if (fail_at && offset + buffer.size() > *fail_at) throw IoError("cannot read it", EIO);
    if (offset >= data_.size()) return 0;
    const auto n = std::min<std::size_t>(buffer.size(), data_.size() - offset);
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), n, buffer.begin());
    const std::lock_guard lock(mutex_);
    ranges_.emplace_back(offset, offset + n);
    return n;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

  // Replaces the data but not size(), like a file that changes after it was opened.
  void change(Buffer data) { data_ = std::move(data); }
  // Each with its end.
  [[nodiscard]] Pairs ranges() const {
    const std::lock_guard lock(mutex_);
    return ranges_;
  }

  std::optional<std::uint64_t> fail_at;

 private:
  Buffer data_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  std::string name_ = "the file";
  mutable std::mutex mutex_;
  mutable Pairs ranges_;
};

class OrderedSink : public Sink {
 public:
  void write(Bytes bytes) override {
    if (fail_at && data.size() + bytes.size() > *fail_at) throw IoError("cannot write it", EIO);
    data.insert(data.end(), bytes.begin(), bytes.end());
  }
  void commit() override {}

  Buffer data;
  std::optional<std::uint64_t> fail_at;
};

class RandomSink : public PositionalSink {
 public:
  void write(Bytes bytes) override {
    write_at(at_, bytes);
    at_ += bytes.size();
  }
  void write_at(std::uint64_t offset, Bytes bytes) override {
    const std::lock_guard lock(mutex_);
    if (fail_at && offset + bytes.size() > *fail_at) throw IoError("cannot write it", EIO);
    if (data.size() < offset + bytes.size()) data.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void commit() override {}

  Buffer data;
  std::optional<std::uint64_t> fail_at;

 private:
  std::mutex mutex_;
  std::uint64_t at_ = 0;
};

// The message with this plaintext.
inline Buffer sealed_by(const Message& message, const Buffer& plain) {
  RandomSource source(plain);
  RandomSink sink;
  seal_message(source, message, sink);
  return sink.data;
}

// The plaintext of a message in the format paraes.
inline Buffer opened_with(Bytes input_key, Bytes context, const Buffer& sealed) {
  RandomSource source(sealed);
  const Message message(open_paraes_message(read_paraes_header(source), input_key, context), {});
  RandomSink sink;
  open_message(source, message, &sink);
  return sink.data;
}

}  // namespace paraes::support
