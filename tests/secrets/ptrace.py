"""Stops processes at their end (ptrace(2)). Linux only."""

import ctypes
import os
import signal
import time

_REQUESTS = {"seize": 0x4206, "continue": 7, "detach": 17}
_TRACE_EXIT = 0x40
_EVENT_EXIT = 6
_EVENT_STOP = 128
_ALL = 0x40000000  # __WALL: also threads, and children of others
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def _call(request, thread, address=None, data=None):
    if _libc.ptrace(_REQUESTS[request], thread, address, data) == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace {request}: {os.strerror(error)}")


class EndWatch:
    """Lets a process run to its end and stops it there, before its memory is released: after all
    destructors, when it has called exit_group or was killed by a signal."""

    def __init__(self, process):
        self.process = process
        self.stands_at_end = False
        _call("seize", process, None, _TRACE_EXIT)

    def at_end(self):
        """Whether the process now stands at its end; goes on with it if it stopped before."""
        found, status = os.waitpid(self.process, os.WNOHANG | _ALL)
        if found == 0:
            return False
        if not os.WIFSTOPPED(status):
            raise ProcessLookupError(f"process {self.process} has ended without a stop")
        event = status >> 16
        if event == _EVENT_EXIT:
            self.stands_at_end = True
            return True
        # Another stop of the process would hold its other threads, which nobody traces.
        signal_number = os.WSTOPSIG(status)
        if event == _EVENT_STOP and signal_number == signal.SIGSTOP:
            os.kill(self.process, signal.SIGCONT)
        delivers = event == 0 and signal_number != signal.SIGSTOP
        _call("continue", self.process, None, signal_number if delivers else 0)
        return False

    def run_to_end(self, seconds):
        end = time.monotonic() + seconds
        while not self.at_end():
            if time.monotonic() > end:
                raise TimeoutError(f"process {self.process} does not end")
            time.sleep(0.001)

    def kill(self):
        """Ends the process. Who only kills it waits for ever: traced, it stops at its end."""
        os.kill(self.process, signal.SIGKILL)
        try:
            while not self.stands_at_end and not self.at_end():
                time.sleep(0.001)
            self.let_go()
        except ProcessLookupError:
            return  # it did not stop

    def let_go(self):
        _call("detach", self.process)


def may_trace():
    """Why this process cannot trace its children, or None."""
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        EndWatch(child)
        return None
    except OSError as error:
        return str(error)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
