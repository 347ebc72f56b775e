#include "cli/files/update.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cli/terminal/messages.hpp"
#include "paraes/error.hpp"
#include "src/core/system/files.hpp"

namespace paraes::cli {
namespace {

constexpr std::int64_t second = 1'000'000'000;

// Since 1970; in 64 bits they last until 2262.
std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * second + time.tv_nsec; }

// Whether the output's file system may have made `out` from the earlier time `in`, in the steps
// that it stores: 100 ns over SMB, 1 µs, 10 ms (exFAT), 1 s, or 2 s (FAT). The time of the last
// change, which nobody can set, tells a file system of such steps from a time that happens to be
// round.
bool is_rounded_down(std::int64_t in, std::int64_t out, const struct stat& output) {
  constexpr std::array<std::int64_t, 5> steps = {100, 1000, second / 100, second, 2 * second};
  const std::int64_t changed = nanoseconds(system::changed_time(output));
  return std::any_of(steps.begin(), steps.end(), [&](std::int64_t step) {
    return out % step == 0 && changed % step == 0 && in - out < step;
  });
}

// The bytes of the wrap in the header of a paraes message; 0 if it has no such header.
std::size_t wrap_bytes_of(const Place& message) try {
  const auto folder = message.open_folder();
  const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
  const Descriptor file(openat(folder->descriptor(), message.name().c_str(),
                               flags | (message.follow ? 0 : O_NOFOLLOW)));
  std::array<std::uint8_t, Preface::bytes> start{};
  const auto whole = static_cast<ssize_t>(start.size());
  if (file.get() < 0 || pread(file.get(), start.data(), start.size(), 0) != whole) return 0;
  return Preface::parse(start).wrap_bytes;
} catch (const Error&) {
  return 0;
}

bool has_plaintext_of(const SegmentLayout& layout, std::uint64_t sealed, std::uint64_t plain) try {
  return layout.extent_of(sealed).plain_bytes == plain;
} catch (const Error&) {
  return false;  // no message has this size
}

}  // namespace

bool UpdateRule::leaves_out(const struct stat& input, const struct stat& output,
                            const std::shared_ptr<const Folder>& folder,
                            const std::function<Place()>& encrypted) {
  // The time of a device does not say when its data changed.
  if (!S_ISREG(input.st_mode) || !S_ISREG(output.st_mode) || FileId(input) == FileId(output)) {
    return false;
  }
  const std::int64_t in = nanoseconds(system::modified_time(input));
  const std::int64_t out = nanoseconds(system::modified_time(output));
  if (out < in && !is_rounded_down(in, out, output)) return false;
  if (plan_.verb == Verb::decrypt && out > in) return true;
  if (!sizes_fit(input, output, encrypted)) return false;
  return out - in <= 2 * second || !keeps_times(folder, output.st_dev);
}

bool UpdateRule::sizes_fit(const struct stat& input, const struct stat& output,
                           const std::function<Place()>& encrypted) const {
  auto plain = static_cast<std::uint64_t>(input.st_size);
  auto sealed = static_cast<std::uint64_t>(output.st_size);
  if (plan_.verb == Verb::decrypt) std::swap(plain, sealed);
  switch (plan_.format) {
    case Format::tink: {
      // A keyset, which has not been read, may say how long salts and segments are. All headers
      // have a multiple of 16 bytes and 8 more, and all tags 16 bytes.
      constexpr std::uint64_t least = 24 + 16;
      return sealed >= plain + least && (sealed - plain - least) % 16 == 0;
    }
    case Format::c2sp:
      return has_plaintext_of(c2sp_layout(), sealed, plain);
    case Format::paraes: {
      const bool wraps = plan_.keys.kind() == SecretKind::recipients;
      const std::size_t wrap = wraps ? wrap_bytes_of(encrypted()) : 0;
      return has_plaintext_of(c2sp_layout(paraes_header_bytes + wrap), sealed, plain);
    }
    case Format::raw:
    case Format::openssl:
      break;
  }
  const std::uint64_t header = plan_.format == Format::openssl ? SaltedHeader::bytes : 0;
  const bool by_blocks = plan_.mode == BlockMode::cbc || plan_.mode == BlockMode::ecb;
  const bool pads = by_blocks && !plan_.no_padding;
  return sealed == header + (pads ? (plain / block_bytes + 1) * block_bytes : plain);
}

bool UpdateRule::keeps_times(const std::shared_ptr<const Folder>& folder, dev_t device) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = keeps_times_.try_emplace(device, true);
  if (!is_new) return known->second;
  try {
    const ProbeFile file(folder, "paraes-times", probing_);
    const std::string name = file.name();
    constexpr time_t then = 978'307'200;  // 2001
    const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW}, {.tv_sec = then, .tv_nsec = 0}};
    struct stat status = {};
    known->second =
        utimensat(folder->descriptor(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0 &&
        fstatat(folder->descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        status.st_mtime == then;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): no output gets there either
  }
  if (!known->second && !plan_.reporting.quiet) {
    say("note: the file system of {} drops the times of files, so --update goes by their size and "
        "by inputs that are newer",
        folder->name());
  }
  return known->second;
}

}  // namespace paraes::cli
