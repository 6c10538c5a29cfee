//! Whether the backend can be reached, as the workers' reports and the reading of accounts tell. Nothing is connected for
//! the sake of the question: workers that have lost their last connection open one by themselves.

use engine::Report;
use tokio::time::Instant;

use crate::credentials::Attempt;

/// What is known of the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Backend {
    /// No connection to it was ever opened.
    #[default]
    NeverReached,
    /// A connection is open, or the last one that was asked for could be opened.
    Reachable,
    /// No connection is open, and the last ones that were asked for could not be opened.
    Failing,
    /// It does not answer whoever reads the accounts, and nothing came from it since that began.
    Silent,
}

/// Follows the counters from round to round: one round alone does not tell what happened last.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    backend: Backend,
    connections: u64,
    errors: u64,
    bytes: u64,
    /// When bytes of a backend were last seen to have come.
    heard: Option<Instant>,
}

impl Outlook {
    /// Judges the reports of a round, and the last attempt to read the accounts.
    pub(crate) fn update(
        &mut self,
        total: &Report,
        accounts: Option<Attempt>,
        now: Instant,
    ) -> Backend {
        let gauges = &total.gauges;
        let open = gauges.backends_resetting
            + gauges.backends_idle
            + gauges.backends_active
            + gauges.backends_lane
            + gauges.backends_draining;
        let connections = total.counters.backend_connections;
        let errors = total.counters.backend_connect_errors;
        let bytes = total.counters.bytes_from_backends;
        if bytes > self.bytes {
            (self.bytes, self.heard) = (bytes, Some(now));
        }
        self.backend = match () {
            () if open > 0 => Backend::Reachable,
            () if connections == 0 => Backend::NeverReached,
            // After an error workers go on trying; after a success they may have no reason to connect again.
            () if connections > self.connections => Backend::Reachable,
            () if errors > self.errors => Backend::Failing,
            () => self.backend,
        };
        (self.connections, self.errors) = (connections, errors);
        let silent = match accounts {
            Some(Attempt::Unanswered(began)) => {
                open == 0 || self.heard.is_none_or(|heard| heard < began)
            }
            _ => false,
        };
        match self.backend {
            Backend::Reachable if silent => Backend::Silent,
            backend => backend,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn report(open: u64, connections: u64, errors: u64) -> Report {
        let mut report = Report::default();
        report.gauges.backends_idle = open;
        report.counters.backend_connections = connections;
        report.counters.backend_connect_errors = errors;
        report
    }

    #[test]
    fn rounds_are_judged_by_what_happened_since_the_last() {
        let rounds = [
            ((0, 0, 0), Backend::NeverReached),
            ((0, 0, 3), Backend::NeverReached),
            ((1, 1, 3), Backend::Reachable),
            // Closed because it was idle: nothing failed.
            ((0, 1, 3), Backend::Reachable),
            ((0, 1, 4), Backend::Failing),
            ((0, 1, 4), Backend::Failing),
            // Opened and closed again between two rounds.
            ((0, 2, 4), Backend::Reachable),
            // Some can be opened, some cannot.
            ((1, 3, 9), Backend::Reachable),
            ((0, 3, 10), Backend::Failing),
            // Which came last is not known; if it was the error, another attempt follows.
            ((0, 4, 11), Backend::Reachable),
            ((0, 4, 12), Backend::Failing),
        ];
        let mut outlook = Outlook::default();
        for ((open, connections, errors), expected) in rounds {
            let report = report(open, connections, errors);
            let told = outlook.update(&report, None, Instant::now());
            assert_eq!(told, expected, "{report:?}");
        }
    }

    #[test]
    fn a_connection_being_made_is_no_connection() {
        let mut report = report(0, 0, 0);
        report.gauges.backends_connecting = 1;
        let told = Outlook::default().update(&report, None, Instant::now());
        assert_eq!(told, Backend::NeverReached);
    }

    #[test]
    fn a_database_that_answers_neither_statements_nor_the_reader_is_silent() {
        let mut outlook = Outlook::default();
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let unanswered = |seconds| Some(Attempt::Unanswered(at(seconds)));
        let mut of_round = |bytes, open, accounts, now| {
            let mut report = report(open, 3, 0);
            report.counters.bytes_from_backends = bytes;
            outlook.update(&report, accounts, at(now))
        };
        assert_eq!(of_round(10, 3, Some(Attempt::Read), 1), Backend::Reachable);
        // Statements are answered, the reader is not: it is only slow.
        assert_eq!(of_round(20, 3, unanswered(1), 2), Backend::Reachable);
        assert_eq!(of_round(20, 3, unanswered(1), 3), Backend::Reachable);
        assert_eq!(of_round(20, 3, unanswered(4), 5), Backend::Silent);
        assert_eq!(of_round(20, 0, unanswered(4), 6), Backend::Silent);
        assert_eq!(
            of_round(20, 3, Some(Attempt::Refused), 7),
            Backend::Reachable
        );
        assert_eq!(of_round(20, 3, unanswered(8), 9), Backend::Silent);
        assert_eq!(of_round(30, 3, unanswered(8), 10), Backend::Reachable);
    }
}
