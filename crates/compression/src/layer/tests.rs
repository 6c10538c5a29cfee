//! A handler that repeats what it hears, behind the layer: as if nothing were compressed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use events::{Close, Compression, ConnectError, Handle, Peer, Recorder, Span};

use super::*;

const HANDLE: Handle = Handle(7);
const TAG: Tag = Tag(70);
const NOW: Timestamp = Timestamp::ZERO;

/// Repeats all that it hears; stops listening at a `p`, hangs up at a `q`, panics at a `!`.
#[derive(Default)]
struct Echo {
    heard: Vec<u8>,
    gone: bool,
    resumes: bool,
}

impl Handler for Echo {
    type Mail = ();

    fn accepted<I: Io<()>>(
        &mut self,
        io: &mut I,
        handle: Handle,
        _peer: Peer,
        _nonce: [u8; 32],
        _now: Timestamp,
    ) -> Tag {
        io.outbox(handle).extend_from_slice(b"welcome");
        io.compress((handle, TAG), Compression::Zlib);
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

    fn received<I: Io<()>>(&mut self, io: &mut I, _tag: Tag, bytes: &[u8], _now: Timestamp) {
        self.heard.extend_from_slice(bytes);
        io.outbox(HANDLE).extend_from_slice(bytes);
        assert!(io.unsent(HANDLE) >= bytes.len());
        assert!(!bytes.contains(&b'!'), "on purpose");
        if bytes.contains(&b'p') {
            io.pause_receive(HANDLE);
        }
        if bytes.contains(&b'q') {
            io.close(HANDLE, Close::Flush);
        }
    }

    fn drained<I: Io<()>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {}

    fn hung_up<I: Io<()>>(&mut self, io: &mut I, _tag: Tag, _how: HangUp, _now: Timestamp) {
        self.gone = true;
        io.close(HANDLE, Close::Abort);
    }

    fn mail<I: Io<()>>(&mut self, _io: &mut I, (): (), _now: Timestamp) {}

    fn timer<I: Io<()>>(&mut self, io: &mut I, _now: Timestamp) {
        self.resumes = true;
        io.resume_receive(HANDLE);
    }

    fn next_timer(&self) -> Option<Timestamp> {
        Some(NOW + Span::from_ms(1))
    }

    fn turn_ended<I: Io<()>>(&mut self, _io: &mut I, _now: Timestamp) {}

    fn recover<I: Io<()>>(&mut self, _: &mut I, _: &mut Vec<Handle>, _: Timestamp) -> bool {
        true
    }

    fn finished(&self) -> bool {
        self.gone
    }
}

fn begin() -> (Compressed<Echo>, Recorder<()>) {
    let (mut layer, mut wire) = (Compressed::new(Echo::default()), Recorder::default());
    layer.accepted(&mut wire, HANDLE, Peer::Unix, [0; 32], NOW);
    let greeting = wire.take(HANDLE);
    assert_eq!(greeting, b"welcome", "it comes before compression begins");
    (layer, wire)
}

fn packed(plain: &[u8], sequence_id: u8) -> Vec<u8> {
    let mut out = Vec::new();
    Packer::default().pack(Compression::Zlib, plain, (sequence_id, &mut out));
    out
}

fn unpacked(mut bytes: &[u8]) -> Vec<u8> {
    let (mut unpacker, mut plain) = (Unpacker::default(), Vec::new());
    while let Ok(Unpacked::Packet {
        plain: part,
        consumed,
        ..
    }) = unpacker.unpack(Compression::Zlib, bytes)
    {
        plain.extend_from_slice(part);
        bytes = &bytes[consumed..];
    }
    assert_eq!(bytes, b"");
    plain
}

#[test]
fn it_is_as_if_nothing_were_compressed_wherever_it_is_cut() {
    let (first, second) = ([b'a'; 300], *b"short");
    let bytes = [packed(&first, 0), packed(&second, 0)].concat();
    let expected = [&first[..], &second].concat();
    for cut in 0..bytes.len() {
        let (mut layer, mut wire) = begin();
        for part in [&bytes[..cut], &bytes[cut..]] {
            layer.received(&mut wire, TAG, part, NOW);
        }
        let told = wire.take(HANDLE);
        assert_eq!(unpacked(&told), expected, "cut at {cut}");
        let connection = layer.inner.connections.get_mut(TAG).expect("it is there");
        assert_eq!(
            connection.inbox.capacity() + connection.staged.capacity(),
            0
        );
        assert_eq!(layer.into_inner().heard, expected);
    }
}

#[test]
fn answers_count_on_from_what_they_answer() {
    let (mut layer, mut wire) = begin();
    layer.received(&mut wire, TAG, &packed(b"one", 4), NOW);
    layer.received(&mut wire, TAG, &packed(b"two", 0), NOW);
    let told = &wire.outboxes[&HANDLE];
    assert_eq!((told[3], told[7 + 3 + 3]), (5, 1));
}

#[test]
fn who_does_not_want_to_hear_is_told_later() {
    let (mut layer, mut wire) = begin();
    let bytes = [packed(b"p", 0), packed(b"later", 0), packed(b"q", 0)].concat();
    layer.received(&mut wire, TAG, &bytes, NOW);
    assert!(wire.paused.contains(&HANDLE));
    assert_eq!(layer.inner.handler.heard, b"p");
    layer.timer(&mut wire, NOW);
    assert_eq!(layer.inner.handler.heard, b"platerq");
    assert!(wire.has_closed(HANDLE) && layer.inner.connections.is_empty());
    assert_eq!(unpacked(&wire.outboxes[&HANDLE]), b"platerq");
}

#[test]
fn what_is_not_compressed_right_ends_the_connection() {
    let (mut layer, mut wire) = begin();
    let mut bytes = packed(&[b'x'; 100], 0);
    bytes[4] = 99;
    layer.received(&mut wire, TAG, &bytes, NOW);
    assert!(wire.has_closed(HANDLE) && layer.finished());
    // Nobody is told of what comes late.
    layer.hung_up(&mut wire, Tag(71), HangUp::Closed, NOW);
}

#[test]
fn a_handler_that_panics_costs_the_connection_at_hand() {
    const OTHER: Tag = Tag(71);
    let (mut layer, mut wire) = begin();
    // The event is about another connection, and has this one heard of again.
    let bytes = [packed(b"p", 0), packed(b"!", 0), packed(b"lost", 0)].concat();
    layer.received(&mut wire, TAG, &bytes, NOW);
    wire.take(HANDLE);
    let event = AssertUnwindSafe(|| layer.timer(&mut wire, NOW));
    assert!(catch_unwind(event).is_err());
    let mut suspects = Vec::new();
    assert!(layer.recover(&mut wire, &mut suspects, NOW));
    assert!(suspects.contains(&HANDLE), "{suspects:?}");
    assert!(layer.inner.connections.is_empty());
    assert_eq!(wire.take(HANDLE), b"", "nothing half said leaves");
    // Others go on.
    layer.received(&mut wire, OTHER, b"plain", NOW);
    assert_eq!(wire.take(HANDLE), b"plain");
    assert_eq!(layer.at_hand, None);
}
