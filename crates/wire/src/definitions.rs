//! Column definitions that need not be told again: MariaDB leaves them out of the answer to an execution where the
//! client has them. Owns the comparison; whose definitions they are is the engine's to know.
//!
//! Source: MariaDB knowledge base, "Result Set Packets", and MARIADB_CLIENT_CACHE_METADATA in "Connection".

use crate::Piece;

/// What stands for a list of column definitions. Never zero.
pub type Fingerprint = std::num::NonZeroU64;

/// Takes the fingerprints of lists of definitions (FNV-1a: small, for each execution under way has one).
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    hash: u64,
    /// Within a list.
    open: bool,
}

const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

impl Definitions {
    /// Takes note of a piece of the answer. Returns the fingerprint of a list that it completes.
    pub fn piece(&mut self, piece: &Piece<'_>) -> Option<Fingerprint> {
        match piece {
            Piece::Column(bytes) => {
                if !self.open {
                    (self.hash, self.open) = (BEGIN, true);
                }
                // The length, but not the sequence id.
                self.write(bytes.get(..3).unwrap_or_default());
                self.write(piece.payload());
                None
            }
            Piece::Rest(bytes) if self.open => {
                self.write(bytes);
                None
            }
            Piece::ColumnsEnd(_) if self.open => {
                self.open = false;
                Some(Fingerprint::new(self.hash).unwrap_or(Fingerprint::MAX))
            }
            _ => None,
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        self.hash = bytes.iter().fold(self.hash, mix);
    }
}
