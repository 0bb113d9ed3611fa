"""A peer of candor's own protocol, written from docs/link-protocol.md alone: `page.py candor PORT`.

Lines of its input: `send FRAME`, `receive`, in the notation of candump. `receive` prints sequence number, origin, hops, name
of the bus, stamp, clock and the frame.
"""

import socket
import struct
import sys

ORIGIN = 2
HELLO, BATCH, KEEP_ALIVE, CLOSE = 1, 2, 3, 4


def packet(text):
    """A frame in the layout of link type 227."""
    identifier, data = text.split("#", 1)
    number = int(identifier, 16) | (0x80000000 if len(identifier) == 8 else 0)
    flags = raw_dlc = 0
    if data.startswith("#"):
        flags, payload = 4 | int(data[1], 16), bytes.fromhex(data[2:])
        return struct.pack(">IBBBB", number, len(payload), flags, 0, 0) + payload
    data, _, dlc = data.partition("_")
    raw_dlc = int(dlc, 16) if dlc else 0
    if data.startswith("R"):
        return struct.pack(">IBBBB", number | 0x40000000, int(data[1:] or "0"), 0, 0, raw_dlc)
    payload = bytes.fromhex(data)
    return struct.pack(">IBBBB", number, len(payload), 0, 0, raw_dlc) + payload


def text(packet):
    number, length, flags, _, raw_dlc = struct.unpack(">IBBBB", packet[:8])
    identifier = f"{number & 0x1FFFFFFF:08X}" if number & 0x80000000 else f"{number & 0x7FF:03X}"
    payload = packet[8:].hex().upper()
    if flags & 4:
        return f"{identifier}##{flags:X}{payload}"
    dlc = f"_{raw_dlc:X}" if raw_dlc else ""
    if number & 0x40000000:
        return f"{identifier}#R{length or ''}{dlc}"
    return f"{identifier}#{payload}{dlc}"


class Link:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.sequence = 0
        self.frames = []
        hello = b"CANDOR\0\0" + struct.pack(">QQQIB", ORIGIN, 77, 0, 30_000, 1) + b"\x05\x04can0"
        self.message(HELLO, hello)

    def message(self, kind, body):
        self.socket.sendall(struct.pack(">BBH", kind, 1, len(body)) + body)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def read(self):
        kind, version, length = struct.unpack(">BBH", self.exactly(4))
        body = self.exactly(length)
        assert version == 1
        if kind == HELLO:
            assert body[:8] == b"CANDOR\0\0"
            count, rest = body[36], body[37:]
            self.names = {}
            for _ in range(count):
                number, size = rest[0], rest[1]
                self.names[number], rest = rest[2 : 2 + size].decode(), rest[2 + size :]
            assert not rest
        elif kind == BATCH:
            sequence, count = struct.unpack(">QH", body[:10])
            rest = body[10:]
            for number in range(count):
                origin, stamp, clock, hops, bus, size = struct.unpack(">QQBBBB", rest[:20])
                one, rest = rest[20 : 20 + size], rest[20 + size :]
                self.frames.append((sequence + number, origin, hops, self.names[bus], stamp, clock, text(one)))
            assert not rest
        elif kind == CLOSE:
            raise EOFError(body.decode())

    def send(self, frame):
        one = packet(frame)
        record = struct.pack(">QQBBBB", ORIGIN, 1_000 + self.sequence, 2, 0, 5, len(one)) + one
        self.message(BATCH, struct.pack(">QH", self.sequence, 1) + record)
        self.sequence += 1

    def receive(self):
        while not self.frames:
            self.read()
        return self.frames.pop(0)


def main():
    link = Link(int(sys.argv[2]))
    for line in sys.stdin:
        match line.split():
            case ["send", one]:
                link.send(one)
            case ["receive"]:
                print(*link.receive(), flush=True)


main()
