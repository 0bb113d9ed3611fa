"""Compares what candor reads, decodes and encodes with cantools.

Standard input has the lines that tests/cantools/cases.rs describes. Prints one line per difference, by name, and counts.
A difference without a known reason has the word DIFFERS.
"""

import logging
import math
import sys
from collections import Counter
from fractions import Fraction

import cantools
from cantools.database.utils import create_encode_decode_formats

logging.disable(logging.CRITICAL)
counts = Counter()
printed = set()
# Of the databases in the other format than DBC, in addition to those of all.
kcd_counts = Counter()


def report(*parts):
    line = ": ".join(str(part) for part in parts)
    if line not in printed:
        printed.add(line)
        print(line)


def text_of(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def number(text):
    return Fraction(text) if "/" in text else float(text)


def floats_agree(left, right):
    return left == right or (math.isnan(left) and math.isnan(right)) or abs(left - right) <= 1e-14 * abs(left)


def table(x):
    if x <= 0:
        return Fraction(0)
    if x <= 50:
        return x * 60 / 50
    return 60 + (min(x, 100) - 50) * 30 / 50


# As in cases.rs.
EXPRESSIONS = [
    lambda x: x * Fraction("1.02") + Fraction("0.5"),
    lambda x: min(max(x, -3), 100),
    lambda x: max(abs(x), 7) / Fraction(3),
    table,
    lambda x: -x,
]


class Judge:
    def __init__(self):
        self.file = self.database = self.message = None
        self.position = 0
        self.compared = set()

    def line(self, fields):
        before = counts.copy()
        getattr(self, "on_" + fields[0])(*fields[1:])
        if self.file.endswith(".kcd"):
            kcd_counts.update(counts - before)

    def end_of_file(self):
        """Names the messages of the last file that candor does not have."""
        for index, message in enumerate(self.database.messages if self.database is not None else ()):
            if index not in self.compared:
                report(self.file, message.name, "DIFFERS: only cantools has it")

    def on_F(self, path, name):
        self.end_of_file()
        self.file, self.message, self.position, self.compared = name, None, 0, set()
        counts["files"] += 1
        try:
            self.database = cantools.database.load_string(text_of(path), path[-3:].lower(), strict=False)
        except Exception as error:
            self.database = None
            counts["files-refused-by-cantools"] += 1
            reasons = {"unused": "entries that no signal uses", "bits in message": "an identifier without bit 31, or too wide"}
            reason = [ours for theirs, ours in reasons.items() if theirs in str(error)] or ["syntax"]
            report(name, "cantools refuses the file", reason[0])

    def on_M(self, name, identifier, length, cycle, send):
        self.message = None
        if self.database is None:
            return
        identifier = int(identifier)
        messages = self.database.messages
        same = [one for one in messages[self.position:] if one.name == name and one.frame_id == identifier & 0x1FFFFFFF]
        if not same:
            report(self.file, name, "DIFFERS: cantools does not have it")
            return
        self.message = same[0]
        self.position = next(at for at, one in enumerate(messages) if one is same[0]) + 1
        self.compared.add(self.position - 1)
        self.signals = {one.name: one for one in same[0].signals}
        self.names, self.refused = {}, set()
        counts["messages"] += 1
        found = (same[0].is_extended_frame, same[0].length, same[0].cycle_time or None, same[0].send_type)
        # cantools does not read when messages of KCD files are triggered.
        send = "-" if self.file.endswith(".kcd") else send
        expected = (bool(identifier >> 31), int(length), None if cycle == "-" else int(cycle), None if send == "-" else send)
        for what, left, right in zip(("identifier", "length", "period", "send type"), expected, found):
            if left != right:
                report(self.file, name, f"DIFFERS: {what}: {left} and {right}")

    def on_S(self, index, name, is_switch, start, count, *values):
        if self.message is None:
            return
        counts["signals"] += 1
        self.names[int(index)] = name
        signal = self.signals.get(name)
        if signal is None:
            report(self.file, self.message.name, name, "DIFFERS: cantools does not have it")
            return
        choices = {int(one.split("=", 1)[0]): one.split("=", 1)[1] for one in values}
        theirs = {key: " ".join(str(text).split()) for key, text in (signal.choices or {}).items()}
        if {key: " ".join(text.split()) for key, text in choices.items()} != theirs:
            report(self.file, self.message.name, name, "DIFFERS: names of values")
        initial = signal.raw_initial
        if start != "-" and initial is not None and Fraction(int(start)) != Fraction(initial):
            report(self.file, self.message.name, name, f"DIFFERS: start value: {start} and {initial}")

    def on_R(self, name, reason):
        if self.message is not None:
            self.refused.add(name)
            report(self.file, self.message.name, name, f"refused by candor: {reason}")

    def on_D(self, payload, *values):
        if self.message is None:
            return
        counts["payloads"] += 1
        data = bytes.fromhex(payload)
        self.decoded = None
        ours = {}
        for value in values:
            index, raw, exact, nearest = value.split(" ")
            ours[self.names[int(index)]] = (raw, number(exact), float(nearest))
        is_alone = False
        try:
            raw_values = self.message.decode(data, decode_choices=False, scaling=False)
            scaled_values = self.message.decode(data, decode_choices=False)
        except Exception as error:
            if "multiplexer" in str(error):
                report(self.file, self.message.name, f"DIFFERS: {error}")
                return
            # Signals that overlap or end outside the frame: cantools can decode each alone.
            is_alone = True
            counts["payloads-decoded-signal-by-signal"] += 1
            report(self.file, self.message.name, "signals overlap or end outside: cantools decodes only each alone, and does not encode")
            raw_values = {name: self.alone(data, name) for name in ours}
            scaled_values = {
                name: self.signals[name].conversion.raw_to_scaled(raw, decode_choices=False)
                for name, raw in raw_values.items()
            }
        if set(ours) != set(raw_values) - self.refused:
            missing = sorted(set(raw_values) - self.refused - set(ours))
            more = sorted(set(ours) - set(raw_values))
            report(self.file, self.message.name, f"DIFFERS: signals: only cantools {missing}, only candor {more}")
            return
        if not is_alone:
            self.decoded = raw_values
        for name, (raw, exact, nearest) in ours.items():
            self.value(name, raw, exact, nearest, raw_values[name], scaled_values[name])

    def alone(self, data, name):
        signal = self.signals[name]
        formats = create_encode_decode_formats([signal], self.message.length)
        unpacked = formats.big_endian.unpack(data) or formats.little_endian.unpack(data[::-1])
        return unpacked[name]

    def value(self, name, raw, exact, nearest, their_raw, scaled):
        counts["values"] += 1
        signal = self.signals[name]
        where = (self.file, self.message.name, name)
        if signal.conversion.is_float:
            if not floats_agree(float(raw), their_raw) or not floats_agree(exact, scaled) or not floats_agree(nearest, scaled):
                report(*where, f"DIFFERS: {raw} {exact} and {their_raw} {scaled}")
            return
        if int(raw) != their_raw:
            report(*where, f"DIFFERS: raw value {raw} and {their_raw}")
            return
        if nearest != float(exact):
            report(*where, f"DIFFERS: {nearest} is not nearest to {exact}")
        # Floating-point numbers round three times: factor, product and sum.
        parts = abs(Fraction(signal.scale) * their_raw) + abs(Fraction(signal.offset))
        if isinstance(scaled, int) and Fraction(scaled) == exact:
            counts["physical-equal"] += 1
        elif Fraction(scaled) == Fraction(nearest):
            counts["physical-nearest"] += 1
        elif abs(Fraction(scaled) - exact) <= parts * Fraction(3, 2**53):
            counts["physical-rounded-more-than-once-by-cantools"] += 1
        else:
            report(*where, f"DIFFERS: physical value {exact} and {scaled}")

    def on_E(self, payload):
        if self.message is None or self.decoded is None:
            return
        values = {name: value for name, value in self.decoded.items()}
        if self.refused or any(isinstance(one, float) and math.isnan(one) for one in values.values()):
            return
        try:
            encoded = self.message.encode(values, scaling=False, strict=False)
        except Exception as error:
            report(self.file, self.message.name, "DIFFERS: cantools cannot encode it", " ".join(str(error).split())[:60])
            return
        counts["frames-encoded"] += 1
        if encoded != bytes.fromhex(payload):
            report(self.file, self.message.name, f"DIFFERS: encoded {payload} and {encoded.hex()}")

    def on_P(self, index, physical, raw, fit):
        if self.message is None or int(index) not in self.names:
            return
        name = self.names[int(index)]
        signal = self.signals.get(name)
        if signal is None:
            return
        conversion, where = signal.conversion, (self.file, self.message.name, name)
        value = number(physical)
        if conversion.is_float:
            theirs = conversion.numeric_scaled_to_raw(value)
            if not floats_agree(float(raw), theirs) and abs(float(raw) - theirs) > 2e-7 * abs(theirs):
                report(*where, f"DIFFERS: {physical} is encoded as {raw} and {theirs}")
            return
        if fit == "Saturated":
            # cantools refuses such values.
            counts["saturated"] += 1
            return
        counts["values-encoded"] += 1
        # Whole numbers stay whole, as Python's users write them.
        theirs = conversion.numeric_scaled_to_raw(int(value) if value.denominator == 1 else float(value))
        if theirs == int(raw):
            counts["raw-equal"] += 1
            return
        factor, offset = Fraction(str(signal.scale)), Fraction(str(signal.offset))
        quotient = (value - offset) / factor
        error = (abs(value) + abs(offset)) / abs(factor) * Fraction(4, 2**53) + abs(quotient) * Fraction(4, 2**53)
        if abs(theirs - quotient) <= Fraction(1, 2) + error and abs(int(raw) - quotient) <= Fraction(1, 2):
            counts["raw-off-by-rounding-of-cantools"] += 1
        else:
            report(*where, f"DIFFERS: {physical} is encoded as {raw} and {theirs}")

    def on_C(self, before, index, expression, after):
        name = self.names.get(int(index)) if self.message is not None else None
        signal = self.signals.get(name) if name is not None else None
        if signal is None:
            return
        old, new = (self.alone(bytes.fromhex(payload), name) for payload in (before, after))
        factor, offset = Fraction(str(signal.scale)), Fraction(str(signal.offset))
        wanted = (EXPRESSIONS[int(expression)](old * factor + offset) - offset) / factor
        least, most = (-(1 << signal.length - 1), (1 << signal.length - 1) - 1) if signal.is_signed else (0, (1 << signal.length) - 1)
        # Python rounds halves to even numbers, too.
        wanted = min(max(round(wanted), least), most)
        counts["signals-changed"] += 1
        if new != wanted:
            report(self.file, self.message.name, name, f"DIFFERS: expression {expression}: {old} becomes {new}, not {wanted}")


judge = Judge()
for line in sys.stdin:
    judge.line(line.rstrip("\n").split("\t"))
judge.end_of_file()
counts.update({"kcd-" + name: count for name, count in kcd_counts.items()})
for name, count in sorted(counts.items()):
    print("COUNT", name, count)
