#include "src/gpu/entry_launcher.hpp"

#include <algorithm>

#include "src/gpu/context.hpp"

namespace paraes::gpu {

Function& EntryLauncher::function(const char* name, bool many_keys) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const LoadedEntry& entry) {
    return entry.name == name && entry.many_keys == many_keys;
  });
  if (found != entries_.end()) return *found->function;
  Program& program = many_keys ? context_.many_keys_program() : context_.program();
  entries_.push_back({name, many_keys, program.function(name)});
  return *entries_.back().function;
}

EntryLaunch EntryLauncher::prepare(const char* entry, const EntryArguments& arguments,
                                   const Grid& grid) {
  return {&function(entry, arguments.key.many_keys), arguments, grid};
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

}  // namespace paraes::gpu
