// Which libraries found at run time are opened: none that somebody else could have put there. The
// library is a stand-in for NVRTC. Tests of users that this process is not run in a child process,
// which only root can start.

#include <dlfcn.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/core/checked_path.hpp"
#include "src/core/dynamic_library.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "src/gpu/runtime/cuda_api.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes {
namespace {

namespace fs = std::filesystem;

// Users that own nothing on this machine.
constexpr uid_t alice = 54321;
constexpr uid_t mallory = 54322;

constexpr const char* soname = "libnvrtc.so.12";
constexpr const char* stand_in = "NVRTC 12.99";

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got; (got = read(file, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Returns what `question` returns in a child process of `user`; the child has no other groups.
std::string ask_as(uid_t user, const std::function<std::string()>& question) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return "pipe failed";
  const pid_t child = fork();
  if (child == 0) {
    std::string answer = "cannot become another user";
    if (geteuid() == user ||
        (setgroups(0, nullptr) == 0 && setgid(user) == 0 && setuid(user) == 0)) {
      answer = question();
    }
    const bool whole =
        write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    _exit(whole ? 0 : 1);
  }
  close(ends[1]);
  const std::string answer = read_all(ends[0]);
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0 ? answer : "the child failed";
}

// Opens the library, and says why that is refused; empty if it was opened.
std::string refusal_of(const std::string& path) {
  const std::array<const char*, 1> names = {path.c_str()};
  const std::string refusal =
      support::message_of<Unavailable>([&] { DynamicLibrary(names, "the advice"); });
  // Code of a library runs as soon as it is loaded.
  const bool loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr;
  return !refusal.empty() && loaded ? "refused, but loaded" : refusal;
}

// A folder in the folder for temporary files, with folders of this user and of others.
class LibraryPaths : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(chmod(root_.c_str(), 0755), 0);
    ASSERT_EQ(check_path(root_).reason, "") << "set TMPDIR to a folder that only you can change";
  }

  // Puts the stand-in into `folder`, below the folder of the test.
  fs::path put(const std::string& folder) {
    fs::create_directories(root_ / folder);
    fs::copy_file(PARAES_FAKE_NVRTC, root_ / folder / soname);
    fs::path path = root_;
    for (const fs::path& part : fs::path(folder)) set(path /= part, 0755);
    set(root_ / folder / soname, 0755);
    return root_ / folder / soname;
  }

  // Puts it into a folder that everybody can write to.
  fs::path put_shared() {
    const fs::path path = put("shared");
    set(root_ / "shared", 0777);
    return path;
  }

  static void set(const fs::path& path, mode_t mode) { ASSERT_EQ(chmod(path.c_str(), mode), 0); }
  static void give(const fs::path& path, uid_t owner) {
    ASSERT_EQ(lchown(path.c_str(), owner, owner), 0);
  }

  // Whether the refusal names `path`, below the folder of the test, and says what to do.
  void expect_refusal(const std::string& refusal, const std::string& danger,
                      const fs::path& path) const {
    const std::string named = root_ / path;
    for (const std::string& part :
         {danger, named, std::string("put the library where"), std::string("the advice")}) {
      EXPECT_HAS(refusal, part);
    }
  }

 private:
  support::TemporaryFolder folder_;

 protected:
  const fs::path root_ = fs::canonical(folder_.path());
};

TEST_F(LibraryPaths, RelativePathIsOpened) {
  put("own");
  const fs::path before = fs::current_path();
  fs::current_path(root_ / "own");
  const std::string refusal = refusal_of(std::string("../own/./") + soname);
  fs::current_path(before);
  EXPECT_EQ(refusal, "");
}

TEST_F(LibraryPaths, PlacesThatEverybodyCanWriteToAreRefused) {
  for (const auto& [folder, writable, mode] :
       {std::tuple{"shared", "shared", 0777}, std::tuple{"above/a/b", "above", 0777},
        std::tuple{"own", "own/libnvrtc.so.12", 0757},
        // The sticky bit means nothing for files.
        std::tuple{"other", "other/libnvrtc.so.12", 01757}}) {
    const fs::path path = put(folder);
    set(root_ / writable, static_cast<mode_t>(mode));
    expect_refusal(refusal_of(path), "everybody can write", writable);
  }
}

