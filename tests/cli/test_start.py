"""What a run of one small file does besides encrypting it: nothing that takes time or can fail."""

import os
import re
import unittest

from support import BIN, KEYS, POSIX_ONLY, Case, sanitized

# Calls that start threads and processes.
STARTS = ("clone(", "clone3(", "fork(", "vfork(", "execve(")
# OpenSSL's configuration and modules, folders of caches, drivers of devices, and what the system
# says about this process or the machine. An output gets its name through /proc/self/fd.
UNWANTED = re.compile(r"openssl\.cnf|ossl-modules|engines-3|/\.cache|/dev/|/proc/(?!self/fd/)|/sys/"
                      r"|libcuda|libamdhip|libOpenCL|/OpenCL")
# Loading a library takes longer than encrypting the file. libcrypto may need compression libraries;
# GCC's are shared where there is no static libstdc++; and tests preload libraries of their own.
LIBRARY = re.compile(r"/lib([^/]+?)(?:-[0-9.]+)?\.so[.0-9]*$")
LIBRARIES = {"c", "m", "crypto", "dl", "pthread", "z", "zstd", "stdc++", "gcc_s",
             "paraes_observable", "paraes_no_tmpfile"}


class Start(Case):
    GIVEN = {"k": KEYS[256], "pw": b"a passphrase", "f": b"data"}

    def traced(self, *args):
        """Runs paraes and returns its calls that open files or start threads, a line each."""
        done = self.strace("-s", "300", "-e", "trace=%file,%process", BIN, *args, log="log")
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path("log").read_text().splitlines()

    def check(self, *args):
        lines = self.traced(*args)
        started = [line for line in lines if any(name in line for name in STARTS)]
        self.assertEqual(len(started), 1, started)  # the execve of paraes itself
        paths = {path for line in lines if line not in started
                 for path in re.findall(r'"([^"]*)"', line)}
        # That the log has the files of the run.
        self.assertIn("f", {os.path.basename(path).removesuffix(".paes") for path in paths})
        paths.discard("/proc/sys/crypto/fips_enabled")  # Ubuntu's libcrypto
        if POSIX_ONLY:
            paths.discard("/sys/devices/system/cpu/online")  # the C library, for sysconf
        for path in paths:
            self.assertIsNone(UNWANTED.search(path), path)
        loaded = {match.group(1) for path in paths if (match := LIBRARY.search(path))}
        self.assertIn("crypto", loaded)  # that the pattern finds libraries
        self.assertLessEqual(loaded, LIBRARIES)

    @unittest.skipIf(sanitized(), "the sanitizers start threads and open files")
    def test_a_small_file_starts_no_thread_and_probes_nothing(self):
        self.check("encrypt", "-q", "--key-file", "k", "f")
        self.check("verify", "-q", "--key-file", "k", "f.paes")
        self.check("decrypt", "-q", "-f", "--key-file", "k", "f.paes")

    @unittest.skipIf(sanitized(), "the sanitizers start threads and open files")
    def test_a_passphrase_reads_no_configuration_of_openssl(self):
        self.check("encrypt", "-q", "--scrypt-log2n", "4", "--passphrase-file", "pw", "f")
        self.check("decrypt", "-q", "-f", "--passphrase-file", "pw", "f.paes")
        self.check("encrypt", "-q", "-f", "--format", "openssl", "--passphrase-file", "pw", "-o",
                   "f.paes", "f")
        self.check("decrypt", "-q", "-f", "--format", "openssl", "--passphrase-file", "pw", "-o",
                   "f", "f.paes")
