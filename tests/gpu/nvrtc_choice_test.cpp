// Which NVRTC compiles a program, and when none is opened. The libraries are stand-ins
// (fake_nvrtc.cpp) in folders of Python packages, and the driver is one (fake_cuda.cpp). Their
// versions are lower than those of any real NVRTC, so that one on this machine comes last, or first
// for a driver that is newer.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "paraes/devices.hpp"
#include "paraes/error.hpp"
#include "src/gpu/programs/load_program.hpp"
#include "src/gpu/programs/program_files.hpp"
#include "tests/gpu/expect_has.hpp"
#include "tests/gpu/fake_driver.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/temporary_folder.hpp"

namespace paraes::gpu {
namespace {

namespace fs = std::filesystem;

class NvrtcChoice : public WithDriver {
 protected:
  NvrtcChoice() : WithDriver(cuda) {}
  void SetUp() override {
    WithDriver::SetUp();
    environment_.emplace("VIRTUAL_ENV", root_ / "venv");
    cache_.emplace("XDG_CACHE_HOME", root_ / "cache");
    fs::create_directory(root_ / "cache");
    unsetenv("PARAES_NVRTC");
    unsetenv("PARAES_PROGRAM_PATH");
  }

  // Adds a stand-in to the virtual environment, and returns its path.
  fs::path add(const std::string& description) {
    const fs::path folder = root_ / "venv/lib" / ("python3." + std::to_string(++added_)) /
                            "site-packages/nvidia/cuda_nvrtc/lib";
    fs::create_directories(folder);
    fs::path path = folder / "libnvrtc.so.12";
    fs::copy_file(PARAES_FAKE_NVRTC, path);
    fs::permissions(path, fs::perms(0755));
    std::ofstream(path.string() + ".says") << description;
    return path;
  }

  static bool is_open(const fs::path& path) {
    return dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr;
  }

  static ProgramVariant variant(const DeviceInfo& info) {
    return variant_for(find_gpu_kernel("bitslice"), info);
  }

  // Puts a program for the first device into the cache.
  static void fill_cache() {
    const DeviceInfo info = open_cuda()->devices().at(0);
    const std::string text = "fake program";
    write_program_file(program_cache().folder, cached_name(variant(info), info),
                       pack(Binary(text.begin(), text.end())));
  }

  static std::string origin() {
    const auto platform = open_cuda();
    const auto device = platform->open(0);
    return load_program(*device, variant(device->info())).origin;
  }

 private:
  support::TemporaryFolder folder_;

 protected:
  const fs::path root_ = fs::canonical(folder_.path());