// Others cannot rename what is in a folder with the sticky bit, but can add to it.
TEST_F(LibraryPaths, StickyFolderMayBeOnTheWayButNotHoldTheLibrary) {
  const fs::path below = put("sticky/own");
  const fs::path in = put("tmp");
  set(root_ / "sticky", 01777);
  set(root_ / "tmp", 01777);
  EXPECT_EQ(refusal_of(below), "");
  expect_refusal(refusal_of(in), "everybody can write", "tmp");
  EXPECT_NE(check_path(root_ / "tmp").reason, "") << "others can add files";
}

TEST_F(LibraryPaths, LinksAreFollowedAndTheirFoldersChecked) {
  put("own");
  put_shared();
  fs::create_directory_symlink("own", root_ / "good");
  fs::create_directory_symlink(root_ / "own", root_ / "absolute");
  fs::create_directory_symlink("shared", root_ / "bad");
  fs::create_symlink(put("other"), root_ / "shared/link.so");
  EXPECT_EQ(refusal_of(root_ / "good" / soname), "");
  EXPECT_EQ(refusal_of(root_ / "absolute" / soname), "");
  expect_refusal(refusal_of(root_ / "bad" / soname), "everybody can write", "shared");
  expect_refusal(refusal_of(root_ / "own/../bad" / soname), "everybody can write", "shared");
  // Everybody can exchange this link.
  expect_refusal(refusal_of(root_ / "shared/link.so"), "everybody can write", "shared");
}

// A library finds its parts beside its own file, and what is opened is what was checked.
TEST_F(LibraryPaths, LibraryIsOpenedByThePathThatWasChecked) {
  const fs::path path = put("own");
  fs::create_symlink(path, root_ / "link.so");
  const std::string link = root_ / "link.so";
  const std::array<const char*, 1> names = {link.c_str()};
  const DynamicLibrary library(names, "");
  Call<int(int*, int*)> version;
  library.load(DynamicLibrary::Need::required, "nvrtcVersion", version);
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(version.function), &info), 0);
  EXPECT_EQ(info.dli_fname, path);
  EXPECT_EQ(library.name(), link);
}

TEST_F(LibraryPaths, EndlessAndDanglingLinksAreMissing) {
  put_shared();
  fs::create_symlink("loop", root_ / "loop");
  fs::create_symlink("nowhere", root_ / "dangling");
  for (const char* name : {"loop", "dangling", "absent", "absent/too", "shared/absent"}) {
    const CheckedPath checked = check_path(root_ / name);
    EXPECT_EQ(checked.path, "") << name;
    EXPECT_NE(checked.reason, "") << name;
    const std::string refusal = refusal_of(root_ / name);
    EXPECT_HAS(refusal, "cannot open") << name;
    // A folder without the library is no reason to complain.
    EXPECT_LACKS(refusal, "everybody") << name;
  }
}

TEST_F(LibraryPaths, NextNameIsOpenedAfterARefusal) {
  const std::string shared = put_shared();
  const std::string own = put("own");
  const std::array<const char*, 3> names = {"libparaes-none.so", shared.c_str(), own.c_str()};
  EXPECT_EQ(DynamicLibrary(names, "").name(), own);
  const std::string refusal = support::message_of<Unavailable>(
      [&] { DynamicLibrary(std::span<const char* const>(names).first(2), "the advice"); });
  expect_refusal(refusal, "everybody can write", "shared");
  EXPECT_HAS(refusal, "libparaes-none.so");
}

// ---- Other users, as root alone can be

