"""Makes a fault in the lab that this program is in: fault ACTION HOST [VALUE…]."""

import json
import socket
import sys
from pathlib import Path

_CONTROL = Path(__file__).with_name("control")


def main() -> int:
    """Exit code 0: the fault is made."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lab:
        lab.connect(str(_CONTROL))
        lab.sendall(json.dumps(sys.argv[1:]).encode())
        lab.shutdown(socket.SHUT_WR)
        said = b"".join(iter(lambda: lab.recv(65_536), b"")).decode()
    if said:
        sys.stderr.write(f"fault: {said}\n")
    return 2 if said else 0


if __name__ == "__main__":
    sys.exit(main())
