//! What a client can ask, as a value and as a packet.

use session::ASK_FOR_COLLATIONS;
use wire::{Command, PacketWriter, Shape, put_lenenc_bytes};

use crate::database::sql::{
    Assignment, BETWEEN, COUNT, COUNT_PRIVILEGES, COUNT_VIEWS, LIST_STORED, Sql,
};

/// One command of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// COM_QUERY.
    Query(Sql),
    /// COM_INIT_DB.
    InitDb(String),
    /// LOAD DATA LOCAL of a file with these rows.
    Load(Vec<(u32, i64)>),
    /// COM_STMT_PREPARE.
    Prepare(Sql),
    /// COM_STMT_EXECUTE.
    Execute(Execute),
    /// COM_STMT_FETCH: the statement, and how many rows.
    Fetch(u32, u32),
    /// COM_STMT_SEND_LONG_DATA for the last parameter.
    LongData(u32, String),
    /// COM_STMT_RESET.
    ResetStatement(u32),
    /// COM_STMT_CLOSE.
    CloseStatement(u32),
    /// COM_SET_OPTION: several statements in one text.
    SetOption(bool),
    /// COM_PING.
    Ping,
    /// COM_RESET_CONNECTION.
    Reset,
    /// COM_CHANGE_USER, as one that was made for the client.
    ChangeUser(Vec<u8>),
    /// A client is to be ended, or what it runs.
    Kill(Kill),
    /// A command that the front door does not support.
    Unsupported,
    /// COM_QUIT.
    Quit,
    /// Bytes that follow no protocol.
    Garbage(Vec<u8>),
}

/// A prepared statement to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Execute {
    pub(crate) id: u32,
    /// The rows are to stay behind a cursor.
    pub(crate) cursor: bool,
    /// The last parameter; `None` where COM_STMT_SEND_LONG_DATA has brought it.
    pub(crate) value: Option<String>,
}

/// An order to end a client, or what it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kill {
    /// The connection id.
    pub(crate) id: u32,
    /// Whose that is; `None` if it is nobody's.
    pub(crate) victim: Option<usize>,
    pub(crate) how: How,
}

/// The form of a KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// `KILL QUERY n`
    Query,
    /// `KILL CONNECTION n`
    Connection,
    /// `KILL n`
    Bare,
    /// COM_PROCESS_KILL
    Command,
}

impl Request {
    /// Its packet. `tag` goes into the statement's comment.
    pub(crate) fn packet(&self, tag: &str) -> Vec<u8> {
        let (command, argument) = match self {
            // With a comment they would not be recognised as what they are.
            Self::Query(sql) if sql.asks_of_last() => (Command::Query, text(sql)),
            Self::Query(sql) => (Command::Query, format!("{} /* {tag} */", text(sql))),
            Self::InitDb(schema) => (Command::InitDb, schema.clone()),
            Self::Load(rows) => {
                let sql = Sql::LoadLocal(rows.len());
                (Command::Query, format!("{} /* {tag} */", text(&sql)))
            }
            // What differs in its comment only is shared with nobody.
            Self::Prepare(sql) if sql.is_shared() => (Command::StmtPrepare, text(sql)),
            Self::Prepare(sql) => (Command::StmtPrepare, format!("{} /* {tag} */", text(sql))),
            Self::Execute(execute) => {
                return packet(Command::StmtExecute, &execute.argument(tag));
            }
            Self::Fetch(id, rows) => {
                let argument = [id.to_le_bytes(), rows.to_le_bytes()].concat();
                return packet(Command::StmtFetch, &argument);
            }
            Self::LongData(id, data) => {
                let argument = [&id.to_le_bytes()[..], &[1, 0], data.as_bytes()].concat();
                return packet(Command::StmtSendLongData, &argument);
            }
            Self::ResetStatement(id) => return packet(Command::StmtReset, &id.to_le_bytes()),
            Self::CloseStatement(id) => return packet(Command::StmtClose, &id.to_le_bytes()),
            Self::SetOption(on) => return packet(Command::SetOption, &[u8::from(!on), 0]),
            Self::Ping => (Command::Ping, String::new()),
            Self::Reset => (Command::ResetConnection, String::new()),
            Self::ChangeUser(argument) => return packet(Command::ChangeUser, argument),
            Self::Kill(kill) => return kill.packet(tag),
            Self::Unsupported => (Command::CreateDb, String::new()),
            Self::Quit => (Command::Quit, String::new()),
            Self::Garbage(bytes) => return bytes.clone(),
        };
        packet(command, argument.as_bytes())
    }

