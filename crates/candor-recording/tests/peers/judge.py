"""Reads files of candor with other programs, and writes files for candor.

    judge.py FOLDER

FOLDER has FORMAT.KIND.ours for each format and kind, and KIND.frames with one record a line: microseconds, bus number, direction,
frame as candump prints it. Writes FORMAT.KIND.read, what python-can (for tables csv and pyarrow, for MCAP mcap) reads of the file of
candor, and FORMAT.KIND.theirs, the same records written by it.
"""
import base64
import csv
import datetime
import json
import pathlib
import sys
import warnings

import asammdf
import can
import mcap.reader
import mcap.writer
import pyarrow.parquet
import vblf.can
import vblf.reader
from can.io import (ASCReader, ASCWriter, BLFReader, BLFWriter, CanutilsLogReader, CanutilsLogWriter, MF4Reader, MF4Writer, TRCReader,
                    TRCWriter)

warnings.simplefilter("ignore")

READERS = {
    "candump": CanutilsLogReader,
    "asc": lambda path: ASCReader(path, relative_timestamp=False),
    "blf": BLFReader,
    "trc": TRCReader,
    "mdf4": MF4Reader,
}
WRITERS = {"candump": CanutilsLogWriter, "asc": ASCWriter, "blf": BLFWriter, "trc": TRCWriter, "mdf4": MF4Writer}
# python-can adds 1 to numbers of buses in some formats where it writes, and takes it away in some where it reads.
FIRST_READ = {"trc": 1}


def text(message):
    """The frame as candump prints it."""
    if message.is_error_frame:
        return f"{0x20000000 | message.arbitration_id:08X}#{message.data.hex().upper()}"
    head = f"{message.arbitration_id:0{8 if message.is_extended_id else 3}X}#"
    data = message.data.hex().upper()
    if message.is_fd:
        return f"{head}#{4 | message.bitrate_switch | message.error_state_indicator << 1:X}{data}"
    raw = f"_{message.dlc:X}" if message.dlc > 8 else ""
    if message.is_remote_frame:
        length = min(message.dlc, 8)
        return f"{head}R{length if length else ''}{raw}"
    return f"{head}{data}{raw}"


