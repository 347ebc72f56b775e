// A real pipe whose writer passes on its text in parts.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "paraes/io.hpp"
#include "tests/fuzz/input.hpp"

namespace paraes::fuzz {

class SplitPipe {
 public:
  SplitPipe(Input& input, Buffer data) : data_(std::move(data)) {
    // The reader may leave early.
    static const auto before = std::signal(SIGPIPE, SIG_IGN);
    static_cast<void>(before);
    in_parts(input, data_.size(), 1, [&](std::size_t, std::size_t n) { parts_.push_back(n); });
    int ends[2];
    require(pipe2(ends, O_CLOEXEC) == 0);
    source_ = std::make_unique<PipeSource>(Descriptor(ends[0]), "the pipe");
    writer_ = std::thread([this, end = ends[1]] { write_to(end); });
  }
  ~SplitPipe() {
    source_.reset();  // ends the writer, if it waits
    writer_.join();
  }
  SplitPipe(const SplitPipe&) = delete;
  SplitPipe& operator=(const SplitPipe&) = delete;

  [[nodiscard]] Source& source() noexcept { return *source_; }

 private:
  void write_to(int end) const {
    const Descriptor descriptor(end);
    const std::uint8_t* at = data_.data();
    for (std::size_t part : parts_) {
      while (part != 0) {
        const ssize_t n = write(end, at, part);
        if (n <= 0) return;
        at += n;
        part -= static_cast<std::size_t>(n);
      }
    }
  }

  Buffer data_;
  std::vector<std::size_t> parts_;
  std::unique_ptr<PipeSource> source_;
  std::thread writer_;
};

}  // namespace paraes::fuzz
