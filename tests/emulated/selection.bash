# shellcheck shell=bash disable=SC2034 # tests/run and tests/emulated/run use these
# Which emulated tests a tier runs, as regular expressions of ctest's -R and -E.

declare -A emulated_sysroots=([aarch64]=arm64 [s390x]=s390x)
emulated_full='^aarch64\.max\.'
# Comparisons of large data with EVP, and tests whose threads QEMU slows down to minutes.
emulated_slow='\.differential\.|CopyStream\.IsTheOneChunkAnswer|ForkWhileAnotherThreadAllocates'
emulated_slow+='|Messages\.(SealAndOpen_GiveTheSameBytes|LargeSegmentsInPipes)|ManyMoreThreadsThanCores'
emulated_x86='^x86_64\.'
