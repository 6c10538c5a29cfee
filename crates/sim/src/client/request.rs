//! What a client can ask, as a value and as a packet.

use wire::{Command, PacketWriter};

use crate::database::sql::Sql;

/// One command of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// COM_QUERY.
    Query(Sql),
    /// COM_INIT_DB.
    InitDb(String),
    /// COM_PING.
    Ping,
    /// COM_RESET_CONNECTION.
    Reset,
    /// A command that the front door does not support.
    Unsupported,
    /// COM_QUIT.
    Quit,
    /// Bytes that follow no protocol.
    Garbage(Vec<u8>),
}

impl Request {
    /// Its packet. `tag` goes into the statement's comment.
    pub(crate) fn packet(&self, tag: &str) -> Vec<u8> {
        let (command, argument) = match self {
            // With a comment it would not be recognised as what it is.
            Self::Query(Sql::ShowWarnings) => (Command::Query, text(&Sql::ShowWarnings)),
            Self::Query(sql) => (Command::Query, format!("{} /* {tag} */", text(sql))),
            Self::InitDb(schema) => (Command::InitDb, schema.clone()),
            Self::Ping => (Command::Ping, String::new()),
            Self::Reset => (Command::ResetConnection, String::new()),
            Self::Unsupported => (Command::Debug, String::new()),
            Self::Quit => (Command::Quit, String::new()),
            Self::Garbage(bytes) => return bytes.clone(),
        };
        let mut out = Vec::new();
        let mut packet = PacketWriter::begin(&mut out, 0);
        packet.payload().push(command as u8);
        packet.payload().extend_from_slice(argument.as_bytes());
        packet.finish();
        out
    }
}

impl Request {
    /// True if it may pin the session; a text that is not understood may do anything.
    pub(crate) fn pins(&self) -> bool {
        matches!(
            self,
            Self::Query(
                Sql::SetUser(_)
                    | Sql::ReadUser
                    | Sql::CreateTemporary
                    | Sql::DropTemporary
                    | Sql::GetLock(_)
                    | Sql::ReleaseLock(_)
                    | Sql::Nonsense
            )
        )
    }

    /// True if running it may change a table.
    pub(crate) fn writes(&self) -> bool {
        matches!(
            self,
            Self::Query(Sql::WriteKey(..) | Sql::Bump(_) | Sql::Insert | Sql::InsertTemporary(_))
        )
    }
}

fn text(sql: &Sql) -> String {
    match sql {
        Sql::Literal(text) => format!("SELECT '{text}'"),
        Sql::ReadKey(key) => format!("SELECT v FROM kv WHERE k={key}"),
        Sql::ReadRange(from, to) => {
            format!("SELECT k,v FROM kv WHERE k BETWEEN {from} AND {to}")
        }
        Sql::WriteKey(key, value) => format!("UPDATE kv SET v={value} WHERE k={key}"),
        Sql::Bump(key) => format!("UPDATE kv SET v=v+1 WHERE k={key}"),
        Sql::Insert => "INSERT INTO auto(v) VALUES(5)".to_owned(),
        Sql::CreateTemporary => "CREATE TEMPORARY TABLE tmp1 (k int)".to_owned(),
        Sql::DropTemporary => "DROP TEMPORARY TABLE tmp1".to_owned(),
        Sql::InsertTemporary(value) => format!("INSERT INTO tmp1 VALUES({value})"),
        Sql::ReadTemporary => "SELECT * FROM tmp1".to_owned(),
        Sql::LastInsertId => "SELECT LAST_INSERT_ID()".to_owned(),
        Sql::ReadVariables(names) => format!("SELECT @@{}", names.join(",@@")),
        Sql::Set(assignments) => {
            let parts = assignments.iter().map(|assignment| {
                let name = &assignment.name;
                match assignment.value.as_deref() {
                    None => format!("{name}=DEFAULT"),
                    Some(crate::catalog::NULL) => format!("{name}=NULL"),
                    Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
                    Some(value) => format!("SESSION {name}='{value}'"),
                }
            });
            format!("SET {}", parts.collect::<Vec<_>>().join(","))
        }
        Sql::SetNames(charset, None) => format!("SET NAMES {charset}"),
        Sql::SetNames(charset, Some(name)) => format!("SET NAMES {charset} COLLATE {name}"),
        Sql::SetUser(value) => format!("SET @x={value}"),
        Sql::ReadUser => "SELECT @x".to_owned(),
        Sql::Use(schema) => format!("USE {schema}"),
        Sql::Schema => "SELECT DATABASE()".to_owned(),
        Sql::GetLock(name) => format!("SELECT GET_LOCK('{name}',0)"),
        Sql::ReleaseLock(name) => format!("SELECT RELEASE_LOCK('{name}')"),
        Sql::Sleep(ms) => format!("SELECT SLEEP(0.{ms:03})"),
        Sql::Begin => "BEGIN".to_owned(),
        Sql::Commit => "COMMIT".to_owned(),
        Sql::Rollback => "ROLLBACK".to_owned(),
        Sql::Repeat(n) => format!("SELECT REPEAT('x',{n})"),
        Sql::BrokenRows => "SELECT v FROM broken".to_owned(),
        Sql::NoTable => "SELECT v FROM nosuch".to_owned(),
        Sql::Nonsense => "SELEC 1".to_owned(),
        Sql::ShowWarnings => "SHOW WARNINGS".to_owned(),
        Sql::Clear => "SELECT 1 FROM (SELECT 1) AS cleared".to_owned(),
    }
}
