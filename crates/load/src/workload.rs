//! What connections do: the scripts of the workloads that have a name.

use std::fmt;
use std::io::Write;

use wire::Command;

use crate::answer::Expectation;
use crate::distribution::Distribution;
use crate::script::{Script, ScriptError};

/// What the connections do once they are logged in.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Reads one row by its primary key.
    PointSelect(Rows),
    /// Changes the indexed column of one row, found by its primary key.
    UpdateByPrimaryKey(Rows),
    /// The transaction of sysbench's `oltp_read_only`: 10 point selects and 4 ranges of 100 rows.
    ReadOnly(Rows),
    /// The transaction of sysbench's `oltp_read_write`: the same, two updates, a deletion and the
    /// insertion of the deleted row.
    ReadWrite(Rows),
    /// Connects, logs in, reads one row by its primary key and quits, each time.
    Reconnect(Rows),
    /// Asks for a text that no other statement of any connection asks for, and wants it back.
    Token,
    /// Says nothing until the end; then the connection must still answer a COM_PING.
    Idle,
    /// Whatever a script says.
    Script(Script),
}

/// The rows that a workload uses: of the tables `sbtest1` and so on, as sysbench makes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rows {
    /// How many tables there are.
    pub tables: u32,
    /// How many rows each has.
    pub rows: u32,
    /// Which rows are chosen how often.
    pub distribution: Distribution,
}

/// Which statement it is: the connection's number and the statement's number on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) connection: u32,
    pub(crate) sequence: u64,
}

/// The text of one `token` statement; kept as numbers, so that keeping it costs no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) origin: Origin,
    pub(crate) random: u64,
}

/// The longest text of a token: numbers of 10, 20 and 16 digits with what stands between them.
const TOKEN_MAX: usize = 50;

/// The text of a token, without memory of its own.
pub(crate) struct TokenText {
    bytes: [u8; TOKEN_MAX],
    len: usize,
}

impl Workload {
    /// What is to be sent, or `None` if nothing is.
    pub(crate) fn script(&self) -> Result<Option<Script>, ScriptError> {
        let (rows, text) = match self {
            Self::Idle => return Ok(None),
            Self::Script(script) => return Ok(Some(script.clone())),
            Self::Token => (
                &Rows::default(),
                "-- value: token\nSELECT '{token}';".to_owned(),
            ),
            Self::PointSelect(rows) | Self::Reconnect(rows) => (rows, rows.point_select()),
            Self::UpdateByPrimaryKey(rows) => (rows, rows.update()),
            Self::ReadOnly(rows) => (rows, format!("BEGIN;\n{}COMMIT;", rows.reads())),
            Self::ReadWrite(rows) => {
                let (reads, writes) = (rows.reads(), rows.writes());
                (rows, format!("BEGIN;\n{reads}{writes}COMMIT;"))
            }
        };
        Script::parse(&text, rows.distribution).map(Some)
    }

    /// Whether there is nothing that could be asked for.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::PointSelect(rows)
            | Self::UpdateByPrimaryKey(rows)
            | Self::ReadOnly(rows)
            | Self::ReadWrite(rows)
            | Self::Reconnect(rows) => rows.tables == 0 || rows.rows == 0,
            Self::Token | Self::Idle | Self::Script(_) => false,
        }
    }

    /// Whether each transaction has a connection of its own.
    pub(crate) fn is_reconnect(&self) -> bool {
        matches!(self, Self::Reconnect(_))
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PointSelect(_) => "point-select",
            Self::UpdateByPrimaryKey(_) => "update-by-primary-key",
            Self::ReadOnly(_) => "read-only",
            Self::ReadWrite(_) => "read-write",
            Self::Reconnect(_) => "reconnect",
            Self::Token => "token",
            Self::Idle => "idle",
            Self::Script(_) => "script",
        })
    }
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            tables: 10,
            rows: 100_000,
            distribution: Distribution::Uniform,
        }
    }
}

impl Rows {
    fn table(&self) -> String {
        format!("sbtest{{uniform:1..{}}}", self.tables)
    }

    fn id(&self) -> String {
        format!("{{random:1..{}}}", self.rows)
    }

