// Turns structures into the bytes of messages between ranks, and back.
//
// Each structure that is sent has one function
//
//   void serialize(auto& archive, MaybeConst<Thing> auto& thing) { archive(thing.field); }
//
// that serves both archives: a Writer appends each field, a Reader assigns each. Numbers take 8
// bytes, little-endian; texts, byte strings and lists begin with their size.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/error.hpp"
#include "paraes/secret.hpp"

namespace paraes::mpi {

template <class T, class Thing>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Thing>;

// The largest value of an enumeration (values count from 0), and the error for a larger one.
template <class Enum>
struct EnumRange {
  Enum last = {};
  const char* unexpected = nullptr;
};
// Specialised for each enumeration that is sent.
template <class Enum>
inline constexpr EnumRange<Enum> enum_range;

// Appends fields at an address, which must have room for them. With a null pointer, only counts
// their bytes.
class Writer {
 public:
  explicit Writer(std::uint8_t* out) : out_(out) {}

  void operator()(const auto&... fields) { (put(fields), ...); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  void put(std::integral auto number) {
    const auto value = static_cast<std::uint64_t>(number);
    std::uint8_t bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
    append(bytes);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) {
    static_assert(enum_range<Enum>.unexpected != nullptr);
    put(static_cast<std::uint64_t>(value));
  }
  void put(Bytes bytes) {
    put(bytes.size());
    append(bytes);
  }
  void put(const std::vector<std::uint8_t>& bytes) { put(Bytes(bytes)); }
  void put(const std::string& text) {
    put(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  void put(const SecretBytes& secret) { put(Bytes(secret.span())); }
  template <std::size_t size>
  void put(const std::array<std::uint8_t, size>& bytes) {
    append(bytes);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const T& item : list) put(item);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& thing) { serialize(*this, thing); }

  void append(Bytes bytes) {
    if (out_ != nullptr && !bytes.empty()) {
      std::memcpy(out_ + bytes_, bytes.data(), bytes.size());
    }
    bytes_ += bytes.size();
  }

  std::uint8_t* out_;
  std::size_t bytes_ = 0;
};

// Assigns fields from bytes. Throws Error if the bytes end too early, and for a value that the
// field cannot have.
class Reader {
 public:
  explicit Reader(Bytes data) : data_(data) {}

  void operator()(auto&... fields) { (get(fields), ...); }
  [[nodiscard]] std::size_t left() const noexcept { return data_.size(); }

 private:
  template <std::integral T>
  void get(T& number) {
    const std::uint64_t value = next_number();
    if constexpr (std::same_as<T, bool>) {
      if (value > 1) fail("a number is out of range");
      number = value == 1;
    } else if constexpr (std::signed_integral<T>) {
      const auto with_sign = static_cast<std::int64_t>(value);
      if (!std::in_range<T>(with_sign)) fail("a number is out of range");
      number = static_cast<T>(with_sign);
    } else {
      if (!std::in_range<T>(value)) fail("a number is out of range");
      number = static_cast<T>(value);
    }
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void get(Enum& value) {
    const std::uint64_t number = next_number();
    constexpr EnumRange<Enum> range = enum_range<Enum>;
    if (number > static_cast<std::uint64_t>(range.last)) fail(range.unexpected);
    value = static_cast<Enum>(number);
  }
  // The result is a view of the message.
  void get(Bytes& bytes) { bytes = take(next_number()); }
  void get(std::vector<std::uint8_t>& bytes) {
    const Bytes taken = take(next_number());
    bytes.assign(taken.begin(), taken.end());
  }
  void get(std::string& text) {
    const Bytes taken = take(next_number());
    text.assign(taken.begin(), taken.end());
  }
  void get(SecretBytes& secret) { secret = SecretBytes(take(next_number())); }
  template <std::size_t size>
  void get(std::array<std::uint8_t, size>& bytes) {
    const Bytes taken = take(size);
    std::copy(taken.begin(), taken.end(), bytes.begin());
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    value.reset();
    if (has_value) get(value.emplace());
  }
  template <class T>
  void get(std::vector<T>& list) {
    const std::uint64_t size = next_number();
    list.clear();
    // Every item takes a byte or more, so a size that is too large fails at the end of the bytes.
    for (std::uint64_t i = 0; i < size; ++i) get(list.emplace_back());
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& thing) { serialize(*this, thing); }

  [[noreturn]] static void fail(const char* problem) {
    throw Error(std::string("a message between ranks: ") + problem);
  }
  [[nodiscard]] std::uint64_t next_number() {
    const Bytes bytes = take(8);
    std::uint64_t number = 0;
    for (unsigned i = 0; i < 8; ++i) number |= std::uint64_t{bytes[i]} << (8 * i);
    return number;
  }
  [[nodiscard]] Bytes take(std::uint64_t size) {
    if (size > data_.size()) fail("it is too short");
    const Bytes taken = data_.first(static_cast<std::size_t>(size));
    data_ = data_.subspan(taken.size());
    return taken;
  }

  Bytes data_;
};

// Specialised for each structure that contains keys: its bytes lie in locked memory.
template <class T>
inline constexpr bool holds_keys = false;

// The bytes of one message between ranks. The destructor zeroises them.
class Serializer {
 public:
  Serializer() = default;
  // Makes room for `size` bytes. Locked memory is never swapped out or dumped, but there is little
  // of it: it is for keys. Chunks are data, of up to megabytes.
  explicit Serializer(std::size_t size, bool has_keys = false)
      : locked_(has_keys ? size : 0),
        plain_(has_keys ? nullptr : std::make_unique_for_overwrite<std::uint8_t[]>(size)),
        size_(size) {}
  ~Serializer() {
    if (plain_ != nullptr) secure_zero(plain_.get(), size_);
  }
  Serializer(Serializer&& other) noexcept
      : locked_(std::move(other.locked_)),
        plain_(std::move(other.plain_)),
        size_(std::exchange(other.size_, 0)) {}
  Serializer& operator=(Serializer&&) = delete;
  Serializer(const Serializer&) = delete;
  Serializer& operator=(const Serializer&) = delete;

  [[nodiscard]] std::uint8_t* data() noexcept {
    return plain_ != nullptr ? plain_.get() : locked_.data();
  }
  [[nodiscard]] const std::uint8_t* data() const noexcept {
    return plain_ != nullptr ? plain_.get() : locked_.data();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Decodes a structure. Its fields of type Bytes are views of this object. Throws Error unless the
  // bytes are exactly one T.
  template <class T>
  [[nodiscard]] T read() const {
    Reader reader(Bytes(data(), size()));
    T thing{};
    reader(thing);
    if (reader.left() != 0) throw Error("a message between ranks: it is too long");
    return thing;
  }

 private:
  SecretBytes locked_;
  std::unique_ptr<std::uint8_t[]> plain_;  // null if the bytes are in locked_
  std::size_t size_ = 0;
};

template <class T>
[[nodiscard]] Serializer serialized(const T& thing) {
  Writer counter(nullptr);
  counter(thing);
  Serializer bytes(counter.bytes(), holds_keys<T>);
  Writer writer(bytes.data());
  writer(thing);
  return bytes;
}

}  // namespace paraes::mpi
