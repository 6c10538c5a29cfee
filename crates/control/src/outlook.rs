//! Whether the backend can be reached, as far as the workers' reports tell. Nothing is connected
//! for the sake of the question.

use engine::Report;

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
}

/// Follows the counters from round to round: one round alone does not tell what happened last.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    backend: Backend,
    connections: u64,
    errors: u64,
}

impl Outlook {
    /// Judges the reports of a round.
    pub(crate) fn update(&mut self, total: &Report) -> Backend {
        let gauges = &total.gauges;
        let open = gauges.backends_resetting
            + gauges.backends_idle
            + gauges.backends_active
            + gauges.backends_lane
            + gauges.backends_draining;
        let connections = total.counters.backend_connections;
        let errors = total.counters.backend_connect_errors;
        self.backend = match () {
            () if open > 0 => Backend::Reachable,
            () if connections == 0 => Backend::NeverReached,
            () if errors > self.errors => Backend::Failing,
            () if connections > self.connections => Backend::Reachable,
            () => self.backend,
        };
        (self.connections, self.errors) = (connections, errors);
        self.backend
    }
}

#[cfg(test)]
mod tests {
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
            ((0, 4, 10), Backend::Failing),
        ];
        let mut outlook = Outlook::default();
        for ((open, connections, errors), expected) in rounds {
            let report = report(open, connections, errors);
            assert_eq!(outlook.update(&report), expected, "{report:?}");
        }
    }

    #[test]
    fn a_connection_being_made_is_no_connection() {
        let mut report = report(0, 0, 0);
        report.gauges.backends_connecting = 1;
        assert_eq!(Outlook::default().update(&report), Backend::NeverReached);
    }
}
