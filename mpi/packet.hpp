// What ranks send each other: numbers, texts and bytes, one after another.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/secret.hpp"

namespace paraes::mpi {

// Holds keys: wiped when it goes.
class Packet {
 public:
  Packet() { data_.reserve(first_room); }
  explicit Packet(std::size_t size) : data_(size) {}
  ~Packet() { secure_zero(data_.data(), data_.size()); }
  Packet(Packet&&) noexcept = default;
  Packet& operator=(Packet&&) = delete;
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  [[nodiscard]] std::uint8_t* data() noexcept { return data_.data(); }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return data_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return data_.size(); }

  // Room for so many more bytes, so that nothing is left behind where they were before.
  void reserve(std::size_t more) {
    if (data_.capacity() - data_.size() >= more) return;
    std::vector<std::uint8_t> larger;
    larger.reserve(2 * (data_.size() + more));
    larger = data_;
    larger.swap(data_);
    secure_zero(larger.data(), larger.size());
  }

  void add(std::uint64_t number) {
    std::uint8_t bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(number >> (8 * i));
    add_raw(bytes, sizeof bytes);
  }
  void add(Bytes bytes) {
    add(std::uint64_t{bytes.size()});
    add_raw(bytes.data(), bytes.size());
  }
  void add(std::string_view text) {
    add(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }

  // In the order in which they were added. Throw Error behind the end.
  [[nodiscard]] std::uint64_t number() {
    const Bytes bytes = take(8);
    std::uint64_t number = 0;
    for (unsigned i = 0; i < 8; ++i) number |= std::uint64_t{bytes[i]} << (8 * i);
    return number;
  }
  [[nodiscard]] Bytes bytes() { return take(number()); }
  [[nodiscard]] std::string text() {
    const Bytes data = bytes();
    return {data.begin(), data.end()};
  }

 private:
  static constexpr std::size_t first_room = 8192;

  void add_raw(const std::uint8_t* data, std::size_t size) {
    reserve(size);
    data_.insert(data_.end(), data, data + size);
  }
  [[nodiscard]] Bytes take(std::uint64_t size) {
    if (size > data_.size() - at_) throw Error("a message between ranks is too short");
    const Bytes part = Bytes(data_).subspan(at_, static_cast<std::size_t>(size));
    at_ += part.size();
    return part;
  }

  std::vector<std::uint8_t> data_;
  std::size_t at_ = 0;
};

}  // namespace paraes::mpi
