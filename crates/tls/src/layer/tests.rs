//! Two layers that talk to each other over a wire in memory, each in front of a handler that repeats or counts
//! what it hears: as if there were no TLS.

use std::panic::{AssertUnwindSafe, catch_unwind};

use events::{Close, ConnectError, Peer, Recorder, Span, TlsSide};

use super::*;
use crate::{Identity, MadeHere, Verify};

const HANDLE: Handle = Handle(7);
const TAG: Tag = Tag(70);
const NOW: Timestamp = Timestamp::ZERO;

/// Keeps all that it hears; asks for TLS when it begins.
struct Listener {
    side: TlsSide,
    early: Vec<u8>,
    heard: Vec<u8>,
    facts: Option<TlsFacts>,
    gone: Option<HangUp>,
    drained: u32,
    withheld: Vec<usize>,
}

impl Listener {
    fn on(side: TlsSide) -> Self {
        Self {
            side,
            early: Vec::new(),
            heard: Vec::new(),
            facts: None,
            gone: None,
            drained: 0,
            withheld: Vec::new(),
        }
    }
}

impl Handler for Listener {
    type Mail = ();

    fn accepted<I: Io<()>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        _peer: Peer,
        _nonce: [u8; 32],
        _now: Timestamp,
    ) -> Tag {
        io.outbox(handle).extend_from_slice(b"plain");
        io.start_tls((handle, TAG), self.side, &self.early);
        TAG
    }

    fn connected<I: Io<()>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {}

    fn connect_failed<I: Io<()>>(
        &mut self,
        _io: &mut I,
        _tag: Tag,
        _error: ConnectError,
        _now: Timestamp,
    ) {
    }

    fn received<I: Io<()>>(&mut self, io: &mut I, tag: Tag, bytes: &[u8], _now: Timestamp) {
        assert!(tag != TAG || self.facts.is_some(), "it is heard over TLS");
        self.heard.extend_from_slice(bytes);
        if bytes.contains(&b'!') {
            io.outbox(HANDLE).extend_from_slice(b"half of");
            panic!("on purpose");
        }
        if self.side == TlsSide::Server {
            io.outbox(HANDLE).extend_from_slice(bytes);
            assert!(io.unsent(HANDLE) >= bytes.len());
            io.notify_drained(HANDLE);
        }
        if self.side == TlsSide::Server && bytes.contains(&b'q') {
            io.close(HANDLE, Close::Flush);
        }
    }

    fn withheld<I: Io<()>>(&mut self, _io: &mut I, _tag: Tag, bytes: usize, _now: Timestamp) {
        self.withheld.push(bytes);
    }

    fn tls_established<I: Io<()>>(
        &mut self,
        _io: &mut I,
        _tag: Tag,
        facts: TlsFacts,
        _now: Timestamp,
    ) {
        self.facts = Some(facts);
    }

    fn drained<I: Io<()>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {
        self.drained += 1;
    }

    fn hung_up<I: Io<()>>(&mut self, io: &mut I, _tag: Tag, how: HangUp, _now: Timestamp) {
        self.gone = Some(how);
        io.close(HANDLE, Close::Abort);
    }

    fn mail<I: Io<()>>(&mut self, _io: &mut I, (): (), _now: Timestamp) {}

    /// Says something of itself.
    fn timer<I: Io<()>>(&mut self, io: &mut I, _now: Timestamp) {
        io.outbox(HANDLE).extend_from_slice(b"ask");
    }

    fn next_timer(&self) -> Option<Timestamp> {
        Some(NOW + Span::from_ms(1))
    }

    fn turn_ended<I: Io<()>>(&mut self, _io: &mut I, _now: Timestamp) {}

    fn recover<I: Io<()>>(
        &mut self,
        _: &mut I,
        _: &mut Vec<Handle>,
        _: Timestamp,
    ) -> Option<HashSet<Handle>> {
        Some(HashSet::new())
    }

    fn finished(&self) -> bool {
        self.gone.is_some()
    }
}

/// One end with its wire.
struct End {
    layer: Secured<Listener>,
    wire: Recorder<()>,
}

