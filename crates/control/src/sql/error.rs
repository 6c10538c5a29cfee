//! What goes wrong, as clients are told: number, SQLSTATE and text.

use wire::{ErrPacket, code};

/// An error for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlError {
    pub(crate) code: u16,
    pub(crate) state: &'static [u8; 5],
    pub(crate) message: String,
}

impl SqlError {
    pub(crate) fn new(code: u16, state: &'static [u8; 5], message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            state,
            message,
        }
    }

    /// The statement is not known here, or not as it is written.
    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, b"42000", message)
    }

    /// What was asked for could not be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(code::UNKNOWN_ERROR, b"HY000", message)
    }

    /// Its packet.
    pub(crate) fn packet(&self) -> ErrPacket<'_> {
        ErrPacket {
            code: self.code,
            sql_state: self.state,
            message: self.message.as_bytes(),
        }
    }
}
