//! The statements that the database understands: exactly those that the clients and the engine
//! send. Anything else is noticed.

mod parse;

use super::Binding;

pub(crate) use parse::{BETWEEN, COUNT, COUNT_PRIVILEGES, COUNT_VIEWS, LIST_STORED, VIEW, parse};

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sql {
    /// `SELECT 'text'`
    Literal(String),
    /// `SELECT v FROM kv WHERE k=n`
    ReadKey(u32),
    /// `SELECT k,v FROM kv_view WHERE k BETWEEN n AND m`
    ReadRange(u32, u32),
    /// `SELECT SQL_CALC_FOUND_ROWS v FROM kv WHERE k BETWEEN n AND m LIMIT 1`
    Count(u32, u32),
    /// `UPDATE kv SET v=n WHERE k=n`
    WriteKey(u32, i64),
    /// `UPDATE kv SET v=v+1 WHERE k=n`
    Bump(u32),
    /// `INSERT INTO auto(v) VALUES(n)`
    Insert,
    /// `CREATE TEMPORARY TABLE tmp1 (k int)`
    CreateTemporary,
    /// `DROP TEMPORARY TABLE tmp1`
    DropTemporary,
    /// `INSERT INTO tmp1 VALUES(n)`
    InsertTemporary(i64),
    /// `SELECT * FROM tmp1`
    ReadTemporary,
    /// `INSERT INTO leaves VALUES(1)`: its trigger makes `tmp1`, if there is none.
    Leave,
    /// `WITH RECURSIVE …`: which tables and views leave something behind unseen.
    ListStored,
    /// The collations with number, name and character set, and which are defaults.
    ListCollations,
    /// `SELECT COUNT(*) FROM information_schema.TABLES …`: how many of these names are views.
    CountViews(Vec<String>),
    /// `SELECT COUNT(*),CURRENT_USER() FROM information_schema.USER_PRIVILEGES …`: whether others may be killed, and
    /// by whom.
    CountPrivileges,
    /// `SELECT LAST_INSERT_ID()`
    LastInsertId,
    /// `SELECT @@name,…`
    ReadVariables(Vec<String>),
    /// `SELECT @@session.name,… LIMIT 1`: how the front door asks for variables.
    AskVariables(Vec<String>),
    /// `SELECT LOWER(VARIABLE_NAME),… FROM information_schema.SYSTEM_VARIABLES …`: what sessions begin with.
    ListVariables,
    /// `SET name=value,…`; user variables have names with their `@`.
    Set(Vec<Assignment>),
    /// `SET NAMES charset [COLLATE collation]`
    SetNames(String, Option<String>),
    /// `SELECT @name:=n`: session tracking does not tell of it.
    AssignUser(String, i64),
    /// `SELECT @name,…`
    ReadUser(Vec<String>),
    /// How the front door asks for user variables.
    ReadUserBack(Vec<String>),
    /// `USE name`
    Use(String),
    /// `SELECT DATABASE()`
    Schema,
    /// `SELECT GET_LOCK('name',0)`
    GetLock(String),
    /// `SELECT RELEASE_LOCK('name')`
    ReleaseLock(String),
    /// `SELECT SLEEP(0.ms)`
    Sleep(u64),
    /// `BEGIN`, `START TRANSACTION`
    Begin,
    /// `COMMIT`
    Commit,
    /// `ROLLBACK`
    Rollback,
    /// `SELECT REPEAT('x',n)`
    Repeat(usize),
    /// `SELECT v FROM broken`: some rows, then an error.
    BrokenRows,
    /// `SELECT v FROM nosuch`
    NoTable,
    /// `SELEC 1`
    Nonsense,
    /// `SIGNAL SQLSTATE 's' SET MYSQL_ERRNO=n,MESSAGE_TEXT='text'`: how the front door has its own errors asked about.
    Signal(u16),
    /// `SHOW WARNINGS`
    ShowWarnings,
    /// `SELECT 1 FROM (SELECT 1) AS cleared`: reads a table and so empties the warnings.
    Clear,
    /// `SELECT 1 UNION ALL SELECT 1 … LIMIT n`, with as many: how the front door has `FOUND_ROWS()` be n again.
    Found(u64),
    /// `SELECT CAST('1x' AS SIGNED)`: gives a warning.
    Warn,
    /// `SELECT CAST('1' AS SIGNED)`: the same with a value that gives none.
    Harmless,
    /// `SELECT ROW_COUNT()`
    RowCount,
    /// `SELECT FOUND_ROWS()`
    FoundRows,
    /// ``SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS `name` ``: how the front door tells a count.
    ToldCount,
    /// `SET GLOBAL lock_wait_timeout=n`
    SetGlobal(u64),
    /// `KILL QUERY n`
    KillQuery(usize),
    /// `SELECT ?`: what the statement is executed with.
    Echo,
    /// `SELECT RELEASE_ALL_LOCKS()`
    ReleaseAllLocks,
    /// `LOCK TABLES kv READ`
    LockTables,
    /// `UNLOCK TABLES`
    UnlockTables,
    /// `SHOW ERRORS`
    ShowErrors,
    /// `SHOW WARNINGS LIMIT n`
    ShowLimited(usize),
    /// `SHOW COUNT(*) WARNINGS`, `SELECT @@error_count` and their like.
    CountConditions(Asked),
    /// ``SELECT @@last_insert_id AS `name` ``: how the front door tells such a count.
    ToldUnsigned,
    /// `LOAD DATA LOCAL INFILE 'n' INTO TABLE kv`: a file of so many rows.
    LoadLocal(usize),
    /// `PREPARE name FROM 'text'`
    PrepareText(String, Box<Self>),
    /// `EXECUTE name`
    ExecuteText(String),
    /// `DEALLOCATE PREPARE name`
    DeallocateText(String),
    /// `DO 1`: what the front door prepares that is only to be deallocated.
    Do,
    /// COM_STMT_EXECUTE, or EXECUTE of a name that there is.
    Executed(Box<Executed>),
    /// Several in one text.
    Multiple(Vec<Self>),
}

