# shellcheck shell=bash disable=SC2034 # variables of the scripts that source this
# Which tests are in which tier, as regular expressions of ctest's names (-R and -E), and what they may not
# skip. docs/decisions/0020 says why each is where it is.

# In no tier but `long`.
long='[./]Long|^packages\.Long|^x86_64\.|^gpu\.simulated\.(bitslice|reference)|^gpu\.order\.|^ct\.gpu\.tables$'

# What `ci` adds to the first tier: folders whose programs only it builds, and what repeats with other
# devices, launchers or chips what the first tier does once. docs/comparison runs gpg and others, and
# structure.soundness looks for the tests of all parts. CMake reads the line of the folders, too.
later_folders='bench|ct|lab|limits|packages'
later="^($later_folders)(\.|\$)"
later+='|^gpu\.(HashTablesOnDevice|HipRtc|Nvrtc|OnDevice|Targets|check|compiled|limits|machine_code|pack'
later+='|simulated|small_device|small_device_many|two_devices.*|unrolled)(\.|$)'
later+='|^mpi\.(mpich\.|openmpi\.(faults|hosts|large|threads)$)'
later+='|^docs\.docs/comparison$|^manual\.lab$|^python\.types$|^secrets\.(python|ranks)$|^structure\.(programs\.later|soundness)$'

# Not under AddressSanitizer: OpenCL's compilers, which are not built for it; failing system calls, which
# would hit the sanitizer's own; damaged messages, of which fuzz.* tries more; other programs in Python or
# MPI. The filters below leave out single cases.
not_sanitized='^gpu\.(Gpu|ManyMessages|HashTablesOnDevice|KernelsOnDevice|Targets|OnDevice|OneKey|Nvrtc|HipRtc'
not_sanitized+='|simulated|machine_code|limits|order|compiled|two_devices.*|check|pack)(\.|$)'
not_sanitized+='|^bench\.(BenchGpu|python)|^cli\.(gpu|tamper)$|^(ct|docs|faults|install|interop|lab|manual|mpi|python|structure)(\.|$)'

# GoogleTest's filters of other builds: which cases their tests have.
declare -A filters
# Without comparisons of large data, whose bounds the guard pages have seen.
filters[asan]='-*SomeMebibytes*:*LengthsAroundBatches*:*OneToEightThreads*'
filters[asan]+=':*UnitsAndTheirNumbers/bitslice*:CavpMonteCarlo.*'
# What runs on several threads.
filters[tsan]='Executor*:ForEachJob*:Messages*:Salvage*:JoinHashes*:Segment*:SecretBytes*'
filters[tsan]+=':*OneToEightThreads/vaes*:*OneToEightThreads/aesni*:*OneToEightThreads/bitslice_avx*'
filters[tsan]+=':*OneToEightThreads/openssl*:*Gpu.SeveralLaunches*/reference:*Gpu.SeveralKeys*/reference'
filters[tsan]+=':-*Long*'
# Without tests whose threads QEMU slows down to minutes, and those of files alone.
filters[aarch64]='-CopyStream.IsTheOneChunkAnswer*:*ForkWhileAnotherThreadAllocates*'
filters[aarch64]+=':Messages.SealAndOpen_GiveTheSameBytes*:Messages.LargeSegmentsInPipes*'
filters[aarch64]+=':*ManyMoreThreadsThanCores*:Reseal.*:ReplaceHeader.*'

# Of the programs that the preset tsan builds.
threaded='^(unit|differential)\.|^gpu\.(Gpu|ManyMessages|runtime\..*)$'

# Once more with POSIX alone: neither every byte of the formats nor the speeds of kernels.
same_on_systems='^cli\.(tamper|tune)$'

# Under QEMU: what `ci` runs.
declare -A emulated_sysroots=([aarch64]=arm64 [s390x]=s390x)
emulated_ci='^aarch64\.max\.(unit|conformance|dispatch|cross_check)'
emulated_x86='^x86_64\.'

# Makes tests fail that would be skipped for a lack of what this machine has.
require() {
  export PARAES_REQUIRE_VECTORS=1 PARAES_REQUIRE_LAB=1
  # Of the tools of tests/manual, which quickstart installs with apt-get.
  if command -v apt-get >/dev/null; then export PARAES_REQUIRE_MANUAL=1; fi
  if [[ -d /sys/devices/system/cpu ]]; then export PARAES_REQUIRE_DEVICE=1; fi
}
