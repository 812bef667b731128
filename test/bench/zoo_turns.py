# SPDX-License-Identifier: BSD-3-Clause
"""Turns on a GPU that several processes of `zoo` share: what is timed has it alone, by a lock on a file. Of those that wait the lowest
rank comes first, so that what says most is measured where time runs out."""
import fcntl
import time


class Turns:
    def __init__(self, path):
        self.path, self.file = path, open(path, "a")

    def take(self, rank):
        """A process that waits shares the lock on a file of its rank."""
        with open(f"{self.path}.{rank}", "a") as waits:
            fcntl.flock(waits, fcntl.LOCK_SH)
            while True:
                fcntl.flock(self.file, fcntl.LOCK_EX)
                if not any(self.waited_for(r) for r in range(rank)):
                    break
                fcntl.flock(self.file, fcntl.LOCK_UN)
                time.sleep(0.05)
            fcntl.flock(waits, fcntl.LOCK_UN)

    def waited_for(self, rank):
        with open(f"{self.path}.{rank}", "a") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def leave(self):
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def tell(self, text):
        self.file.write(text + "\n")
        self.file.flush()
