//! The checks that `myriad serve` runs when it starts.

use doctor::{Host, Severity};

use super::{flags, uring};

/// Logs a line for each finding that will not do for these settings.
pub(crate) fn warn_of_obstacles(settings: &config::Settings) {
    let need = flags::need_of(settings);
    let report = doctor::examine(&Host::here(uring()), &need);
    for finding in &report.findings {
        let observation = &finding.observation;
        let remedy = observation.remedies.first();
        let (check, found, needs) = (finding.check, &observation.found, &observation.needs);
        let fix = remedy.map(doctor::Remedy::now).unwrap_or_default();
        match (finding.severity(), observation.limit) {
            (Severity::Fatal, Some(limit)) => tracing::warn!(
                check, %found, %needs, fix, connections_max = limit,
                "this machine will not do for server.max_connections; see `myriad doctor`"
            ),
            (Severity::Fatal, None) => tracing::warn!(
                check, %found, %needs, fix,
                "this machine will not do; see `myriad doctor`"
            ),
            (Severity::Warning, _) => tracing::info!(
                check, %found, %needs, fix,
                "this machine could do better; see `myriad doctor`"
            ),
            (Severity::Fine | Severity::Unknown, _) => {}
        }
    }
}
