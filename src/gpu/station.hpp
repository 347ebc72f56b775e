// A GPU that is ready to work: its program, and lanes through which fragments of data go.
//
// A lane has a queue, staging buffers in pinned host memory and buffers on the device. Several
// lanes of one device overlap: while one copies to the device, another computes and a third copies
// back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "paraes/ciphers.hpp"
#include "paraes/secret.hpp"
#include "src/core/key_schedule.hpp"
#include "src/core/locked_memory.hpp"
#include "src/gpu/device/host_job.hpp"
#include "src/gpu/programs/load_program.hpp"
#include "src/gpu/runtime/runtime.hpp"

namespace paraes::gpu {

using Times = DeviceTimes;

// The keys of one cipher as the host expanded them, or as they are if the device is to do it.
struct KeyMaterial : InLockedMemory {
  std::uint64_t id = 0;  // never the same for two of them
  unsigned rounds = 0;
  unsigned count = 0;  // 1, or 2 for XTS: the data key and the tweak key
  bool hashes = false;
  bool on_device = false;  // expand there
  std::array<paraes_schedule, 2> schedules{};
  std::array<std::array<std::uint8_t, 32>, 2> keys{};

  KeyMaterial(unsigned key_bytes, bool hash, bool device);
  ~KeyMaterial();
  KeyMaterial(const KeyMaterial&) = delete;
  KeyMaterial& operator=(const KeyMaterial&) = delete;

  // The next key, with the round keys of both directions.
  void add(const std::uint8_t* key, const KeySchedule& schedule);
};

struct Options {
  Transfer transfer = Transfer::staged;
  std::uint64_t memory_limit = 0;  // bytes on each device; 0: what is free
  unsigned tables = 0;             // of ttable: 1, 2 or 4; 0: what suits the device
};

class Station;

class Lane {
 public:
  Lane(Station& station, std::size_t fragment_bytes, Transfer transfer);
  // For data that stays on the device: launches work from `in` to `out`, which outlive the lane,
  // and there is nothing to stage.
  Lane(Station& station, const Memory& in, const Memory& out, std::size_t max_messages);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Host memory from which stage_in takes the input of the next launches, and into which stage_out
  // brings their output.
  [[nodiscard]] std::uint8_t* input() noexcept { return in_host_; }
  [[nodiscard]] std::uint8_t* output() noexcept { return out_host_; }

  // Most messages of one launch.
  [[nodiscard]] std::size_t max_messages() const noexcept { return max_messages_; }

  void use_key(const KeyMaterial& key);
  void forget_key(std::uint64_t id);

  // For messages with keys of their own, of GCM: until forget_keys(), launch() and launch_hash()
  // take message.key as an index into `keys`, at most station.most_keys() of one size, which all
  // hash. forget_keys() waits for what is under way, and wipes the keys; the one of use_key()
  // stays.
  void use_keys(std::span<const KeyMaterial* const> keys);
  void forget_keys() noexcept;

  void stage_in(std::size_t bytes);
  // Runs an entry of the program on at most max_messages() messages, whose first_tile it fills in.
  // The tiles of a message are those of its text and of `more_blocks` blocks.
  void launch(const char* entry, std::span<paraes_message> messages, unsigned more_blocks = 0);
  // GHASH of the messages of the last launch.
  void launch_hash(std::size_t messages);
  // XTS of one message of whole units, the last of which may be shorter if there is one alone. With
  // unit_tweak, the encrypted tweak of that one unit, it is not made from the message's number.
  void launch_xts(Direction direction, paraes_message& message, std::uint32_t unit_blocks,
                  const std::uint8_t* unit_tweak);
  void stage_out(std::size_t bytes);
  // Only for data that stays on the device: launches all that was launched since use_key() once
  // more, on the messages of the last launch.
  void repeat();
  // Waits until everything is done; then output() is what the launches made.
  void finish();

  // For a lane that somebody gives back, perhaps because of an exception: waits for what is under
  // way, which may read the caller's memory. If not all of it is known to be done, the lane forgets
  // its key.
  void settle() noexcept;

  // What finish() has added up since the last call.
  [[nodiscard]] Times take_times() noexcept { return std::exchange(times_, Times{}); }

  [[nodiscard]] std::size_t fragment_bytes() const noexcept;

 private:
  friend class Station;
  struct Entry {
    std::string name;
    bool many_keys;  // of which program
    std::unique_ptr<Function> function;
  };
  struct Phase {
    std::uint64_t Times::*time;
    std::unique_ptr<Mark> begin;
    std::unique_ptr<Mark> end;
  };

