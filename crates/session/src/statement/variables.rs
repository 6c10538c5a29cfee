//! System variables with a meaning of their own: which ones pin, which ones tell something about
//! the session or the backend. Owns their names; values are never looked at.

use super::findings::Findings;
use super::identifier;
use super::keyword::Keyword;
use super::kind::Traits;
use super::names::Names;
use super::pins::PinReason;
use super::reader::Reader;
use super::token::is_among;

/// Whose value is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// No scope is written: the session's.
    Unscoped,
    /// SESSION or LOCAL.
    Session,
    /// GLOBAL, PERSIST or PERSIST_ONLY.
    Global,
}

impl Scope {
    /// The scope that a keyword names.
    pub(super) const fn of(keyword: Keyword) -> Option<Self> {
        match keyword {
            Keyword::Session | Keyword::Local => Some(Self::Session),
            Keyword::Global | Keyword::Persist | Keyword::PersistOnly => Some(Self::Global),
            _ => None,
        }
    }
}

/// What a variable means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Ordinary,
    /// `autocommit`.
    Autocommit,
    /// Characters and collations of the connection, and of the schema.
    Charset,
    /// `last_insert_id` and its synonym.
    LastInsertId,
    /// `insert_id`.
    InsertId,
    /// Feeds expressions.
    Expression,
    /// Counts of warnings and errors.
    Diagnostics,
    /// The id of the connection; also steers replication.
    ConnectionId,
    /// Leads around the front door.
    Address,
    /// Steers replication, until it is set to something else.
    Replication,
    /// Steers replication of the next event or transaction, or of what a replica runs.
    Event,
    /// Cannot be set again for sure: names a table that need not be there any more, or begins what a connection does
    /// for a while.
    Unrepeatable,
    /// Isolation level and access mode.
    Transaction,
    /// Switches of session tracking.
    Tracking,
    Debug,
    Profiling,
    /// The last transaction of the session in the binary log.
    Gtid,
    /// Tells what happened in this session.
    History,
}

macro_rules! variables {
    ($($variable:ident => [$($name:literal)*])*) => {
        const NAMES: &[&str] = &[$($($name,)*)*];
        const VARIABLES: &[Variable] = &[$($(named($name, Variable::$variable),)*)*];
    };
}

/// Takes the name only so that the macro repeats once per name.
const fn named(_name: &str, variable: Variable) -> Variable {
    variable
}

static TABLE: Names<256> = Names::new(NAMES);

variables! {
    Autocommit => ["autocommit"]
    LastInsertId => ["last_insert_id" "identity"]
    InsertId => ["insert_id"]
    Expression => ["timestamp" "rand_seed1" "rand_seed2" "system_versioning_asof"]
    Diagnostics => ["warning_count" "error_count"]
    ConnectionId => ["pseudo_thread_id"]
    Address => ["socket" "port" "hostname" "bind_address" "extra_port" "report_host" "report_port"
        "admin_address" "admin_port" "mysqlx_socket" "mysqlx_port" "mysqlx_bind_address"
        "wsrep_node_address" "wsrep_node_incoming_address" "wsrep_cluster_address"]
    Replication => ["sql_log_bin" "gtid_domain_id" "server_id" "binlog_format" "binlog_row_image"
        "binlog_direct_non_transactional_updates" "skip_replication" "skip_parallel_replication"
        "wsrep_on" "wsrep_osu_method" "wsrep_dirty_reads" "default_master_connection"]
    Event => ["gtid_next" "gtid_next_list" "gtid_seq_no" "pseudo_slave_mode" "pseudo_replica_mode"
        "original_commit_timestamp" "original_server_version" "immediate_server_version"]
    Unrepeatable => ["innodb_ft_user_stopword_table" "rocksdb_bulk_load"]
    Transaction => ["tx_isolation" "tx_read_only" "transaction_isolation"
        "transaction_read_only"]
    Debug => ["debug" "debug_dbug" "debug_sync"]
    Ordinary => ["character_set_server" "character_set_collations" "collation_server"
        "character_set_filesystem" "session_track_gtids"]
    Profiling => ["profiling" "profiling_history_size" "optimizer_trace"]
    Gtid => ["last_gtid"]
    History => ["in_transaction" "proxy_user" "external_user" "statement_id"
        "rand_seed" "tmp_table_count" "password"]
}

