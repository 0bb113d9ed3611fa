"""Secures and verifies frames with scapy and cryptography, and compares with what candor did.

A line of standard input: what kind, and its fields in hexadecimal. Prints one line per difference, and counts. With the argument
`make`, prints secured frames that candor must accept.

scapy KEY ID PAYLOAD FRESHNESS FRAME DAMAGED: CAN FD frames with 8 bits of the freshness value and 24 of the MAC. scapy leaves the
Data-ID to its user, so it is a part of the payload that the MAC covers.
cmac KEY DATA_ID PAYLOAD FRESHNESS BITS MAC: the MAC of anything, from cryptography alone. FRESHNESS is filled up with zeros.
"""

import secrets
import sys
from collections import Counter

from cryptography.hazmat.primitives import cmac
from cryptography.hazmat.primitives.ciphers import algorithms
from scapy.contrib.automotive.autosar.secoc_canfd import SecOC_CANFD
from scapy.packet import Raw

counts = Counter()


def frame_class(key, data_id, freshness):
    class Frame(SecOC_CANFD):
        def get_secoc_key(self):
            return key

        def get_secoc_freshness_value(self):
            return freshness

        def get_secoc_payload(self):
            return data_id + bytes(self.pdu_payload)

    return Frame


def scapy(key, data_id, payload, freshness, frame, damaged):
    kind = frame_class(key, data_id, freshness)
    own = kind(identifier=0x131, pdu_payload=Raw(payload))
    own.secoc_authenticate()
    data = payload + bytes([own.tfv]) + own.tmac
    if data != frame:
        yield f"secured by scapy: {data.hex()}"
    for bytes_, expected in ((frame, True), (damaged, False)):
        own.pdu_payload = Raw(bytes_[: len(payload)])
        own.tfv, own.tmac = bytes_[len(payload)], bytes_[len(payload) + 1 :]
        # The receiver knows the freshness value; what is sent of it must agree.
        if (own.secoc_verify() and own.tfv == freshness[-1]) != expected:
            yield f"verified by scapy: {bytes_.hex()} is {not expected}"


def mac(key, data_id, payload, freshness, bits, expected):
    judge = cmac.CMAC(algorithms.AES128(key))
    judge.update(data_id + payload + freshness)
    found = int.from_bytes(judge.finalize(), "big") >> (128 - int.from_bytes(bits, "big"))
    if found != int.from_bytes(expected, "big"):
        yield f"MAC of cryptography: {found:x}"


if sys.argv[1:] == ["make"]:
    # Frames that candor must accept, each with the one value before: key, payload, freshness value, frame.
    for _ in range(2000):
        key, payload = secrets.token_bytes(16), secrets.token_bytes(4)
        freshness = secrets.token_bytes(4)
        own = frame_class(key, b"\x01\x31", freshness)(identifier=0x131, pdu_payload=Raw(payload))
        own.secoc_authenticate()
        print(key.hex(), payload.hex(), freshness.hex(), (payload + bytes([own.tfv]) + own.tmac).hex())
    sys.exit()

for line in sys.stdin:
    kind, *fields = line.split(" ")
    fields = [bytes.fromhex(field) for field in fields]
    for difference in (scapy if kind == "scapy" else mac)(*fields):
        print("DIFFERS", line.strip(), difference)
    counts[kind] += 1

for name, count in counts.items():
    print("COUNT", name, count)
