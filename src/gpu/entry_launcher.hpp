// Launches entries of a device's programs on one queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/gpu/device/host_job.hpp"
#include "src/gpu/programs/program_variant.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

class DeviceContext;

// Where an entry finds its key or keys.
struct KeyReference {
  bool many_keys = false;  // message.key is an index into `keys`; otherwise it is 0
  unsigned rounds = 0;
  const Memory* keys = nullptr;
  // The key, if the program takes it by value: ProgramVariant::keys_in_memory is false.
  const paraes_schedule* single = nullptr;
};

// The arguments that all entries share. An argument that an entry does not read may be any memory.
struct EntryArguments {
  const Memory* in = nullptr;
  const Memory* out = nullptr;
  const Memory* messages = nullptr;
  std::uint32_t count = 1;  // of messages or keys
  std::uint64_t tiles = 0;
  KeyReference key;
  const Memory* scratch = nullptr;
  std::uint32_t unit_blocks = 0;
  std::uint32_t tile_blocks = 0;
  bool any_address = false;  // it reads or writes a text that is not aligned to 16 bytes
};

// One entry with its arguments, to be launched any number of times. The memory must outlive it.
struct EntryLaunch {
  Function* function;
  EntryArguments arguments;
  Grid grid;
};

// Owns the function objects of its queue, because in OpenCL queues must not share them.
class EntryLauncher {
 public:
  EntryLauncher(DeviceContext& context, Queue& queue) : context_(context), queue_(queue) {}

  // Prepares the launch of an entry of the program that the arguments need. Throws DeviceError if
  // the program has no such entry. The first launch that needs another program throws what
  // load_program throws.
  [[nodiscard]] EntryLaunch prepare(const char* entry, const EntryArguments& arguments,
                                    const Grid& grid);
  void start(const EntryLaunch& launch);
  void launch(const char* entry, const EntryArguments& arguments, const Grid& grid) {
    start(prepare(entry, arguments, grid));
  }

  // Copies `bytes` bytes, a multiple of 4, of `from`, which lie in `pinned`, to `offset` in `to`.
  // `pinned` may be nullptr if the device cannot read pinned memory.
  // Drivers keep what they copy from memory that is not pinned, and up to some 64 KiB from any, in
  // memory of their own that nobody can wipe. So a kernel copies secrets, where it can read the
  // memory of the host. `key` is as for prepare(), and not read. SecretPinned and PinnedPool have
  // suitable memory. It must not change until the queue has passed the copy.
  void copy_in(const Memory& to, std::size_t offset, PinnedMemory* pinned, const std::uint8_t* from,
               std::size_t bytes, const KeyReference& key);

  // How many launches it has started.
  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }

 private:
  struct LoadedEntry {
    std::string name;
    ProgramNeeds needs;
    std::unique_ptr<Function> function;
  };

  Function& function(const char* name, const ProgramNeeds& needs);

  DeviceContext& context_;
  Queue& queue_;
  std::vector<LoadedEntry> entries_;
  std::atomic<std::uint64_t> launches_ = 0;
};

}  // namespace paraes::gpu
