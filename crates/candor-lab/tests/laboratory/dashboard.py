"""Judges the log of a dashboard frame that was composed of three messages: each of its signals is that of the source.

Arguments: the databases of both buses, and a candump log of both.
"""

import sys
from fractions import Fraction

import can
import cantools

GEARS = {"PARK": "P", "REVERSE": "R", "NEUTRAL": "N", "DRIVE": "D"}
TIMEOUT, CYCLE, DISTANCE = 0.3, 0.1, 0.02

powertrain, body = (cantools.database.load_file(path) for path in sys.argv[1:3])
sources = {message.frame_id: message.name for message in powertrain.messages}
# Values of each source since the last composed frame, and the last one before.
recent = {"Speed": [0.0], "Gear": ["P"], "Fuel": [127.5], "Braking": [0]}
last, received, dashboards, substitute = {}, 0, [], None


def took(name, value):
    recent[name].append(value)


def nearest(value):
    """To the step of the composed signal, halves to the even one."""
    return float(round(Fraction(str(value)) * 10)) / 10


for frame in can.CanutilsLogReader(sys.argv[3]):
    if frame.channel == "vcan0":
        name = sources[frame.arbitration_id]
        values = powertrain.decode_message(name, frame.data)
        last[name] = frame.timestamp
        received += 1
        if name == "ABS1":
            took("Speed", nearest(values["VehSpd"]))
            took("Braking", values["Braking"])
        elif name == "TCU1":
            took("Gear", GEARS.get(str(values["Gear"]), "INVALID"))
        else:
            took("Fuel", values["Level"])
        continue
    assert frame.arbitration_id == 0x500 and len(frame.data) == 8, frame
    values = body.decode_message("Dashboard", frame.data)
    silence = frame.timestamp - last.get("ABS1", frame.timestamp)
    if silence >= TIMEOUT and values["Speed"] == 0:
        # The substitute; other signals stay.
        substitute = substitute or silence
        recent["Speed"].append(0.0)
    assert values["Valid"] == 1, values
    for name, possible in recent.items():
        assert str(values[name]) in map(str, possible), (frame, name, values[name], possible)
        # A source that was received just before may not be in the frame yet.
        recent[name] = possible[-1:] if str(possible[-1]) == str(values[name]) else possible[-3:]
    dashboards.append((frame.timestamp, values))

assert received == 177, received
assert max(values["Speed"] for _, values in dashboards) == 90, "the speed is the last one"
assert {str(values["Gear"]) for _, values in dashboards} == {"P", "D"}
assert any(values["Braking"] for _, values in dashboards)
assert substitute and TIMEOUT <= substitute < TIMEOUT + CYCLE, substitute
assert dashboards[-1][1]["Speed"] == 0 and len(dashboards) > 60, len(dashboards)
print(f"{len(dashboards)} composed frames of {received}; substitute after {substitute * 1000:.1f} ms")
