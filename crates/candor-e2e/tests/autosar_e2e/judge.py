"""Protects and checks payloads with autosar-e2e, and compares with what candor did.

A line of standard input: profile, mode, offset, Data-IDs, and four payloads in hexadecimal: with the counter before, with the
same counter, protected by candor, damaged. Prints one line per difference, and counts.
"""

import sys
from collections import Counter

import e2e

counts = Counter()


def arguments(profile, mode, offset, ids):
    arguments = {}
    if profile == "p02":
        data_id = bytes(ids)
    else:
        data_id, arguments["offset"] = ids[0], offset
    if profile in ("p01", "p11"):
        names = {"both": "BOTH", "alternating": "ALT", "low": "LOW", "nibble": "NIBBLE"}
        arguments["data_id_mode"] = getattr(getattr(e2e, profile), f"E2E_{profile.upper()}_DATAID_{names[mode]}")
    return data_id, arguments


for line in sys.stdin:
    profile, mode, offset, ids, *payloads = line.split()
    before, same, protected, damaged = map(bytes.fromhex, payloads)
    module = getattr(e2e, profile)
    protect, check = (getattr(module, f"e2e_{profile}_{name}") for name in ("protect", "check"))
    data_id, options = arguments(profile, mode, int(offset), [int(one) for one in ids.split(",")])
    for start, increment in ((before, True), (same, False)):
        data = bytearray(start)
        protect(data, data_id, increment_counter=increment, **options)
        if data != protected:
            print("DIFFERS", line.strip(), "autosar-e2e:", data.hex(), "increment:", increment)
    if not check(bytearray(protected), data_id, **options) or check(bytearray(damaged), data_id, **options):
        print("DIFFERS in check", line.strip())
    counts[profile] += 1
    counts["protected"] += 2
    counts["checked"] += 2

for name, count in counts.items():
    print("COUNT", name, count)
