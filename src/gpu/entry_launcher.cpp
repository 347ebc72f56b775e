#include "src/gpu/entry_launcher.hpp"

#include <algorithm>

#include "paraes/error.hpp"
#include "src/gpu/context.hpp"

namespace paraes::gpu {

Function& EntryLauncher::function(const char* name, const ProgramNeeds& needs) {
  const auto found = std::ranges::find_if(entries_, [&](const LoadedEntry& entry) {
    return entry.name == name && entry.needs == needs;
  });
  if (found != entries_.end()) return *found->function;
  entries_.push_back({name, needs, context_.program(needs).function(name)});
  return *entries_.back().function;
}

EntryLaunch EntryLauncher::prepare(const char* entry, const EntryArguments& arguments,
                                   const Grid& grid) {
  return {&function(entry, {arguments.key.many_keys, arguments.any_address}), arguments, grid};
}

void EntryLauncher::start(const EntryLaunch& launch) {
  const EntryArguments& given = launch.arguments;
  std::vector<Argument> arguments = {*given.in,
                                     *given.out,
                                     *given.messages,
                                     Argument::by_value(given.count),
                                     Argument::by_value(given.tiles),
                                     *given.key.keys,
                                     *given.scratch,
                                     Argument::by_value(given.unit_blocks),
                                     Argument::by_value(given.tile_blocks),
                                     Argument::by_value(given.key.rounds)};
  if (given.key.single != nullptr) arguments.push_back(Argument::by_value(*given.key.single));
  queue_.launch(*launch.function, launch.grid, arguments);
  ++launches_;
}

void EntryLauncher::copy_in(const Memory& to, std::size_t offset, PinnedMemory* pinned,
                            const std::uint8_t* from, std::size_t bytes, const KeyReference& key) {
  if (!context_.device().reads_pinned_memory()) {
    queue_.upload(to, offset, from, bytes);
    return;
  }
  if (bytes > to.bytes() || offset > to.bytes() - bytes) {
    throw InvalidArgument("a copy of secrets is beyond the end of device memory");
  }
  const Memory& view = pinned->device_view();
  const auto at = static_cast<std::size_t>(from - pinned->host().data());
  const Memory source = Memory::view(view.handle() + at, bytes);
  const Memory target = Memory::view(to.handle() + offset, bytes);
  constexpr std::uint64_t most_groups = 32;
  const std::uint32_t threads = context_.variant().group_threads;
  const std::uint64_t words = bytes / 4;
  const Grid grid{.groups = static_cast<std::uint32_t>(
                      std::clamp<std::uint64_t>(words / threads, 1, most_groups)),
                  .threads = threads};
  launch("copy_words",
         {.in = &source,
          .out = &target,
          .messages = &target,
          .count = 0,
          .tiles = words,
          .key = key,
          .scratch = &target},
         grid);
}

}  // namespace paraes::gpu
