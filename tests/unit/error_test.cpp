// The kinds of errors: those of their classes, and of what these derive from.

#include "paraes/error.hpp"

#include <gtest/gtest.h>

#include <new>
#include <utility>
#include <vector>

#include "paraes/keys.hpp"

namespace paraes {
namespace {

template <class Class>
bool is_of(const std::exception& error) {
  return dynamic_cast<const Class*>(&error) != nullptr;
}

using IsOf = bool (*)(const std::exception&);

// Every class with its kind.
const std::vector<std::pair<ErrorKind, IsOf>> classes = {
    {ErrorKind::memory, is_of<std::bad_alloc>},
    {ErrorKind::error, is_of<Error>},
    {ErrorKind::invalid_argument, is_of<InvalidArgument>},
    {ErrorKind::target_exists, is_of<TargetExists>},
    {ErrorKind::unknown_kernel, is_of<UnknownKernel>},
    {ErrorKind::unavailable, is_of<Unavailable>},
    {ErrorKind::unknown_device, is_of<UnknownDevice>},
    {ErrorKind::missing_program, is_of<MissingProgram>},
    {ErrorKind::damaged_program, is_of<DamagedProgram>},
    {ErrorKind::wrong_process, is_of<WrongProcess>},
    {ErrorKind::device_error, is_of<DeviceError>},
    {ErrorKind::device_memory, is_of<OutOfMemory>},
    {ErrorKind::integrity_error, is_of<IntegrityError>},
    {ErrorKind::bad_segment, is_of<BadSegment>},
    {ErrorKind::not_salted, is_of<NotSalted>},
    {ErrorKind::wrong_key, is_of<WrongKey>},
    {ErrorKind::io_error, is_of<IoError>},
    {ErrorKind::cannot_rename, is_of<CannotRename>},
    {ErrorKind::bad_padding, is_of<BadPadding>},
    {ErrorKind::wrong_key_size, is_of<WrongKeySize>},
    {ErrorKind::ambiguous_key, is_of<AmbiguousKey>},
    {ErrorKind::cancelled, is_of<Cancelled>},
};

void expect(ErrorKind kind, const std::exception& error) {
  EXPECT_EQ(error_kind(error), kind) << error.what();
  for (const auto& [base, is_of_it] : classes) {
    EXPECT_EQ(is_a(error_kind(error), base), is_of_it(error))
        << error.what() << ", base " << static_cast<int>(base);
  }
}

TEST(ErrorKind, IsThatOfTheClass) {
  expect(ErrorKind::memory, std::bad_alloc());
  expect(ErrorKind::error, Error("error"));
  expect(ErrorKind::invalid_argument, InvalidArgument("argument"));
  expect(ErrorKind::target_exists, TargetExists("exists"));
  expect(ErrorKind::unknown_kernel, UnknownKernel("kernel", "k", ""));
  expect(ErrorKind::unavailable, Unavailable("unavailable"));
  expect(ErrorKind::unknown_device, UnknownDevice("cuda:7", "why"));
  expect(ErrorKind::missing_program, MissingProgram("program", "sm_90"));
  expect(ErrorKind::damaged_program, DamagedProgram("path", "sm_90", "why"));
  expect(ErrorKind::wrong_process, WrongProcess("process"));
  expect(ErrorKind::device_error, DeviceError("device"));
  expect(ErrorKind::device_memory, OutOfMemory("memory"));
  expect(ErrorKind::integrity_error, IntegrityError("integrity"));
  expect(ErrorKind::bad_segment, BadSegment("segment", 1, 2, true));
  expect(ErrorKind::bad_padding, BadPadding("padding", true));
  expect(ErrorKind::not_salted, NotSalted("salt"));
  expect(ErrorKind::wrong_key, WrongKey(WrongKey::Secret::key, "key"));
  expect(ErrorKind::io_error, IoError("io", 5));
  expect(ErrorKind::cannot_rename, CannotRename("rename", 5));
  expect(ErrorKind::wrong_key_size, WrongKeySize("size"));
  expect(ErrorKind::ambiguous_key, AmbiguousKey("key"));
  expect(ErrorKind::cancelled, Cancelled());
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
  for (const auto& [kind, is_of_it] : classes) EXPECT_EQ(static_cast<int>(kind), number++);
  EXPECT_EQ(classes.back().first, last_error_kind);
}

}  // namespace
}  // namespace paraes
