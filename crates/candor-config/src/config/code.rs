//! The codes of all findings. They are stable: a code is never given a new meaning.

use candor_core::diagnostic::code as diagnostic;

/// Declares each code as a constant and all of them as a list.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:expr;)+) => {
        $($(#[$doc])* pub const $name: &str = $code;)+

        /// Every code, in order.
        pub const ALL: &[&str] = &[$($code),+];
    };
}

codes! {
    /// Not TOML.
    SYNTAX = diagnostic::SYNTAX;
    /// A key or table twice.
    DUPLICATE_KEY = diagnostic::DUPLICATE_KEY;
    /// More bytes than candor reads.
    FILE_TOO_LARGE = diagnostic::FILE_TOO_LARGE;
    /// Bytes that are no UTF-8.
    NOT_UTF8 = diagnostic::NOT_UTF8;
    /// Keys or brackets nested too deeply.
    TOO_DEEP = diagnostic::TOO_DEEP;
    /// A line that no person wrote.
    LINE_TOO_LONG = diagnostic::LINE_TOO_LONG;
    /// More errors than are listed.
    TOO_MANY = diagnostic::TOO_MANY;

    /// A key that does not exist there.
    UNKNOWN_KEY = diagnostic::UNKNOWN_KEY;
    /// A value of the wrong type.
    WRONG_TYPE = diagnostic::WRONG_TYPE;
    /// A required key is missing.
    MISSING_KEY = diagnostic::MISSING_KEY;
    /// No bus.
    NO_BUS = "E0204";
    /// No route.
    NO_ROUTE = "E0205";
    /// A modification without any field.
    EMPTY_OPERAND = "E0206";

    /// No such engine.
    ENGINE = "E0301";
    /// Not a bit rate.
    BIT_RATE = "E0302";
    /// Not the name of an interface.
    INTERFACE = "E0303";
    /// Not a filter.
    FILTER = "E0304";
    /// No such frame format.
    FRAMES = "E0305";
    /// Not hexadecimal digits, or not that many.
    HEX = "E0306";
    /// Not an identifier.
    IDENTIFIER = "E0307";
    /// A number out of its range.
    RANGE = "E0308";
    /// Not a name for a bus or route.
    NAME = "E0309";
    /// No such byte order.
    BYTE_ORDER = "E0310";
    /// No such preset of a checksum.
    PRESET = "E0311";
    /// A time that is none, or too long.
    DURATION = "E0312";
    /// No such scheduling policy.
    SCHED = "E0313";
    /// Not a set of processors.
    CPUS = "E0314";
    /// No such adapter or order of `[wire]`.
    WIRE_WORD = "E0315";
    /// Not a fault.
    FAULT = "E0316";
    /// Not a rate of frames.
    FRAME_RATE = "E0317";
    /// No such word in `[egress]`.
    EGRESS_WORD = "E0318";

    /// A bus that the file does not have.
    UNKNOWN_BUS = "E0401";
    /// A route back to its own bus.
    ROUTE_TO_ITSELF = "E0402";
    /// An interface that is already taken by another bus.
    SHARED_INTERFACE = "E0403";
    /// Two routes of one name.
    DUPLICATE_ROUTE = "E0404";
    /// A value that needs a frame format to mean something.
    NEEDS_FORMAT = "E0405";
    /// A value that the frame format does not have room for.
    NOT_IN_FORMAT = "E0406";
    /// A checksum described twice or not at all.
    CHECKSUM = "E0407";
    /// Something the chosen engine cannot do.
    ENGINE_CANNOT = "E0408";
    /// Routes into one bus that the read-write engine cannot serve together.
    ECHO_DISAGREES = "E0409";
    /// Two keys of which only one can be meant.
    CONFLICT = "E0410";
    /// A route that no frame takes.
    NOTHING_LEFT = "E0411";
    /// A list of identifiers that the file does not have.
    UNKNOWN_LIST = "E0412";
    /// Identifiers that cannot be moved there.
    NOT_MOVABLE = "E0413";
    /// More than candor gives to can-gw or compares.
    TOO_MANY_JOBS = "E0414";
    /// Ends of vxcan pairs that do not fit together.
    VXCAN_PEER = "E0415";
    /// A uid that cannot name one job.
    UID = "E0416";
    /// A treatment of frames that candor does not have.
    WHEN_FULL = "E0417";
    /// Bands, limits and a tree that do not make one.
    EGRESS = "E0418";
    /// Frames that cannot be known by their source.
    SOURCE = "E0419";
    /// An age that a band cannot keep.
    MAX_AGE = "E0420";

    /// Frames that go round for ever.
    CIRCULATES = "E0601";

    /// A filter that takes more frames than it seems.
    LOOSE_FILTER = "W0501";
    /// A bus without routes.
    UNUSED_BUS = "W0502";
    /// Two routes that carry the same frames to the same bus.
    SAME_ROUTE = "W0503";
    /// A checksum that some kernels compute outside the frame.
    RELATIVE_CRC8 = "W0504";
    /// A filter that no frame passes.
    NEVER_MATCHES = "W0505";
    /// More warnings than are listed.
    TOO_MANY_WARNINGS = diagnostic::TOO_MANY_WARNINGS;
    /// Several identifiers that become one.
    IDS_COLLAPSE = "W0507";
    /// A list of identifiers that nothing uses.
    UNUSED_LIST = "W0508";
    /// So many jobs that the kernel becomes slow.
    MANY_JOBS = "W0509";
    /// Error message frames on their way to a bus.
    ERROR_FRAMES = "W0510";
    /// A real-time set-up for threads that there are not.
    REALTIME_IS_IDLE = "W0511";
    /// More spinning threads than processors.
    SPINNERS_SHARE = "W0512";

    /// Frames that two routes send, changed alike.
    SENT_TWICE = "W0601";
    /// Frames that two routes send, changed differently.
    SENT_IN_TWO_FORMS = "W0602";
    /// Different messages with one identifier on one bus.
    SAME_IDENTIFIER = "W0603";
    /// A route that takes no frame.
    NO_FRAME = "W0604";
    /// FD frames from or to a bus without them.
    FD_ON_CLASSIC_BUS = "W0605";
    /// An identifier that no bus can carry.
    MALFORMED_ID = "W0606";
    /// A length that frames cannot have.
    LENGTH = "W0607";
    /// Frames that come to a bus by two ways.
    ARRIVES_AGAIN = "W0608";
    /// Frames that go round for ever, perhaps.
    MAY_CIRCULATE = "W0609";
    /// A hop limit without effect.
    HOP_LIMIT_IS_IDLE = "W0610";

    /// Time stamps that a qdisc may misunderstand.
    KEEPS_TIMESTAMP = "N0601";
    /// A hop limit above the module's default.
    NEEDS_MAX_HOPS = "N0602";
    /// A file too large to be compared with itself.
    NOT_COMPARED = "N0603";
    /// Identifiers of several buses that nothing in the file keeps apart.
    IDENTIFIERS_MEET = "N0604";
    /// More notes than are listed.
    TOO_MANY_NOTES = diagnostic::TOO_MANY_NOTES;
    /// A band that drops frames without a word.
    DROPS_SILENTLY = "N0606";
}