impl End {
    fn new(side: TlsSide, parties: Parties) -> Self {
        let layer = Secured::new(Listener::on(side), parties);
        let wire = Recorder::default();
        Self { layer, wire }
    }

    fn begin(&mut self) {
        self.layer
            .accepted(&mut self.wire, HANDLE, Peer::Unix, [0; 32], NOW);
        let begun = self.wire.outbox(HANDLE);
        assert_eq!(begun[..5], *b"plain", "it comes before TLS begins");
        begun.drain(..5);
    }

    fn hears(&mut self, bytes: &[u8]) {
        if !self.wire.has_closed(HANDLE) {
            self.layer.received(&mut self.wire, TAG, bytes, NOW);
        }
    }

    fn takes(&mut self) -> Vec<u8> {
        self.wire.take(HANDLE)
    }

    fn says(&mut self, bytes: &[u8]) {
        let at = (&mut self.wire, NOW);
        self.layer.tell(at, |_, effects| {
            effects.outbox(HANDLE).extend_from_slice(bytes);
        });
    }
}

/// A server and a client that trusts it.
struct Pair {
    server: End,
    client: End,
}

impl Pair {
    fn new() -> Self {
        let made = MadeHere::new(vec!["db.example".to_owned()]).expect("a certificate");
        Self::of(&made, Verify::Identity(made.certificate.as_bytes()))
    }

    fn of(made: &MadeHere, verify: Verify<'_>) -> Self {
        let client = Client::new("db.example", verify, None).expect("a client");
        Self::with(server(made), Arc::new(client))
    }

    fn with(server: Arc<Server>, client: Arc<Client>) -> Self {
        let parties = Parties {
            server: Some(server),
            client: Some(client),
        };
        let mut pair = Self {
            server: End::new(TlsSide::Server, parties.clone()),
            client: End::new(TlsSide::Client, parties),
        };
        pair.server.begin();
        pair.client.begin();
        pair
    }

    /// Carries what either end says until both are silent, in pieces of at most this length.
    fn talk(&mut self, piece: usize) {
        loop {
            let (to_server, to_client) = (self.client.takes(), self.server.takes());
            if to_server.is_empty() && to_client.is_empty() {
                return;
            }
            for part in to_server.chunks(piece) {
                self.server.hears(part);
            }
            for part in to_client.chunks(piece) {
                self.client.hears(part);
            }
        }
    }
}

fn identity(made: &MadeHere) -> Identity {
    Identity::from_pem(made.certificate.as_bytes(), made.key.as_bytes()).expect("an identity")
}

fn server(made: &MadeHere) -> Arc<Server> {
    Arc::new(Server::new(&identity(made), None).expect("a server"))
}

#[test]
fn it_is_as_if_there_were_no_tls_wherever_it_is_cut() {
    for piece in [1, 2, 7, 100, 1 << 20] {
        let mut pair = Pair::new();
        pair.talk(piece);
        let said = vec![b'x'; 40_000];
        pair.client.says(&said);
        pair.client.says(b"more");
        pair.talk(piece);
        let expected = [&said[..], b"more"].concat();
        for end in [&pair.server, &pair.client] {
            assert!(end.layer.handler.heard == expected, "pieces of {piece}");
            let facts = end.layer.handler.facts.as_ref().expect("established");
            assert_eq!(
                (facts.version, facts.cipher),
                ("TLSv1.3", "TLS_AES_256_GCM_SHA384")
            );
            assert_eq!(end.layer.handler.gone, None);
            let connection = end.layer.desk.connections.get(HANDLE).expect("it is there");
            let kept = connection.inbox.capacity() + connection.staged.capacity();
            assert_eq!(kept, 0, "a silent connection owns no buffer");
        }
    }
}

