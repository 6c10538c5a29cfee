//! Session-track blocks: what the server says of changes to the session.
//!
//! Source: MySQL manual, "Session State Information"; MariaDB knowledge base, "OK_Packet".

use crate::Reader;

/// One thing that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateChange<'a> {
    /// A session system variable has this value now.
    SystemVariable {
        /// Its name, in lower case as the server has it.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default schema is this one now; empty for none.
    Schema(&'a [u8]),
    /// Something of the session changed (`session_track_state_change`).
    State,
    /// A GTID or something else that needs no reaction.
    Other,
    /// What would start the transaction again (`SESSION_TRACK_TRANSACTION_CHARACTERISTICS`).
    TransactionCharacteristics(&'a [u8]),
    /// Eight characters that describe the open transaction (`SESSION_TRACK_TRANSACTION_STATE`).
    TransactionState(&'a [u8]),
}

/// The changes of one block, in order. It ends early where the block is malformed.
#[derive(Clone, Debug)]
pub struct StateChanges<'a> {
    block: Reader<'a>,
    variables: Reader<'a>,
}

impl<'a> StateChanges<'a> {
    pub(crate) fn new(block: &'a [u8]) -> Self {
        Self {
            block: Reader::new(block),
            variables: Reader::new(b""),
        }
    }

    fn variable(&mut self) -> Option<StateChange<'a>> {
        let name = self.variables.lenenc_bytes("variable name").ok()?;
        let value = self.variables.lenenc_bytes("variable value").ok()?;
        Some(StateChange::SystemVariable { name, value })
    }
}

impl<'a> Iterator for StateChanges<'a> {
    type Item = StateChange<'a>;

    fn next(&mut self) -> Option<StateChange<'a>> {
        if !self.variables.is_empty() {
            return self.variable();
        }
        if self.block.is_empty() {
            return None;
        }
        let kind = self.block.u8("type").ok()?;
        let mut data = Reader::new(self.block.lenenc_bytes("data").ok()?);
        match kind {
            0 => {
                self.variables = data;
                self.variable()
            }
            1 => Some(StateChange::Schema(data.lenenc_bytes("schema").ok()?)),
            2 => Some(StateChange::State),
            4 => Some(StateChange::TransactionCharacteristics(
                data.lenenc_bytes("text").ok()?,
            )),
            5 => Some(StateChange::TransactionState(
                data.lenenc_bytes("state").ok()?,
            )),
            _ => Some(StateChange::Other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_in_one_block() {
        let block =
            b"\x00\x0f\x0aautocommit\x03OFF\x01\x05\x04shop\x02\x02\x011\x05\x09\x08T_______";
        let changes: Vec<_> = StateChanges::new(block).collect();
        assert_eq!(
            changes,
            [
                StateChange::SystemVariable {
                    name: b"autocommit",
                    value: b"OFF"
                },
                StateChange::Schema(b"shop"),
                StateChange::State,
                StateChange::TransactionState(b"T_______"),
            ]
        );
    }

    #[test]
    fn a_truncated_block_ends_early() {
        assert_eq!(StateChanges::new(b"\x00\x0f\x0aauto").count(), 0);
        assert_eq!(StateChanges::new(b"\x01\x05\x04shop\x01").count(), 1);
    }
}
