//! What a worker has counted since it was last asked.

use std::collections::BTreeMap;
use std::fmt;

use events::{HangUp, Span, Timestamp};
use wire::ErrPacket;

use crate::latencies::Latencies;
use crate::script::Kind;

/// How many wrong answers are described.
pub(crate) const DESCRIBED_MAX: usize = 5;

/// What went wrong, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ErrorNumber {
    /// An ERR packet.
    Err(u16),
    /// A connection could not be made, or failed while logging in, with this `errno`.
    Os(i32),
    /// The other side closed the connection before the login was complete.
    ClosedAtLogin,
}

/// How often it went wrong.
#[derive(Clone, Debug)]
pub(crate) struct ErrorCount {
    pub(crate) count: u64,
    /// The text of the first.
    pub(crate) message: String,
}

/// Counts and latencies of some span of time; tallies add up.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// Statements answered rightly that read.
    pub(crate) reads: u64,
    /// Those that write.
    pub(crate) writes: u64,
    /// Those that do neither.
    pub(crate) others: u64,
    /// Transactions all of whose statements were answered rightly.
    pub(crate) transactions: u64,
    /// Those of them that took no longer than a client waits.
    pub(crate) good: u64,
    /// How long the transactions took.
    pub(crate) latencies_us: Latencies,
    /// Logins done since measuring began.
    pub(crate) connects: u64,
    /// How long it took to connect and log in.
    pub(crate) connect_us: Latencies,
    /// How often the listener's queue was full; the connection is made a moment later.
    pub(crate) full: u64,
    /// Statements and logins that a client did not wait for any longer.
    pub(crate) timeouts: u64,
    /// Errors of statements and logins.
    pub(crate) errors: BTreeMap<ErrorNumber, ErrorCount>,
    /// Answers that were not what was asked for.
    pub(crate) wrong_answers: u64,
    /// The first few of them.
    pub(crate) described: Vec<String>,
    /// Connections lost after their login.
    pub(crate) reconnects: u64,
    /// Commands that had no answer when the run ended.
    pub(crate) unanswered: u64,
    /// Logins done.
    pub(crate) logins: u64,
    /// When the last of them was.
    pub(crate) last_login: Timestamp,
}

impl Tally {
    /// Nothing counted yet.
    pub(crate) fn new(latencies_us: Latencies) -> Self {
        Self {
            reads: 0,
            writes: 0,
            others: 0,
            transactions: 0,
            good: 0,
            connect_us: latencies_us.new_empty(),
            latencies_us,
            connects: 0,
            full: 0,
            timeouts: 0,
            errors: BTreeMap::new(),
            wrong_answers: 0,
            described: Vec::new(),
            reconnects: 0,
            unanswered: 0,
            logins: 0,
            last_login: Timestamp::ZERO,
        }
    }

    /// What was counted so far; counting begins anew.
    pub(crate) fn take(&mut self) -> Self {
        let empty = Self::new(self.latencies_us.new_empty());
        std::mem::replace(self, empty)
    }

    /// A statement was answered rightly.
    pub(crate) fn answered(&mut self, kind: Kind) {
        match kind {
            Kind::Read => self.reads += 1,
            Kind::Write => self.writes += 1,
            Kind::Other => self.others += 1,
        }
    }

    /// A transaction was answered rightly after `latency`; a client would wait for so long.
    pub(crate) fn completed(&mut self, latency: Span, patience: Option<Span>) {
        self.transactions += 1;
        self.good += u64::from(patience.is_none_or(|patience| latency <= patience));
        self.latencies_us.record(latency);
    }

