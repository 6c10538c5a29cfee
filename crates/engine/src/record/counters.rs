//! The counters of a worker, which only ever grow. Everything else that is shown is the length of a list.

use events::Span;
use session::statement::PinReason;

/// Why a client connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum DisconnectReason {
    /// COM_QUIT.
    Quit,
    /// The client closed the connection without COM_QUIT.
    ClientClosed,
    /// The connection failed.
    ClientFailed,
    /// Above `max_connections`.
    TooManyConnections,
    /// Above `max_logins`.
    TooManyLogins,
    /// Too many handshakes in a row have broken at its address (`max_connect_errors`).
    HostBlocked,
    /// The connection phase took too long.
    LoginTimeout,
    /// Wrong account or password, or a schema that is not there.
    LoginRefused,
    /// What the client sent does not follow the protocol.
    Malformed,
    /// A command longer than `max_allowed_packet`.
    PacketTooLarge,
    /// Silent for `wait_timeout`.
    WaitTimeout,
    /// Silent for `idle_transaction_timeout` while it held a backend.
    IdleTransactionTimeout,
    /// It took no byte of its answer for `client_write_timeout`.
    WriteTimeout,
    /// It took its answer slowly, held a backend so, and another account waited, beside which its account held more than
    /// its share.
    SlowReader,
    /// It sent no more of its command for `client_read_timeout`.
    ReadTimeout,
    /// There was no memory for its command (`command_buffer_total`).
    CommandMemory,
    /// Its backend was lost.
    BackendLost,
    /// The front door drains.
    Drain,
    /// Somebody killed it.
    Killed,
    /// An event that concerned it has panicked: a defect.
    Defect,
}

impl DisconnectReason {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Quit,
        Self::ClientClosed,
        Self::ClientFailed,
        Self::TooManyConnections,
        Self::TooManyLogins,
        Self::HostBlocked,
        Self::LoginTimeout,
        Self::LoginRefused,
        Self::Malformed,
        Self::PacketTooLarge,
        Self::WaitTimeout,
        Self::IdleTransactionTimeout,
        Self::WriteTimeout,
        Self::SlowReader,
        Self::ReadTimeout,
        Self::CommandMemory,
        Self::BackendLost,
        Self::Drain,
        Self::Killed,
        Self::Defect,
    ];

    /// The label in `/metrics` and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quit => "quit",
            Self::ClientClosed => "client_closed",
            Self::ClientFailed => "client_failed",
            Self::TooManyConnections => "too_many_connections",
            Self::TooManyLogins => "too_many_logins",
            Self::HostBlocked => "host_blocked",
            Self::LoginTimeout => "login_timeout",
            Self::LoginRefused => "login_refused",
            Self::Malformed => "malformed",
            Self::PacketTooLarge => "packet_too_large",
            Self::WaitTimeout => "wait_timeout",
            Self::IdleTransactionTimeout => "idle_transaction_timeout",
            Self::WriteTimeout => "write_timeout",
            Self::SlowReader => "slow_reader",
            Self::ReadTimeout => "read_timeout",
            Self::CommandMemory => "command_memory",
            Self::BackendLost => "backend_lost",
            Self::Drain => "drain",
            Self::Killed => "killed",
            Self::Defect => "defect",
        }
    }
}

/// Times in buckets that double: bucket n counts those below 2^n µs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How many fell into each bucket.
    pub buckets: [u64; 32],
    /// All of them added up, in µs.
    pub sum_us: u64,
}

impl Histogram {
    /// Counts one.
    pub fn record(&mut self, span: Span) {
        let bits = u64::BITS - span.as_us().leading_zeros();
        self.buckets[(bits as usize).min(31)] += 1;
        self.sum_us += span.as_us();
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += more;
        }
        self.sum_us += other.sum_us;
    }
}

macro_rules! counters {
    ($(#[doc = $doc:literal] $name:ident,)*) => {
        /// What happened since the start, on one worker or on all.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $(#[doc = $doc] pub $name: u64,)*
            /// Client connections that ended, by [`DisconnectReason`].
            pub disconnects: [u64; DisconnectReason::ALL.len()],
            /// Sessions that became pinned, by [`PinReason`].
            pub pins: [u64; 32],
            /// How long statements waited for a backend before they were sent.
            pub queue_wait: Histogram,
        }

        impl Counters {
            /// Name, meaning and value of each plain counter.
            pub fn each(&self) -> Vec<(&'static str, &'static str, u64)> {
                vec![$((stringify!($name), $doc.trim_ascii(), self.$name),)*]
            }

            /// Adds another worker's counts.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                for (count, more) in self.disconnects.iter_mut().zip(other.disconnects) {
                    *count += more;
                }
                for (count, more) in self.pins.iter_mut().zip(other.pins) {
                    *count += more;
                }
                self.queue_wait.add(&other.queue_wait);
            }
        }
    };
}