class LibraryPathsOfUsers : public LibraryPaths {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files to other users";
    LibraryPaths::SetUp();
    const bool may_give = lchown(put("trial").c_str(), alice, alice) == 0;
    if (!may_give || ask_as(alice, [] { return std::string(); }) != "") {
      GTEST_SKIP() << "this root cannot give files to other users, or become one";
    }
  }

  // A library of `owner` in a folder of theirs.
  fs::path put_for(const std::string& folder, uid_t owner) {
    const fs::path path = put(folder);
    give(path, owner);
    give(path.parent_path(), owner);
    return path;
  }

  static std::string refusal_to(uid_t user, const fs::path& path) {
    return ask_as(user, [&] { return refusal_of(path); });
  }
};

TEST_F(LibraryPathsOfUsers, UsersOpenTheirOwnAndThoseThatOthersProvide) {
  EXPECT_EQ(refusal_to(alice, put("root")), "");
  const fs::path own = put_for("alice", alice);
  EXPECT_EQ(refusal_to(alice, own), "");
  // On clusters, an account that is not root often installs the software.
  EXPECT_EQ(refusal_to(alice, put_for("software", mallory)), "");
  // With the umask 002 of many distributions, all folders are writable for the user's own group.
  set(root_ / "alice", 0775);
  set(own, 0775);
  EXPECT_EQ(refusal_to(alice, own), "");
}

TEST_F(LibraryPathsOfUsers, UsersRefuseWhatOthersPutIntoAFolderOfEverybody) {
  const fs::path in = put("tmp/mallory");
  set(root_ / "tmp", 01777);
  give(root_ / "tmp/mallory", mallory);
  expect_refusal(refusal_to(alice, in), "belongs to user 54322", "tmp/mallory");
  const fs::path good = put_for("alice", alice);
  fs::create_symlink(good, root_ / "tmp/link.so");
  EXPECT_EQ(refusal_to(alice, root_ / "tmp/link.so"), "");
  give(root_ / "tmp/link.so", mallory);
  expect_refusal(refusal_to(alice, root_ / "tmp/link.so"), "belongs to user 54322", "tmp/link.so");
}

TEST_F(LibraryPathsOfUsers, RootRefusesThoseOfUsersAndFoldersOfAGroup) {
  expect_refusal(refusal_of(put_for("alice", alice)),
                 "belongs to user 54321, and this process is root", "alice");
  const fs::path file = put("root");
  give(file, alice);
  expect_refusal(refusal_of(file), "belongs to user 54321", file);
  const fs::path in = put("home/lib");
  give(root_ / "home", alice);
  expect_refusal(refusal_of(in), "belongs to user 54321", "home");
  const fs::path path = put("staff");
  set(root_ / "staff", 0775);
  expect_refusal(refusal_of(path), "the group 0 can write", "staff");
}

// ---- NVRTC

class NvrtcPaths : public LibraryPaths {
 protected:
  // The folder of Python's packages in a virtual environment.
  static constexpr const char* packages = "lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib";

  // The name of the NVRTC that is opened, or why there is none.
  static std::string opened() {
    try {
      return gpu::driver::open_nvrtc_for(12990)->name();
    } catch (const Unavailable& error) {
      return error.what();
    }
  }
};

TEST_F(NvrtcPaths, NamedLibraryIsOpenedOrAnError) {
  const fs::path own = put("own");
  const fs::path shared = put_shared();
  {
    const support::ScopedEnvironment name("PARAES_NVRTC", own);
    EXPECT_EQ(opened(), stand_in);
  }
  const support::ScopedEnvironment name("PARAES_NVRTC", shared);
  const std::string refusal = opened();
  EXPECT_HAS(refusal, "everybody can write to " + (root_ / "shared").string());
  EXPECT_HAS(refusal, "put the library where");
}