def message(line):
    """The message of a line of KIND.frames."""
    us, channel, direction, frame = line.split()
    head, data = frame.split("#", 1)
    id_ = int(head, 16)
    made = dict(timestamp=int(us) / 1e6, channel=int(channel), is_rx=direction == "Rx", arbitration_id=id_ & 0x1FFFFFFF,
                is_extended_id=len(head) == 8, check=False)
    if id_ & 0x20000000 and len(head) == 8:
        return can.Message(is_error_frame=True, data=bytes.fromhex(data), **made)
    if data.startswith("#"):
        flags, data = int(data[1], 16), bytes.fromhex(data[2:])
        return can.Message(is_fd=True, bitrate_switch=bool(flags & 1), error_state_indicator=bool(flags & 2), data=data, **made)
    data, _, raw = data.partition("_")
    if data.startswith("R"):
        return can.Message(is_remote_frame=True, dlc=int(raw, 16) if raw else int(data[1:] or 0), **made)
    return can.Message(data=bytes.fromhex(data), dlc=int(raw, 16) if raw else len(data) // 2, **made)


def read(path, name):
    try:
        for one in READERS[name](path):
            channel = one.channel
            if isinstance(channel, str):
                channel = int(channel.removeprefix("can"))
            channel = "-" if channel is None else channel - FIRST_READ.get(name, 0)
            yield f"{round(one.timestamp * 1e6)} {channel} {'Rx' if one.is_rx else 'Tx'} {text(one)}"
    except Exception as error:  # What python-can cannot read is a known difference, by its text.
        yield f"{type(error).__name__}: {error}".replace("\n", " ")


def of_vblf(path):
    """What vblf reads of a file of candor, with whole nanoseconds."""
    with vblf.reader.BlfReader(str(path)) as file:
        statistics = file.file_statistics
        start = statistics.measurement_start_time
        date = datetime.datetime(start.year, start.month, start.day, start.hour, start.minute, start.second, tzinfo=datetime.timezone.utc)
        assert statistics.file_size == path.stat().st_size
        start_ns = int(date.timestamp()) * 10**9 + start.milliseconds * 10**6
        count = 0
        for one in file:
            count += 1
            head = f"{(start_ns + one.header.object_time_stamp) // 1000} {one.channel - 1} {'Tx' if one.flags & 1 else 'Rx'}"
            identifier = one.frame_id & 0x1FFFFFFF
            id_ = f"{identifier:08X}" if one.frame_id >> 31 else f"{identifier:03X}"
            raw = f"_{one.dlc:X}" if one.dlc > 8 else ""
            length = min(one.dlc, 8)
            if isinstance(one, vblf.can.CanErrorFrameExt):
                yield f"{head} {identifier | 0x20000000:08X}#{one.data[:length].hex().upper()}"
            elif isinstance(one, vblf.can.CanFdMessage):
                flags = int(one.canfd_flags)
                data = one.data[:one.valid_data_bytes].hex().upper()
                yield f"{head} {id_}##{4 | flags >> 1 & 1 | flags >> 1 & 2:X}{data}"
            elif one.flags & 0x80:
                yield f"{head} {id_}#R{length if length else ''}{raw}"
            else:
                yield f"{head} {id_}#{one.data[:length].hex().upper()}{raw}"
        assert count == statistics.object_count, (count, statistics.object_count)


def main():
    folder = pathlib.Path(sys.argv[1])
    count = 0
    for ours in sorted(folder.glob("*.ours")):
        name, kind, _ = ours.name.split(".")
        if name not in READERS:
            continue
        if name == "blf":
            ours.with_suffix(".vblf").write_text("".join(line + "\n" for line in of_vblf(ours)))
        # asammdf maps the identifiers of data frames.
        if name == "mdf4" and kind not in {"error", "remote", "raw-dlc-remote"}:
            with asammdf.MDF(str(ours)) as file:
                groups = file.bus_logging_map["CAN"]
                assert groups, f"asammdf sees no bus logging in {ours}"
        # python-can's readers take the format from the class, not from the ending.
        ours.with_suffix(".read").write_text("".join(line + "\n" for line in read(str(ours), name)))
        theirs = ours.with_suffix(".theirs")
        with WRITERS[name](str(theirs)) as writer:
            for line in (folder / f"{kind}.frames").read_text().splitlines():
                writer.on_message_received(message(line))
        count += 1
    for table in sorted(folder.glob("csv.*.ours")):
        with table.open(newline="") as file:
            rows = csv.DictReader(file)
            lines = [f"{int(row['time_ns']) // 1000} {row['bus'].removeprefix('can')} {row['direction'] or '-'} {of_row(row)}\n"
                     for row in rows]
        table.with_suffix(".read").write_text("".join(lines))
        with table.with_suffix(".theirs").open("w", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(["time_ns", "clock", "bus", "direction", "kind", "id", "dlc", "length", "brs", "esi", "data"])
            for row in to_rows(folder, table):
                digits = 8 if row["extended"] or row["kind"] == "error" else 3
                writer.writerow([row["time_ns"], row["clock"], row["bus"], row["direction"], row["kind"], f"{row['id']:0{digits}X}",
                                 row["dlc"], row["length"], int(row["brs"]), int(row["esi"]), (row["data"] or b"").hex()])
        count += 1
    for table in sorted(folder.glob("parquet.*.ours")):
        lines = []
        for row in pyarrow.parquet.read_table(table).to_pylist():
            digits = 8 if row["extended"] or row["kind"] == "error" else 3
            texts = {"id": f"{row['id']:0{digits}X}", "data": (row["data"] or b"").hex().upper(), "length": str(row["length"])}
            frame = of_row({**row, **texts})
            lines.append(f"{row['time_ns'] // 1000} {row['bus'].removeprefix('can')} {row['direction'] or '-'} {frame}\n")
        table.with_suffix(".read").write_text("".join(lines))
        # As pandas does: compressed, all columns optional, integers of 64 bits, in another order, and with another column.
        theirs = pyarrow.Table.from_pylist([{"note": "", **dict(reversed(row.items()))} for row in to_rows(folder, table)])
        pyarrow.parquet.write_table(theirs, table.with_suffix(".theirs"))
        count += 1
    for recording in sorted(folder.glob("mcap.*.ours")):
        lines = []
        with recording.open("rb") as file:
            for schema, channel, one in mcap.reader.make_reader(file).iter_messages():
                assert (schema.name, channel.message_encoding) == ("candor.CanFrame", "json")
                row = json.loads(one.data)
                assert set(row) == set(json.loads(schema.data)["properties"])
                digits = 8 if row["extended"] or row["kind"] == "error" else 3
                data = base64.b64decode(row["data"]).hex().upper()
                frame = of_row({**row, "id": f"{row['id']:0{digits}X}", "data": data, "length": str(row["length"])})
                bus = channel.topic.removeprefix("/can")
                lines.append(f"{one.log_time // 1000} {bus} {row['direction'] or '-'} {frame}\n")
        recording.with_suffix(".read").write_text("".join(lines))
        with recording.with_suffix(".theirs").open("wb") as file:
            writer = mcap.writer.Writer(file, compression=mcap.writer.CompressionType.NONE)
            writer.start()
            schema = writer.register_schema("candor.CanFrame", "jsonschema", b"{}")
            channels = {}
            for row in to_rows(folder, recording):
                time, bus = row.pop("time_ns"), row.pop("bus")
                channel = channels.get(bus) or channels.setdefault(bus, writer.register_channel(f"/{bus}", "json", schema))
                row["data"] = base64.b64encode(row["data"] or b"").decode()
                writer.add_message(channel, time, json.dumps(row).encode(), time)
            writer.finish()
        count += 1
    signals(folder)
    print(count)


def signals(folder):
    """Each signal of CSV and of Parquet is that of cantools' formula: raw × factor + offset."""
    rows = pyarrow.parquet.read_table(folder / "signals.parquet").to_pylist()
    with (folder / "signals.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(rows) == len(lines) > 0
    names = [name for name in lines[0] if "." in name and not name.endswith("_raw")]
    assert len(names) == 3, names
    compared = 0
    for row, line in zip(rows, lines):
        for name in names:
            message, signal = name.split(".")
            group = row[message] or {}
            physical, raw = group.get(signal), group.get(f"{signal}_raw")
            in_csv = line[name] and float(line[name]), line[f"{name}_raw"] and int(line[f"{name}_raw"])
            assert in_csv == ("" if physical is None else physical, "" if raw is None else raw), (name, in_csv, physical, raw)
            if physical is None:
                continue
            factor, offset = {"Speed": (0.5, -10), "Warm": (2, 0), "All": (1, 0)}[signal]
            assert physical == float(raw * factor + offset), (name, physical, raw)
            data = row["data"]
            expected = {
                "Speed": int.from_bytes(data[:2], "little"),
                "Warm": int.from_bytes(data[3:4], "little", signed=True),
                "All": int.from_bytes(data, "little"),
            }[signal]
            assert raw == expected, (name, raw, expected)
            compared += 1
    assert compared > 100, compared


def to_rows(folder, file):
    """The rows of a table with the frames of the kind of this file."""
    for line in (folder / f"{file.name.split('.')[1]}.frames").read_text().splitlines():
        us, channel, direction, _ = line.split()
        one = message(line)
        kind = "error" if one.is_error_frame else "fd" if one.is_fd else "remote" if one.is_remote_frame else "data"
        length = min(one.dlc, 8) if kind != "fd" else len(one.data)
        dlc = one.dlc if kind != "fd" else [*range(9), 12, 16, 20, 24, 32, 48, 64].index(length)
        yield {
            "time_ns": int(us) * 1000, "clock": "unix", "bus": f"can{channel}", "direction": direction, "kind": kind,
            "id": one.arbitration_id, "extended": one.is_extended_id and kind != "error", "dlc": dlc, "length": length,
            "brs": bool(one.bitrate_switch), "esi": bool(one.error_state_indicator),
            "data": None if kind == "remote" else bytes(one.data),
        }


def of_row(row):
    """A row of CSV as candump prints its frame."""
    raw = f"_{int(row['dlc']):X}" if row["kind"] != "fd" and int(row["dlc"]) > 8 else ""
    if row["kind"] == "error":
        return f"{int(row['id'], 16) | 0x20000000:08X}#{row['data']}"
    if row["kind"] == "remote":
        return f"{row['id']}#R{row['length'] if row['length'] != '0' else ''}{raw}"
    if row["kind"] == "fd":
        return f"{row['id']}##{4 | int(row['brs']) | int(row['esi']) << 1:X}{row['data']}"
    return f"{row['id']}#{row['data']}{raw}"


main()
