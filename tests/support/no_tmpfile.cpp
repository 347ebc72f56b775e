// A library to preload, with which open(2) refuses O_TMPFILE (unnamed temporary files), as it does
// on NFS, FAT and FUSE file systems.

#define PARAES_FIXED_CALLS "tmpfile=EOPNOTSUPP"
#include "failing_calls.cpp"  // NOLINT(bugprone-suspicious-include): another library of the same calls
