//! Commands of Myriad's own that are written to a backend, and their answers noted as expected.

use carry::outbound::{LEFT_FOR, put_command, put_command_of};
use session::set_client_charset;
use wire::{Command, NO_ATTRIBUTES, ResponseWalk};

use crate::record::backend::{Backend, Purpose, RestorePart, Step};

impl Backend {
    /// Ends what may have been left behind. The session has nothing open that it knows of.
    pub(crate) fn roll_back(&mut self, outbox: &mut Vec<u8>) {
        (self.keeps_locks, self.keeps_characteristics) = (false, false);
        self.session.set_next_transaction(b"");
        self.put_query(outbox, b"ROLLBACK AND NO CHAIN NO RELEASE");
        self.expect(Step::RollBack);
    }

    /// Appends what selects a schema, whose name is in UTF-8; `charset`: the `character_set_client` in which it would be
    /// read as another one.
    pub(crate) fn put_schema(
        &mut self,
        outbox: &mut Vec<u8>,
        (schema, charset): (&[u8], Option<&[u8]>),
        step: Step,
    ) {
        if charset.is_some() {
            self.put_client_charset(outbox, b"utf8mb4");
        }
        if self.session.is_to_reselect() {
            self.leave_schema(outbox);
        }
        put_command(outbox, Command::InitDb, schema);
        self.expect(step);
        if let Some(charset) = charset {
            self.put_client_charset(outbox, charset);
        }
    }

    /// Appends what selects a schema that everybody may select: of one that is selected again MariaDB keeps the character
    /// set that it had.
    pub(crate) fn leave_schema(&mut self, outbox: &mut Vec<u8>) {
        put_command(outbox, Command::InitDb, LEFT_FOR);
        self.expect(Step::Reselect);
    }

    fn put_client_charset(&mut self, outbox: &mut Vec<u8>, charset: &[u8]) {
        self.put_query(outbox, &set_client_charset(charset));
        self.expect(Step::Restore(RestorePart::Set));
    }

    /// Appends a COM_QUERY of our own.
    pub(crate) fn put_query(&self, outbox: &mut Vec<u8>, text: &[u8]) {
        let attributes = match self.attributes {
            true => NO_ATTRIBUTES,
            false => b"",
        };
        put_command_of(outbox, Command::Query, [attributes, text]);
    }

    /// Notes that the answer to a command of ours will come.
    pub(crate) fn expect(&mut self, purpose: impl Into<Purpose>) {
        self.owe(ResponseWalk::new(true, 0), purpose.into());
    }
}
