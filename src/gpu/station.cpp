#include "src/gpu/station.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "paraes/error.hpp"
#include "paraes/secret.hpp"
#include "src/core/key_schedule.hpp"

namespace paraes::gpu {
namespace {

constexpr unsigned lanes_wanted = 4;
constexpr std::size_t most_fragment_bytes = std::size_t{16} << 20;
constexpr std::size_t least_fragment_bytes = std::size_t{64} << 10;
// A launch has at most one message for each so many bytes of a fragment.
constexpr std::size_t message_share = 256;
constexpr std::uint32_t row_threads = 32;
// Of Lane::use_keys(): so many always, and with memory for large fragments more.
constexpr std::size_t least_keys = 64;
constexpr std::size_t most_keys_wanted = 1024;

std::atomic<std::uint64_t> next_key_id = 1;

// Of a lane's staging buffers: beside the text there are a tag and up to 15 bytes of padding for
// every message.
std::size_t buffer_bytes(std::size_t fragment_bytes) {
  return fragment_bytes + 32 * (fragment_bytes / message_share + 1);
}

void copy_round_keys(paraes_u32 (&to)[60], const std::uint8_t (*from)[16], unsigned rounds) {
  std::memcpy(to, from, 16 * (rounds + std::size_t{1}));
}

}  // namespace

// ---- Keys

KeyMaterial::KeyMaterial(unsigned key_bytes, bool hash, bool device)
    : id(next_key_id++), rounds(rounds_for(key_bytes)), hashes(hash), on_device(device) {}

void KeyMaterial::add(const std::uint8_t* key, const KeySchedule& schedule) {
  std::memcpy(keys[count].data(), key, schedule.key_bytes);
  copy_round_keys(schedules[count].encrypt, schedule.encrypt, rounds);
  copy_round_keys(schedules[count].decrypt, schedule.decrypt, rounds);
  ++count;
}

KeyMaterial::~KeyMaterial() {
  secure_zero(schedules.data(), sizeof schedules);
  secure_zero(keys.data(), sizeof keys);
}

// ---- Lanes

Lane::Lane(Station& station, std::size_t fragment_bytes, Transfer transfer)
    : station_(station),
      queue_(station.device().make_queue()),
      transfer_(transfer),
      max_messages_(fragment_bytes / message_share + 1) {
  Device& device = station.device();
  const std::size_t bytes = buffer_bytes(fragment_bytes);
  const bool mapped = transfer == Transfer::mapped;
  in_pinned_ = device.allocate_pinned(bytes, mapped);
  out_pinned_ = device.allocate_pinned(bytes, mapped);
  in_host_ = in_pinned_->host().data();
  out_host_ = out_pinned_->host().data();
  if (!mapped) {
    in_ = device.allocate(bytes);
    out_ = device.allocate(bytes);
  }
  allocate_job_memory();
}

Lane::Lane(Station& station, const Memory& in, const Memory& out, std::size_t max_messages)
    : station_(station),
      queue_(station.device().make_queue()),
      transfer_(Transfer::staged),
      max_messages_(max_messages),
      resident_in_(&in),
      resident_out_(&out) {
  allocate_job_memory();
}

void Lane::allocate_job_memory() {
  Device& device = station_.device();
  messages_ = device.allocate(max_messages_ * sizeof(paraes_message));
  // The tag masks of GCM, and a key for expand_keys.
  scratch_ = device.allocate(std::max<std::size_t>(16 * max_messages_, 32));
  for (unsigned k = 0; k < 2; ++k) {
    schedules_[k] = device.allocate(sizeof(paraes_schedule));
    keys_[k] = device.allocate(key_bytes(station_.variant()));
  }
  hash_keys_ = device.allocate(hash_key_bytes(station_.variant()));
}

Lane::~Lane() = default;

std::size_t Lane::fragment_bytes() const noexcept { return station_.fragment_bytes(); }

Function& Lane::function(const char* name) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.name == name && entry.many_keys == many_.used;
  });
  if (found != entries_.end()) return *found->function;
  Program& program = many_.used ? station_.many_keys_program() : station_.program();
  entries_.push_back({name, many_.used, program.function(name)});
  return *entries_.back().function;
}