    fn point_select(&self) -> String {
        let (table, id) = (self.table(), self.id());
        format!("-- value: not null\nSELECT c FROM {table} WHERE id={id};\n")
    }

    fn update(&self) -> String {
        let (table, id) = (self.table(), self.id());
        format!("-- affected: 1\nUPDATE {table} SET k=k+1 WHERE id={id};\n")
    }

    /// Source: sysbench 1.0, `oltp_common.lua`.
    fn reads(&self) -> String {
        let Self { tables, rows, .. } = self;
        let points = (0..10).map(|number| {
            // All of a transaction read the same table.
            let table = if number == 0 {
                format!("p=uniform:1..{tables}")
            } else {
                "p".into()
            };
            let id = self.id();
            format!("-- value: not null\nSELECT c FROM sbtest{{{table}}} WHERE id={id};\n")
        });
        let ranges = [
            ("a", "c", "", ""),
            ("b", "SUM(k)", "", ""),
            ("d", "c", "", " ORDER BY c"),
            ("e", "c", "DISTINCT ", " ORDER BY c"),
        ];
        let ranges = ranges.map(|(name, what, distinct, order)| {
            let (table, check) = (
                self.table(),
                if what == "c" {
                    "rows: 1..100"
                } else {
                    "value: not null"
                },
            );
            format!(
                "-- {check}\nSELECT {distinct}{what} FROM {table} WHERE id BETWEEN \
                 {{{name}=random:1..{rows}}} AND {{{name}+99}}{order};\n"
            )
        });
        points.chain(ranges).collect()
    }

    fn writes(&self) -> String {
        use crate::tables::{C, PAD};
        let Self { tables, rows, .. } = self;
        let (table, id, update) = (self.table(), self.id(), self.update());
        format!(
            "{update}\
             -- affected: 1\nUPDATE {table} SET c='{{string:{C}}}' WHERE id={id};\n\
             -- affected: 1\nDELETE FROM sbtest{{t=uniform:1..{tables}}} WHERE \
             id={{id=random:1..{rows}}};\n\
             -- affected: 1\nINSERT INTO sbtest{{t}} (id, k, c, pad) VALUES ({{id}}, \
             {{random:1..{rows}}}, '{{string:{C}}}', '{{string:{PAD}}}');\n"
        )
    }
}

impl Token {
    /// Its text.
    pub(crate) fn text(&self) -> TokenText {
        let Origin {
            connection,
            sequence,
        } = self.origin;
        let mut bytes = [0; TOKEN_MAX];
        let mut rest = &mut bytes[..];
        let written = write!(rest, "c{connection}-s{sequence}-{:016x}", self.random);
        debug_assert!(written.is_ok(), "the longest numbers fit");
        let len = TOKEN_MAX - rest.len();
        TokenText { bytes, len }
    }
}

impl TokenText {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Appends a COM_PING. Returns what its answer must be.
pub(crate) fn put_ping(out: &mut Vec<u8>) -> Expectation {
    wire::write_packet(out, 0, &[Command::Ping as u8]);
    Expectation::Pong
}

/// Appends the statement that ends a transaction which failed.
pub(crate) fn put_rollback(out: &mut Vec<u8>) -> Expectation {
    wire::write_packet(out, 0, b"\x03ROLLBACK");
    Expectation::Anything
}

/// Appends a COM_QUIT.
pub(crate) fn put_quit(out: &mut Vec<u8>) {
    wire::write_packet(out, 0, &[Command::Quit as u8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_token_fits() {
        let origin = Origin {
            connection: u32::MAX,
            sequence: u64::MAX,
        };
        let random = u64::MAX;
        assert_eq!(Token { origin, random }.text().bytes().len(), TOKEN_MAX);
    }

    #[test]
    fn transactions_have_the_statements_of_sysbench() {
        let rows = Rows::default();
        let len = |workload: Workload| {
            let script = workload.script().unwrap().unwrap();
            script.transactions[0].statements.len()
        };
        assert_eq!(len(Workload::ReadOnly(rows)), 16);
        assert_eq!(len(Workload::ReadWrite(rows)), 20);
        assert_eq!(len(Workload::PointSelect(rows)), 1);
        assert_eq!(Workload::Idle.script(), Ok(None));
    }
}
