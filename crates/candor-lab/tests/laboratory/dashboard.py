"""Judges the log of a dashboard frame that was composed of three messages: each of its signals is that of the source.

judge CAR DATABASE BODY LOG DRIVE: the databases of both buses, a candump log of both, and of what was sent.
drive EXAMPLE LOG CAR DATABASE NEW: writes the drive of the example as the frames of another car.
"""

import sys
from fractions import Fraction

import can
import cantools

# The sources of each signal of the dashboard, and the names of the gears.
CARS = {
    "example": (
        {"Speed": "ABS1.VehSpd", "Braking": "ABS1.Braking", "Gear": "TCU1.Gear", "Fuel": "Tank.Level"},
        {"PARK": "P", "REVERSE": "R", "NEUTRAL": "N", "DRIVE": "D"},
    ),
    # vw_mqb.dbc of opendbc.
    "mqb": (
        {
            "Speed": "ESP_21.ESP_v_Signal",
            "Braking": "ESP_05.ESP_Fahrer_bremst",
            "Gear": "Getriebe_11.GE_Fahrstufe",
            "Fuel": "Kombi_03.KBI_Tankfuellstand_Prozent",
        },
        {"P": "P", "R": "R", "N": "N", "D": "D"},
    ),
}
TIMEOUT, CYCLE = 0.3, 0.1


def load(path):
    return cantools.database.load_file(path, strict=False)


def drive(example, log, car, database, new):
    """Frame by frame: the message with the same signals of the dashboard."""
    example, database = load(example), load(database)
    (own, gears), (others, names) = CARS["example"], CARS[car]
    names = {gear: name for name, gear in names.items()}
    now = {"Braking": 0, "Gear": names["P"]}
    with can.CanutilsLogWriter(new) as out:
        for frame in can.CanutilsLogReader(log):
            message = example.get_message_by_frame_id(frame.arbitration_id)
            values = message.decode(frame.data)
            here = {name: values[of(own[name], message.name)] for name in own if of(own[name], message.name)}
            if "Gear" in here:
                here["Gear"] = names[gears[str(here["Gear"])]]
            now |= here
            for name in dict.fromkeys(others[name].split(".")[0] for name in here):
                target = database.get_message_by_name(name)
                written = {signal.name: 0 for signal in target.signals}
                written |= {of(others[name], target.name): now[name] for name in others if of(others[name], target.name)}
                data = target.encode(written, strict=False)
                out(can.Message(frame.timestamp, target.frame_id, False, channel="vcan0", data=data))


def of(source, message):
    """The name of the signal if it is one of this message."""
    return source.split(".")[1] if source.startswith(message + ".") else None


if sys.argv[1] == "drive":
    drive(*sys.argv[2:])
    sys.exit()
SOURCES, GEARS = CARS[sys.argv[2]]
SILENT = SOURCES["Speed"].split(".")[0]
powertrain, body = load(sys.argv[3]), load(sys.argv[4])
sources = {message.frame_id: message.name for message in powertrain.messages}
# Values of each source since the last composed frame, and the last one before.
recent = {"Speed": [0.0], "Gear": ["P"], "Fuel": [127.5], "Braking": [0]}
last, received, dashboards, substitute = {}, 0, [], None


def nearest(value, steps):
    """To the step of the composed signal, halves to the even one."""
    return float(round(Fraction(str(value)) * steps)) / steps


# candump reads one interface after the other.
for frame in sorted(can.CanutilsLogReader(sys.argv[5]), key=lambda frame: frame.timestamp):
    if frame.channel == "vcan0":
        name = sources[frame.arbitration_id]
        values = powertrain.decode_message(name, frame.data)
        last[name] = frame.timestamp
        received += 1
        for target, source in SOURCES.items():
            if signal := of(source, name):
                value = values[signal]
                if target == "Gear":
                    value = GEARS.get(str(value), "INVALID")
                elif target != "Braking":
                    value = nearest(value, {"Speed": 10, "Fuel": 2}[target])
                recent[target].append(value)
        continue
    assert frame.arbitration_id == 0x500 and len(frame.data) == 8, frame
    values = body.decode_message("Dashboard", frame.data)
    silence = frame.timestamp - last.get(SILENT, frame.timestamp)
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

assert received == len(list(can.CanutilsLogReader(sys.argv[6]))) >= 177, received
assert max(values["Speed"] for _, values in dashboards) == 90, "the speed is the last one"
assert {str(values["Gear"]) for _, values in dashboards} == {"P", "D"}
assert any(values["Braking"] for _, values in dashboards)
assert substitute and TIMEOUT <= substitute < TIMEOUT + CYCLE, substitute
assert dashboards[-1][1]["Speed"] == 0 and len(dashboards) > 60, len(dashboards)
print(f"{len(dashboards)} composed frames of {received}; substitute after {substitute * 1000:.1f} ms")
