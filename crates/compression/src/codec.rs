//! The content of compressed packets, packed and unpacked. Owns what zlib and zstd need to work with. Content is unpacked
//! in parts of bounded size, so that one packet of 16 MiB never takes a turn of its worker for itself.

use events::Compression;
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, Operation};

use crate::packet::Header;

/// Shorter content is not packed; nor is it by the servers.
const PACKED_MIN: usize = 50;

/// Longer content goes in several packets, so that a client can begin before all is packed.
const CHUNK: usize = 1 << 20;

/// Packing takes time of all sessions of the worker, so it is done fast rather than well.
const ZLIB_LEVEL: u32 = 1;
const ZSTD_LEVEL_MAX: u8 = 3;

/// More is not kept for the next packet.
const SCRATCH_MAX: usize = 256 << 10;

/// Bytes that are unpacked at a time.
pub const PART: usize = 64 << 10;

/// Packed content is this much longer at most than what is in it: no compressor does worse.
const OVERHEAD: usize = 1 << 10;

/// Decoders that wait for the next packet.
const SPARES: usize = 4;

/// Content that is not what its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a compressed packet does not hold what its header says")]
pub struct Broken;

/// A packet whose content is being unpacked.
pub struct Opened {
    method: Compression,
    is_packed: bool,
    /// Bytes of the content that are still to come.
    left: usize,
    /// Bytes that are still to be unpacked.
    plain_left: usize,
    state: State,
    /// The last bytes, which count only once the content has ended as it should.
    tail: Vec<u8>,
}

/// What is needed to go on with a packet.
enum State {
    Begins,
    Zlib(Decompress),
    Zstd(Box<Decoder<'static>>),
}

/// A part of a packet's content.
#[derive(Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Bytes of ordinary packets, cut anywhere.
    pub plain: &'a [u8],
    /// Packed bytes that it took.
    pub consumed: usize,
}

/// Unpacks the packets of all connections of a worker.
#[derive(Default)]
pub struct Unpacker {
    spares: Vec<Decompress>,
    /// For packets of one part, which need no window.
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

/// What one step of a decoder did.
struct Step {
    consumed: usize,
    made: usize,
    has_ended: bool,
}

impl Opened {
    /// The packet with this header.
    ///
    /// # Errors
    /// [`Broken`] if no content can be so long.
    pub fn new(method: Compression, header: Header) -> Result<Self, Broken> {
        let is_packed = header.plain_len > 0;
        if is_packed && header.len > header.plain_len + header.plain_len / 8 + OVERHEAD {
            return Err(Broken);
        }
        Ok(Self {
            method,
            is_packed,
            left: header.len,
            plain_left: header.plain_len,
            state: State::Begins,
            tail: Vec::new(),
        })
    }

    /// True once all of it has been unpacked.
    pub fn is_done(&self) -> bool {
        self.left == 0 && self.plain_left == 0 && self.tail.is_empty()
    }

    /// Bytes that are still to be told of it.
    pub fn plain_left(&self) -> usize {
        let plain = if self.is_packed {
            self.plain_left
        } else {
            self.left
        };
        plain + self.tail.len()
    }