#[test]
fn the_handler_knows_of_much_that_is_held_back() {
    let mut pair = Pair::new();
    pair.talk(1 << 20);
    pair.client.says(&[b'x'; 12_000]);
    let record = pair.client.takes();
    let told = |pair: &Pair| pair.server.layer.handler.withheld.clone();
    for (part, expected) in [
        (&record[..3_000], &[][..]),
        (&record[3_000..8_000], &[16 << 10]),
        (&record[8_000..10_000], &[16 << 10]),
        (&record[10_000..], &[16 << 10, 0]),
    ] {
        pair.server.hears(part);
        assert_eq!(told(&pair), expected);
    }
    assert_eq!(pair.server.layer.handler.heard.len(), 12_000);
}

#[test]
fn bytes_that_are_no_tls_are_never_heard_as_if_they_came_over_it() {
    let mut pair = Pair::new();
    let hello = pair.client.takes();
    let mut injected = End::new(TlsSide::Server, pair.server.layer.desk.parties.clone());
    injected.layer.handler.early = [b"inject", &hello[..]].concat();
    injected.begin();
    assert_eq!(injected.layer.handler.heard, b"");
    assert_eq!(
        injected.layer.handler.gone,
        Some(HangUp::Failed(EPROTO)),
        "it ends the connection"
    );
    // What came early and is TLS is taken as such.
    let mut early = End::new(TlsSide::Server, pair.server.layer.desk.parties.clone());
    early.layer.handler.early = hello;
    early.begin();
    pair.server = early;
    pair.talk(1 << 20);
    pair.client.says(b"hello");
    pair.talk(1 << 20);
    assert_eq!(pair.server.layer.handler.heard, b"hello");
}

#[test]
fn who_cannot_be_trusted_is_told_so_and_left() {
    let made = MadeHere::new(vec!["db.example".to_owned()]).expect("a certificate");
    let other = MadeHere::new(vec!["db.example".to_owned()]).expect("a certificate");
    let misnamed = MadeHere::new(vec!["elsewhere.example".to_owned()]).expect("a certificate");
    let pem = |made: &MadeHere| made.certificate.clone().into_bytes();
    for (shown, verify, trusted) in [
        (&made, Verify::Identity(&pem(&made)), true),
        (&other, Verify::Identity(&pem(&made)), false),
        (&misnamed, Verify::Identity(&pem(&misnamed)), false),
        (&misnamed, Verify::Authority(&pem(&misnamed)), true),
        (&other, Verify::Authority(&pem(&made)), false),
        (&other, Verify::Nothing, true),
    ] {
        let mut pair = Pair::of(shown, verify);
        pair.talk(1 << 20);
        let expected = (!trusted).then_some(HangUp::Failed(EPROTO));
        assert_eq!(pair.client.layer.handler.gone, expected, "{verify:?}");
        // The alert makes the difference between this and a connection that broke.
        assert_eq!(pair.server.layer.handler.gone, expected, "{verify:?}");
        let closed = pair.client.wire.closed.first().copied();
        assert_eq!(closed, (!trusted).then_some((HANDLE, Close::Flush)));
    }
}

#[test]
fn much_passes_in_proportion_to_what_it_is() {
    let mut pair = Pair::new();
    pair.talk(1 << 20);
    let said = vec![b'y'; 20 << 20];
    pair.server.says(&said);
    let sealed = pair.server.takes();
    let overhead = sealed.len() - said.len();
    assert!(
        overhead < said.len() / 500,
        "{overhead} bytes more than said"
    );
    for part in sealed.chunks(64 << 10) {
        pair.client.hears(part);
        let connection = pair.client.layer.desk.connections.get(HANDLE);
        let kept = connection.map_or(0, |connection| connection.inbox.capacity());
        assert!(kept <= 17 << 10, "{kept} bytes of an incomplete record");
    }
    assert!(pair.client.layer.handler.heard == said);
}

#[test]
fn who_closes_says_so_first() {
    let mut pair = Pair::new();
    pair.talk(1 << 20);
    pair.client.says(b"q");
    pair.talk(1 << 20);
    assert_eq!(pair.client.layer.handler.heard, b"q");
    assert_eq!(pair.client.layer.handler.gone, Some(HangUp::Closed));
    assert!(pair.server.layer.desk.connections.is_empty());
    // Nobody is told of what comes late.
    pair.server
        .layer
        .hung_up(&mut pair.server.wire, Tag(71), HangUp::Closed, NOW);
}