    /// True for commands that have no response.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(self, Self::LongData(..) | Self::CloseStatement(_))
    }

    /// What its response consists of.
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Self::Prepare(_) => Shape::Prepare,
            Self::Fetch(..) => Shape::Rows,
            Self::SetOption(_) => Shape::Single,
            _ => Shape::Results,
        }
    }

    /// True if the rows of its response are those of the binary protocol.
    pub(crate) fn is_binary(&self) -> bool {
        matches!(self, Self::Execute(_) | Self::Fetch(..))
    }

    /// True if it may pin the session; a text that is not understood may do anything.
    pub(crate) fn pins(&self) -> bool {
        if let Self::Query(Sql::Multiple(parts)) = self {
            return parts.contains(&Sql::Nonsense);
        }
        matches!(
            self,
            Self::Query(
                Sql::LockTables
                    | Sql::ReleaseAllLocks
                    | Sql::CreateTemporary
                    | Sql::Leave
                    | Sql::DropTemporary
                    | Sql::GetLock(_)
                    | Sql::ReleaseLock(_)
                    | Sql::PrepareText(..)
                    | Sql::ExecuteText(_)
                    | Sql::Nonsense
            )
        )
    }

    /// True if it is several statements.
    pub(crate) fn is_multiple(&self) -> bool {
        matches!(self, Self::Query(Sql::Multiple(_)))
    }
}

impl Execute {
    /// Source: "COM_STMT_EXECUTE" in the MySQL manual.
    fn argument(&self, tag: &str) -> Vec<u8> {
        const VAR_STRING: [u8; 2] = [0xfd, 0];
        let mut argument = self.id.to_le_bytes().to_vec();
        argument.push(u8::from(self.cursor));
        argument.extend_from_slice(&1_u32.to_le_bytes());
        argument.extend_from_slice(&[0, 1]);
        for _ in 0..crate::database::PARAMETERS {
            argument.extend_from_slice(&VAR_STRING);
        }
        put_lenenc_bytes(&mut argument, format!("/* {tag} */").as_bytes());
        if let Some(value) = &self.value {
            put_lenenc_bytes(&mut argument, value.as_bytes());
        }
        argument
    }
}

impl Kill {
    /// True if the client itself may stay.
    pub(crate) fn is_of_query(&self) -> bool {
        self.how == How::Query
    }

    fn packet(&self, tag: &str) -> Vec<u8> {
        let words = match self.how {
            How::Query => "KILL QUERY",
            How::Connection => "KILL CONNECTION",
            How::Bare => "kill",
            How::Command => return packet(Command::ProcessKill, &self.id.to_le_bytes()),
        };
        packet(
            Command::Query,
            format!("{words} {} /* {tag} */", self.id).as_bytes(),
        )
    }
}

fn packet(command: Command, argument: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut packet = PacketWriter::begin(&mut out, 0);
    packet.payload().push(command as u8);
    packet.payload().extend_from_slice(argument);
    packet.finish();
    out
}

