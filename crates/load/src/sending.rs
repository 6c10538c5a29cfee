//! Sending the statement that is due, as text or prepared.

use events::{Io, Timestamp};
use membership::Key;

use crate::answer::{Answer, Expectation, Form};
use crate::connection::{Pending, State};
use crate::generator::{Generator, Mail};
use crate::script::{Draws, Kind, Template};

impl Generator {
    /// Sends the statement that is due, or first prepares it. `variant`: it was just prepared.
    pub(crate) fn send_step<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        key: Key,
        variant: Option<u32>,
        now: Timestamp,
    ) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(team) = self.teams.get(usize::from(connection.group())) else {
            return;
        };
        let script = team.script.as_ref().zip(connection.transaction);
        let template = script.and_then(|(script, underway)| {
            script.statement(
                usize::from(underway.transaction),
                usize::from(underway.step),
            )
        });
        let Some(template) = template else {
            return self.connections.enter(key, State::Held);
        };
        let mut draws = Draws {
            rng: &mut self.rng,
            seed: connection.transaction.map_or(0, |underway| underway.seed),
            origin: connection.next_origin(),
            token: None,
        };
        let out = io.outbox(connection.handle);
        let (expectation, form, variant) = if team.variants > 0 && template.kind != Kind::Other {
            let variant = variant.unwrap_or_else(|| template.variant(&mut draws));
            let ids = &mut connection.prepared;
            put_prepared(out, template, (variant, team.variants), ids, &mut draws)
        } else {
            template.put_query(out, &mut draws);
            (template.expectation, Form::Text, 0)
        };
        let expectation = match (expectation, draws.token) {
            (Expectation::OwnToken, Some(token)) => Expectation::Token(token),
            (other, _) => other,
        };
        let answer = Answer::new(expectation, form, connection.deprecate_eof);
        self.await_answer(key, answer, variant, now);
    }

    /// A command is leaving.
    pub(crate) fn await_answer(&mut self, key: Key, answer: Answer, variant: u32, now: Timestamp) {
        let pending = Pending {
            sent_at: now,
            answer,
            variant,
        };
        self.connections.enter(key, State::Busy(pending));
    }
}

/// Executes the prepared statement, or prepares it. Returns what the answer must be.
fn put_prepared(
    out: &mut Vec<u8>,
    template: &Template,
    (variant, variants): (u32, u32),
    ids: &mut Box<[u32]>,
    draws: &mut Draws<'_>,
) -> (Expectation, Form, u32) {
    if ids.is_empty() {
        *ids = vec![0; variants as usize].into();
    }
    match ids.get(variant as usize) {
        Some(&id) if id != 0 => {
            template.put_execute(out, id, draws);
            (template.expectation, Form::Binary, variant)
        }
        _ => {
            template.put_prepare(out, variant);
            (Expectation::Prepared, Form::Prepare, variant)
        }
    }
}
