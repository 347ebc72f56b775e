// Sources and sinks of sizes that no disk has.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "tests/support/buffers.hpp"

namespace paraes::limits {

// The byte at `offset` of a plaintext in which every 8 bytes differ.
inline std::uint8_t plain_at(std::uint64_t offset) {
  return static_cast<std::uint8_t>((offset / 8 * 0x9e3779b97f4a7c15) >> 8 * (offset % 8));
}

inline support::Buffer plain_from(std::uint64_t offset, std::size_t bytes) {
  support::Buffer data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = plain_at(offset + i);
  return data;
}

// Has `size` bytes, whatever they are: fill() says.
class SimulatedSource : public PositionalSource {
 public:
  SimulatedSource(std::uint64_t size, std::string name) : size_(size), name_(std::move(name)) {}

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = read_at(at_, buffer);
    at_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override { return size_ - at_; }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    if (++reads > most_reads) throw IoError(name_ + ": more was read than expected", EIO);
    const std::uint64_t rest = size_ - std::min(offset, size_);
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(rest, buffer.size()));
    fill(offset, buffer.first(n));
    return n;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

  mutable std::atomic<std::uint64_t> reads = 0;
  std::uint64_t most_reads = UINT64_MAX;  // so that a test that fails does not take for ever

 private:
  virtual void fill(std::uint64_t offset, MutableBytes buffer) const = 0;

  std::uint64_t size_;
  std::uint64_t at_ = 0;
  std::string name_;
};

// Has the bytes of the plaintext.
class PlainSource : public SimulatedSource {
 public:
  explicit PlainSource(std::uint64_t size) : SimulatedSource(size, "the plaintext") {}

 private:
  void fill(std::uint64_t offset, MutableBytes buffer) const override {
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = plain_at(offset + i);
  }
};

// Parts of a file of any size; the rest is a hole.
class SparseFile : public PositionalSink {
 public:
  void write(Bytes data) override {
    write_at(at_, data);
    at_ += data.size();
  }
  void write_at(std::uint64_t offset, Bytes data) override {
    const std::lock_guard lock(mutex_);
    parts_[offset].assign(data.begin(), data.end());
    end_ = std::max(end_, offset + data.size());
  }
  void commit() override {}

  [[nodiscard]] std::size_t parts() const {
    const std::lock_guard lock(mutex_);
    return parts_.size();
  }
  // The lowest offset that was written.
  [[nodiscard]] std::uint64_t begin() const {
    const std::lock_guard lock(mutex_);
    return parts_.empty() ? 0 : parts_.begin()->first;
  }
  // Behind the last byte that was written.
  [[nodiscard]] std::uint64_t end() const {
    const std::lock_guard lock(mutex_);
    return end_;
  }
  void read_at(std::uint64_t offset, MutableBytes buffer) const {
    std::fill(buffer.begin(), buffer.end(), std::uint8_t{0});
    const std::lock_guard lock(mutex_);
    for (const auto& [begin, data] : parts_) {
      const std::uint64_t from = std::max(begin, offset);
      const std::uint64_t to = std::min(begin + data.size(), offset + buffer.size());
      if (from >= to) continue;
      std::copy(data.begin() + static_cast<std::ptrdiff_t>(from - begin),
                data.begin() + static_cast<std::ptrdiff_t>(to - begin),
                buffer.begin() + static_cast<std::ptrdiff_t>(from - offset));
    }
  }
  void flip(std::uint64_t offset) {
    std::uint8_t byte = 0;
    read_at(offset, {&byte, 1});
    byte ^= 1;
    const std::lock_guard lock(mutex_);
    for (auto& [begin, data] : parts_) {
      if (offset >= begin && offset < begin + data.size()) {
        data[static_cast<std::size_t>(offset - begin)] = byte;
        return;
      }
    }
    parts_[offset] = {byte};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, support::Buffer> parts_;
  std::uint64_t at_ = 0;
  std::uint64_t end_ = 0;
};

// Reads such a file, which has `size` bytes.
class SparseSource : public SimulatedSource {
 public:
  SparseSource(const SparseFile& file, std::uint64_t size)
      : SimulatedSource(size, "the message"), file_(file) {}

 private:
  void fill(std::uint64_t offset, MutableBytes buffer) const override {
    file_.read_at(offset, buffer);
  }

  const SparseFile& file_;
};

}  // namespace paraes::limits
