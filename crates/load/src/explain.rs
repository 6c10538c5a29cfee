//! What an error means and what to do about it, in one sentence.

use crate::tally::ErrorNumber;

/// The fix for an error that is met often.
pub(crate) fn explain(number: ErrorNumber) -> Option<&'static str> {
    Some(match number {
        ErrorNumber::Err(number) => return explain_err(number),
        ErrorNumber::Os(errno) => return explain_errno(errno),
        ErrorNumber::ClosedAtLogin => {
            "the target closed connections before their login was complete: it is being stopped, \
             or has a limit of connections that are logging in; lower --connect-concurrency"
        }
    })
}

/// What it means that connections were lost after their login.
pub(crate) const LOST: &str = "the target closed connections that were logged in: it was stopped or killed, ran out of \
     memory, or wait_timeout was over; look into its log";

/// What it means that a unix socket's queue was full.
pub(crate) const FULL: &str = "the listener's queue was full (errno 11), which delays connecting: raise back_log of the \
     target and net.core.somaxconn, or lower --connect-concurrency";

fn explain_err(number: u16) -> Option<&'static str> {
    Some(match number {
        1040 => {
            "the target has reached its limit: raise max_connections, or use fewer --connections"
        }
        1044 | 1045 | 1698 => {
            "the account is refused: check --user, --password and --database, and that the account \
             may come from this address"
        }
        1049 => "the schema is not there: create it, or name another with --database",
        1050 => "the tables are there already: run `myriad load cleanup` first",
        1129 => "too many failed logins from this address: run FLUSH HOSTS on the target",
        1130 => "the account may not come from this address: create it for '%' or use --source",
        1146 => "a table is not there: run `myriad load prepare` with the same --tables",
        1053 => "the target is being stopped, or has lost its database",
        1203 => {
            "the account has reached max_user_connections: raise it, or use fewer --connections"
        }
        1226 => "the account has used up a limit: ALTER USER … WITH, or use fewer --connections",
        1205 | 1213 => "transactions wait for each other: use more rows or fewer connections",
        1390 | 1461 => "too many prepared statements: raise max_prepared_stmt_count",
        _ => return None,
    })
}

fn explain_errno(errno: i32) -> Option<&'static str> {
    Some(match errno {
        11 => FULL,
        12 | 105 => "the kernel has no memory for more sockets: raise net.ipv4.tcp_mem",
        23 | 24 => {
            "too many open files: raise `ulimit -n`, or lower --connect-concurrency over io_uring"
        }
        99 => "no source port is left: give more addresses with --source or --host",
        104 | 32 => "the target reset connections: its queue was full, or it was killed",
        110 => "the target did not answer in time: its queue is full, or a firewall drops packets",
        111 => "nobody listens at the target: it is down, or the address is wrong",
        2 => "the unix socket is not there: the target is down, or the path is wrong",
        _ => return None,
    })
}
