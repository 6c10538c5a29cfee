//! What stands in compressed packets, packed and unpacked. Owns what zlib and zstd need to work with: made when
//! first needed, one of each per worker.

use events::Compression;
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use crate::packet::{HEADER_LEN, Header};

/// Shorter content is not packed; nor is it by the servers.
const PACKED_MIN: usize = 50;

/// Longer content goes in several packets, so that a client can begin before all is packed.
const CHUNK: usize = 1 << 20;

/// Packing takes time of all sessions of the worker, so it is done fast rather than well.
const ZLIB_LEVEL: u32 = 1;
const ZSTD_LEVEL_MAX: u8 = 3;

/// More is not kept for the next packet.
const SCRATCH_MAX: usize = 256 << 10;

/// What the beginning of a client's bytes is.
#[derive(Debug, PartialEq, Eq)]
pub enum Unpacked<'a> {
    /// A packet, of which there is more to come.
    Incomplete,
    /// A packet.
    Packet {
        /// What is in it: bytes of ordinary packets, cut anywhere.
        plain: &'a [u8],
        /// Its sequence id.
        sequence_id: u8,
        /// Bytes that it took.
        consumed: usize,
    },
}

/// Content that is not what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a compressed packet does not hold what its header says")]
pub struct Broken;

/// Unpacks the packets of all connections of a worker.
#[derive(Default)]
pub struct Unpacker {
    inflate: Option<Decompress>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    scratch: Vec<u8>,
}

/// Packs them.
#[derive(Default)]
pub struct Packer {
    deflate: Option<Compress>,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    scratch: Vec<u8>,
}

impl Unpacker {
    /// The packet at the beginning of `bytes`. No more is unpacked than its header says, which can be no
    /// more than 16 MiB.
    ///
    /// # Errors
    /// [`Broken`] if it is not what its header says.
    pub fn unpack<'a>(
        &'a mut self,
        method: Compression,
        bytes: &'a [u8],
    ) -> Result<Unpacked<'a>, Broken> {
        let Some(header) = Header::parse(bytes) else {
            return Ok(Unpacked::Incomplete);
        };
        let consumed = HEADER_LEN + header.len;
        let Some(content) = bytes.get(HEADER_LEN..consumed) else {
            return Ok(Unpacked::Incomplete);
        };
        let plain = match header.plain_len {
            0 => content,
            len => self.content(method, content, len)?,
        };
        Ok(Unpacked::Packet {
            plain,
            sequence_id: header.sequence_id,
            consumed,
        })
    }

    /// Gives back a buffer that has become large.
    pub fn forget(&mut self) {
        self.scratch.clear();
        self.scratch.shrink_to(SCRATCH_MAX);
    }

    fn content(&mut self, method: Compression, packed: &[u8], len: usize) -> Result<&[u8], Broken> {
        self.forget();
        // One byte more shows what is longer than it says.
        self.scratch.reserve(len + 1);
        let done = match method {
            Compression::Zlib => self.inflates(packed, len),
            Compression::Zstd { .. } => self.unpacks_zstd(packed),
        };
        match done && self.scratch.len() == len {
            true => Ok(&self.scratch),
            false => Err(Broken),
        }
    }

    fn inflates(&mut self, packed: &[u8], len: usize) -> bool {
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(true));
        inflate.reset(true);
        self.scratch.resize(len + 1, 0);
        let status = inflate.decompress(packed, &mut self.scratch, FlushDecompress::Finish);
        let told = usize::try_from(inflate.total_out()).unwrap_or_default();
        self.scratch.truncate(told);
        matches!(status, Ok(Status::StreamEnd)) && inflate.total_in() == packed.len() as u64
    }

    fn unpacks_zstd(&mut self, packed: &[u8]) -> bool {
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Decompressor::new().ok();
        }
        let zstd = self.zstd.as_mut();
        zstd.is_some_and(|zstd| zstd.decompress_to_buffer(packed, &mut self.scratch).is_ok())
    }
}

impl Packer {
    /// Appends `plain` as compressed packets. Returns the sequence id of the next one.
    pub fn pack(
        &mut self,
        method: Compression,
        plain: &[u8],
        (mut sequence_id, out): (u8, &mut Vec<u8>),
    ) -> u8 {
        for chunk in plain.chunks(CHUNK) {
            let packed = chunk.len() >= PACKED_MIN && self.packs(method, chunk);
            let content = if packed { &self.scratch[..] } else { chunk };
            let header = Header {
                len: content.len(),
                sequence_id,
                plain_len: if packed { chunk.len() } else { 0 },
            };
            out.extend_from_slice(&header.to_bytes());
            out.extend_from_slice(content);
            sequence_id = sequence_id.wrapping_add(1);
        }
        self.scratch.clear();
        self.scratch.shrink_to(SCRATCH_MAX);
        sequence_id
    }

    /// Packs into the scratch buffer. False if that makes it no shorter.
    fn packs(&mut self, method: Compression, plain: &[u8]) -> bool {
        self.scratch.clear();
        self.scratch.reserve(plain.len());
        let done = match method {
            Compression::Zlib => self.deflates(plain),
            Compression::Zstd { level } => self.packs_zstd(level, plain),
        };
        done && self.scratch.len() < plain.len()
    }

    fn deflates(&mut self, plain: &[u8]) -> bool {
        let level = flate2::Compression::new(ZLIB_LEVEL);
        let deflate = self
            .deflate
            .get_or_insert_with(|| Compress::new(level, true));
        deflate.reset();
        // There is no room for more than the content is long already.
        let status = deflate.compress_vec(plain, &mut self.scratch, FlushCompress::Finish);
        matches!(status, Ok(Status::StreamEnd))
    }

    fn packs_zstd(&mut self, level: u8, plain: &[u8]) -> bool {
        let level = i32::from(level.clamp(1, ZSTD_LEVEL_MAX));
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Compressor::new(level).ok();
        }
        let Some(zstd) = &mut self.zstd else {
            return false;
        };
        let done = zstd.set_compression_level(level).is_ok();
        done && zstd.compress_to_buffer(plain, &mut self.scratch).is_ok()
    }
}

#[cfg(test)]
mod tests;