#[test]
fn drained_is_asked_for_once_what_is_to_leave_stands_in_the_outbox() {
    let mut pair = Pair::new();
    pair.talk(1 << 20);
    pair.client.says(b"x");
    let bytes = pair.client.takes();
    assert_eq!(pair.server.wire.drains_wanted, 0);
    pair.server.hears(&bytes);
    assert_eq!(pair.server.wire.drains_wanted, 1);
    assert!(!pair.server.takes().is_empty());
}

#[test]
fn what_is_said_before_there_are_keys_waits_for_them() {
    let mut pair = Pair::new();
    pair.client.says(b"ahead");
    pair.talk(1 << 20);
    assert_eq!(pair.server.layer.handler.heard, b"ahead");
}

#[test]
fn sessions_are_resumed_also_behind_another_certificate() {
    let made = MadeHere::new(vec!["db.example".to_owned()]).expect("a certificate");
    let verify = Verify::Identity(made.certificate.as_bytes());
    let client = Arc::new(Client::new("db.example", verify, None).expect("a client"));
    let server = server(&made);
    let resumed = |server: &Arc<Server>| {
        let mut pair = Pair::with(server.clone(), client.clone());
        pair.talk(1 << 20);
        let connection = pair.client.layer.desk.connections.get(HANDLE);
        connection.expect("it is there").session.is_resumed()
    };
    assert!(!resumed(&server), "the first");
    assert!(resumed(&server), "the second");
    let renewed = MadeHere::new(vec!["db.example".to_owned()]).expect("a certificate");
    server.replace(&identity(&renewed), None).expect("replaced");
    assert!(resumed(&server), "who has been here before");
    let authority = renewed.certificate.as_bytes();
    server
        .replace(&identity(&made), Some(authority))
        .expect("replaced");
    assert!(
        !resumed(&server),
        "who was here when other authorities counted"
    );
}

#[test]
fn who_cannot_speak_tls_at_all_is_left() {
    let mut end = End::new(TlsSide::Server, Parties::default());
    end.begin();
    assert_eq!(end.layer.handler.gone, Some(HangUp::Failed(EPROTO)));
}

#[test]
fn a_record_stays_small() {
    // rustls has allocations of its own besides; see docs/PERFORMANCE.md.
    let size = size_of::<crate::connections::Connection>();
    println!("a connection: {size} bytes");
    assert!(size <= 2_048, "{size} bytes");
}

#[test]
fn a_handler_that_panics_costs_the_connection_at_hand() {
    let mut pair = Pair::new();
    pair.talk(1 << 20);
    pair.client.says(b"!");
    let said = pair.client.takes();
    let End { layer, wire } = &mut pair.server;
    let event = AssertUnwindSafe(|| layer.received(wire, TAG, &said, NOW));
    assert!(catch_unwind(event).is_err());
    let mut suspects = Vec::new();
    assert!(layer.recover(wire, &mut suspects, NOW).is_some());
    assert!(suspects.contains(&HANDLE), "{suspects:?}");
    assert!(layer.desk.connections.is_empty() && !layer.desk.has_work());
    assert_eq!(wire.take(HANDLE), b"", "nothing half said leaves");
    assert_eq!(layer.at_hand, None);
}

#[test]
fn what_is_written_to_others_before_a_panic_costs_those_too() {
    let mut pair = Pair::new();
    pair.talk(1 << 20);
    let End { layer, wire } = &mut pair.server;
    let event = AssertUnwindSafe(|| {
        layer.tell((wire, NOW), |_, effects| {
            effects.outbox(HANDLE).extend_from_slice(b"half of");
            panic!("on purpose");
        });
    });
    assert!(catch_unwind(event).is_err());
    let mut suspects = Vec::new();
    let End { layer, wire } = &mut pair.server;
    assert!(layer.recover(wire, &mut suspects, NOW).is_some());
    assert_eq!(suspects, [HANDLE]);
    assert_eq!(pair.server.takes(), b"");
}
