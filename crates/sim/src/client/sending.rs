//! How a client sends: what comes next, when, and how much of it.

use super::profile::Exit;
use super::{Client, Phase, Request, Sent, Surroundings, script};
use crate::schedule::Event;

impl Client {
    /// Plans the next thing.
    pub(super) fn think(&mut self, around: &mut Surroundings<'_>) {
        let us = self.rng.u64(0..=self.profile.think_us);
        self.plan(around, us);
    }

    pub(super) fn plan(&mut self, around: &mut Surroundings<'_>, us: u64) {
        self.number += 1;
        let (client, number) = (self.profile.client, self.number);
        let event = Event::Act { client, number };
        around.outside.schedule.after_us(us, event);
    }

    pub(super) fn send_next(&mut self, around: &mut Surroundings<'_>) {
        let step = self.sent;
        let tag = format!("c{} s{step}", self.profile.client);
        if self.profile.exit == Exit::Garbage(step) {
            let mut bytes: Vec<u8> = (0..self.rng.usize(8..40))
                .map(|_| self.rng.u8(..))
                .collect();
            bytes[3] |= 1;
            self.profile.commands = step + 1;
            return self.send(around, Request::Garbage(bytes));
        }
        let in_transaction = self.model.in_transaction();
        let planned = self.profile.script.pop();
        let request = planned.unwrap_or_else(|| self.choose(around, in_transaction, &tag));
        // What follows a login, or a file, would be taken for a part of it.
        let alone = matches!(request, Request::ChangeUser(_) | Request::Load(_));
        let follows = self.follows(&request);
        let silent = request.is_silent();
        if self.profile.exit == Exit::Half(step) {
            let packet = request.packet(&tag);
            let half = self.rng.usize(1..packet.len());
            self.send_bytes(around, &packet[..half]);
        } else {
            self.send(around, request);
        }
        match self.profile.exit {
            Exit::During(at) | Exit::Half(at) if at == step => {
                self.hangs_up_next = true;
                let longest = [10, 300, 3_000, 100_000][self.rng.usize(..4)];
                let us = self.rng.u64(0..longest);
                self.plan(around, us);
            }
            Exit::Vanish(at) if at == step => self.vanish(around),
            _ if alone => {}
            _ if follows || (silent && self.waiting.is_empty()) => {
                let us = self.rng.u64(0..100);
                self.plan(around, us);
            }
            _ if self.rng.u8(..) < self.profile.pipelines && self.waiting.len() < 4 => {
                let us = self.rng.u64(0..200);
                self.plan(around, us);
            }
            _ => {}
        }
    }

    fn choose(&mut self, around: &mut Surroundings<'_>, open: bool, tag: &str) -> Request {
        let quiet = self.waiting.is_empty() && self.phase == Phase::Commands;
        if quiet && self.rng.u8(0..40) == 0 {
            return self.change_user(around);
        }
        if self.rng.u8(..) < self.profile.kills {
            let account = self.profile.account;
            return Request::Kill(around.kills.choose(&mut self.rng, account));
        }
        if self.rng.u8(..) < self.profile.prepares {
            return self.next_of_statements();
        }
        // Nothing is drawn for those who prepare none.
        if self.profile.texts > 0 && self.rng.u8(..) < self.profile.texts {
            let in_schema = self.model.schema().is_some();
            let own = self.model.text_names();
            let sql = script::by_name(&mut self.rng, (self.profile.client, tag), &own, in_schema);
            return Request::Query(sql);
        }
        script::next(&mut self.rng, &self.profile, open, tag)
    }

    pub(super) fn send(&mut self, around: &mut Surroundings<'_>, request: Request) {
        let now = around.outside.schedule.now();
        let tag = format!("c{} s{}", self.profile.client, self.sent);
        let packet = request.packet(&tag);
        self.sent += 1;
        if let Request::Kill(kill) = request {
            let asker = (self.profile.client, self.profile.account);
            around.kills.sent(asker, kill, now);
        } else {
            around.kills.heard(self.profile.client);
        }
        if matches!(request, Request::ChangeUser(_)) {
            // It is answered as a login is.
            (self.phase, self.login_sequence) = (Phase::Login, 1);
        } else if request != Request::Quit {
            self.waiting.push_back(Sent {
                tag,
                request,
                at: now,
            });
        }
        self.send_bytes(around, &packet);
        self.pass_silent();
    }

    pub(super) fn send_bytes(&mut self, around: &mut Surroundings<'_>, bytes: &[u8]) {
        let outside = &mut around.outside;
        let client = self.profile.client;
        outside.trace.line(outside.schedule.now(), || {
            format!("client {client} sends {}", crate::trace::readable(bytes))
        });
        if let Some(handle) = self.handle {
            outside.network.send(outside.schedule, handle, bytes);
        }
    }
}
