//! A wrong password and an account that is not there: the front door does the same for both, step by step, so that
//! neither text nor time tells them apart.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use accounts::{Credential, Proof};
use engine::{Checker, Mail, PasswordCheck};
use events::{Handle, Handler, Tag};
use membership::Key;
use wire::{AuthMoreData, AuthPlugin, whole_packet, write_packet};

use crate::stage::{SECRET, Stage};

/// What MySQL keeps of some password.
const STORED: &str = "$A$005$----------------------------------------------------------------";

/// Takes orders, and leaves it to the test when a password has been looked at.
#[derive(Clone, Default)]
struct Patient(Arc<Mutex<Vec<Key>>>);

impl Checker for Patient {
    fn public_key(&self) -> Option<&[u8]> {
        Some(b"a key")
    }

    fn check(&self, check: PasswordCheck) -> bool {
        self.0.lock().unwrap().push(check.asker.1);
        true
    }

    fn make_key(&self, _: (usize, Key)) -> bool {
        false
    }
}

/// What happened, one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trace(Vec<String>);

impl Trace {
    fn note(&mut self, what: &str, how: impl std::fmt::Debug) {
        self.0.push(format!("{what}: {how:?}"));
    }
}

/// Everything that a login with a wrong password leads to. All users have names of the same length.
fn login(
    stage: &mut Stage,
    passwords: &Patient,
    (plugin, user): (AuthPlugin, &str),
    trace: &mut Trace,
) {
    let (client, tag) = stage.connect_from(Ipv4Addr::new(10, 0, 0, 1));
    stage.respond_by(tag, plugin, (user, "wrong"));
    let told = |stage: &mut Stage, trace: &mut Trace| {
        let bytes = stage.wire.take(client);
        let text = String::from_utf8_lossy(&bytes).replace(user, "somebody");
        trace.note("told", text);
        bytes
    };
    let mut last = told(stage, trace);
    let orders = stage.take_orders();
    trace.note("the database is asked", orders.len());
    if !orders.is_empty() {
        stage.answer(&orders, true);
        last = told(stage, trace);
    }
    let wanted = whole_packet(&last).ok().map(|packet| {
        let payload = packet.payload.bytes();
        AuthMoreData::parse(payload) == Ok(AuthMoreData::FullAuthentication)
    });
    if wanted == Some(true) {
        say(stage, tag, (3, &[2]));
        told(stage, trace);
        say(stage, tag, (5, &[7; 256]));
        told(stage, trace);
        let checked = std::mem::take(&mut *passwords.0.lock().unwrap());
        trace.note("passwords are checked", checked.len());
        for key in checked {
            stage.deliver(Mail::PasswordChecked(key, Proof::Wrong));
        }
        told(stage, trace);
    }
    await_end(stage, client, trace);
    told(stage, trace);
}

fn say(stage: &mut Stage, tag: Tag, (sequence_id, payload): (u8, &[u8])) {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, sequence_id, payload);
    let now = stage.now;
    stage.engine.received(&mut stage.wire, tag, &bytes, now);
    stage.turn();
}

fn await_end(stage: &mut Stage, client: Handle, trace: &mut Trace) {
    for _ in 0..100 {
        if stage.wire.has_closed(client) {
            return;
        }
        let due = stage.engine.next_timer().unwrap();
        trace.note("waits for", due.since(stage.now));
        stage.now = stage.now.max(due);
        stage.engine.timer(&mut stage.wire, stage.now);
        stage.turn();
    }
    panic!("it is never told: {trace:?}");
}

fn trace(plugin: AuthPlugin, credential: Option<Credential>, user: &str) -> Trace {
    let (mut stage, passwords) = (Stage::new(), Patient::default());
    stage.shared.check_passwords_with(passwords.clone());
    let mut accounts = vec![("other", Credential::sha2(STORED))];
    accounts.extend(credential.map(|credential| ("known", credential)));
    stage.publish_all(accounts);
    let mut trace = Trace::default();
    // So many that the last ones wait for their answer.
    for _ in 0..6 {
        login(&mut stage, &passwords, (plugin, user), &mut trace);
    }
    trace
}

#[test]
fn an_unknown_account_leads_to_the_same_steps_as_a_wrong_password() {
    let (native, sha2) = (AuthPlugin::NativePassword, AuthPlugin::CachingSha2Password);
    let of_native = || Some(Credential::native(SECRET));
    let of_sha2 = || Some(Credential::sha2(STORED));
    for (plugin, credential, steps) in [
        (native, of_native(), "the database is asked: 1"),
        (sha2, of_sha2(), "passwords are checked: 1"),
    ] {
        let known = trace(plugin, credential, "known");
        assert_eq!(trace(plugin, None, "nobdy"), known, "{plugin:?}");
        let taken = known.0.iter().filter(|step| *step == steps).count();
        assert_eq!(taken, 6, "{known:?}");
        assert!(known.0.iter().any(|step| step.starts_with("waits for")));
    }
}
