# shellcheck shell=bash disable=SC2034 # variables of the scripts that source this
# Which tests are in which tier, as regular expressions of ctest's names (-R and -E), and what they may not
# skip. docs/decisions/0020 says why each is where it is.

# names NAME...: of the tests of these names, and of those whose name continues with a dot. Without groups,
# of which CMake before 3.29 accepts nine: with more, ctest takes no notice of the expression.
names() {
  local name all=
  for name; do
    name=${name//./\\.}
    all+="|^$name\$|^$name\\."
  done
  printf '%s' "${all#|}"
}

# In no tier but `long`.
long="[./]Long|$(names x86_64 gpu.simulated.bitslice gpu.simulated.reference gpu.simulated.reference-shared \
  gpu.order gpu.limits ct.gpu.tables bench.comparison structure.guides)"

# Tests that `ci` adds to the first tier: folders whose programs only it builds, and tests that repeat with
# other devices, launchers or chips what the first tier does once. docs/comparison runs gpg and others, and
# structure.soundness looks for the tests of all parts. CMake also reads the line of the folders.
later_folders='bench ct lab limits packages'
# shellcheck disable=SC2086 # one word each
later=$(names $later_folders basis.GpuHashes basis.GpuRounds basis.GpuSchedules basis.GpuTweaks basis.machine_code \
  filesystems.bench filesystems.calls filesystems.disks filesystems.faults filesystems.mpi \
  gpu.HashTablesOnDevice gpu.HipRtc gpu.Nvrtc gpu.OnDevice gpu.Targets gpu.check gpu.compiled \
  gpu.machine_code gpu.pack gpu.proof gpu.simulated gpu.small_device gpu.small_device_many \
  gpu.two_devices gpu.two_devices_ciphers gpu.two_devices_many gpu.unrolled \
  mpi.mpich mpi.openmpi.faults mpi.openmpi.hosts \
  mpi.openmpi.large mpi.openmpi.threads docs.docs/benchmarking docs.docs/comparison docs.docs/how-to/data-tools \
  docs.site \
  manual.lab python.data_tools python.object_stores python.types secrets.python \
  secrets.ranks structure.programs.later structure.soundness structure.tiers supercop)

# The parts of `ci`: tests, or a build of its own. Each is left out while the files on which it depends are the
# same as when it was recorded in tests/long-results.md that all of its tests passed.
# mpi and packages list what is theirs, not all that their programs compile: the first tier has Open MPI and
# `install.*`, which would show a fault in the rest.
declare -A part_tests part_sources
part_tests[machine-code]=$(names basis.machine_code gpu.compiled gpu.machine_code gpu.proof ct.gpu)
part_sources[machine-code]='src/gpu/device src/gpu/programs src/gpu/embedded.hpp src/kernels bench/gpu_model
  bench/gpu_proof cmake/embed.cmake tests/basis tests/ct/gpu tests/gpu/compiled tests/gpu/program_source.cpp
  tests/gpu/test_machine_code.py tests/gpu/test_machine_code_proof.py tests/requirements/chips.txt tests/secrets
  tests/support'
part_tests[devices]=$(names basis.GpuHashes basis.GpuRounds basis.GpuSchedules basis.GpuTweaks gpu.HashTablesOnDevice \
  gpu.Nvrtc gpu.HipRtc gpu.Targets gpu.simulated gpu.small_device gpu.small_device_many gpu.two_devices \
  gpu.two_devices_ciphers gpu.two_devices_many gpu.unrolled)
part_sources[devices]='src include cmake tests/basis tests/gpu tests/requirements tests/support'
part_tests[lab]=$(names lab.browser lab.bundle lab.claims lab.compare lab.damage lab.drawing lab.latex lab.pousa \
  lab.report lab.reproduce lab.resume lab.summary)
# Of the reports, those that a test reads: others come with each measurement.
part_sources[lab]='bench/CMakeLists.txt bench/axes.cpp bench/axes.hpp bench/bench.cpp bench/bench.hpp bench/compact
  bench/comparison bench/figure_commands.py bench/figure_table.py bench/figures bench/file bench/harness
  bench/lists.hpp bench/memory bench/report
  bench/results/zen4-2cores-aa-a.json bench/results/zen4-2cores-aa-b.json bench/results/zen4-2cores-papers-aa.json
  bench/rivals bench/scripts.py bench/suites bench/system python/paraes tests/lab tests/requirements tests/support'
part_tests[stores]=$(names python.data_tools python.object_stores)
part_sources[stores]='python src/messages tests/python tests/requirements tests/support'
part_tests[supercop]=$(names supercop)
part_sources[supercop]='packaging/supercop src include tests/supercop'
part_tests[mpi]=$(names mpi.mpich mpi.openmpi.faults mpi.openmpi.hosts mpi.openmpi.large mpi.openmpi.threads)
part_sources[mpi]='mpi cli/arguments cli/files cli/plan cli/run cli/secrets cli/streams src/core src/files src/io
  src/messages src/streams tests/mpi tests/support'
part_tests[packages]=$(names packages.deb packages.provenance packages.wheel)
part_sources[packages]='packaging cmake include CMakeLists.txt bench/CMakeLists.txt cli/CMakeLists.txt
  mpi/CMakeLists.txt python/CMakeLists.txt src/CMakeLists.txt pyproject.toml tests/packages'
part_tests[bench]=$(names bench gpu.check gpu.pack lab.analysis lab.bench lab.cli lab.cluster lab.configurations \
  lab.crossover lab.derived lab.estimate lab.machines lab.papers lab.pictures lab.scaling lab.statistics manual.lab)
part_sources[bench]='bench cli cmake include packaging/manual python src tests/bench tests/gpu tests/lab
  tests/manual tests/requirements tests/support'
part_tests[ct]=$(names ct.O2 ct.Welch ct.steps secrets.python secrets.ranks)
part_sources[ct]='cmake include mpi python src tests/ct tests/secrets tests/support'
part_tests[filesystems]=$(names filesystems.bench filesystems.calls filesystems.disks filesystems.faults filesystems.mpi)
part_sources[filesystems]='cli cmake include mpi src tests/faults tests/filesystems tests/support'
common_sources='CMakeLists.txt CMakePresets.json cmake include src tests/CMakeLists.txt tests/discover.cmake
  tests/programs.cmake tests/support tests/tiers.bash tests/unit'
part_sources[aarch64]="$common_sources cli tests/basis tests/conformance tests/dispatch tests/emulated"
part_sources[asan]="$common_sources cli bench tests/bench tests/c tests/cli tests/conformance tests/differential
  tests/dispatch tests/fuzz tests/gpu tests/limits tests/proofs tests/secrets"
part_sources[tsan]="$common_sources tests/differential tests/gpu"

# Not under AddressSanitizer, besides what later tiers have: OpenCL's compilers, which are not built for it;
# declarations that only a compiler reads; failing system calls, which would hit the sanitizer's own; damaged messages, of which fuzz.* tries more;
# vectors that the library's own tests read; other programs in Python or MPI; what decides functions for all
# inputs, which does not look for accesses. The filters below leave out single cases.
not_sanitized=$(names basis gpu.declarations gpu.Gpu gpu.ManyMessages gpu.KernelsOnDevice gpu.OneKey cli.gpu cli.tamper cli.vectors \
  docs faults filesystems install interop manual mpi python structure)

# Other targets than those of the build preset.
declare -A other_targets=([asan]=all)

# GoogleTest's filters of other builds: which cases their tests have.
declare -A filters
# Without comparisons of large data, whose bounds the guard pages have seen, and without kernels that have
# no checks of the sanitizers or the same source as another one.
filters[asan]='-*SomeMebibytes*:*LengthsAroundBatches*:*OneToEightThreads*:LargeMessageOfEveryMode.*'
filters[asan]+=':*UnitsAndTheirNumbers/bitslice*:CavpMonteCarlo.*:Cavp.*/vaes*:Cavp.*/openssl'
filters[asan]+=':Cavp.*/bitslice_avx*'
# Cases that run on several threads.
filters[tsan]='Executor*:ForEachJob*:Messages*:Salvage*:JoinHashes*:Segment*:SecretBytes*'
filters[tsan]+=':*OneToEightThreads/vaes*:*OneToEightThreads/aesni*:*OneToEightThreads/bitslice_avx*'
filters[tsan]+=':*OneToEightThreads/openssl*:*Gpu.SeveralLaunches*/reference:*Gpu.SeveralKeys*/reference'
filters[tsan]+=':-*Long*'
# Without tests whose threads QEMU slows down to minutes, and those of files alone.
filters[aarch64]='-CopyStream.IsTheOneChunkAnswer*:*ForkWhileAnotherThreadAllocates*'
filters[aarch64]+=':Messages.SealAndOpen_GiveTheSameBytes*:Messages.LargeSegmentsInPipes*'
filters[aarch64]+=':*ManyMoreThreadsThanCores*:Reseal.*:ReplaceHeader.*'
# Of GHASH, those of kernels with PMULL take minutes.
filters[aarch64]+=':Hashes.ProductsOfTwoBases*/armv8*:Hashes.EveryPower*/armv8*'

# Tests whose programs the preset tsan builds.
threaded=$(names unit differential gpu.Gpu gpu.ManyMessages gpu.runtime)

# Once more with POSIX alone: neither every byte of the formats nor the speeds of kernels.
same_on_systems=$(names cli.tamper cli.tune)

# Under QEMU: what `ci` runs.
declare -A emulated_sysroots=([aarch64]=arm64 [s390x]=s390x)
emulated_ci=$(names aarch64.max.unit aarch64.max.conformance aarch64.max.dispatch aarch64.max.cross_check \
  aarch64.max.basis.CarrylessProducts aarch64.max.basis.ComputedRounds aarch64.max.basis.CounterDifferences \
  aarch64.max.basis.Definitions aarch64.max.basis.Gf128 aarch64.max.basis.Hashes aarch64.max.basis.NextTweak \
  aarch64.max.basis.Tables aarch64.max.basis.Tweaks)
emulated_ci_targets=(paraes_basis paraes_basis_tables paraes_cli paraes_conformance paraes_dispatch paraes_inputs
  paraes_serializer paraes_unit paraes_zeroise)
emulated_x86=$(names x86_64)

# Makes tests fail that would be skipped for a lack of what this machine has.
require() {
  export PARAES_REQUIRE_VECTORS=1 PARAES_REQUIRE_LAB=1
  # quickstart installs the tools of tests/manual with apt-get.
  if command -v apt-get >/dev/null; then export PARAES_REQUIRE_MANUAL=1; fi
  if [[ -d /sys/devices/system/cpu ]]; then export PARAES_REQUIRE_DEVICE=1; fi
}