void Lane::begin(std::uint64_t Times::*time) { phases_.push_back({time, queue_->mark(), nullptr}); }

void Lane::end() { phases_.back().end = queue_->mark(); }

Grid Lane::grid_for(std::uint64_t tiles) const {
  const KernelRow& row = *station_.variant().row;
  Grid grid;
  grid.threads = row.group_threads;
  grid.shared_bytes = mode_shared_bytes(station_.variant());
  const std::uint64_t rows_in_group = row.group_threads / row_threads;
  const std::uint64_t groups = (tiles + rows_in_group - 1) / rows_in_group;
  // Kernels with many blocks a thread stay and take tile after tile; those with one do not, as
  // their papers have it.
  constexpr std::uint64_t groups_on_a_processor = 8;
  const std::uint64_t most =
      row.blocks_per_thread > 1
          ? groups_on_a_processor * std::max<std::uint32_t>(station_.info().processors, 1)
          : std::uint64_t{1} << 30;
  grid.groups = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(groups, 1, most));
  return grid;
}

Lane::Call Lane::call(std::uint32_t count, std::uint64_t tiles) {
  static constexpr paraes_schedule none = {};
  const Memory* keys = keys_.data();
  if (many_.used) {
    keys = station_.variant().row->sliced_keys ? &many_.sliced : &many_.schedules;
  }
  return {.in = &in(),
          .out = &out(),
          .keys = keys,
          .scratch = &scratch_,
          .count = count,
          .tiles = tiles,
          .unit_blocks = 0,
          .single = many_.used ? &none : &single(0)};
}

void Lane::run(const char* entry, const Call& call, const Grid& grid) {
  const Launch launch{&function(entry), call, grid};
  start(launch);
  if (resident_in_ != nullptr) launches_.push_back(launch);
}

void Lane::start(const Launch& launch) {
  const Call& call = launch.call;
  const unsigned rounds = many_.used ? many_.rounds : key_->rounds;
  const std::array<Argument, 10> arguments = {*call.in,
                                              *call.out,
                                              messages_,
                                              Argument::by_value(call.count),
                                              Argument::by_value(call.tiles),
                                              *call.keys,
                                              *call.scratch,
                                              Argument::by_value(call.unit_blocks),
                                              Argument::by_value(rounds),
                                              Argument::by_value(*call.single)};
  queue_->launch(*launch.function, launch.grid, arguments);
  ++station_.launches_;
}

const paraes_schedule& Lane::single(unsigned k) const {
  return key_->on_device ? device_schedules_[k] : key_->schedules[k];
}

void Lane::expand_key(unsigned k) {
  const ProgramVariant& variant = station_.variant();
  Grid grid;
  grid.threads = variant.row->group_threads;
  Call expansion = call(1, 0);
  expansion.in = &scratch_;
  expansion.out = &schedules_[k];
  if (key_->on_device) {
    queue_->upload(scratch_, 0, key_->keys[k].data(), 4 * (std::size_t{key_->rounds} - 6));
    run("expand_keys", expansion, grid);
  } else {
    queue_->upload(schedules_[k], 0, &key_->schedules[k], sizeof(paraes_schedule));
  }
  if (variant.row->sliced_keys) {
    expansion.in = &schedules_[k];
    expansion.out = &keys_[k];
    run("slice_keys", expansion, grid);
  } else if (key_->on_device) {
    // Entries take the key by value, so it has to come back.
    queue_->download(&device_schedules_[k], schedules_[k], 0, sizeof(paraes_schedule));
    queue_->finish();
  }
}

