#include "bench/memory/seal.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "bench/memory/job.hpp"
#include "paraes/error.hpp"
#include "paraes/io.hpp"
#include "paraes/messages.hpp"

namespace paraes::bench {
namespace {

class MemorySource : public PositionalSource {
 public:
  explicit MemorySource(Bytes data) : data_(data) {}

  std::size_t read(MutableBytes buffer) override {
    const std::size_t n = read_at(position_, buffer);
    position_ += n;
    return n;
  }
  [[nodiscard]] std::optional<std::uint64_t> remaining() const override {
    return data_.size() - position_;
  }
  [[nodiscard]] std::size_t read_at(std::uint64_t offset, MutableBytes buffer) const override {
    if (offset >= data_.size()) return 0;
    const auto n =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), data_.size() - offset));
    std::memcpy(buffer.data(), data_.data() + offset, n);
    return n;
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return data_.size(); }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }

 private:
  Bytes data_;
  std::uint64_t position_ = 0;
  std::string name_ = "memory";
};

class MemorySink : public PositionalSink {
 public:
  explicit MemorySink(MutableBytes data) : data_(data) {}

  void write(Bytes bytes) override {
    write_at(position_, bytes);
    position_ += bytes.size();
  }
  void write_at(std::uint64_t offset, Bytes bytes) override {
    if (offset > data_.size() || bytes.size() > data_.size() - offset) {
      throw Error("a message is longer than its layout allows");
    }
    std::memcpy(data_.data() + offset, bytes.data(), bytes.size());
  }
  void commit() override {}

 private:
  MutableBytes data_;
  std::uint64_t position_ = 0;
};

Bytes key() { return Bytes(material().key).first(32); }

class SealCase : public Case {
 public:
  SealCase(Row row, std::shared_ptr<Arena> arena, const GpuTuning& tuning)
      : Case(std::move(row)), arena_(std::move(arena)), tuning_(tuning) {}

  void set_up() override {
    arena_->acquire();
    try {
      message_.emplace(
          Message(new_c2sp_message(key(), {}),
                  {.kernel = row().kernel, .device = row().device, .gpu_tuning = tuning_}));
    } catch (const Error& error) {
      throw Skip(error.what());
    }
    const SegmentCipher& cipher = message_->cipher();
    if ((tuning_.launch_bytes != 0 && cipher.launch_bytes() != tuning_.launch_bytes) ||
        (tuning_.streams != 0 && cipher.launch_threads() != tuning_.streams)) {
      message_.reset();
      throw Skip("the device lacks the memory for such launches");
    }
  }

  void call() override {
    MemorySource source({arena_->in(), static_cast<std::size_t>(row().bytes)});
    MemorySink sink(sealed());
    TransferOptions options;
    options.threads = row().threads;
    static_cast<void>(seal_message(source, *message_, sink, options));
  }

  // Decrypts the output of one more call on the CPU, with the default kernel, and compares the
  // plaintext. There is no independent computation.
  [[nodiscard]] bool verify() override {
    arena_->spoil_out();
    call();
    const Message opened =
        Message(open_c2sp_message(sealed().first(c2sp_header_bytes), key(), {}), {});
    MemorySource source(sealed());
    std::vector<std::uint8_t> plain(static_cast<std::size_t>(row().bytes));
    MemorySink sink(plain);
    static_cast<void>(open_message(source, opened, &sink));
    return std::memcmp(plain.data(), arena_->in(), plain.size()) == 0;
  }

 private:
  [[nodiscard]] MutableBytes sealed() const {
    return {arena_->out(), static_cast<std::size_t>(sealed_bytes(row().bytes))};
  }

  std::shared_ptr<Arena> arena_;
  const GpuTuning tuning_;
  std::optional<Message> message_;
};

}  // namespace

std::uint64_t sealed_bytes(std::uint64_t bytes) { return c2sp_layout().sealed_bytes(bytes); }

std::unique_ptr<Case> make_seal(Row row, std::shared_ptr<Arena> arena, const GpuTuning& tuning) {
  return std::make_unique<SealCase>(std::move(row), std::move(arena), tuning);
}

}  // namespace paraes::bench
