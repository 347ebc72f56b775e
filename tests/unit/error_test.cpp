// The kinds of errors: those of their classes, and of what these derive from.

#include "paraes/error.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <vector>

#include "paraes/keys.hpp"

namespace paraes {
namespace {

struct Row {
  ErrorKind kind;
  bool (*is_of_it)(const std::exception& error);
  std::shared_ptr<const std::exception> sample;
};

template <class Class, class... Arguments>
Row of(ErrorKind kind, const Arguments&... arguments) {
  const auto is_of_it = [](const std::exception& error) {
    return dynamic_cast<const Class*>(&error) != nullptr;
  };
  return {kind, is_of_it, std::make_shared<const Class>(arguments...)};
}

// Every class with its kind.
const std::vector<Row> classes = {
    of<std::bad_alloc>(ErrorKind::memory),
    of<Error>(ErrorKind::error, "error"),
    of<InvalidArgument>(ErrorKind::invalid_argument, "argument"),
    of<TargetExists>(ErrorKind::target_exists, "exists"),
    of<UnknownKernel>(ErrorKind::unknown_kernel, "kernel", "k", ""),
    of<Unavailable>(ErrorKind::unavailable, "unavailable"),
    of<UnknownDevice>(ErrorKind::unknown_device, "cuda:7", "why"),
    of<MissingProgram>(ErrorKind::missing_program, "program", "sm_90"),
    of<DamagedProgram>(ErrorKind::damaged_program, "path", "sm_90", "why"),
    of<WrongProcess>(ErrorKind::wrong_process, "process"),
    of<DeviceError>(ErrorKind::device_error, "device"),
    of<OutOfMemory>(ErrorKind::device_memory, "memory"),
    of<IntegrityError>(ErrorKind::integrity_error, "integrity"),
    of<BadSegment>(ErrorKind::bad_segment, "segment", 1, 2, true),
    of<NotSalted>(ErrorKind::not_salted, "salt"),
    of<WrongKey>(ErrorKind::wrong_key, WrongKey::Secret::key, "key"),
    of<IoError>(ErrorKind::io_error, "io", 5),
    of<CannotRename>(ErrorKind::cannot_rename, "rename", 5),
    of<BadPadding>(ErrorKind::bad_padding, "padding", true),
    of<WrongKeySize>(ErrorKind::wrong_key_size, "size"),
    of<AmbiguousKey>(ErrorKind::ambiguous_key, "key"),
    of<Cancelled>(ErrorKind::cancelled),
};

void expect(ErrorKind kind, const std::exception& error) {
  EXPECT_EQ(error_kind(error), kind) << error.what();
  for (const Row& base : classes) {
    EXPECT_EQ(is_a(error_kind(error), base.kind), base.is_of_it(error))
        << error.what() << ", base " << static_cast<int>(base.kind);
  }
}

TEST(ErrorKind, IsThatOfTheClass) {
  for (const Row& row : classes) expect(row.kind, *row.sample);
}

TEST(ErrorKind, OfOtherClassesIsThatOfTheirBase) {
  class Narrower : public InvalidArgument {
    using InvalidArgument::InvalidArgument;
  };
  expect(ErrorKind::invalid_argument, Narrower("narrower"));
  EXPECT_EQ(error_kind(std::runtime_error("another")), ErrorKind::other);
  EXPECT_FALSE(is_a(ErrorKind::other, ErrorKind::error));
  EXPECT_FALSE(is_a(ErrorKind::error, ErrorKind::other));
  const auto of_later_version = static_cast<ErrorKind>(static_cast<int>(last_error_kind) + 1);
  EXPECT_TRUE(is_a(of_later_version, ErrorKind::error));
  EXPECT_FALSE(is_a(of_later_version, ErrorKind::io_error));
  EXPECT_FALSE(is_a(ErrorKind::error, ErrorKind::io_error)) << "a base is not its subclass";
}

// Other programs store them.
TEST(ErrorKind, NumbersAreThoseOfTheirFirstRelease) {
  int number = static_cast<int>(ErrorKind::memory);
  for (const Row& row : classes) EXPECT_EQ(static_cast<int>(row.kind), number++);
  EXPECT_EQ(classes.back().kind, last_error_kind);
}

}  // namespace
}  // namespace paraes
