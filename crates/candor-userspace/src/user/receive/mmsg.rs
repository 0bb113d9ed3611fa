//! `mmsg`: all waiting frames with one `recvmmsg()`.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use candor_io::can::{self, Batch, First};

use super::{Arrived, Receive};
use crate::user::port::Port;

#[derive(Debug)]
pub(in crate::user) struct Mmsg {
    port: Arc<Port>,
    batch: Batch,
}

impl Receive for Mmsg {
    fn open(port: &Arc<Port>) -> io::Result<Self> {
        Ok(Self { port: Arc::clone(port), batch: Batch::default() })
    }

    fn receive(&mut self, patience: Option<Duration>, _all: bool, mut take: impl FnMut(Arrived<'_>)) -> io::Result<()> {
        let Self { port, batch } = self;
        if patience.is_some() && can::poll(&[&port.socket], patience)?.is_empty() {
            return Ok(());
        }
        let mut left = port.socket.recv_batch(batch, First::Waits)?;
        for received in batch.frames() {
            left -= 1;
            take(Arrived { bytes: received.bytes, at: received.at, more: left > 0 });
        }
        Ok(())
    }
}