void Lane::use_key(const KeyMaterial& key) {
  key_ = &key;
  launches_.clear();
  if (key_id_ == key.id) return;
  key_id_ = key.id;  // from here on there may be something to wipe
  begin(&Times::key_expansion);
  for (unsigned k = 0; k < key.count; ++k) expand_key(k);
  if (key.hashes) {
    const ProgramVariant& variant = station_.variant();
    Grid grid;
    grid.threads = hash_threads;
    grid.shared_bytes = hash_key_shared_bytes(variant);
    Call preparation = call(1, 0);
    preparation.scratch = &hash_keys_;
    run("ghash_prepare", preparation, grid);
  }
  end();
  launches_.clear();
}

void Lane::forget_key(std::uint64_t id) {
  if (key_id_ != id) return;
  key_id_ = 0;
  key_ = nullptr;
  for (unsigned k = 0; k < 2; ++k) {
    queue_->clear(schedules_[k], 0, schedules_[k].bytes());
    queue_->clear(keys_[k], 0, keys_[k].bytes());
  }
  queue_->clear(hash_keys_, 0, hash_keys_.bytes());
  queue_->clear(scratch_, 0, std::min<std::size_t>(scratch_.bytes(), 32));  // a key for expand_keys
  queue_->finish();
  secure_zero(device_schedules_.data(), sizeof device_schedules_);
}

void Lane::reserve_keys(std::size_t count) {
  if (count <= many_.capacity) return;
  std::size_t capacity = least_keys;
  while (capacity < count) capacity *= 2;
  many_.capacity = 0;
  Device& device = station_.device();
  const ProgramVariant& variant = station_.variant();
  many_.schedules = device.allocate(capacity * sizeof(paraes_schedule));
  if (variant.row->sliced_keys) many_.sliced = device.allocate(capacity * key_bytes(variant));
  many_.hash_keys = device.allocate(capacity * hash_key_bytes(variant));
  many_.capacity = capacity;
}

void Lane::use_keys(std::span<const KeyMaterial* const> keys) {
  reserve_keys(keys.size());
  const KeyMaterial& first = *keys[0];
  many_.used = true;
  many_.rounds = first.rounds;
  many_.count = keys.size();
  begin(&Times::key_expansion);
  const std::size_t key_size = 4 * (std::size_t{first.rounds} - 6);
  const std::size_t size = first.on_device ? key_size : sizeof(paraes_schedule);
  many_.held = SecretBytes(keys.size() * size);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const void* const from = first.on_device ? static_cast<const void*>(keys[k]->keys[0].data())
                                             : static_cast<const void*>(keys[k]->schedules.data());
    std::memcpy(many_.held.data() + k * size, from, size);
  }
  const ProgramVariant& variant = station_.variant();
  const auto count = static_cast<std::uint32_t>(keys.size());
  Grid grid;
  grid.threads = variant.row->group_threads;
  grid.groups = (count + grid.threads - 1) / grid.threads;
  Call expansion = call(count, 0);
  expansion.out = &many_.schedules;
  if (first.on_device) {
    // Where the hash keys will be, which overwrite them.
    queue_->upload(many_.hash_keys, 0, many_.held.data(), many_.held.size());
    expansion.in = &many_.hash_keys;
    run("expand_keys", expansion, grid);
  } else {
    queue_->upload(many_.schedules, 0, many_.held.data(), many_.held.size());
  }
  if (variant.row->sliced_keys) {
    expansion.in = &many_.schedules;
    expansion.out = &many_.sliced;
    grid.groups = count;  // a thread makes a word
    run("slice_keys", expansion, grid);
  }
  constexpr std::uint32_t groups_on_a_processor = 4;
  Grid hash_grid;
  hash_grid.threads = hash_threads;
  hash_grid.shared_bytes = hash_key_shared_bytes(variant);
  hash_grid.groups = std::min(
      count, groups_on_a_processor * std::max<std::uint32_t>(station_.info().processors, 1));
  Call preparation = call(count, 0);
  preparation.scratch = &many_.hash_keys;
  run("ghash_prepare", preparation, hash_grid);
  end();
}