counters! {
    /// Client connections accepted.
    client_connections,
    /// Logins that succeeded.
    logins,
    /// Logins that were refused.
    logins_refused,
    /// Those of them for which the account or its password was wrong.
    logins_denied,
    /// Those of these that were told later, because the address had been wrong too often.
    denials_delayed,
    /// Those of these that were told earlier than they should, because too many waited.
    denials_early,
    /// Clients that hung up in the middle of the login, sent nonsense or were silent instead of logging in.
    handshakes_broken,
    /// Clients that hung up without having sent anything, as health checks do.
    client_probes,
    /// Clients for which a load balancer said who they are (PROXY protocol).
    proxy_headers,
    /// PROXY headers from addresses that are not believed, or that cannot be read.
    proxy_headers_refused,
    /// Logins for which the client was asked for another authentication plugin.
    auth_switches,
    /// Logins that the database decided, its challenges being handed on, and that succeeded.
    relayed_logins,
    /// Backend connections that such logins brought and that were closed, because the account had enough.
    relayed_surplus,
    /// Connections of clients that began to speak TLS.
    tls_handshakes,
    /// Logins for which the client was asked for the password itself (caching_sha2_password).
    full_authentications,
    /// Logins refused because what they proved to know could not be kept in locked memory.
    secrets_refused,
    /// Times that the database was to be asked for its accounts: by a login that what is known would refuse, or by a statement about accounts.
    accounts_asked,
    /// Commands received from clients.
    commands,
    /// Statements (COM_QUERY, and executions of prepared ones) sent to backends.
    statements,
    /// Commands that Myriad answered itself.
    local_answers,
    /// Statements answered with ERR by the backend.
    statement_errors,
    /// Statements sent in lanes, behind those of other sessions if there were any.
    lane_statements,
    /// Those of them that went behind another.
    lane_followers,
    /// Statements sent again elsewhere, because the one before them in their lane took too long, said too much or was killed.
    lane_moves,
    /// Statements that ran again because their warnings were asked for after they had been in a lane.
    lane_repeats,
    /// Lanes that were given up because a statement took longer than lane_stall.
    lane_stalls,
    /// Statements that had to wait for a backend.
    queued,
    /// Statements that left the queue because their client hung up; they never ran.
    abandoned,
    /// Statements that left the queue after queue_timeout; they never ran.
    queue_timeouts,
    /// GET_LOCK statements that waited here, without a backend, for another session of the front door to release the lock.
    lock_waits,
    /// Those of them that were answered with 0 here, because their time was over.
    lock_waits_timed_out,
    /// Times that all backend connections were held by silent sessions while statements waited.
    standstills,
    /// Statements ended because they ran for longer than max_statement_time.
    statement_timeouts,
    /// Restores sent to backends.
    restores,
    /// Restores that the backend refused.
    restore_errors,
    /// Values read back from backends before detaching.
    read_backs,
    /// Questions about a session or the server that the backend refused: what they ask for is taken for unknown.
    questions_refused,
    /// Backend connections opened.
    backend_connections,
    /// Backend connections that could not be opened or not be logged in.
    backend_connect_errors,
    /// Backend logins for which the server had to see the password itself (caching_sha2_password).
    backend_full_authentications,
    /// Backend connections lost.
    backend_losses,
    /// Those of them that Myriad closed because the server sent a packet that no command had asked for.
    backend_unasked_packets,
    /// Backend connections cleaned with COM_RESET_CONNECTION.
    backend_resets,
    /// Idle backend connections closed so that somebody else could have the slot.
    slots_lent,
    /// KILL commands for clients.
    kills,
    /// Running statements that could not be ended, because no connection for KILL could be had.
    kill_errors,
    /// Statements ended because their client hung up while they ran (on_disconnect).
    orphans_killed,
    /// Prepared statements that a backend had to prepare first, because a session executed them there.
    prepares_on_demand,
    /// Those of them that the backend refused.
    prepare_errors,
    /// Prepared statements closed on a backend to make room for others (max_prepared_statements).
    prepares_evicted,
    /// COM_STMT_PREPAREs refused, because the session or the front door has too many.
    prepares_refused,
    /// COM_STMT_SEND_LONG_DATAs that were more than may be kept.
    long_data_refused,
    /// Plain reads sent once more, because their backend was lost before it answered.
    retries,
    /// Statements that were not run, because they would have pinned one session too many.
    pins_rejected,
    /// Sessions for which a reason to be pinned ended before they did.
    pins_ended,
    /// Times that a session was to keep more and did without, or kept its backend, because sessions keep too much (session_buffer_total).
    session_memory_refused,
    /// Lists of conditions of which only the first 256 KiB were kept for SHOW WARNINGS.
    conditions_cut,
    /// Commands that were too long to be classified by a worker, which a thread of its own has done.
    long_commands,
    /// Commands that were not read on until there was memory for them (command_buffer_total).
    commands_deferred,
    /// Commands refused because there was no memory for them (command_buffer_total).
    commands_refused_for_memory,
    /// Times a backend was held because its client did not keep up.
    answers_held,
    /// Answers read whole into memory, however slowly their clients took them, because a statement waited for a backend.
    answers_read_whole,
    /// Bytes received from clients.
    bytes_from_clients,
    /// Bytes received from backends.
    bytes_from_backends,
}

impl Counters {
    /// Counts a session that became pinned.
    pub(crate) fn pinned(&mut self, reason: PinReason) {
        self.pins[reason as usize & 31] += 1;
    }

    /// Counts the end of a client connection.
    pub(crate) fn disconnected(&mut self, reason: DisconnectReason) {
        self.disconnects[reason as usize] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_stand_at_their_own_place() {
        for (place, reason) in DisconnectReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
    }

    #[test]
    fn buckets_double() {
        let mut histogram = Histogram::default();
        for us in [0, 1, 2, 3, 4, 1_000, u64::MAX] {
            histogram.record(Span::from_us(us.min(1 << 40)));
        }
        assert_eq!(histogram.buckets[..4], [1, 1, 2, 1]);
        assert_eq!(
            (
                histogram.buckets[10],
                histogram.buckets[31],
                histogram.count()
            ),
            (1, 1, 7)
        );
    }
}
