"""Holds netstudy's lock of the network namespace it is in, as a user: hold_lock.py UID. Ends when
it is killed.
"""

import os
import signal
import socket
import sys

_LOCK = b"\0netstudy-testbed"


def main() -> None:
    """Say `held` on standard output when the lock is held."""
    uid = int(sys.argv[1])
    # Here, since this user may not read the interpreter.
    if os.geteuid() == 0 and uid:
        os.setgid(uid)
        os.setuid(uid)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
        try:
            lock.bind(_LOCK)
        except OSError as error:
            sys.exit(f"the lock is held by somebody else ({error.strerror})")
        lock.listen()
        sys.stdout.write("held\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main()
