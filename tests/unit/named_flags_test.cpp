// Which flags of a verb are built: those that the command line may name.

#include <gtest/gtest.h>

#include <vector>

#include "cli/arguments/arguments.hpp"

namespace paraes::cli {
namespace {

NamedFlags named_in(std::vector<const char*> words) {
  words.insert(words.begin(), "paraes");
  return {static_cast<int>(words.size()), words.data()};
}

TEST(NamedFlags, WholeName_IncludesTheFlag) {
  const NamedFlags named = named_in({"encrypt", "--output", "x", "--threads=4"});
  EXPECT_TRUE(named.include("-o,--output"));
  EXPECT_TRUE(named.include("-T,--threads"));
  EXPECT_FALSE(named.include("--out"));
  EXPECT_FALSE(named.include("--output-of"));
  EXPECT_FALSE(named.include("-f,--force"));
}

TEST(NamedFlags, LettersOfOneWord_IncludeEachFlag) {
  const NamedFlags named = named_in({"encrypt", "-rf", "-kmy"});
  for (const char* names : {"-r,--recursive", "-f,--force", "-k,--key-file"}) {
    EXPECT_TRUE(named.include(names)) << names;
  }
  EXPECT_FALSE(named.include("-q,--quiet"));
  EXPECT_FALSE(named.include("--rm"));
}

// After -o, where read_arguments looks whether the value is a flag.
TEST(NamedFlags, FlagInThePlaceOfAValue_IsIncluded) {
  EXPECT_TRUE(named_in({"encrypt", "-o", "--rm"}).include("--rm"));
  EXPECT_TRUE(named_in({"encrypt", "-o", "--device=cpu"}).include("--device"));
}

TEST(NamedFlags, OtherWords_IncludeNothing) {
  const NamedFlags named = named_in({"encrypt", "force", "f", "-", "--", ""});
  EXPECT_FALSE(named.include("-f,--force"));
  EXPECT_FALSE(named.include("--rm"));
}

TEST(NamedFlags, NoWords_IncludeNothing) {
  EXPECT_FALSE(NamedFlags(0, nullptr).include("--rm"));
  EXPECT_FALSE(named_in({}).include("--rm"));
}

TEST(NamedFlags, All_IncludesEachFlag) {
  EXPECT_TRUE(NamedFlags::all().include("--rm"));
  EXPECT_TRUE(NamedFlags::all().include("-o,--output"));
}

}  // namespace
}  // namespace paraes::cli
