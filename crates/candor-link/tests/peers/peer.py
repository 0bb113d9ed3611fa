"""A client of the test: `peer.py socketcand PORT` with python-can, `peer.py cannelloni PORT` with can-cannelloni.

Lines of its input: `send FRAME`, `receive`, in the notation of candump. `receive` prints a time in seconds and the frame.
"""

import sys

import can


def frame(text):
    identifier, data = text.split("#")
    is_remote = data.startswith("R")
    return can.Message(
        arbitration_id=int(identifier, 16),
        is_extended_id=len(identifier) == 8,
        is_remote_frame=is_remote,
        data=None if is_remote else bytes.fromhex(data),
    )


def text(message):
    digits = 8 if message.is_extended_id else 3
    data = "R" if message.is_remote_frame else message.data.hex().upper()
    return f"{message.arbitration_id:0{digits}X}#{data}"


def main():
    program, port = sys.argv[1], int(sys.argv[2])
    if program == "socketcand":
        bus = can.Bus(interface="socketcand", host="127.0.0.1", port=port, channel="can0")
    else:
        from can_cannelloni import CannelloniBus

        bus = CannelloniBus(host="127.0.0.1", port=port, reconnect_interval=0.05)
    for line in sys.stdin:
        match line.split():
            case ["send", one]:
                bus.send(frame(one))
            case ["receive"]:
                message = None
                while message is None:
                    message = bus.recv(timeout=20)
                print(f"{message.timestamp:.6f} {text(message)}", flush=True)
    bus.shutdown()


main()
