#include "tests/ct/steps/machine.hpp"

#include <fcntl.h>
#include <sys/personality.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace paraes::steps {
namespace {

constexpr int cannot_start = 125;

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const std::string& s : strings) list.push_back(const_cast<char*>(s.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

int start_process(const Command& command, void (*prepare)()) {
  const std::vector<char*> arguments = pointers(command.arguments);
  const std::vector<char*> environment = pointers(command.environment);
  const int child = fork();
  if (child < 0) throw Trouble(std::string("fork: ") + std::strerror(errno));
  if (child > 0) return child;
  // Equal addresses in all runs. Where a container forbids it, the test says so.
  if (personality(ADDR_NO_RANDOMIZE) < 0) _exit(cannot_start);
  dup2(command.input, STDIN_FILENO);
  // Standard output is the tracer's dialogue with steps.py.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  prepare();
  execve(arguments[0], arguments.data(), environment.data());
  _exit(cannot_start);
}

std::string Machine::module_of(std::uint64_t address) const {
  std::ifstream maps("/proc/" + std::to_string(process_) + "/maps");
  std::string line;
  std::string path;
  std::uint64_t load_address = 0;
  while (std::getline(maps, line)) {
    std::istringstream fields(line);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::string permissions, offset, device, inode, name;
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> inode >> name;
    if (name != path) {
      path = name;
      load_address = begin;
    }
    if (address >= begin && address < end) {
      if (path.empty()) return "-";
      std::ostringstream text;
      text << path << ' ' << std::hex << load_address;
      return text.str();
    }
  }
  return "-";
}

}  // namespace paraes::steps