TEST_F(NvrtcPaths, LibrariesInEnvironmentsAreOpenedOnlyIfSafe) {
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME"}) {
    SCOPED_TRACE(variable);
    const support::ScopedEnvironment no_other("VIRTUAL_ENV", "");
    const support::ScopedEnvironment no_conda("CONDA_PREFIX", "");
    const bool home = std::string(variable) == "HOME";
    const fs::path prefix = root_ / variable;
    put(std::string(variable) + (home ? "/.local/" : "/") + packages);
    const support::ScopedEnvironment environment(variable, prefix);
    const std::string good = opened();
    set(prefix, 0777);
    const std::string bad = opened();
    EXPECT_NE(bad, stand_in);
    // If the machine has no other NVRTC, the error says why this one was not taken.
    if (bad.rfind("NVRTC ", 0) != 0) {
      EXPECT_HAS(bad, "everybody can write to " + prefix.string());
    }
    EXPECT_EQ(good, stand_in);
  }
}

// ---- The cache of GPU programs

using ProgramCache = LibraryPaths;

TEST_F(ProgramCache, FolderThatOthersCanExchangeIsNotUsed) {
  fs::create_directories(root_ / "shared/cache");
  const support::ScopedEnvironment cache("XDG_CACHE_HOME", root_ / "shared/cache");
  EXPECT_EQ(gpu::program_cache().folder, root_ / "shared/cache/paraes");
  EXPECT_EQ(gpu::program_cache().reason, "");
  set(root_ / "shared", 0777);
  EXPECT_EQ(gpu::program_cache().folder, "");
  EXPECT_EQ(gpu::program_cache().reason, why_programs_are_not_kept());
  EXPECT_HAS(why_programs_are_not_kept(), "everybody can write to " + (root_ / "shared").string());
}

// ---- Processes with more rights than their caller

constexpr const char* all_variables[] = {"PARAES_NVRTC", "VIRTUAL_ENV",    "CONDA_PREFIX",
                                         "HOME",         "XDG_CACHE_HOME", "PARAES_PROGRAM_PATH"};

// In a copy of this program that has the setuid bit.
void check_setuid_process() {
  if (getauxval(AT_SECURE) == 0) {
    std::puts("no setuid");
    return;
  }
  for (const char* variable : all_variables) {
    EXPECT_NE(std::getenv(variable), nullptr);
    EXPECT_EQ(trusted_environment(variable), "") << variable;
  }
  try {
    std::printf("opened %s\n", gpu::driver::open_nvrtc_for(12990)->name().c_str());
  } catch (const Unavailable& error) {
    std::printf("opened nothing: %s\n", error.what());
  }
  EXPECT_EQ(gpu::program_cache().folder, "");
  EXPECT_TRUE(gpu::prepared_folders().empty());
}

class SetuidProcess : public LibraryPathsOfUsers {
 protected:
  static bool is_copy() { return std::getenv("PARAES_TEST_SETUID") != nullptr; }
  void SetUp() override {
    if (!is_copy()) LibraryPathsOfUsers::SetUp();
  }
};

TEST_F(SetuidProcess, IgnoresTheEnvironment) {
  if (is_copy()) {
    check_setuid_process();
    std::fflush(stdout);
    fs::remove_all(root_);
    // At once: LeakSanitizer cannot look into a setuid process, and would end it with an error.
    _exit(HasFailure() ? 1 : 0);
  }
  const fs::path program = root_ / "program";
  fs::copy_file("/proc/self/exe", program);
  give(program, alice);
  set(program, 04755);
  const fs::path library = put("root");
  std::string command = "PARAES_TEST_SETUID=1 ";
  for (const char* variable : all_variables) {
    command.append(variable).append("=").append(library).append(" ");
  }
  command += program.string() + " --gtest_filter=SetuidProcess.* 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  const std::string output = read_all(fileno(pipe));
  const int status = pclose(pipe);
  if (output.find("no setuid") != std::string::npos) {
    GTEST_SKIP() << "this system ignores the setuid bit in " << root_;
  }
  EXPECT_EQ(status, 0) << output;
  EXPECT_HAS(output, "opened ");
  EXPECT_LACKS(output, stand_in);
}

}  // namespace
}  // namespace paraes