  // The arguments that all entries have; those that an entry does not look at may be anything.
  struct Call {
    const Memory* in;
    const Memory* out;
    const Memory* keys;
    const Memory* scratch;
    std::uint32_t count = 1;
    std::uint64_t tiles = 0;
    std::uint32_t unit_blocks = 0;
    const paraes_schedule* single;
  };

  struct Launch {
    Function* function;
    Call call;
    Grid grid;
  };

  // Keys of use_keys(), in memory that is allocated when it is first needed, and kept.
  struct ManyKeys {
    bool used = false;
    unsigned rounds = 0;
    std::size_t count = 0;
    std::size_t capacity = 0;
    SecretBytes held;  // until the queue has copied them
    Memory schedules;
    Memory sliced;
    Memory hash_keys;
  };

  void allocate_job_memory();
  void reserve_keys(std::size_t count);
  Function& function(const char* name);
  void run(const char* entry, const Call& call, const Grid& grid);
  void start(const Launch& launch);
  [[nodiscard]] Call call(std::uint32_t count, std::uint64_t tiles);
  [[nodiscard]] const Memory& in();
  [[nodiscard]] const Memory& out();
  [[nodiscard]] const paraes_schedule& single(unsigned k) const;
  void expand_key(unsigned k);
  void upload_messages(std::span<paraes_message> messages, unsigned more_blocks,
                       std::uint64_t& tiles);
  [[nodiscard]] Grid grid_for(std::uint64_t tiles) const;
  void begin(std::uint64_t Times::*time);
  void end();

  Station& station_;
  std::unique_ptr<Queue> queue_;
  Transfer transfer_;
  std::size_t max_messages_ = 0;
  std::unique_ptr<PinnedMemory> in_pinned_;
  std::unique_ptr<PinnedMemory> out_pinned_;
  std::uint8_t* in_host_ = nullptr;
  std::uint8_t* out_host_ = nullptr;
  Memory in_;                            // staged
  Memory out_;                           // staged
  const Memory* resident_in_ = nullptr;  // data that stays on the device
  const Memory* resident_out_ = nullptr;
  std::vector<Launch> launches_;  // for repeat()
  Memory messages_;
  Memory scratch_;
  Memory unit_tweaks_;  // XTS, when there is any
  Memory stretch_tweaks_;
  std::array<Memory, 2> schedules_;
  std::array<Memory, 2> keys_;  // as the program wants them
  Memory hash_keys_;
  ManyKeys many_;
  std::array<paraes_schedule, 2> device_schedules_{};  // what the device expanded
  const KeyMaterial* key_ = nullptr;
  std::uint64_t key_id_ = 0;
  std::vector<Entry> entries_;
  std::vector<paraes_message> held_;  // until the queue has copied them
  std::vector<Phase> phases_;
  Times times_;
};

class Station {
 public:
  // Opens the device and loads the program of `row`. Throws Unavailable and DeviceError.
  Station(std::unique_ptr<Platform> platform, std::unique_ptr<Device> device, const KernelRow& row,
          const Options& options);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  [[nodiscard]] Device& device() noexcept { return *device_; }
  [[nodiscard]] const DeviceInfo& info() const noexcept { return device_->info(); }
  [[nodiscard]] const ProgramVariant& variant() const noexcept { return variant_; }
  [[nodiscard]] Program& program() noexcept { return *program_.program; }
  [[nodiscard]] const std::string& program_origin() const noexcept { return program_.origin; }

  // The program for Lane::use_keys(). Where it is another one, it is loaded at the first call,
  // which throws what load_program throws.
  [[nodiscard]] Program& many_keys_program();

  // How many keys Lane::use_keys() takes at most.
  [[nodiscard]] std::size_t most_keys() const noexcept;

  // Most bytes of text that go through a lane at once.
  [[nodiscard]] std::size_t fragment_bytes() const noexcept { return fragment_bytes_; }

  [[nodiscard]] std::span<const std::unique_ptr<Lane>> lanes() const noexcept { return lanes_; }

  // How many launches all lanes have made, for tests.
  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }

 private:
  friend class Lane;
  void make_lanes(const Options& options);

  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Device> device_;
  ProgramVariant variant_;
  LoadedProgram program_;
  std::mutex many_keys_mutex_;
  LoadedProgram many_keys_program_;
  std::atomic<std::uint64_t> launches_ = 0;
  std::size_t fragment_bytes_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace paraes::gpu
