// The jobs that tests of memory scope compute.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/harness/row.hpp"
#include "bench/memory/job.hpp"

namespace paraes::bench {

inline std::vector<Job> jobs() {
  std::vector<Job> list;
  for (const Mode mode : all_modes) {
    for (const int bits : {128, 192, 256}) {
      if (mode == Mode::xts && bits == 192) continue;
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const int threads : {1, 3}) {
          for (const bool in_place : {false, true}) {
            // 100 KiB and 48 bytes: several ranges, and a short last data unit.
            list.push_back(Job{mode, bits, direction, 4096, 102400 + 48, threads, in_place});
          }
        }
      }
    }
  }
  return list;
}

// Jobs of many messages: one byte each, a short last one, many in each range of several threads.
inline std::vector<Job> jobs_of_messages() {
  std::vector<Job> list;
  for (const auto& [bytes, message] : {std::pair(33, 1), {5000, 64}, {100000, 1024}, {80, 80}}) {
    for (const int bits : {128, 192, 256}) {
      for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
        for (const int threads : {1, 3}) {
          for (const bool in_place : {false, true}) {
            for (const Keys keys : {Keys::one, Keys::each, Keys::once}) {
              Job job{Mode::gcm, bits, direction, 4096, std::uint64_t(bytes), threads, in_place};
              job.message = message;
              job.keys = keys;
              list.push_back(job);
            }
          }
        }
      }
    }
  }
  return list;
}

inline Row row_of(const Job& job) {
  Row row;
  row.kernel = "test";
  row.mode = job.mode;
  row.key_bits = job.key_bits;
  row.direction = job.direction;
  row.threads = job.threads;
  row.bytes = job.bytes;
  row.in_place = job.in_place;
  return row;
}

inline std::string name_of(const Job& job) {
  return std::string(to_string(*job.mode)) + "-" + std::to_string(job.key_bits) + " " +
         std::string(to_string(job.direction)) + " threads " + std::to_string(job.threads) +
         (job.in_place ? " in place" : "") +
         (job.message == 0 ? "" : " messages of " + std::to_string(job.message)) +
         (job.keys == Keys::one    ? ""
          : job.keys == Keys::each ? " with a key each"
                                   : " with a key each, expanded in the call");
}

}  // namespace paraes::bench
