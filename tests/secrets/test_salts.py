"""The package paraes draws no salt and no key twice, in several threads and across os.fork."""

import os
import sys
import threading
import unittest

import paraes

THREADS = 4
CHILDREN = 4
COUNT = 2500  # of each thread
SIZE = 24
KEY = bytes(range(32))


def draw_on_threads(draw, file):
    """Appends what THREADS threads draw to a file."""
    parts = [[] for _ in range(THREADS)]
    threads = [threading.Thread(target=lambda part=part: part.extend(draw() for _ in range(COUNT)))
               for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # One write: processes do not mix what they append.
    os.write(file, b"".join(b"".join(part) for part in parts))


class Salts(unittest.TestCase):
    def check_all_differ(self, draw):
        """Before the process forks, in its children at the same time, and after that."""
        file = os.memfd_create("salts")
        os.set_inheritable(file, True)
        self.addCleanup(os.close, file)
        draw_on_threads(draw, file)
        children = []
        for _ in range(CHILDREN):
            child = os.fork()
            if child == 0:
                try:
                    with open(f"/proc/self/fd/{file}", "ab", buffering=0) as own:
                        draw_on_threads(draw, own.fileno())
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        with open(f"/proc/self/fd/{file}", "ab", buffering=0) as own:
            draw_on_threads(draw, own.fileno())
        for child in children:
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        data = os.pread(file, 1 << 30, 0)
        drawn = [data[at:at + SIZE] for at in range(0, len(data), SIZE)]
        self.assertEqual(len(drawn), (CHILDREN + 2) * THREADS * COUNT)
        self.assertEqual(len(set(drawn)), len(drawn), "something was drawn twice")

    def test_messages(self):
        self.check_all_differ(lambda: paraes.seal(b"", key=KEY)[32:32 + SIZE])

    def test_cobblestone(self):
        cipher = paraes.Cobblestone256(KEY, b"")
        self.check_all_differ(lambda: cipher.encrypt(b"")[:SIZE])

    def test_keys(self):
        self.check_all_differ(lambda: paraes.AESGCM.generate_key(256)[:SIZE])


if __name__ == "__main__":
    sys.exit(unittest.main())
