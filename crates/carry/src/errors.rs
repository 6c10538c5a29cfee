//! Texts and numbers of the errors that Myriad itself tells a client. Where the server has an error
//! for the case, it is the server's, word for word (rule 16).

use std::fmt::Display;

use events::{Peer, Span};
use session::statement::{Flavor, SyntaxError};
use wire::{Command, ErrPacket, code};

/// How the text begins that tells of a wrong account or password.
const DENIED: &str = "Access denied for user";

/// An error for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    code: u16,
    sql_state: [u8; 5],
    message: String,
}

impl ClientError {
    /// Its packet.
    pub fn packet(&self) -> ErrPacket<'_> {
        let (sql_state, message) = (&self.sql_state, self.message.as_bytes());
        ErrPacket {
            code: self.code,
            sql_state,
            message,
        }
    }

    /// What a backend told.
    pub fn told(error: &ErrPacket<'_>) -> Self {
        Self {
            code: error.code,
            sql_state: error.sql_state.try_into().unwrap_or(*b"HY000"),
            message: String::from_utf8_lossy(error.message).into_owned(),
        }
    }

    /// An error with this number, SQLSTATE and text.
    pub fn new(code: u16, sql_state: &[u8; 5], message: impl Into<String>) -> Self {
        Self {
            code,
            sql_state: *sql_state,
            message: message.into(),
        }
    }

    /// Above `max_connections`.
    pub fn too_many_connections() -> Self {
        Self::new(code::TOO_MANY_CONNECTIONS, b"08004", "Too many connections")
    }

    /// Too many handshakes in a row have broken there (`max_connect_errors`).
    pub fn host_blocked(peer: Peer, flavor: Flavor) -> Self {
        let host = host(peer, true);
        let command = match flavor {
            Flavor::MariaDb => "mariadb-admin",
            Flavor::MySql => "mysqladmin",
        };
        let text = format!(
            "Host '{host}' is blocked because of many connection errors; unblock with \
             '{command} flush-hosts'"
        );
        Self::new(code::HOST_IS_BLOCKED, b"HY000", text)
    }

    /// A PROXY header from somebody who is not believed, in MariaDB's words.
    pub fn proxy_header_refused(from: &str) -> Self {
        let text = format!("Proxy header is not accepted from {from}");
        Self::new(code::HOST_NOT_PRIVILEGED, b"HY000", text)
    }

    /// A PROXY header that is none, in MariaDB's words.
    pub fn proxy_header_unread() -> Self {
        Self::new(
            code::UNKNOWN_ERROR,
            b"HY000",
            "Failed to parse proxy header",
        )
    }

    /// Whether it says that the account or its password is wrong, and not that the backend would take the
    /// client for somebody else.
    pub fn is_access_denied(&self) -> bool {
        let codes = [code::ACCESS_DENIED, code::ACCESS_DENIED_NO_PASSWORD];
        codes.contains(&self.code) && self.message.starts_with(DENIED)
    }

    /// The client was silent for too long.
    pub fn inactivity() -> Self {
        let text = "The client was disconnected by the server because of inactivity. See wait_timeout \
                    and interactive_timeout for configuring this behavior.";
        Self::new(code::INACTIVITY, b"HY000", text)
    }

    /// The client sent no more of its command for `client_read_timeout`.
    pub fn read_timeout() -> Self {
        let text = "Got timeout reading communication packets";
        Self::new(code::READ_TIMEOUT, b"08S01", text)
    }

    /// There is no memory for the command.
    pub fn out_of_command_memory(total: usize) -> Self {
        let text = format!(
            "there is no memory for this command: those under way fill what all accounts share, or this one may have \
             of the {} MiB (command_buffer_total); it was not run",
            total >> 20
        );
        Self::new(code::OUT_OF_RESOURCES, b"HY000", text)
    }

    /// The handshake response cannot be read.
    pub fn bad_handshake() -> Self {
        Self::new(code::BAD_HANDSHAKE, b"08S01", "Bad handshake")
    }

    /// A login with a character set in which no statement can be read.
    pub fn unreadable_charset(charset: &[u8]) -> Self {
        let charset = String::from_utf8_lossy(charset);
        let text =
            format!("Variable 'character_set_client' can't be set to the value of '{charset}'");
        Self::new(code::WRONG_VALUE_FOR_VAR, b"42000", text)
    }

    /// There is no locked memory for what a client has proved to know.
    pub fn not_remembered(refused: &impl Display) -> Self {
        let text = format!("What proves this account cannot be kept in Myriad: {refused}");
        Self::new(code::OUT_OF_RESOURCES, b"HY000", text)
    }

    /// No such account, or not this password.
    pub fn access_denied(user: &[u8], host: &str, using_password: bool) -> Self {
        let user = String::from_utf8_lossy(user);
        let using = if using_password { "YES" } else { "NO" };
        let text = format!("{DENIED} '{user}'@'{host}' (using password: {using})");
        Self::new(code::ACCESS_DENIED, b"28000", text)
    }

    /// Access is denied whatever the password, in the servers' words.
    pub fn access_denied_whatever(user: &[u8], host: &str) -> Self {
        let user = String::from_utf8_lossy(user);
        let text = format!("{DENIED} '{user}'@'{host}'");
        Self::new(code::ACCESS_DENIED_NO_PASSWORD, b"28000", text)
    }

    /// A login that comes neither over TLS nor over a unix socket.
    pub fn secure_transport_required() -> Self {
        let text = "Connections using insecure transport are prohibited while \
                    --require_secure_transport=ON.";
        Self::new(code::SECURE_TRANSPORT_REQUIRED, b"HY000", text)
    }

    /// `ACCOUNT LOCK`.
    pub fn account_locked(user: &[u8], host: &str, flavor: Flavor) -> Self {
        match flavor {
            Flavor::MariaDb => Self::new(
                code::ACCOUNT_LOCKED_MARIADB,
                b"HY000",
                "Access denied, this account is locked",
            ),
            Flavor::MySql => {
                let user = String::from_utf8_lossy(user);
                let text = format!("Access denied for user '{user}'@'{host}'. Account is locked.");
                Self::new(code::ACCOUNT_LOCKED, b"HY000", text)
            }
        }
    }

    /// The password has expired.
    pub fn password_expired(flavor: Flavor) -> Self {
        let text = "Your password has expired. To log in you must change it using a client that \
                    supports expired passwords";
        let text = match flavor {
            Flavor::MariaDb => text.to_owned(),
            Flavor::MySql => format!("{text}."),
        };
        Self::new(code::MUST_CHANGE_PASSWORD, b"HY000", text)
    }

    /// The password has expired, and must be set before anything else.
    pub fn must_set_password(flavor: Flavor) -> Self {
        let text = match flavor {
            Flavor::MariaDb => "You must SET PASSWORD before executing this statement",
            Flavor::MySql => {
                "You must reset your password using ALTER USER statement before executing this \
                 statement."
            }
        };
        Self::new(code::MUST_SET_PASSWORD, b"HY000", text)
    }

    /// The account's plugin is one that cannot be checked here.
    pub fn unchecked_plugin(plugin: &str) -> Self {
        let text = format!(
            "this account logs in with '{plugin}', which Myriad can neither check nor hand on; \
             connect to the server itself, or give the account another plugin"
        );
        Self::new(code::UNSUPPORTED_AUTH, b"08004", text)
    }

    /// The client cannot be asked for another plugin than it named.
    pub fn unknown_auth_switch() -> Self {
        let text = "Client does not support authentication protocol requested by server; consider \
                    upgrading MySQL client";
        Self::new(code::UNSUPPORTED_AUTH, b"08004", text)
    }

    /// The plugin of a relayed login would show the password to who listens, or expects the same of both sides.
    pub fn unfit_channel(plugin: &[u8], needs: &str) -> Self {
        let plugin = String::from_utf8_lossy(plugin);
        let text = format!("the plugin '{plugin}' of this account can be handed on only {needs}");
        Self::new(code::UNSUPPORTED_AUTH, b"08004", text)
    }

    /// The server has let the client in as another account than it asked for (a proxy user).
    pub fn relayed_as_another(user: &[u8], current: Option<&[u8]>) -> Self {
        let user = String::from_utf8_lossy(user);
        let current = String::from_utf8_lossy(current.unwrap_or_default());
        let text = format!(
            "Access denied: the server lets '{user}' in as '{current}', which is another account; \
             Myriad does not follow that"
        );
        Self::new(code::ACCESS_DENIED, b"28000", text)
    }

    /// An account without a name is nobody in particular: its sessions must not share backend connections.
    pub fn nobody_relayed(account: &impl Display) -> Self {
        let text = format!(
            "the server has to check this login itself, which Myriad does only for accounts with a \
             name; {account} has none"
        );
        Self::new(code::ACCESS_DENIED, b"28000", text)
    }

    /// The last backend connection of an account is gone whose logins the server decides.
    pub fn relayed_lost() -> Self {
        let text = "Server shutdown in progress: no backend connection of this account is left, and \
                    only a login brings another; connect again";
        Self::new(code::SERVER_SHUTDOWN, b"08S01", text)
    }

    /// COM_SET_OPTION of a session that has no backend connections with that option, and could get none.
    pub fn option_of_relayed() -> Self {
        let text = "COM_SET_OPTION is not supported by Myriad for accounts whose logins it hands on to \
                    the server; ask for CLIENT_MULTI_STATEMENTS when connecting";
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// The server takes Myriad for another account than the client is (rule 23).
    pub fn another_behind(account: &impl Display, behind: Option<&impl Display>) -> Self {
        let behind = behind.map_or("nobody".to_owned(), ToString::to_string);
        let text = format!(
            "Access denied: the client is {account}, but behind Myriad, whose address the server \
             sees, it would be {behind}; create the account for a host that matches both"
        );
        Self::new(code::ACCESS_DENIED, b"28000", text)
    }

    /// Which accounts there are is not known: the server could not be asked.
    pub fn accounts_unread() -> Self {
        let text = "Myriad cannot read the server's accounts; its log says why";
        Self::new(code::UNKNOWN_ERROR, b"HY000", text)
    }

    /// A command that is cut off, or query attributes that the server would refuse.
    pub fn malformed_packet(flavor: Flavor) -> Self {
        let text = match flavor {
            Flavor::MySql => "Malformed communication packet.",
            Flavor::MariaDb => "Malformed communication packet",
        };
        Self::new(code::MALFORMED_PACKET, b"HY000", text)
    }

    /// A command that is not supported.
    pub fn unknown_command() -> Self {
        Self::new(code::UNKNOWN_COMMAND, b"08S01", "Unknown command")
    }

    /// A command that is not passed on, and why.
    pub fn refused(command: Command) -> Self {
        let why = match command {
            Command::BinlogDump
            | Command::BinlogDumpGtid
            | Command::TableDump
            | Command::RegisterSlave => "replicas connect to the server itself",
            Command::Clone => "clone from the server itself",
            Command::Shutdown => "use the statement SHUTDOWN",
            _ => return Self::unknown_command(),
        };
        let text = format!("{command:?} is not supported by Myriad; {why}");
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// A command names a prepared statement that the session does not have.
    pub fn unknown_statement(id: u32, command: Command, flavor: Flavor) -> Self {
        let function = match command {
            _ if flavor == Flavor::MySql => "mysql_stmt_precheck",
            Command::StmtFetch => "mysqld_stmt_fetch",
            Command::StmtReset => "mysqld_stmt_reset",
            _ => "mysqld_stmt_execute",
        };
        let text = format!("Unknown prepared statement handler ({id}) given to {function}");
        Self::new(code::UNKNOWN_STMT_HANDLER, b"HY000", text)
    }

    /// A COM_STMT_BULK_EXECUTE of a client that has not said in its login that it sends such.
    pub fn no_bulk_operations() -> Self {
        let text = "This command is not supported in the prepared statement protocol yet";
        Self::new(code::UNSUPPORTED_PREPARED, b"HY000", text)
    }

    /// A fetch from a prepared statement that has no open cursor.
    pub fn no_open_cursor(id: u32, flavor: Flavor) -> Self {
        let end = match flavor {
            Flavor::MySql => ".",
            Flavor::MariaDb => "",
        };
        let text = format!("The statement ({id}) has no open cursor{end}");
        Self::new(code::NO_OPEN_CURSOR, b"HY000", text)
    }

    /// One more prepared statement would be too many; the session has `count`.
    pub fn too_many_statements(count: usize) -> Self {
        let text = format!(
            "Can't create more than max_prepared_stmt_count statements (current value: {count})"
        );
        Self::new(code::TOO_MANY_STATEMENTS, b"42000", text)
    }

    /// COM_STMT_SEND_LONG_DATA brought more than may be kept.
    pub fn too_much_long_data() -> Self {
        let text = "Parameter of prepared statement which is set through mysql_send_long_data() \
                    is longer than 'max_allowed_packet' bytes";
        Self::new(code::UNKNOWN_ERROR, b"HY000", text)
    }

    /// Long data came for a parameter that the prepared statement does not have.
    pub fn no_such_parameter(flavor: Flavor) -> Self {
        let text = match flavor {
            Flavor::MySql => "Incorrect arguments to mysql_stmt_precheck",
            Flavor::MariaDb => "Incorrect arguments to mysqld_stmt_send_long_data",
        };
        Self::new(code::WRONG_ARGUMENTS, b"HY000", text)
    }

    /// A command is longer than `max_allowed_packet`.
    pub fn packet_too_large() -> Self {
        let text = "Got a packet bigger than 'max_allowed_packet' bytes";
        Self::new(code::PACKET_TOO_LARGE, b"08S01", text)
    }

    /// A packet has the wrong sequence id.
    pub fn packets_out_of_order() -> Self {
        Self::new(
            code::PACKETS_OUT_OF_ORDER,
            b"08S01",
            "Got packets out of order",
        )
    }

    /// The statement waited too long. `why`: what is known about the backend.
    pub fn queue_timeout(waited: Span, why: &str) -> Self {
        let text = format!(
            "no backend connection became free within {waited:?} (queue_timeout); {why}; \
             the statement was not run"
        );
        Self::new(code::TOO_MANY_USER_CONNECTIONS, b"42000", text)
    }

    /// The server behind is one on which nobody can be served.
    pub fn server_unfit(why: &str) -> Self {
        let text = format!("Myriad cannot use the database behind it: {why}");
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// The backend was lost while it worked for the client, or the front door is closing.
    pub fn server_shutdown() -> Self {
        Self::new(
            code::SERVER_SHUTDOWN,
            b"08S01",
            "Server shutdown in progress",
        )
    }

    /// A statement would pin the session, and `max_pinned` are pinned already.
    pub fn too_many_pinned(max: usize) -> Self {
        let text = format!(
            "the statement would pin this session to a backend connection, and {max} sessions are \
             pinned already (max_pinned, max_pinned_per_account); it was not run"
        );
        Self::new(code::USER_LIMIT_REACHED, b"42000", text)
    }

    /// LASTVAL() outside of the transaction that drew the value.
    pub fn last_value_elsewhere() -> Self {
        let text = "LASTVAL() is only answered in the transaction that drew the value; call it there, or use the \
                    value that NEXTVAL() returned";
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// GET DIAGNOSTICS about a statement outside of the transaction.
    pub fn diagnostics_elsewhere() -> Self {
        let text = "GET DIAGNOSTICS needs the transaction of the statement that it is about; start one, or use \
                    SHOW WARNINGS";
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// KILL QUERY, while the statement waited.
    pub fn interrupted() -> Self {
        let text = "Query execution was interrupted";
        Self::new(code::QUERY_INTERRUPTED, b"70100", text)
    }

    /// A connection ends itself.
    pub fn killed(flavor: Flavor) -> Self {
        match flavor {
            Flavor::MariaDb => {
                let text = "Connection was killed";
                Self::new(code::CONNECTION_KILLED, b"70100", text)
            }
            Flavor::MySql => Self::interrupted(),
        }
    }

    /// A statement ran for longer than its account's `max_statement_time`.
    pub fn statement_timeout(flavor: Flavor) -> Self {
        match flavor {
            Flavor::MariaDb => Self::new(
                code::STATEMENT_TIMEOUT,
                b"70100",
                "Query execution was interrupted (max_statement_time exceeded)",
            ),
            Flavor::MySql => Self::new(
                code::QUERY_TIMEOUT,
                b"HY000",
                "Query execution was interrupted, maximum statement execution time exceeded",
            ),
        }
    }

    /// What is ours in a statement about accounts is wrong.
    pub fn syntax(error: &SyntaxError, flavor: Flavor) -> Self {
        let message = String::from_utf8_lossy(&error.message(flavor)).into_owned();
        Self::new(code::PARSE_ERROR, b"42000", message)
    }

    /// Limits in a prepared statement, or in one of several.
    pub fn limits_not_alone() -> Self {
        let text = "limits of accounts are set only by a statement that is executed at once and \
                    alone in its text, not by a prepared one";
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// Limits for an account whose name is no UTF-8.
    pub fn limits_unreadable_name() -> Self {
        let text = "the name of an account with limits must be UTF-8; nothing was changed";
        Self::new(code::NOT_SUPPORTED_YET, b"42000", text)
    }

    /// Limits set by an account that has not the right to.
    pub fn may_not_create_users() -> Self {
        let text = "Access denied; you need (at least one of) the CREATE USER privilege(s) for \
                    this operation";
        Self::new(code::PRIVILEGE_DENIED, b"42000", text)
    }

    /// The server accepted its part; the limits could not be kept.
    pub fn limits_not_kept(why: &str) -> Self {
        let text = format!("the server did its part, but the limits were not set: {why}");
        Self::new(code::UNKNOWN_ERROR, b"HY000", text)
    }

    /// KILL of a client that is not there.
    pub fn no_such_thread(id: u32) -> Self {
        let text = format!("Unknown thread id: {id}");
        Self::new(code::NO_SUCH_THREAD, b"HY000", text)
    }

    /// KILL of another account's client.
    pub fn not_owner(id: u32) -> Self {
        let text = format!("You are not owner of thread {id}");
        Self::new(code::NOT_OWNER, b"HY000", text)
    }

    /// The backend asks for an authentication plugin that Myriad cannot answer.
    pub fn unsupported_plugin(plugin: &[u8]) -> Self {
        let plugin = String::from_utf8_lossy(plugin);
        let text = format!(
            "the backend wants plugin '{plugin}' for this account, which Myriad cannot answer; \
             use caching_sha2_password or mysql_native_password"
        );
        Self::new(code::UNSUPPORTED_AUTH, b"08004", text)
    }
}

/// The host part as the server shows it. `named`: a loopback address has a name there.
pub fn host(peer: Peer, named: bool) -> String {
    match peer {
        Peer::Unix => "localhost".into(),
        Peer::Tcp(address) => match address.ip().to_canonical() {
            ip if named && ip.is_loopback() => "localhost".into(),
            ip => ip.to_string(),
        },
    }
}