fn text(sql: &Sql) -> String {
    match sql {
        Sql::Literal(text) => format!("SELECT '{text}'"),
        Sql::ReadKey(key) => format!("SELECT v FROM kv WHERE k={key}"),
        Sql::ReadRange(a, z) => format!("SELECT k,v FROM kv_view WHERE k BETWEEN {a} AND {z}"),
        Sql::Count(a, z) => format!("SELECT {COUNT}{a} AND {z} LIMIT 1"),
        Sql::WriteKey(key, value) => format!("UPDATE kv SET v={value} WHERE k={key}"),
        Sql::Bump(key) => format!("UPDATE kv SET v=v+1 WHERE k={key}"),
        Sql::Insert => "INSERT INTO auto(v) VALUES(5)".to_owned(),
        Sql::CreateTemporary => "CREATE TEMPORARY TABLE tmp1 (k int)".to_owned(),
        Sql::DropTemporary => "DROP TEMPORARY TABLE tmp1".to_owned(),
        Sql::Leave => "INSERT INTO leaves VALUES(1)".to_owned(),
        Sql::InsertTemporary(value) => format!("INSERT INTO tmp1 VALUES({value})"),
        Sql::ReadTemporary => "SELECT * FROM tmp1".to_owned(),
        Sql::LastInsertId => "SELECT LAST_INSERT_ID()".to_owned(),
        Sql::ReadVariables(names) => format!("SELECT @@{}", names.join(",@@")),
        Sql::AskVariables(names) => format!("SELECT @@session.{}", names.join(",@@session.")),
        Sql::ListVariables => "SELECT LOWER(VARIABLE_NAME)".to_owned(),
        Sql::Set(assignments) => set(assignments),
        Sql::SetNames(charset, None) => format!("SET NAMES {charset}"),
        Sql::SetNames(charset, Some(name)) => format!("SET NAMES {charset} COLLATE {name}"),
        Sql::AssignUser(name, value) => format!("SELECT {name}:={value}"),
        Sql::ReadUser(names) | Sql::ReadUserBack(names) => format!("SELECT {}", names.join(",")),
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
        Sql::CountPrivileges => format!("SELECT {COUNT_PRIVILEGES}"),
        Sql::ListCollations => String::from_utf8_lossy(ASK_FOR_COLLATIONS).into_owned(),
        Sql::ListStored => LIST_STORED.to_owned(),
        Sql::CountViews(names) => format!("{COUNT_VIEWS}{}')", names.join("','")),
        Sql::Clear => "SELECT 1 FROM (SELECT 1) AS cleared".to_owned(),
        Sql::Found(rows) => found(*rows),
        Sql::Signal(code) => {
            format!("SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO={code},MESSAGE_TEXT='told'")
        }
        Sql::Warn => "SELECT CAST('1x' AS SIGNED)".to_owned(),
        Sql::Harmless => "SELECT CAST('1' AS SIGNED)".to_owned(),
        Sql::RowCount => "SELECT ROW_COUNT()".to_owned(),
        Sql::FoundRows => "SELECT FOUND_ROWS()".to_owned(),
        Sql::ToldCount => "SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `told`".to_owned(),
        Sql::SetGlobal(value) => format!("SET GLOBAL lock_wait_timeout={value}"),
        Sql::KillQuery(id) => format!("KILL QUERY {id}"),
        Sql::Echo => "SELECT ?".to_owned(),
        Sql::ReleaseAllLocks => "SELECT RELEASE_ALL_LOCKS()".to_owned(),
        Sql::LockTables => "LOCK TABLES kv READ".to_owned(),
        Sql::UnlockTables => "UNLOCK TABLES".to_owned(),
        Sql::ShowErrors => "SHOW ERRORS".to_owned(),
        Sql::ShowLimited(rows) => format!("SHOW WARNINGS LIMIT {rows}"),
        Sql::CountConditions(asked) => asked.text().to_owned(),
        Sql::ToldUnsigned => "SELECT @@last_insert_id AS `told`".to_owned(),
        Sql::LoadLocal(rows) => format!("LOAD DATA LOCAL INFILE '{rows}' INTO TABLE kv"),
        Sql::PrepareText(name, inner) => prepare(name, &text(inner)),
        Sql::ExecuteText(name) => format!("EXECUTE {name}"),
        Sql::DeallocateText(name) => format!("DEALLOCATE PREPARE {name}"),
        Sql::Do => "DO 1".to_owned(),
        Sql::Executed(executed) => text(&executed.sql),
        Sql::Multiple(parts) => {
            let parts: Vec<_> = parts.iter().map(text).collect();
            parts.join(BETWEEN)
        }
    }
}

/// What finds so many rows.
fn found(rows: u64) -> String {
    let more = " UNION ALL SELECT 1".repeat(rows.saturating_sub(1) as usize);
    format!("SELECT 1{more} LIMIT {rows}")
}

fn prepare(name: &str, text: &str) -> String {
    format!("PREPARE {name} FROM '{}'", text.replace('\'', "''"))
}

fn set(assignments: &[Assignment]) -> String {
    let parts: Vec<_> = assignments.iter().map(assigned).collect();
    format!("SET {}", parts.join(","))
}

fn assigned(assignment: &Assignment) -> String {
    let name = &assignment.name;
    match assignment.value.as_deref() {
        None => format!("{name}=DEFAULT"),
        Some(crate::catalog::NULL) => format!("{name}=NULL"),
        Some(value) if value.parse::<f64>().is_ok() => format!("{name}={value}"),
        Some(value) => format!("SESSION {name}='{value}'"),
    }
}