void Lane::forget_keys() noexcept {
  if (!many_.used) return;
  try {
    queue_->clear(many_.schedules, 0, many_.count * sizeof(paraes_schedule));
    if (many_.sliced) queue_->clear(many_.sliced, 0, many_.count * key_bytes(station_.variant()));
    queue_->clear(many_.hash_keys, 0, many_.count * hash_key_bytes(station_.variant()));
    queue_->finish();
  } catch (const Error&) {
    // The device is lost, and its memory with it.
  }
  many_.held = SecretBytes();
  many_.used = false;
}

void Lane::stage_in(std::size_t bytes) {
  if (transfer_ == Transfer::mapped) {
    in_pinned_->to_device();
    out_pinned_->to_device();
    return;
  }
  begin(&Times::host_to_device);
  queue_->upload(in_, 0, in_host_, bytes);
  end();
}

void Lane::stage_out(std::size_t bytes) {
  if (transfer_ == Transfer::mapped) return;
  begin(&Times::device_to_host);
  queue_->download(out_host_, out_, 0, bytes);
  end();
}

void Lane::upload_messages(std::span<paraes_message> messages, unsigned more_blocks,
                           std::uint64_t& tiles) {
  const std::uint64_t tile_blocks = row_threads * station_.variant().row->blocks_per_thread;
  tiles = 0;
  for (paraes_message& message : messages) {
    message.first_tile = tiles;
    const std::uint64_t blocks = (message.bytes + 15) / 16 + more_blocks;
    tiles += (blocks + tile_blocks - 1) / tile_blocks;
  }
  held_.assign(messages.begin(), messages.end());
  queue_->upload(messages_, 0, held_.data(), messages.size_bytes());
}

const Memory& Lane::in() {
  if (resident_in_ != nullptr) return *resident_in_;
  return transfer_ == Transfer::mapped ? in_pinned_->device_view() : in_;
}

const Memory& Lane::out() {
  if (resident_out_ != nullptr) return *resident_out_;
  return transfer_ == Transfer::mapped ? out_pinned_->device_view() : out_;
}

void Lane::launch(const char* entry, std::span<paraes_message> messages, unsigned more_blocks) {
  std::uint64_t tiles = 0;
  upload_messages(messages, more_blocks, tiles);
  if (tiles == 0) return;
  begin(&Times::kernel);
  run(entry, call(static_cast<std::uint32_t>(messages.size()), tiles), grid_for(tiles));
  end();
}

void Lane::launch_hash(std::size_t messages) {
  Grid grid;
  grid.threads = hash_threads;
  grid.shared_bytes = hash_shared_bytes(station_.variant());
  grid.groups = static_cast<std::uint32_t>(messages);
  Call hash = call(grid.groups, 0);
  hash.keys = many_.used ? &many_.hash_keys : &hash_keys_;
  begin(&Times::kernel);
  run("ghash", hash, grid);
  end();
}

void Lane::launch_xts(Direction direction, paraes_message& message, std::uint32_t unit_blocks,
                      const std::uint8_t* unit_tweak) {
  const std::uint64_t units = message.bytes / 16 / unit_blocks;
  const std::uint64_t stretches = units * ((unit_blocks + row_threads - 1) / row_threads);
  std::uint64_t tiles = 0;
  upload_messages({&message, 1}, 0, tiles);
  if (tiles == 0) return;
  Device& device = station_.device();
  if (unit_tweaks_.bytes() < 16 * units) unit_tweaks_ = device.allocate(16 * units);
  if (stretch_tweaks_.bytes() < 16 * stretches) stretch_tweaks_ = device.allocate(16 * stretches);
  const std::uint64_t tile_blocks = row_threads * station_.variant().row->blocks_per_thread;

  begin(&Times::kernel);
  if (unit_tweak != nullptr) {
    queue_->upload(unit_tweaks_, 0, unit_tweak, 16);
  } else {
    Call tweaks = call(1, (units + tile_blocks - 1) / tile_blocks);
    tweaks.keys = &keys_[1];
    tweaks.scratch = &unit_tweaks_;
    tweaks.unit_blocks = unit_blocks;
    tweaks.single = &single(1);
    run("xts_unit_tweaks", tweaks, grid_for(tweaks.tiles));
  }
  Call spread = call(1, stretches);
  spread.in = &unit_tweaks_;
  spread.out = &stretch_tweaks_;
  spread.unit_blocks = unit_blocks;
  Grid grid = grid_for(1);
  grid.groups = static_cast<std::uint32_t>((stretches + grid.threads - 1) / grid.threads);
  run("xts_stretches", spread, grid);
  Call data = call(1, tiles);
  data.scratch = &stretch_tweaks_;
  data.unit_blocks = unit_blocks;
  run(direction == Direction::encrypt ? "xts_encrypt" : "xts_decrypt", data, grid_for(tiles));
  end();
}

