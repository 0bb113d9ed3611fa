//! Codes of findings in gateway files, explained in `docs/config.md`. They are stable: a code never gets a new meaning.

use candor_core::diagnostic::code as diagnostic;

candor_core::codes! {
    SYNTAX = diagnostic::SYNTAX;
    DUPLICATE_KEY = diagnostic::DUPLICATE_KEY;
    FILE_TOO_LARGE = diagnostic::FILE_TOO_LARGE;
    NOT_UTF8 = diagnostic::NOT_UTF8;
    TOO_DEEP = diagnostic::TOO_DEEP;
    LINE_TOO_LONG = diagnostic::LINE_TOO_LONG;
    TOO_MANY = diagnostic::TOO_MANY;
    NOT_SIGNED = "E0108";

    UNKNOWN_KEY = diagnostic::UNKNOWN_KEY;
    WRONG_TYPE = diagnostic::WRONG_TYPE;
    MISSING_KEY = diagnostic::MISSING_KEY;
    NO_BUS = "E0204";
    NO_ROUTE = "E0205";
    EMPTY_OPERAND = "E0206";

    ENGINE = "E0301";
    BIT_RATE = "E0302";
    INTERFACE = "E0303";
    FILTER = "E0304";
    FRAMES = "E0305";
    HEX = "E0306";
    IDENTIFIER = "E0307";
    RANGE = "E0308";
    NAME = "E0309";
    BYTE_ORDER = "E0310";
    PRESET = "E0311";
    DURATION = "E0312";
    SCHED = "E0313";
    CPUS = "E0314";
    WIRE_WORD = "E0315";
    FAULT = "E0316";
    FRAME_RATE = "E0317";
    EGRESS_WORD = "E0318";
    FRAME_WORD = "E0319";

    UNKNOWN_BUS = "E0401";
    ROUTE_TO_ITSELF = "E0402";
    SHARED_INTERFACE = "E0403";
    DUPLICATE_ROUTE = "E0404";
    NEEDS_FORMAT = "E0405";
    NOT_IN_FORMAT = "E0406";
    CHECKSUM = "E0407";
    ENGINE_CANNOT = "E0408";
    ECHO_DISAGREES = "E0409";
    CONFLICT = "E0410";
    NOTHING_LEFT = "E0411";
    UNKNOWN_LIST = "E0412";
    NOT_MOVABLE = "E0413";
    TOO_MANY_JOBS = "E0414";
    VXCAN_PEER = "E0415";
    UID = "E0416";
    WHEN_FULL = "E0417";
    EGRESS = "E0418";
    SOURCE = "E0419";
    MAX_AGE = "E0420";
    DATABASE = "E0421";
    NOT_IN_DATABASE = "E0422";
    CONDITION = "E0423";
    EXPRESSION = "E0424";
    FRAME = "E0425";
    TIMING = "E0426";
    INTEGRITY = "E0427";
    KEY = "E0428";
    GUARD = "E0430";
    MODE = "E0431";
    TRAFFIC = "E0432";
    LINK = "E0433";

    CIRCULATES = "E0601";

    LOOSE_FILTER = "W0501";
    UNUSED_BUS = "W0502";
    SAME_ROUTE = "W0503";
    RELATIVE_CRC8 = "W0504";
    NEVER_MATCHES = "W0505";
    TOO_MANY_WARNINGS = diagnostic::TOO_MANY_WARNINGS;
    IDS_COLLAPSE = "W0507";
    UNUSED_LIST = "W0508";
    MANY_JOBS = "W0509";
    ERROR_FRAMES = "W0510";
    REALTIME_IS_IDLE = "W0511";
    SPINNERS_SHARE = "W0512";
    TAKES_FROM_ROUTE = "W0513";
    NO_BPF_QUEUES = "W0514";
    IDLE_EXCLUSIVE = "W0515";
    SLOW_SOURCE = "W0516";
    UNITS = "W0517";
    SENDER_ELSEWHERE = "W0518";
    ROUNDED = "W0519";
    ALARM_COMES_BACK = "W0520";
    NOT_ANNOUNCED = "W0521";
    CANNOT_HOLD = "W0522";
    INSECURE_LINK = "W0523";

    SENT_TWICE = "W0601";
    SENT_IN_TWO_FORMS = "W0602";
    SAME_IDENTIFIER = "W0603";
    NO_FRAME = "W0604";
    FD_ON_CLASSIC_BUS = "W0605";
    MALFORMED_ID = "W0606";
    LENGTH = "W0607";
    ARRIVES_AGAIN = "W0608";
    MAY_CIRCULATE = "W0609";
    HOP_LIMIT_IS_IDLE = "W0610";

    KEEPS_TIMESTAMP = "N0601";
    NEEDS_MAX_HOPS = "N0602";
    NOT_COMPARED = "N0603";
    IDENTIFIERS_MEET = "N0604";
    TOO_MANY_NOTES = diagnostic::TOO_MANY_NOTES;
    DROPS_SILENTLY = "N0606";
}
