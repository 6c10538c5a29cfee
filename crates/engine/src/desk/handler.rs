//! The events that drivers report, and what deals with each.

use std::collections::HashSet;

use events::{ConnectError, Handle, Handler, HangUp, Io, Peer, Tag, Timestamp, TlsFacts};

use crate::desk::Engine;
use crate::endings::panics::AtHand;
use crate::record::counters::DisconnectReason;
use crate::record::owner::Owner;
use crate::record::shared::Mail;
use crate::record::turn::Turn;

impl Handler for Engine {
    type Mail = Mail;

    fn accepted<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        peer: Peer,
        nonce: [u8; 32],
        now: Timestamp,
    ) -> Tag {
        self.client_accepted(&mut Turn { io, now }, handle, peer, nonce)
    }

    fn connected<I: Io<Mail>>(&mut self, _io: &mut I, tag: Tag, _now: Timestamp) {
        // The server speaks first; `connect_timeout` covers its silence, too.
        debug_assert!(matches!(Owner::of(tag), Owner::Backend(_)));
    }

    fn connect_failed<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        tag: Tag,
        error: ConnectError,
        now: Timestamp,
    ) {
        if let Owner::Backend(key) = Owner::of(tag) {
            let text = match error {
                ConnectError::Os(errno) => format!("connecting to it failed with errno {errno}"),
                ConnectError::Address => "its address could not be resolved".to_owned(),
            };
            self.connect_failed(&mut Turn { io, now }, key, text);
        }
    }

    fn received<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], now: Timestamp) {
        let turn = &mut Turn { io, now };
        match Owner::of(tag) {
            Owner::Client(key) => {
                self.records.counters.bytes_from_clients += bytes.len() as u64;
                self.client_received(turn, key, bytes);
            }
            Owner::Backend(key) => {
                self.records.counters.bytes_from_backends += bytes.len() as u64;
                self.backend_received(turn, key, bytes);
            }
        }
    }

    fn withheld<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, bytes: usize, now: Timestamp) {
        if let Owner::Client(key) = Owner::of(tag) {
            self.client_withheld(&mut Turn { io, now }, key, bytes);
        }
    }

    fn tls_established<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        tag: Tag,
        facts: TlsFacts,
        now: Timestamp,
    ) {
        match Owner::of(tag) {
            Owner::Client(key) => self.records.client_secured(key, facts),
            Owner::Backend(key) => self.backend_secured(&mut Turn { io, now }, key),
        }
    }

    fn drained<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, now: Timestamp) {
        let turn = &mut Turn { io, now };
        match Owner::of(tag) {
            Owner::Client(key) => self.client_drained(turn, key),
            Owner::Backend(key) => self.records.backend_drained(turn, key),
        }
    }

    fn hung_up<I: Io<Mail>>(&mut self, io: &mut I, tag: Tag, how: HangUp, now: Timestamp) {
        let turn = &mut Turn { io, now };
        match Owner::of(tag) {
            Owner::Client(key) => match how {
                HangUp::Closed => self.close_client(turn, key, DisconnectReason::ClientClosed),
                HangUp::Failed(_) => self.close_client(turn, key, DisconnectReason::ClientFailed),
                HangUp::OutOfOrder => self.out_of_order(turn, key),
            },
            Owner::Backend(key) => self.backend_lost(turn, key, how),
        }
    }

    fn mail<I: Io<Mail>>(&mut self, io: &mut I, mail: Mail, now: Timestamp) {
        let turn = &mut Turn { io, now };
        self.at_hand = AtHand::of(&mail);
        match mail {
            Mail::SlotWanted => self.lend(turn),
            Mail::SlotFree => self.serve_all(turn),
            Mail::Kill(order) => {
                let outcome = self.kill(turn, order);
                let (worker, asker) = order.asker;
                // If that worker has ended, so has whoever asked.
                let _ended = turn.io.post(worker, Mail::Killed(asker, outcome));
            }
            Mail::Killed(asker, outcome) => self.kill_done(turn, asker, outcome),
            Mail::GlobalChanged => self.records.retire_backends(turn),
            Mail::Globals(facts) => self.records.learn_globals(&facts),
            Mail::SchemasChanged(change) => self.records.schemas_changed(change),
            Mail::SchemasDefined => self.records.schemas_defined(turn, None),
            Mail::LockTurn(called) => self.lock_turn(turn, &called),
            Mail::Woken(gate) => self.matching.scheduler.woken(gate),
            Mail::LimitsKept(client, kept) => self.limits_kept(turn, client, kept),
            Mail::RulesChanged => self.matching.rules_changed(&mut self.records),
            Mail::RelayPlace(place) => {
                self.matching
                    .relay_place_came(&mut self.records, turn, place);
            }
            Mail::RelayWanted => self.relays_due(turn),
            Mail::SettingsChanged(settings) => {
                let exempt = &settings.connect_errors_exempt;
                self.records.shared.strangers.exempt(exempt);
                self.records.settings = settings;
                self.records.shared.commands.look_again();
            }
            Mail::CommandPrepared(prepared) => self.command_prepared(turn, *prepared),
            Mail::CommandLost(client) => self.close_client(turn, client, DisconnectReason::Defect),
            Mail::Memory(client, reservation) => {
                self.records.memory_came(turn, client, reservation);
            }
            Mail::PasswordChecked(client, proof) => self.password_checked(turn, client, &proof),
            Mail::PublicKey(client) => self.send_public_key(turn, client),
            Mail::AccountsChanged => self.follow_accounts(turn),
            Mail::AccountsRead { ticket, read } => self.accounts_read(turn, ticket, read),
            Mail::Report(reply) => reply(self.report()),
            Mail::Look(look) => self.look(look, now),
            Mail::End(victim, reply) => {
                self.records.counters.kills += 1;
                reply(self.end(turn, victim, None));
            }
            Mail::Drain(span) => self.drain(turn, span),
        }
        self.at_hand = AtHand::Nobody;
    }

    fn timer<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.timers_due(&mut Turn { io, now });
    }

    fn next_timer(&self) -> Option<Timestamp> {
        self.next_due()
    }

    fn turn_ended<I: Io<Mail>>(&mut self, io: &mut I, now: Timestamp) {
        self.end_turn(&mut Turn { io, now });
        self.records.loop_turns.end();
    }

    fn recover<I: Io<Mail>>(
        &mut self,
        io: &mut I,
        suspects: &mut Vec<Handle>,
        now: Timestamp,
    ) -> Option<HashSet<Handle>> {
        self.recover_from_panic(&mut Turn { io, now }, suspects)
    }

    fn finished(&self) -> bool {
        self.has_left()
    }
}