void Lane::repeat() {
  for (const Launch& launch : launches_) start(launch);
}

void Lane::finish() {
  queue_->finish();
  if (transfer_ == Transfer::mapped) {
    in_pinned_->to_host();
    out_pinned_->to_host();
    in_host_ = in_pinned_->host().data();
    out_host_ = out_pinned_->host().data();
  }
  for (const Phase& phase : phases_) {
    if (phase.end) times_.*phase.time += queue_->nanoseconds(*phase.begin, *phase.end);
  }
  phases_.clear();
}

void Lane::settle() noexcept {
  if (phases_.empty()) return;
  bool done = std::all_of(phases_.begin(), phases_.end(),
                          [](const Phase& phase) { return phase.end != nullptr; });
  try {
    finish();
  } catch (const Error&) {
    done = false;
  }
  if (done) return;
  phases_.clear();
  times_ = {};
  try {
    forget_key(key_id_);
  } catch (const Error&) {
    // The device is lost, and its memory with it.
  }
}

// ---- The station

namespace {

ProgramVariant wanted_variant(const KernelRow& row, const DeviceInfo& info,
                              const Options& options) {
  ProgramVariant variant = variant_for(row, info);
  if (row.tables && options.tables != 0) variant.tables = options.tables;
  return variant;
}

}  // namespace

Station::Station(std::unique_ptr<Platform> platform, std::unique_ptr<Device> device,
                 const KernelRow& row, const Options& options)
    : platform_(std::move(platform)),
      device_(std::move(device)),
      variant_(wanted_variant(row, device_->info(), options)),
      program_(load_program(*device_, variant_)) {
  make_lanes(options);
}

Station::~Station() = default;

Program& Station::many_keys_program() {
  const ProgramVariant many = for_many_keys(variant_);
  if (!many.many_keys) return program();
  const std::lock_guard lock(many_keys_mutex_);
  if (!many_keys_program_.program) many_keys_program_ = load_program(*device_, many);
  return *many_keys_program_.program;
}

std::size_t Station::most_keys() const noexcept {
  // As much memory as tweaks may take in the same lane.
  const std::size_t bytes =
      sizeof(paraes_schedule) + key_bytes(variant_) + hash_key_bytes(variant_);
  return std::clamp(2 * fragment_bytes_ / bytes, least_keys, most_keys_wanted);
}

void Station::make_lanes(const Options& options) {
  std::uint64_t budget = device_->free_bytes();
  if (options.memory_limit != 0) budget = std::min(budget, options.memory_limit);
  // Beside the two buffers of data, tweaks may take as much again as these.
  constexpr std::uint64_t buffers = 4;
  fragment_bytes_ = most_fragment_bytes;
  while (fragment_bytes_ > least_fragment_bytes &&
         lanes_wanted * buffers * fragment_bytes_ > budget) {
    fragment_bytes_ /= 2;
  }
  for (;;) {
    try {
      while (lanes_.size() < lanes_wanted) {
        lanes_.push_back(std::make_unique<Lane>(*this, fragment_bytes_, options.transfer));
      }
      break;
    } catch (const OutOfMemory&) {
      // Others use the device too: go on with what there is.
      if (lanes_.size() >= 2) break;
      lanes_.clear();
      if (fragment_bytes_ <= least_fragment_bytes) throw;
      fragment_bytes_ /= 2;
    }
  }
}

}  // namespace paraes::gpu