 private:
  std::optional<support::ScopedEnvironment> environment_;
  std::optional<support::ScopedEnvironment> cache_;
  int added_ = 0;
};

// ---- Programs that need no compiler

TEST_F(NvrtcChoice, CachedProgramNeedsAndOpensNoCompiler) {
  fill_cache();
  {
    const support::ScopedEnvironment nvrtc("PARAES_NVRTC", "/nowhere/libnvrtc.so");
    EXPECT_EQ(origin(), "cached");
  }
  const fs::path path = add("version 1 2\ntargets 90\n");
  const support::ScopedEnvironment nvrtc("PARAES_NVRTC", path);
  EXPECT_EQ(origin(), "cached");
  EXPECT_EQ(runtime_devices("cuda").size(), 2U);
  require_device("cuda:1");
  EXPECT_FALSE(is_open(path));
  // The list of devices names the compiler, and this does open it.
  EXPECT_EQ(devices().at(1).id, "cuda:0");
  EXPECT_EQ(devices().at(1).compiler, "NVRTC 1.2");
  EXPECT_TRUE(is_open(path));
}

TEST_F(NvrtcChoice, CachedProgramIsUsedWithAnotherCompiler) {
  {
    const support::ScopedEnvironment nvrtc("PARAES_NVRTC", add("version 1 2\ntargets 90\n"));
    EXPECT_EQ(origin(), "compiled");
  }
  const support::ScopedEnvironment nvrtc("PARAES_NVRTC", add("version 1 3\ntargets 90\n"));
  EXPECT_EQ(origin(), "cached");
}

TEST_F(NvrtcChoice, WithoutAFittingCompilerAProgramIsMissing) {
  const auto refusal = [](const std::string& compiler) {
    const support::ScopedEnvironment nvrtc("PARAES_NVRTC", compiler);
    return message_of<MissingProgram>([] { static_cast<void>(origin()); });
  };
  const std::string message = refusal("/nowhere/libnvrtc.so");
  EXPECT_HAS(message, "no compiler of programs for cuda:0");
  EXPECT_HAS(message, "/nowhere/libnvrtc.so");
  EXPECT_HAS(message, "PARAES_PROGRAM_PATH");
  EXPECT_HAS(message, "nvidia-cuda-nvrtc");
  EXPECT_HAS(refusal(add("version 1 3\ntargets 70\n")), "NVRTC 1.3 does not know the target sm_90");
}

// ---- Several compilers

// The program that the device gets from the compilers, as text: "fake 1.2" was compiled by NVRTC
// 1.2.
std::string compiled(const std::string& directives = "") {
  Fake::tell(directives);
  const auto platform = open_cuda();
  const Binary binary = platform->open(0)->compile("source", {});
  return {binary.begin(), binary.end()};
}

TEST_F(NvrtcChoice, DeviceGetsTheNewestThatIsNotNewerThanTheDriver) {
  for (const char* version : {"1 3", "1 6", "2 0", "1 4", "0 9"}) {
    add("version " + std::string(version) + "\ntargets 90\n");
  }
  EXPECT_EQ(compiled("version:1040"), "fake 1.4");
  EXPECT_EQ(devices().at(1).compiler, "NVRTC 1.4");
  EXPECT_EQ(compiled("version:1050"), "fake 1.4");
  EXPECT_EQ(compiled("version:1030"), "fake 1.3");
  EXPECT_EQ(compiled("version:1100"), "fake 1.6");
  EXPECT_EQ(compiled("version:2000"), "fake 2.0");
  // All are newer.
  EXPECT_EQ(compiled("version:0"), "fake 0.9");
}

TEST_F(NvrtcChoice, NextIsTriedIfOneDoesNotKnowTheTarget) {
  add("version 1 4\ntargets 70 80\n");
  add("version 1 3\nunlisted 70 80\n");  // refuses when it is asked to compile
  add("version 1 2\n");                  // cannot compile at all
  add("version 1 6\ntargets 90\n");
  EXPECT_EQ(compiled("version:1040"), "fake 1.6");
}

TEST_F(NvrtcChoice, NextIsTriedIfTheDriverRefusesTheProgram) {
  add("version 3 0\ntargets 90\n");
  add("version 1 2\ntargets 90\n");
  EXPECT_EQ(compiled("version:3000,newest:2"), "fake 1.2");
  EXPECT_EQ(fake_.live(), 0);
}

TEST_F(NvrtcChoice, ErrorNamesEachLibraryAndItsReason) {
  const std::string ignorant = add("version 1 2\ntargets 70 80\n");
  const std::string refused = add("version 1 3\ntargets 90\n");
  const std::string message =
      message_of<DeviceError>([] { static_cast<void>(compiled("version:1040,newest:0")); });
  for (const std::string& part :
       {"\n" + ignorant + ": NVRTC 1.2 does not know the target sm_90: it knows sm_70, sm_80",
        "\n" + refused + ": cuModuleLoadData failed: "}) {
    EXPECT_HAS(message, part) << part;
  }
}

TEST_F(NvrtcChoice, OutOfMemoryIsNotAReasonToTryTheNext) {
  add("version 1 2\ntargets 90\n");
  add("version 1 3\ntargets 90\n");
  EXPECT_THROW(static_cast<void>(compiled("version:1040,fail:cuModuleLoadData:0:2")), OutOfMemory);
  EXPECT_EQ(fake_.calls("cuModuleLoadData"), 1);
}

TEST_F(NvrtcChoice, NamedLibraryIsTheOnlyOne) {
  add("version 1 2\ntargets 90\n");
  const support::ScopedEnvironment nvrtc("PARAES_NVRTC", add("version 1 3\ntargets 70\n"));
  EXPECT_EQ(message_of<InvalidArgument>([] { static_cast<void>(compiled("version:1040")); }),
            "NVRTC 1.3 does not know the target sm_90: it knows sm_70");
}

TEST_F(NvrtcChoice, EachFileIsOpenedOnce) {
  add("version 1 3\ntargets 90\n");  // the error names files only if there are several
  const fs::path path = add("version 1 2\ntargets 90\n");
  for (const char* name : {"python3.77", "python3.78"}) {
    const fs::path folder = root_ / "venv/lib" / name / "site-packages/nvidia/cuda_nvrtc/lib";
    fs::create_directories(folder);
    fs::create_symlink(path, folder / "libnvrtc.so.12");
  }
  const std::string message =
      message_of<InvalidArgument>([] { static_cast<void>(open_nvrtc()->compile("", {}, "sm_1")); });
  EXPECT_HAS(message, path.string());
  EXPECT_EQ(message.find(path.string()), message.rfind(path.string())) << message;
}

// ---- Programs for other machines

TEST_F(NvrtcChoice, PreparedProgramComesFromTheOldestThatKnowsTheTarget) {
  add("version 1 6\ntargets 80 90\n");
  add("version 1 2\ntargets 70\n");
  add("version 1 4\ntargets 80\n");
  const auto text = [&](const char* target) {
    const auto paths = prepare_programs("bitslice", target, root_);
    const Binary binary = unpack(read_program_file(paths.at(0)));
    return std::string(binary.begin(), binary.end());
  };
  EXPECT_EQ(text("sm_70"), "fake 1.2");
  EXPECT_EQ(text("sm_80"), "fake 1.4");
  EXPECT_EQ(text("sm_90"), "fake 1.6");
}

TEST(RuntimeDevices, UnknownRuntimeIsRefused) {
  for (const char* name : {"", "cpu", "cuda:0", "vulkan"}) {
    EXPECT_THROW(static_cast<void>(runtime_devices(name)), InvalidArgument) << name;
  }
}

}  // namespace
}  // namespace paraes::gpu