    /// Statements answered rightly.
    pub(crate) fn statements(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Something went wrong.
    pub(crate) fn error(&mut self, number: ErrorNumber, message: impl FnOnce() -> String) {
        let count = self.errors.entry(number).or_insert_with(|| ErrorCount {
            count: 0,
            message: message(),
        });
        count.count += 1;
    }

    /// An ERR packet came.
    pub(crate) fn err_packet(&mut self, error: &ErrPacket<'_>) {
        let message = || String::from_utf8_lossy(error.message).into_owned();
        self.error(ErrorNumber::Err(error.code), message);
    }

    /// A connection could not be made.
    pub(crate) fn os_error(&mut self, errno: i32) {
        let message = || std::io::Error::from_raw_os_error(errno).to_string();
        self.error(ErrorNumber::Os(errno), message);
    }

    /// A connection ended before its login was complete.
    pub(crate) fn hung_up_at_login(&mut self, how: HangUp) {
        match how {
            HangUp::Failed(errno) => self.os_error(errno),
            HangUp::Closed | HangUp::OutOfOrder => {
                self.error(ErrorNumber::ClosedAtLogin, || "by the target".into());
            }
        }
    }

    /// An answer was wrong.
    pub(crate) fn wrong(&mut self, description: impl FnOnce() -> String) {
        self.wrong_answers += 1;
        if self.described.len() < DESCRIBED_MAX {
            self.described.push(description());
        }
    }

    /// A login was done that was begun at `since`.
    pub(crate) fn logged_in(&mut self, since: Timestamp, now: Timestamp) {
        self.logins += 1;
        self.connects += 1;
        self.connect_us.record(now.since(since));
        self.last_login = self.last_login.max(now);
    }

    /// The errors, such as `3 × 1040 (Too many connections)`.
    pub(crate) fn errors_text(&self) -> String {
        if self.errors.is_empty() {
            return "no errors".to_owned();
        }
        let text = |(number, error): (&ErrorNumber, &ErrorCount)| {
            format!("{} × {number} ({})", error.count, error.message)
        };
        let texts: Vec<String> = self.errors.iter().map(text).collect();
        texts.join(", ")
    }

    /// Forgets statements and latencies: those that come now are measured.
    pub(crate) fn forget_measures(&mut self) {
        (self.reads, self.writes, self.others) = (0, 0, 0);
        (self.transactions, self.good, self.connects) = (0, 0, 0);
        self.latencies_us = self.latencies_us.new_empty();
    }

    /// How many errors there were, whatever their number.
    pub(crate) fn error_total(&self) -> u64 {
        self.errors.values().map(|error| error.count).sum()
    }

    /// Takes in another tally.
    pub(crate) fn add(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.transactions += other.transactions;
        self.good += other.good;
        self.latencies_us.add(&other.latencies_us);
        self.connects += other.connects;
        self.connect_us.add(&other.connect_us);
        self.full += other.full;
        self.timeouts += other.timeouts;
        for (number, error) in other.errors {
            let count = self.errors.entry(number).or_insert(ErrorCount {
                count: 0,
                message: error.message,
            });
            count.count += error.count;
        }
        self.wrong_answers += other.wrong_answers;
        let room = DESCRIBED_MAX.saturating_sub(self.described.len());
        self.described
            .extend(other.described.into_iter().take(room));
        self.reconnects += other.reconnects;
        self.unanswered += other.unanswered;
        self.logins += other.logins;
        self.last_login = self.last_login.max(other.last_login);
    }
}

impl fmt::Display for ErrorNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Err(number) => number.fmt(f),
            Self::Os(errno) => write!(f, "errno {errno}"),
            Self::ClosedAtLogin => f.write_str("closed at login"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up_and_describe_only_the_first() {
        let mut total = Tally::new(Latencies::new().unwrap());
        let mut part = Tally::new(Latencies::new().unwrap());
        for n in 0..2 * DESCRIBED_MAX as u64 {
            part.answered(Kind::Read);
            part.completed(Span::from_us(10), Some(Span::from_us(9 + n % 2)));
            part.wrong(|| n.to_string());
            part.error(ErrorNumber::Err(1226), || "busy".into());
            part.error(ErrorNumber::Os(104), || "reset".into());
        }
        part.logged_in(Timestamp::from_us(2), Timestamp::from_us(5));
        total.add(part.take());
        assert_eq!((part.statements(), part.error_total()), (0, 0));
        part.wrong(|| "late".into());
        total.add(part);
        assert_eq!((total.statements(), total.wrong_answers), (10, 11));
        assert_eq!((total.transactions, total.good), (10, 5));
        assert_eq!(total.described, ["0", "1", "2", "3", "4"]);
        assert_eq!(
            total.errors_text(),
            "10 × 1226 (busy), 10 × errno 104 (reset)"
        );
        assert_eq!((total.error_total(), total.logins), (20, 1));
        assert_eq!(total.last_login, Timestamp::from_us(5));
        assert_eq!(total.latencies_us.quantile_us(0.5), 10);
    }
}
