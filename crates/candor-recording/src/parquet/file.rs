//! A Parquet file for the library.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

/// A file that several readers of its parts share.
pub(super) struct Shared<R> {
    file: Arc<Mutex<R>>,
    pub(super) len: u64,
}

impl<R: Read + Seek> Shared<R> {
    pub(super) fn new(file: Arc<Mutex<R>>) -> io::Result<Self> {
        let len = lock(&file).seek(SeekFrom::End(0))?;
        Ok(Self { file, len })
    }

    pub(super) fn fill(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}

fn lock<R>(file: &Mutex<R>) -> MutexGuard<'_, R> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R: Send> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.len
    }
}

impl<R: Read + Seek + Send> ChunkReader for Shared<R> {
    type T = BufReader<Part<R>>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(Part { file: Arc::clone(&self.file), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // No more memory than the file has bytes.
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len);
        if end.is_none() {
            return Err(ParquetError::EOF(format!("{length} bytes from byte {start} are more than the file has")));
        }
        let mut bytes = vec![0; length];
        self.fill(start, &mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file from a place on.
pub(super) struct Part<R> {
    file: Arc<Mutex<R>>,
    at: u64,
}

impl<R: Read + Seek> Read for Part<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut file = lock(&self.file);
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(bytes)?;
        self.at += count as u64;
        Ok(count)
    }
}
