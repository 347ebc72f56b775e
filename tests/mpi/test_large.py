"""A sparse file of more than 4 GiB."""

import os
import pathlib
import shutil
import tempfile

from ranks import KEY, MEMORY, SCATTER, SHARED, MpiCase

GIB = 1 << 30
SIZE = 5 * GIB + 100
LONG_ENOUGH = 300  # seconds


def free(folder):
    """The free bytes of a folder, and at most the available memory if the folder is in memory."""
    room = shutil.disk_usage(folder).free
    if folder != MEMORY:
        return room
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return min(room, int(line.split()[1]) * 1024)
    return 0


class LargeFile(MpiCase):
    def setUp(self):
        super().setUp()
        places = [place for place in (MEMORY, tempfile.gettempdir()) if place]
        # Room for the message, and a reserve for the rest of the machine.
        place = next((place for place in places if free(place) > SIZE + 3 * GIB), None)
        if place is None:
            self.skipTest("no room for 5 GiB in " + " or ".join(places))
        shutil.rmtree(self.dir)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="paraes-mpi-large-", dir=place))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.write("k", bytes(range(32)))

    def test_file_of_more_than_4_gib_round_trips_and_shows_damage(self):
        marks = (0, 2 * GIB - 5, 4 * GIB - 5, SIZE - 10)
        with open(self.path("f"), "wb") as f:
            for at in marks:
                f.seek(at)
                f.write(b"0123456789")
        self.assertLess(os.stat(self.path("f")).st_blocks * 512, GIB, "no holes here")
        self.mpi(3, "encrypt", *SHARED, *KEY, "f", limit=LONG_ENOUGH)
        segments = SIZE // 16384 + 1
        self.assertEqual(self.path("f.paes").stat().st_size, 88 + SIZE + 16 * segments)
        # Let one process decrypt ranges around 2 and 4 GiB and at both ends.
        for at in marks:
            at = max(0, at - 3)
            part = self.ok("decrypt", *KEY, "--offset", at, "--length", min(16, SIZE - at), "-c",
                           "f.paes")
            with open(self.path("f"), "rb") as f:
                f.seek(at)
                self.assertEqual(part, f.read(16), at)
        self.mpi(2, "verify", *SHARED, *KEY, "f.paes", limit=LONG_ENOUGH)
        self.mpi(2, "verify", *SCATTER, *KEY, "f.paes", limit=LONG_ENOUGH)
        self.damage("f.paes", 88 + 16400 * (segments - 2) + 5)
        self.mpi_fails(4, 3, "verify", *KEY, "f.paes", says=f"segment {segments - 2} ",
                       limit=LONG_ENOUGH)