/// How the number of warnings or errors is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    ShowWarnings,
    ShowErrors,
    Warnings,
    Errors,
}

/// A prepared statement at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Executed {
    pub(crate) sql: Sql,
    /// The statement as it was prepared.
    pub(crate) prepared: Sql,
    /// In which state of the session that was.
    pub(crate) binding: Binding,
    /// The id of the statement if its rows stay behind a cursor.
    pub(crate) cursor: Option<u32>,
    /// Its rows are those of the binary protocol.
    pub(crate) binary: bool,
}

impl Sql {
    /// The statement itself, whether it was prepared or not.
    pub(crate) fn inner(&self) -> &Self {
        match self {
            Self::Executed(executed) => &executed.sql,
            sql => sql,
        }
    }

    /// True if running it may change a table.
    pub(crate) fn writes(&self) -> bool {
        match self {
            Self::WriteKey(..)
            | Self::Bump(_)
            | Self::Insert
            | Self::InsertTemporary(_)
            | Self::Leave
            | Self::LoadLocal(_) => true,
            Self::Multiple(parts) => parts.iter().any(Self::writes),
            _ => false,
        }
    }

    /// True if user variables may matter to it: a trigger could read them.
    pub(crate) fn sees_user_variables(&self) -> bool {
        match self {
            Self::Set(assignments) => assignments.iter().any(Assignment::is_of_user),
            Self::AssignUser(..) | Self::ReadUser(_) => true,
            Self::Multiple(_) => true,
            sql => sql.writes(),
        }
    }

    /// True for plain reads, which may run twice.
    pub(crate) fn is_repeatable(&self) -> bool {
        if let Self::Executed(executed) = self {
            let in_one = executed.binary && executed.cursor.is_none();
            return in_one && executed.sql.is_repeatable();
        }
        matches!(
            self,
            Self::Literal(_)
                | Self::Repeat(_)
                | Self::ReadKey(_)
                | Self::ReadVariables(_)
                | Self::ReadTemporary
                | Self::Schema
                | Self::NoTable
                | Self::BrokenRows
                | Self::Warn
                | Self::Harmless
        )
    }

    /// True if it asks about the statement before, and changes nothing of that.
    pub(crate) fn asks_of_last(&self) -> bool {
        self.asks_for_conditions() || matches!(self, Self::RowCount | Self::FoundRows)
    }

    /// The same of warnings and errors.
    pub(crate) fn asks_for_conditions(&self) -> bool {
        matches!(
            self,
            Self::ShowWarnings | Self::ShowErrors | Self::ShowLimited(_) | Self::CountConditions(_)
        )
    }

    /// True if FOUND_ROWS() is afterwards what it was before.
    pub(crate) fn keeps_found_rows(&self) -> bool {
        matches!(
            self,
            Self::ShowWarnings | Self::ShowErrors | Self::ShowLimited(_)
        )
    }

    /// True if many clients prepare it.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(
            self,
            Self::ReadKey(_) | Self::ReadRange(..) | Self::WriteKey(..)
        )
    }

    /// True if what it means depends on the schema in which it was prepared.
    pub(crate) fn is_bound(&self) -> bool {
        self.needs_schema() || *self == Self::Schema
    }

    /// True if it needs the tables of a schema when it is prepared.
    pub(crate) fn needs_schema(&self) -> bool {
        matches!(
            self,
            Self::ReadKey(_)
                | Self::ReadRange(..)
                | Self::Count(..)
                | Self::WriteKey(..)
                | Self::Bump(_)
                | Self::Insert
                | Self::BrokenRows
                | Self::NoTable
        )
    }
}

impl Asked {
    pub(crate) const ALL: [Self; 4] = [
        Self::ShowWarnings,
        Self::ShowErrors,
        Self::Warnings,
        Self::Errors,
    ];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::ShowWarnings => "SHOW COUNT(*) WARNINGS",
            Self::ShowErrors => "SHOW COUNT(*) ERRORS",
            Self::Warnings => "SELECT @@warning_count",
            Self::Errors => "SELECT @@error_count",
        }
    }

    /// Only errors count.
    pub(crate) fn errors(self) -> bool {
        matches!(self, Self::ShowErrors | Self::Errors)
    }
}

/// One variable of a `SET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    /// `None` for DEFAULT.
    pub(crate) value: Option<String>,
}

impl Assignment {
    /// True if it is of a user variable.
    pub(crate) fn is_of_user(&self) -> bool {
        self.name.starts_with('@')
    }
}
