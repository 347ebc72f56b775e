// Keeps keys, passphrases and plaintext out of core dumps.
#pragma once

namespace paraes::cli {

// Forbids core files. The kernel ignores that limit (RLIMIT_CORE) where it pipes core dumps to a
// handler (kernel.core_pattern), as systemd and most distributions have it do.
void forbid_core_files();

// Forbids all core dumps, and other processes of the same user to read this process's memory or to
// trace it (PR_SET_DUMPABLE). Not for MPI: ranks on one host copy messages from each other's
// memory.
void hide_memory();

}  // namespace paraes::cli
