//! LOAD DATA LOCAL: the file is asked for, comes in packets, and is applied once all of it is here.

use wire::{Capabilities, HEADER_LEN, Header, code};

use super::answer::Outcome;
use super::connection::Phase;
use super::sql::Sql;
use super::{Database, Outside};
use crate::failure::{Broken, Rule, ensure};
use crate::sabotage::Sabotage;

/// The client may not be asked for files.
pub(crate) const FILES_NOT_ALLOWED: u16 = 4166;

/// A file that is coming.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    tag: Option<String>,
    /// How many rows it should have.
    rows: usize,
    content: Vec<u8>,
    /// The sequence id that the next packet must have.
    due: u8,
}

impl Database {
    /// Asks for a file, if the client may be asked.
    pub(super) fn ask_for_file(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
        (rows, tag): (usize, Option<String>),
    ) -> Result<(), Broken> {
        let connection = &mut self.connections[id];
        if !connection.capabilities.contains(Capabilities::LOCAL_FILES) {
            let error = super::Condition::Error(FILES_NOT_ALLOWED);
            connection.session.diagnostics = Some(error);
            return self.tell(outside, id, &Outcome::Err(FILES_NOT_ALLOWED));
        }
        if let Some(error) = self.refuses_load(id) {
            self.connections[id].session.diagnostics = Some(super::Condition::Error(error));
            return self.tell(outside, id, &Outcome::Err(error));
        }
        let connection = &mut self.connections[id];
        let question = Outcome::File(rows.to_string()).encode(&mut connection.session);
        connection.phase = Phase::Upload;
        connection.upload = Some(Upload {
            tag,
            rows,
            content: Vec::new(),
            due: 2,
        });
        let handle = connection.handle;
        outside.network.send(outside.schedule, handle, &question);
        Ok(())
    }

    /// Why the statement fails before the file is asked for.
    fn refuses_load(&self, id: usize) -> Option<u16> {
        match &self.connections[id].session.schema {
            None => Some(code::NO_SCHEMA_SELECTED),
            Some(schema) if !self.storage.has(schema) => Some(super::NO_SUCH_TABLE),
            Some(_) => None,
        }
    }

    /// Takes a packet of the file. False if it is not here yet.
    pub(super) fn take_file(
        &mut self,
        outside: &mut Outside<'_>,
        id: usize,
    ) -> Result<bool, Broken> {
        let connection = &mut self.connections[id];
        let header = Header::parse(&connection.inbox);
        let whole = header.filter(|header| connection.inbox.len() >= HEADER_LEN + header.len);
        let (Some(header), Some(upload)) = (whole, &mut connection.upload) else {
            return Ok(false);
        };
        ensure(Rule::Protocol, header.sequence_id == upload.due, || {
            let due = upload.due;
            format!(
                "packet {} of a file came where {due} was due",
                header.sequence_id
            )
        })?;
        upload.due = upload.due.wrapping_add(1);
        let packet = connection.inbox.drain(..HEADER_LEN + header.len);
        upload.content.extend(packet.skip(HEADER_LEN));
        if header.len == 0 {
            self.apply_file(outside, id)?;
        }
        Ok(true)
    }

    /// The peer is gone, and the file with it.
    pub(super) fn lose_file(&mut self, outside: &mut Outside<'_>, id: usize) -> Result<(), Broken> {
        if self.sabotage == Some(Sabotage::HalfFile) {
            self.apply_file(outside, id)?;
        }
        self.connections[id].upload = None;
        Ok(())
    }

    /// True if this file is coming.
    pub(super) fn is_uploading(&self, tag: &str) -> bool {
        let mut uploads = self.connections.iter().filter_map(|c| c.upload.as_ref());
        uploads.any(|upload| upload.tag.as_deref() == Some(tag))
    }

    /// The file is complete. Of a file that nobody was there to send, there is nothing.
    fn apply_file(&mut self, outside: &mut Outside<'_>, id: usize) -> Result<(), Broken> {
        let connection = &mut self.connections[id];
        let Some(upload) = connection.upload.take() else {
            return Ok(());
        };
        let content = String::from_utf8_lossy(&upload.content).into_owned();
        let rows = parse(&content);
        ensure(
            Rule::Abandoned,
            rows.as_ref()
                .is_some_and(|rows| rows.is_empty() || rows.len() == upload.rows),
            || format!("{:?} was ended after a part of its file", upload.tag),
        )?;
        if std::mem::take(&mut connection.killed) {
            self.note_interruption(id);
            return self.tell_file(
                outside,
                (id, upload.due),
                &Outcome::Err(code::QUERY_INTERRUPTED),
            );
        }
        let sql = Sql::LoadLocal(upload.rows);
        let rows = rows.unwrap_or_default();
        if let (Some(tag), false) = (&upload.tag, rows.is_empty() && upload.rows > 0) {
            self.write_down(id, &sql, tag)?;
        }
        self.files += 1;
        let outcome = self.work(id).load(&rows);
        self.tell_file(outside, (id, upload.due), &outcome)
    }

    fn tell_file(
        &mut self,
        outside: &mut Outside<'_>,
        (id, first): (usize, u8),
        outcome: &Outcome,
    ) -> Result<(), Broken> {
        let mut answer = Vec::new();
        let more = wire::ServerStatus::empty();
        outcome.put(
            &mut answer,
            (first, more),
            &mut self.connections[id].session,
        );
        self.plan_answer(outside, id, answer, 0);
        Ok(())
    }
}

impl super::Work<'_> {
    /// Writes the rows of a file.
    pub(crate) fn load(&mut self, rows: &[(u32, i64)]) -> Outcome {
        let sql = Sql::LoadLocal(rows.len());
        let outcome = self.on_table(|work, schema| {
            let changed = rows
                .iter()
                .filter(|(key, value)| work.write(schema, *key, *value));
            Outcome::Ok {
                affected_rows: changed.count() as u64,
                insert_id: 0,
            }
        });
        self.note(&sql, &outcome);
        outcome
    }
}

/// The lines of a file, `key=value`; `None` if one is not whole.
fn parse(content: &str) -> Option<Vec<(u32, i64)>> {
    if !content.is_empty() && !content.ends_with('\n') {
        return None;
    }
    let row = |line: &str| {
        let (key, value) = line.split_once('=')?;
        Some((key.parse().ok()?, value.parse().ok()?))
    };
    content.lines().map(row).collect()
}
