//! KILL of clients among several statements in one text: they are ended first, one after the other, and then the text runs
//! with `DO 0` in the place of each KILL that has ended one. Those that have not are left to the server, which knows no such
//! connection either.

use std::ops::Range;

use events::Io;
use membership::Key;
use session::statement::{Kind, Named, PinReason, Traits, kills};
use wire::{Command, write_packet};

use crate::commands::{Packet, mentions};
use crate::endings::kill::{KillOutcome, Victim, ours};
use crate::{Engine, Mail, Turn};

/// More in one text are left to the server.
const MAX: usize = 64;

/// So are those in longer texts: who sends one does not wait for it to be looked through.
const TEXT_MAX: usize = 64 << 10;

/// A text whose KILLs are carried out.
pub(crate) struct KillsAmong {
    attributes: Box<[u8]>,
    text: Vec<u8>,
    /// Where they stand, first to last.
    victims: Vec<(Range<usize>, Victim)>,
    /// So many of them were carried out.
    done: usize,
}

impl Engine {
    /// Begins with the KILLs of clients that stand among other statements. False if there are none.
    pub(crate) fn kills_among<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        key: Key,
        packet: Packet<'_>,
    ) -> bool {
        let text = packet.text();
        if text.len() > TEXT_MAX || !text.contains(&b';') || !mentions(text, b"kill") {
            return false;
        }
        let victims = self.victims_among(key, text).unwrap_or_default();
        let Some(&(_, victim)) = victims.first() else {
            return false;
        };
        let among = KillsAmong {
            attributes: packet.attributes().into(),
            text: text.to_vec(),
            victims,
            done: 0,
        };
        self.texts_with_kills.insert(key, among);
        self.order_kill(turn, key, victim);
        true
    }

    fn victims_among(&self, key: Key, text: &[u8]) -> Option<Vec<(Range<usize>, Victim)>> {
        let statement = self.judge_text(key, text);
        // What looks like several may be the body of one.
        let one = statement.traits.contains(Traits::DEFINES_STORED)
            || statement.pins.contains(PinReason::MultipleStatements);
        if statement.kind != Kind::Multiple || one {
            return None;
        }
        let client = self.clients.get(key)?;
        let dialect = self.facts.as_ref()?.dialect(&client.session)?;
        let victims = kills(text, &dialect).into_iter();
        let victims = victims.filter_map(|(place, kill)| match kill.named {
            Named::Id(id) => {
                let victim = ours(u32::try_from(id).ok()?, kill.query)?;
                (victim.id != client.id).then_some((place, victim))
            }
            Named::Own | Named::Variable(_) => None,
        });
        Some(victims.take(MAX).collect())
    }

    /// A KILL was carried out, or could not be. True if it was one among other statements: the next one follows, or the text.
    pub(crate) fn killed_among<I: Io<Mail>>(
        &mut self,
        turn: &mut Turn<'_, I>,
        asker: Key,
        outcome: KillOutcome,
    ) -> bool {
        if self.texts_with_kills.is_empty() {
            return false;
        }
        let Some(mut among) = self.texts_with_kills.remove(&asker) else {
            return false;
        };
        // It may have hung up.
        let Some(client) = self.clients.get_mut(asker) else {
            return true;
        };
        let done = outcome == KillOutcome::Done;
        among.done += usize::from(done);
        // What stands behind one that fails is not run.
        let next = among.victims.get(among.done).filter(|_| done);
        if let Some(&(_, victim)) = next {
            self.texts_with_kills.insert(asker, among);
            self.has_asked(turn, asker);
            self.order_kill(turn, asker, victim);
        } else {
            let mut command = Vec::new();
            write_packet(&mut command, 0, &among.command());
            command.append(&mut client.inbox);
            client.inbox = command;
            self.asked(turn, asker);
        }
        true
    }
}

impl KillsAmong {
    /// What the client would have sent with the text that is to run.
    fn command(self) -> Vec<u8> {
        let head = [&[Command::Query as u8], &*self.attributes].concat();
        [head, self.text_to_run()].concat()
    }

    /// The text with what the server is to run in place of each KILL.
    fn text_to_run(self) -> Vec<u8> {
        let mut text = self.text;
        for (number, (place, victim)) in self.victims.into_iter().enumerate().rev() {
            let instead = match number < self.done {
                true => "DO 0".to_owned(),
                // An expression is not looked at again.
                false if victim.query => format!("KILL QUERY ({})", victim.id),
                false => format!("KILL ({})", victim.id),
            };
            text.splice(place, instead.into_bytes());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_killed_gives_its_place_to_what_does_nothing() {
        for (done, expected) in [
            (2, "DO 0; SELECT 1; DO 0"),
            (1, "DO 0; SELECT 1; KILL QUERY (1073741826)"),
            (0, "KILL (1073741825); SELECT 1; KILL QUERY (1073741826)"),
        ] {
            let victims = [(0..15, 1_073_741_825, false), (27..48, 1_073_741_826, true)];
            let among = KillsAmong {
                attributes: Box::default(),
                text: b"KILL 1073741825; SELECT 1; kill query 1073741826".to_vec(),
                victims: victims
                    .map(|(place, id, query)| (place, Victim { id, query }))
                    .into(),
                done,
            };
            assert_eq!(among.text_to_run(), expected.as_bytes());
        }
    }
}
