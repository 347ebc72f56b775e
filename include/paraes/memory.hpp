// A source of bytes in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "paraes/ciphers.hpp"
#include "paraes/export.hpp"
#include "paraes/io.hpp"

namespace paraes {

// `data` belongs to the caller, who keeps it, and as it is, for as long as the source is used.
// Errors call the source `name`.
class PARAES_EXPORT MemorySource : public PositionalSource {
 public:
  explicit MemorySource(Bytes data, std::string name = "memory")
      : data_(data), name_(std::move(name)) {}

  std::size_t read(MutableBytes buffer) override {
    const std::size_t bytes = read_at(position_, buffer);
    position_ += bytes;
    return bytes;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override {
    return data_.size() - position_;
  }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    const Bytes rest = data_.subspan(static_cast<std::size_t>(std::min(offset, size())));
    const std::size_t bytes = std::min(rest.size(), buffer.size());
    std::copy_n(rest.begin(), bytes, buffer.begin());
    return bytes;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return data_.size(); }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  Bytes data_;
  std::size_t position_ = 0;
  std::string name_;
};

}  // namespace paraes
