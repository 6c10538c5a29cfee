//! What a database says of itself that its tables of accounts do not: its clock, and how it sees us.

use std::net::IpAddr;

use accounts::View;
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

/// What the server says besides its tables.
pub(super) struct Facts {
    /// Now, in seconds, by its clock.
    pub(super) now: u64,
    /// After so many days a password expires that has no lifetime of its own; 0: never.
    pub(super) lifetime_days: u64,
    /// Our host as it sees it.
    our_host: String,
    resolves_names: bool,
}

impl Facts {
    /// Asks for the variable among them, as a text.
    pub(super) const VARIABLES: &str = "SELECT CONCAT(@@default_password_lifetime)";

    /// Asks it.
    pub(super) async fn ask(connection: &mut Conn) -> mysql_async::Result<Self> {
        let facts: Option<(u64, u64, String, bool)> = connection
            .query_first(
                "SELECT UNIX_TIMESTAMP(),@@default_password_lifetime,\
                 SUBSTRING_INDEX(USER(),'@',-1),@@skip_name_resolve",
            )
            .await?;
        let (now, lifetime_days, our_host, skips) = facts.unwrap_or_default();
        Ok(Self {
            now,
            lifetime_days,
            our_host,
            resolves_names: !skips,
        })
    }

    /// With a clock and a lifetime.
    #[cfg(test)]
    pub(super) fn at(now: u64, lifetime_days: u64) -> Self {
        Self {
            now,
            lifetime_days,
            our_host: String::new(),
            resolves_names: true,
        }
    }

    /// How it sees others.
    pub(super) fn view(&self, our_address: Option<IpAddr>, roles: u64) -> View {
        let told: Option<IpAddr> = self.our_host.parse().ok();
        View {
            our_address: told.or(our_address),
            our_host: told.is_none().then(|| self.our_host.clone()),
            resolves_names: self.resolves_names,
            roles,
        }
    }

    /// Whether a password of that age has expired.
    pub(super) fn has_expired(&self, changed_at: u64, lifetime_days: Option<u64>) -> bool {
        let days = lifetime_days.unwrap_or(self.lifetime_days);
        let lifetime = days.saturating_mul(24 * 60 * 60);
        days > 0 && changed_at.saturating_add(lifetime) < self.now
    }
}
