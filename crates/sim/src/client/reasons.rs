//! What may happen to a client for reasons that are not its own: each error and each close needs
//! one. Owns no decision of the front door; only what would excuse it.

use events::{Span, Timestamp};
use wire::code;

use super::{Client, Phase, Request, Sent, Surroundings};
use crate::catalog::FICKLE;
use crate::database::sql::Sql;
use crate::database::{LOCK_WAIT_TIMEOUT, NO_SUCH_TABLE};
use crate::failure::{Broken, Rule, ensure};
use crate::network::Pace;

/// A slow client may be closed that late, if its account holds more than its share so and another account waits.
const SLOW_FOR: Span = Span::from_ms(250);

/// How long news of a death may be under way.
const LATE: Span = Span::from_ms(50);

/// What an error means for a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excuse {
    /// None: it must be what the statement itself comes to.
    None,
    /// It was not run.
    NotRun,
    /// A KILL ended it.
    Interrupted,
    /// It failed in the database.
    Failed,
    /// The schema is not there, or was not a moment ago.
    SchemaGone,
    /// The connection is over.
    Over,
}

impl Client {
    /// Why a statement may have been answered with this error.
    pub(super) fn excuse(
        &self,
        sent: &Sent,
        error: u16,
        around: &mut Surroundings<'_>,
    ) -> Result<Excuse, Broken> {
        let now = around.outside.schedule.now();
        match error {
            code::SERVER_SHUTDOWN => {
                self.excuse_end(around, "1053")?;
                Ok(Excuse::Over)
            }
            code::TOO_MANY_USER_CONNECTIONS => {
                let waited = now.since(sent.at);
                let quota = around.quotas.least_timeout(self.profile.account);
                let own = quota.min(self.model.time_limit());
                let enough = waited >= around.settings.queue_timeout.min(own);
                ensure(Rule::Reason, enough, || format!("1203 after {waited:?}"))?;
                Ok(Excuse::NotRun)
            }
            code::USER_LIMIT_REACHED => {
                let bounded = around.settings.max_pinned < usize::MAX;
                let excused = bounded && self.model.pins(&sent.request) && !self.model.is_pinned()
                    || around.quotas.rejects(self.profile.account);
                ensure(Rule::Reason, excused, || "1226 for no reason".to_owned())?;
                Ok(Excuse::NotRun)
            }
            // It would need a connection with the option, which no login brings.
            code::NOT_SUPPORTED_YET
                if matches!(sent.request, Request::SetOption(_)) && self.is_questioned(around) =>
            {
                Ok(Excuse::NotRun)
            }
            // Whoever kills itself is told so: `answered` looks at that.
            code::QUERY_INTERRUPTED if matches!(sent.request, Request::Kill(_)) => Ok(Excuse::None),
            code::QUERY_INTERRUPTED => {
                let excused = around.kills.interrupts(self.profile.client, sent.at, now);
                ensure(Rule::Reason, excused, || {
                    format!("{} was interrupted by nobody", sent.tag)
                })?;
                Ok(Excuse::Interrupted)
            }
            code::DEADLOCK | LOCK_WAIT_TIMEOUT => match self.model.runs(&sent.request) {
                Some(Sql::Bump(_)) => Ok(Excuse::Failed),
                _ => Ok(Excuse::None),
            },
            code::UNKNOWN_SCHEMA | NO_SUCH_TABLE if self.touches_fickle(sent, around) => {
                Ok(Excuse::SchemaGone)
            }
            _ => Ok(Excuse::None),
        }
    }

    /// Its account's backend connections come from logins alone, and may be gone.
    pub(super) fn is_questioned(&self, around: &Surroundings<'_>) -> bool {
        around.database.questions && self.profile.account == 0
    }

    /// Why the connection may be closed, or may be told that it will be.
    pub(super) fn excuse_end(&self, around: &Surroundings<'_>, what: &str) -> Result<(), Broken> {
        let now = around.outside.schedule.now();
        let quiet = now.since(self.answered_at);
        let settings = around.settings;
        let over = |limit: Option<Span>| limit.is_some_and(|limit| quiet >= limit);
        let died = around.database.last_death();
        let panicked = around.outside.network.panics.last;
        let excused = around.drained
            || around.kills.ends(self.profile.client)
            || died.is_some_and(|died| died + LATE >= self.answered_at)
            || panicked.is_some_and(|panicked| panicked + LATE >= self.answered_at)
            || self.is_questioned(around)
            || over(self.model.wait_timeout().or(settings.wait_timeout))
            || over(settings.idle_transaction_timeout)
            || (matches!(self.profile.pace, Pace::Stuck | Pace::Clogged)
                && over(Some(settings.client_write_timeout)))
            || (self.is_slow() && over(Some(SLOW_FOR)))
            || (self.phase != Phase::Commands && over(Some(settings.login_timeout)));
        ensure(Rule::Reason, excused, || {
            format!(
                "client {} was told {what} for no reason, {quiet:?} after it sent what was answered last",
                self.profile.client
            )
        })
    }

    fn is_slow(&self) -> bool {
        matches!(self.profile.pace, Pace::Slow | Pace::Stuck | Pace::Clogged)
    }

    /// True if the schema that comes and goes may have been gone while this ran.
    pub(super) fn touches_fickle(&self, sent: &Sent, around: &Surroundings<'_>) -> bool {
        let health = &around.database.health;
        let Some(last) = health.last_drop else {
            return false;
        };
        let target = match &sent.request {
            Request::InitDb(schema) | Request::Query(Sql::Use(schema)) => Some(&schema[..]),
            _ => self.model.schema(),
        };
        // The one in which a statement was prepared may have to be selected for it, and then its own.
        let bound = self.model.bound_schema(&sent.request);
        let lately = around.database.is_fickle_gone() || last >= sent.at;
        [target, bound].contains(&Some(FICKLE)) && lately
    }
}

/// True if what was sent then may have met a schema that was gone.
pub(super) fn fickle_since(around: &Surroundings<'_>, at: Timestamp) -> bool {
    around.database.is_fickle_gone() || around.database.health.last_drop.is_some_and(|d| d >= at)
}
