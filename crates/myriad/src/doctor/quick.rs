//! The checks that `myriad serve` runs when it starts.

use doctor::{Finding, Host, Severity};

use super::{flags, uring};

/// Logs a line for each finding that will not do for these settings, and one that names what could be
/// better.
pub(crate) fn warn_of_obstacles(settings: &config::Settings) {
    let need = flags::need_of(settings);
    let report = doctor::examine(&Host::here(uring()), &need);
    let mut better = Vec::new();
    for finding in &report.findings {
        match finding.severity() {
            Severity::Fatal => warn_of(finding),
            Severity::Warning => better.push(finding.check),
            Severity::Fine | Severity::Unknown => {}
        }
    }
    if !better.is_empty() {
        let checks = better.join(", ");
        tracing::info!(%checks, "this machine could do better; see `myriad doctor --config`");
    }
}

fn warn_of(finding: &Finding) {
    let (check, observation) = (finding.check, &finding.observation);
    let (found, needs) = (&observation.found, &observation.needs);
    let remedy = observation.remedies.first().map(doctor::Remedy::now);
    let fix = remedy.unwrap_or_default();
    match observation.limit {
        Some(connections_max) => tracing::warn!(
            check,
            %found,
            %needs,
            %fix,
            connections_max,
            "this machine will not do for server.max_connections"
        ),
        None => tracing::warn!(check, %found, %needs, %fix, "this machine will not do"),
    }
}