impl Variable {
    /// The meaning of the variable with this name, in any case.
    pub(crate) fn of(name: &[u8]) -> Self {
        if let Some(found) = TABLE.find(name).and_then(|place| VARIABLES.get(place)) {
            return *found;
        }
        let starts = |prefix: &[u8]| {
            name.get(..prefix.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        };
        if starts(b"session_track") {
            Self::Tracking
        } else if starts(b"character_set_") || starts(b"collation_") {
            Self::Charset
        } else if starts(b"debug_") {
            Self::Debug
        } else {
            Self::Ordinary
        }
    }

    /// It is carried from backend to backend by setting it to the value that the tracker reported. The others have a
    /// value for one statement only, mean this connection and no other, or are read back; a few only the server sets.
    pub(crate) const fn is_carried(self) -> bool {
        matches!(
            self,
            Self::Ordinary
                | Self::Autocommit
                | Self::Address
                | Self::Replication
                | Self::Unrepeatable
                | Self::Transaction
                | Self::Profiling
        )
    }

    /// Whoever sets it is pinned: it is neither carried nor read back, and not one that the server sets by itself.
    pub(crate) const fn pins_when_set(self) -> bool {
        matches!(
            self,
            Self::InsertId
                | Self::Expression
                | Self::ConnectionId
                | Self::Event
                | Self::Tracking
                | Self::Debug
        )
    }
}

/// Reads the scope and name behind `@@`; `None` if there is no name.
pub(super) fn name<'a>(reader: &mut Reader<'a>) -> Option<(Scope, &'a [u8])> {
    let first = reader.next();
    let mut name = first.identifier()?;
    let mut scope = Scope::Unscoped;
    while reader.accept_mark(b'.') {
        scope = Scope::of(first.keyword()).unwrap_or(scope);
        name = reader.next().identifier()?;
    }
    Some((scope, identifier::plain(name)?))
}

/// Judges a variable that an expression reads, from behind its `@@` on.
pub(super) fn read(reader: &mut Reader<'_>, found: &mut Findings) {
    let Some((_, name)) = name(reader) else {
        found.not_plain();
        return;
    };
    match Variable::of(name) {
        Variable::LastInsertId | Variable::InsertId => found.add(Traits::READS_LAST_INSERT_ID),
        Variable::Diagnostics => found.add(Traits::READS_DIAGNOSTICS),
        Variable::ConnectionId => found.add(Traits::READS_CONNECTION_ID),
        Variable::Address => found.add(Traits::READS_ADDRESS),
        Variable::Gtid => found.add(Traits::READS_GTID),
        Variable::Ordinary
        | Variable::Autocommit
        | Variable::Charset
        | Variable::Unrepeatable
        | Variable::Profiling => {}
        Variable::Tracking => {
            found.add(Traits::READS_TRACKING);
            found.not_plain();
        }
        Variable::Expression
        | Variable::Replication
        | Variable::Event
        | Variable::Transaction
        | Variable::Debug
        | Variable::History => found.not_plain(),
    }
}

/// True of the variables of character sets that are read back: not those of the schema.
fn is_read_back(name: &[u8]) -> bool {
    const READ_BACK: &str = "character_set_client character_set_results character_set_connection \
        collation_connection";
    is_among(name, READ_BACK)
}

/// Whether a variable that a SET of what is tracked assigns says what is tracked; `None` if such a SET cannot be carried.
pub(super) fn in_tracking(name: &[u8]) -> Option<bool> {
    const CARRIED: &str =
        "session_track_schema session_track_state_change session_track_system_variables";
    match Variable::of(name) {
        Variable::Tracking => is_among(name, CARRIED).then_some(true),
        Variable::Charset => is_read_back(name).then_some(false),
        _ if name.contains(&b'.') => None,
        Variable::Ordinary | Variable::Autocommit | Variable::Transaction => Some(false),
        _ => None,
    }
}

/// Judges the assignment of a variable of the session.
pub(super) fn assign(name: &[u8], kind: Variable, found: &mut Findings) {
    found.add(Traits::SETS_VARIABLE);
    match kind {
        Variable::Charset => {
            found.add(Traits::SETS_CHARSET);
            if !is_read_back(name) {
                found.pin(PinReason::UntrackedVariable);
            }
        }
        Variable::LastInsertId => {
            found.add(Traits::SETS_LAST_INSERT_ID);
            found.pin(PinReason::ExpressionVariable);
        }
        Variable::InsertId | Variable::Expression => found.pin(PinReason::ExpressionVariable),
        Variable::ConnectionId | Variable::Event => {
            found.pin(PinReason::ReplicationVariable);
        }
        Variable::Tracking => {
            found.add(Traits::SESSION_TRACKING);
            found.pin(PinReason::SessionTracking);
        }
        Variable::Unrepeatable => found.pin(PinReason::UntrackedVariable),
        Variable::Debug => found.pin(PinReason::Debug),
        Variable::Profiling => found.pin(PinReason::Profiling),
        Variable::Ordinary
        | Variable::Autocommit
        | Variable::Diagnostics
        | Variable::Address
        | Variable::Replication
        | Variable::Transaction
        | Variable::Gtid
        | Variable::History => {}
    }
}
