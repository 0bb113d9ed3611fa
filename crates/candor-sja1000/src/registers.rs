//! Numbers and bits of the registers in PeliCAN mode.

/// Numbers of the registers.
pub mod number {
    /// MOD
    pub const MODE: u8 = 0;
    /// CMR, write only
    pub const COMMAND: u8 = 1;
    /// SR, read only
    pub const STATUS: u8 = 2;
    /// IR, read only; reading clears it, except for the bit of the FIFO.
    pub const INTERRUPT: u8 = 3;
    /// IER
    pub const INTERRUPT_ENABLE: u8 = 4;
    /// BTR0, writable in reset mode
    pub const BUS_TIMING_0: u8 = 6;
    /// BTR1, writable in reset mode
    pub const BUS_TIMING_1: u8 = 7;
    /// OCR, writable in reset mode
    pub const OUTPUT_CONTROL: u8 = 8;
    /// RXERR, writable in reset mode
    pub const RECEIVE_ERRORS: u8 = 14;
    /// TXERR, writable in reset mode
    pub const TRANSMIT_ERRORS: u8 = 15;
    /// The oldest received frame when read, the frame to be sent when written.
    pub const FRAME: u8 = 16;
    /// ACR0 to ACR3, in reset mode in place of a frame
    pub const ACCEPTANCE_CODE: u8 = 16;
    /// AMR0 to AMR3, in reset mode in place of a frame
    pub const ACCEPTANCE_MASK: u8 = 20;
    /// RMC: number of frames in the FIFO
    pub const RECEIVED_FRAMES: u8 = 29;
    /// CDR
    pub const CLOCK_DIVIDER: u8 = 31;
}

/// CDR: PeliCAN mode.
pub const PELICAN: u8 = 0x80;

/// MOD: bits that are always 0, so a bus without a controller is not taken for one.
pub const NOT_IN_MODE: u8 = 0xE0;

/// Bits of a register.
macro_rules! bits {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $bit:ident = $value:expr;)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl $name {
            $($(#[$meaning])* pub const $bit: u8 = $value;)+
        }
    };
}

bits! {
    /// MOD
    Mode {
        /// RM: not connected to the bus
        RESET = 0x01;
        /// None of the bits: connected, two acceptance filters of 16 bits
        OPERATING = 0x00;
    }
}

bits! {
    /// CMR
    Command {
        /// TR
        TRANSMIT = 0x01;
        /// RRB: the FIFO forgets its oldest frame.
        RELEASE_RECEIVED = 0x04;
        /// CDO
        CLEAR_OVERRUN = 0x08;
    }
}

bits! {
    /// SR
    Status {
        /// RBS: the FIFO has a frame.
        RECEIVED = 0x01;
        /// DOS: a frame was lost.
        OVERRUN = 0x02;
        /// TBS: the transmit buffer is free.
        ROOM = 0x04;
        /// TCS: the last transmission is complete.
        COMPLETE = 0x08;
        /// ES: an error counter has reached its limit.
        ERRORS = 0x40;
        /// BS
        BUS_OFF = 0x80;
    }
}

bits! {
    /// IR
    Interrupt {
        /// RI, set as long as the FIFO has a frame
        RECEIVE = 0x01;
        /// TI: the transmit buffer has become free.
        TRANSMIT = 0x02;
        /// EI: the bit for errors or bus-off in the status has changed.
        ERROR_WARNING = 0x04;
        /// DOI
        OVERRUN = 0x08;
        /// EPI
        ERROR_PASSIVE = 0x20;
        /// BEI: every error on the bus
        BUS_ERROR = 0x80;
    }
}

bits! {
    /// IER
    Enable {
        /// Without an interrupt for each error on the bus, which a disturbed one could raise endlessly.
        ALL_BUT_BIT_ERRORS = Interrupt::RECEIVE
            | Interrupt::TRANSMIT
            | Interrupt::ERROR_WARNING
            | Interrupt::OVERRUN
            | Interrupt::ERROR_PASSIVE;
    }
}
