#include "bench/memory/pinned_copy.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "bench/memory/oracle.hpp"
#include "paraes/error.hpp"
#include "src/gpu/pool.hpp"

namespace paraes::bench {
namespace {

class PinnedCopy : public Case {
 public:
  using Case::Case;

  void set_up() override {
    try {
      open();
    } catch (const Error& error) {
      throw Skip(error.what());
    }
  }

  void call() override {
    down_->download(to_host_->host().data(), source_, 0, row().bytes);
    if (!row().overlap) down_->finish();
    up_->upload(uploaded_, 0, from_host_->host().data(), row().bytes);
    up_->finish();
    down_->finish();
  }

  [[nodiscard]] bool verify() override {
    std::uint8_t* const downloaded = to_host_->host().data();
    up_->clear(uploaded_, 0, row().bytes);
    up_->finish();
    std::memset(downloaded, 0xa5, row().bytes);
    call();
    Job copy;
    copy.bytes = row().bytes;
    if (!is_answer(copy, downloaded, nullptr)) return false;
    // The uploaded bytes must be downloaded to be compared.
    std::memset(downloaded, 0xa5, row().bytes);
    down_->download(downloaded, uploaded_, 0, row().bytes);
    down_->finish();
    return is_answer(copy, downloaded, nullptr);
  }

 private:
  void open() {
    const std::string& id = row().device;
    const std::size_t colon = id.find(':');
    platform_ = gpu::open_platform(id.substr(0, colon));
    device_ = platform_->open(static_cast<unsigned>(std::stoul(id.substr(colon + 1))));
    from_host_ = device_->allocate_pinned(row().bytes, false);
    to_host_ = device_->allocate_pinned(row().bytes, false);
    uploaded_ = device_->allocate(row().bytes);
    source_ = device_->allocate(row().bytes);
    up_ = device_->make_queue();
    down_ = device_->make_queue();
    pattern(0, from_host_->host().data(), row().bytes);
    up_->upload(source_, 0, from_host_->host().data(), row().bytes);
    up_->finish();
  }

  // Queues and memory end before their device.
  std::unique_ptr<gpu::Platform> platform_;
  std::unique_ptr<gpu::Device> device_;
  std::unique_ptr<gpu::PinnedMemory> from_host_;
  std::unique_ptr<gpu::PinnedMemory> to_host_;
  gpu::Memory uploaded_;  // device memory that a call writes
  gpu::Memory source_;    // device memory that a call reads
  std::unique_ptr<gpu::Queue> up_;
  std::unique_ptr<gpu::Queue> down_;
};

}  // namespace

std::unique_ptr<Case> make_pinned_copy(Row row) {
  if (row.device.find('+') != std::string::npos) {
    throw Skip("pinned-copy measures one device, not several joined");
  }
  return std::make_unique<PinnedCopy>(std::move(row));
}

}  // namespace paraes::bench