    /// Unpacks into `out`, and counts what that took.
    fn step(&mut self, packed: &[u8], out: &mut [u8]) -> Result<Step, Broken> {
        let step = match &mut self.state {
            State::Begins => return Err(Broken),
            State::Zlib(inflate) => inflates(inflate, packed, out)?,
            State::Zstd(decoder) => {
                let status = decoder.run_on_buffers(packed, out).map_err(|_| Broken)?;
                Step {
                    consumed: status.bytes_read,
                    made: status.bytes_written,
                    has_ended: status.remaining == 0,
                }
            }
        };
        self.left -= step.consumed;
        self.plain_left = self.plain_left.checked_sub(step.made).ok_or(Broken)?;
        match step.has_ended && (self.left > 0 || self.plain_left > 0) {
            true => Err(Broken),
            false => Ok(step),
        }
    }
}

fn inflates(inflate: &mut Decompress, packed: &[u8], out: &mut [u8]) -> Result<Step, Broken> {
    let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
    let status = inflate.decompress(packed, out, FlushDecompress::None);
    let since = |total: u64, before: u64| usize::try_from(total - before).unwrap_or_default();
    Ok(Step {
        consumed: since(inflate.total_in(), before_in),
        made: since(inflate.total_out(), before_out),
        has_ended: status.map_err(|_| Broken)? == Status::StreamEnd,
    })
}

impl Unpacker {
    /// Unpacks the next part of a packet, `packed` being what has come of the rest of its content, and maybe more. A part
    /// is empty if more must come first. The last one counts only once the end of the content has been verified.
    ///
    /// # Errors
    /// [`Broken`] if the content is not what the header says.
    pub fn part<'a>(
        &'a mut self,
        opened: &mut Opened,
        packed: &'a [u8],
    ) -> Result<Part<'a>, Broken> {
        let packed = &packed[..packed.len().min(opened.left)];
        if !opened.is_packed {
            let plain = &packed[..packed.len().min(PART)];
            opened.left -= plain.len();
            return Ok(Part {
                plain,
                consumed: plain.len(),
            });
        }
        if matches!(opened.state, State::Begins) {
            if self.unpacks_whole(opened, packed) {
                return Ok(Part {
                    plain: &self.scratch,
                    consumed: packed.len(),
                });
            }
            opened.state = self.decoder(opened.method)?;
        }
        self.next_part(opened, packed)
    }

    fn next_part<'a>(&'a mut self, opened: &mut Opened, packed: &[u8]) -> Result<Part<'a>, Broken> {
        let mut filled = opened.tail.len();
        self.scratch.resize(filled.max(PART) + 1, 0);
        self.scratch[..filled].copy_from_slice(&opened.tail);
        opened.tail = Vec::new();
        let mut consumed = 0;
        loop {
            // One byte more than is left shows content that is longer than its header says.
            let room = (filled + opened.plain_left + 1).min(PART).max(filled + 1);
            let step = opened.step(&packed[consumed..], &mut self.scratch[filled..room])?;
            consumed += step.consumed;
            filled += step.made;
            if step.has_ended {
                self.recycle(opened);
                break;
            }
            let stuck = step.made == 0 && step.consumed == 0;
            if stuck && opened.left == 0 {
                return Err(Broken);
            }
            if opened.plain_left > 0 && (filled >= PART || consumed == packed.len()) {
                break;
            }
            if opened.plain_left == 0 && (stuck || consumed == packed.len() && opened.left > 0) {
                opened.tail = self.scratch[..filled].to_vec();
                filled = 0;
                break;
            }
        }
        Ok(Part {
            plain: &self.scratch[..filled],
            consumed,
        })
    }

    /// Unpacks the whole content of a small packet at once, where that is cheaper. False if it was not done.
    fn unpacks_whole(&mut self, opened: &mut Opened, packed: &[u8]) -> bool {
        let small = opened.plain_left <= PART && packed.len() == opened.left;
        if !small || opened.method == Compression::Zlib {
            return false;
        }
        if self.zstd.is_none() {
            self.zstd = zstd::bulk::Decompressor::new().ok();
        }
        let Some(zstd) = &mut self.zstd else {
            return false;
        };
        self.scratch.clear();
        self.scratch.reserve(opened.plain_left + 1);
        let done = zstd.decompress_to_buffer(packed, &mut self.scratch).is_ok()
            && self.scratch.len() == opened.plain_left;
        if done {
            (opened.left, opened.plain_left) = (0, 0);
        }
        done
    }

    fn decoder(&mut self, method: Compression) -> Result<State, Broken> {
        Ok(match method {
            Compression::Zlib => State::Zlib(match self.spares.pop() {
                Some(mut spare) => {
                    spare.reset(true);
                    spare
                }
                None => Decompress::new(true),
            }),
            Compression::Zstd { .. } => State::Zstd(Box::new(Decoder::new().map_err(|_| Broken)?)),
        })
    }

    /// Takes the decoder of a packet that is unpacked. One of zstd may have a large window, which is given back.
    fn recycle(&mut self, opened: &mut Opened) {
        if let State::Zlib(inflate) = std::mem::replace(&mut opened.state, State::Begins)
            && self.spares.len() < SPARES
        {
            self.spares.push(inflate);
        }
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
