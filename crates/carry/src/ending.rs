//! How the answer to a command ended.

use wire::ErrPacket;

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an OK packet, or with the end of rows.
    Ok,
    /// With an ERR packet, whose payload this is.
    Err(Vec<u8>),
}

impl Ending {
    /// The number of the ERR.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Ok => None,
            Self::Err(error) => ErrPacket::parse(error).ok().map(|error| error.code),
        }
    }
}

/// How far the bytes at hand brought the answer that is due.
pub enum Progress {
    /// More bytes are needed.
    Incomplete,
    /// This answer is complete.
    Complete(Ending),
}
