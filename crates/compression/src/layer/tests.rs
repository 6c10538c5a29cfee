//! A handler that repeats what it hears, behind the layer: as if nothing were compressed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use events::{Close, Compression, ConnectError, Handle, Peer, Recorder, Span};

use super::*;
use crate::codec::PART;

const HANDLE: Handle = Handle(7);
const TAG: Tag = Tag(70);
const NOW: Timestamp = Timestamp::ZERO;

/// Repeats all that it hears; stops listening at a `p`, hangs up at a `q`, panics at a `!`.
#[derive(Default)]
struct Echo {
    heard: Vec<u8>,
    gone: bool,
    ended: Option<HangUp>,
    resumes: bool,
    /// Stops listening when it is told of more that it has not heard.
    patience: Option<usize>,
    withheld: Vec<usize>,
    drained: u32,
    /// The connections that outlast a panic.
    outlasting: HashSet<Handle>,
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

    fn drained<I: Io<()>>(&mut self, _io: &mut I, _tag: Tag, _now: Timestamp) {
        self.drained += 1;
    }

    fn withheld<I: Io<()>>(&mut self, io: &mut I, _tag: Tag, bytes: usize, _now: Timestamp) {
        self.withheld.push(bytes);
        if self.patience.is_some_and(|patience| bytes > patience) {
            io.pause_receive(HANDLE);
        }
    }

    fn hung_up<I: Io<()>>(&mut self, io: &mut I, _tag: Tag, how: HangUp, _now: Timestamp) {
        (self.gone, self.ended) = (true, Some(how));
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

    fn recover<I: Io<()>>(
        &mut self,
        _: &mut I,
        _: &mut Vec<Handle>,
        _: Timestamp,
    ) -> Option<HashSet<Handle>> {
        Some(self.outlasting.clone())
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
    while let Some(header) = Header::parse(bytes) {
        let mut opened = Opened::new(Compression::Zlib, header).expect("it can be so long");
        bytes = &bytes[HEADER_LEN..];
        while !opened.is_done() {
            let part = unpacker.part(&mut opened, bytes).expect("it is as it says");
            plain.extend_from_slice(part.plain);
            bytes = &bytes[part.consumed..];
        }
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
        assert_eq!(connection.inbox.capacity(), 0);
        assert!(connection.staged.is_empty());
        assert_eq!(layer.into_inner().heard, expected);
    }
}

#[test]
fn answers_count_on_from_what_they_answer() {
    let (mut layer, mut wire) = begin();
    layer.received(&mut wire, TAG, &packed(b"one", 0), NOW);
    layer.received(&mut wire, TAG, &packed(b"two", 2), NOW);
    layer.received(&mut wire, TAG, &packed(b"new", 0), NOW);
    let told = &wire.outboxes[&HANDLE];
    assert_eq!((told[3], told[10 + 3], told[20 + 3]), (1, 3, 1));
}

#[test]
fn packets_that_do_not_follow_each_other_end_the_connection() {
    let (mut layer, mut wire) = begin();
    layer.received(&mut wire, TAG, &packed(b"one", 0), NOW);
    layer.received(&mut wire, TAG, &packed(b"two", 7), NOW);
    assert_eq!(layer.inner.handler.ended, Some(HangUp::OutOfOrder));
    assert_eq!(layer.inner.handler.heard, b"one");
}

/// A turn of the driver in which nothing comes.
fn turn(layer: &mut Compressed<Echo>, wire: &mut Recorder<()>) {
    if layer.next_timer().is_some_and(|at| at <= NOW) {
        layer.timer(wire, NOW);
    }
    layer.turn_ended(wire, NOW);
}

#[test]
fn a_large_packet_is_unpacked_over_several_turns_while_short_ones_pass() {
    const OTHER: (Handle, Tag) = (Handle(8), Tag(80));
    let (mut layer, mut wire) = begin();
    layer.inner.connections.insert(OTHER, Compression::Zlib);
    let large = vec![b'x'; 3 * PER_TURN];
    let bytes = packed_in_one(&large);
    layer.received(&mut wire, TAG, &bytes, NOW);
    let heard = layer.inner.handler.heard.len();
    assert!((PER_TURN..PER_TURN + 2 * PART).contains(&heard), "{heard}");
    assert!(wire.paused.contains(&HANDLE), "no more of it is read");
    layer.received(&mut wire, OTHER.1, &packed(b"short", 0), NOW);
    assert!(layer.inner.handler.heard.ends_with(b"short"));
    let mut turns = 0;
    while wire.paused.contains(&HANDLE) {
        let before = layer.inner.handler.heard.len();
        turn(&mut layer, &mut wire);
        let more = layer.inner.handler.heard.len() - before;
        assert!(more < PER_TURN + 2 * PART, "{more} in one turn");
        turns += 1;
        assert!(turns < 10);
    }
    assert!(turns >= 2);
    assert_eq!(layer.inner.handler.heard.len(), large.len() + 5);
    // So is what leaves.
    while layer.is_behind() {
        turn(&mut layer, &mut wire);
    }
    assert_eq!(unpacked(&wire.take(HANDLE)).len(), large.len() + 5);
    assert_eq!(layer.next_timer(), Some(NOW + Span::from_ms(1)));
}

#[test]
fn those_with_large_packets_take_turns() {
    const OTHER: (Handle, Tag) = (Handle(8), Tag(80));
    let (mut layer, mut wire) = begin();
    layer.inner.connections.insert(OTHER, Compression::Zlib);
    layer.turn_ended(&mut wire, NOW);
    layer.received(
        &mut wire,
        TAG,
        &packed_in_one(&vec![b'a'; 4 * PER_TURN]),
        NOW,
    );
    layer.received(
        &mut wire,
        OTHER.1,
        &packed_in_one(&vec![b'b'; 4 * PER_TURN]),
        NOW,
    );
    let mut most = 0;
    for _ in 0..20 {
        turn(&mut layer, &mut wire);
        let heard = &layer.inner.handler.heard;
        let of = |byte| heard.iter().filter(|&&heard| heard == byte).count();
        most = most.max(of(b'a').abs_diff(of(b'b')));
    }
    assert_eq!(layer.inner.handler.heard.len(), 8 * PER_TURN);
    // The first had a turn to itself, and the next one before the second's.
    assert!(most <= 2 * PER_TURN, "one is {most} bytes ahead");
}

#[test]
fn the_handler_knows_of_a_large_packet_before_it_comes() {
    let (mut layer, mut wire) = begin();
    layer.inner.handler.patience = Some(100_000);
    let bytes = packed_in_one(&vec![b'x'; 200_000]);
    let (beginning, rest) = bytes.split_at(50);
    layer.received(&mut wire, TAG, beginning, NOW);
    assert_eq!(layer.inner.handler.withheld, [200_000 + 50]);
    assert_eq!(layer.inner.handler.heard, b"", "it did not want to hear");
    layer.received(&mut wire, TAG, rest, NOW);
    layer.timer(&mut wire, NOW + Span::from_ms(1));
    while layer.is_behind() {
        turn(&mut layer, &mut wire);
    }
    assert_eq!(layer.inner.handler.heard.len(), 200_000);
    assert_eq!(layer.inner.handler.withheld.last(), Some(&0));
}

#[test]
fn whoever_wants_to_know_when_all_has_left_waits_for_what_is_not_packed() {
    let (mut layer, mut wire) = begin();
    layer.may_pack = 0;
    layer.inner.tell(&mut wire, |_, effects| {
        effects.outbox(HANDLE).resize(100_000, b'x');
        effects.notify_drained(HANDLE);
    });
    layer.goes_on(&mut wire, NOW);
    assert_eq!(wire.drains_wanted, 0, "it would be told too early");
    // The next turn packs it.
    layer.turn_ended(&mut wire, NOW);
    turn(&mut layer, &mut wire);
    assert_eq!(wire.drains_wanted, 1);
}

fn packed_in_one(plain: &[u8]) -> Vec<u8> {
    let mut deflate = flate2::Compress::new(flate2::Compression::fast(), true);
    let mut content = Vec::with_capacity(plain.len() + 1_000);
    deflate
        .compress_vec(plain, &mut content, flate2::FlushCompress::Finish)
        .expect("it can be packed");
    let header = Header {
        len: content.len(),
        sequence_id: 0,
        plain_len: plain.len(),
    };
    [&header.to_bytes()[..], &content].concat()
}

#[test]
fn who_does_not_want_to_hear_is_told_later() {
    let (mut layer, mut wire) = begin();
    let bytes = [packed(b"p", 0), packed(b"later", 0), packed(b"q", 0)].concat();
    layer.received(&mut wire, TAG, &bytes, NOW);
    assert!(wire.paused.contains(&HANDLE));
    assert_eq!(layer.inner.handler.heard, b"p");
    layer.timer(&mut wire, NOW + Span::from_ms(1));
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
    let event = AssertUnwindSafe(|| layer.timer(&mut wire, NOW + Span::from_ms(1)));
    assert!(catch_unwind(event).is_err());
    let mut suspects = Vec::new();
    assert!(layer.recover(&mut wire, &mut suspects, NOW).is_some());
    assert!(suspects.contains(&HANDLE), "{suspects:?}");
    assert!(layer.inner.connections.is_empty());
    assert_eq!(wire.take(HANDLE), b"", "nothing half said leaves");
    // Others go on.
    layer.received(&mut wire, OTHER, b"plain", NOW);
    assert_eq!(wire.take(HANDLE), b"plain");
    assert_eq!(layer.at_hand, None);
}

#[test]
fn connections_that_are_behind_catch_up_after_another_one_has_panicked() {
    const OTHER: (Handle, Tag) = (Handle(8), Tag(80));
    let (mut layer, mut wire) = begin();
    layer.inner.connections.insert(OTHER, Compression::Zlib);
    layer.inner.handler.outlasting = HashSet::from([OTHER.0]);
    let mut bad = vec![b'x'; 2 * PER_TURN];
    bad[PER_TURN + PER_TURN / 2] = b'!';
    layer.received(&mut wire, TAG, &packed_in_one(&bad), NOW);
    let good = vec![b'y'; 2 * PER_TURN];
    layer.received(&mut wire, OTHER.1, &packed_in_one(&good), NOW);
    assert!(wire.paused.contains(&OTHER.0), "it is behind the first");
    layer.turn_ended(&mut wire, NOW);
    let event = AssertUnwindSafe(|| layer.timer(&mut wire, NOW));
    assert!(catch_unwind(event).is_err());
    let mut suspects = Vec::new();
    assert!(layer.recover(&mut wire, &mut suspects, NOW).is_some());
    assert!(suspects.contains(&HANDLE), "{suspects:?}");
    for _ in 0..10 {
        layer.turn_ended(&mut wire, NOW);
        turn(&mut layer, &mut wire);
    }
    let heard = layer.inner.handler.heard.iter();
    assert_eq!(heard.filter(|&&byte| byte == b'y').count(), good.len());
    assert!(!wire.paused.contains(&OTHER.0), "it is read from again");
}

/// Stages so many bytes for a connection, as an answer to it.
fn answer(layer: &mut Compressed<Echo>, wire: &mut Recorder<()>, handle: Handle, len: usize) {
    let io = (wire, NOW);
    layer.tell(io, |_, effects| {
        let outbox = effects.outbox(handle);
        outbox.resize(outbox.len() + len, b'x');
    });
}

/// Bytes of connections that are not packed yet, as the handler sees them.
fn unpacked_total(layer: &mut Compressed<Echo>) -> usize {
    let nothing_left = &mut Recorder::default();
    layer
        .inner
        .tell(nothing_left, |_, effects| effects.unsent_total())
}

#[test]
fn large_answers_take_turns_and_short_ones_pass_them() {
    const OTHERS: [(Handle, Tag); 2] = [(Handle(8), Tag(80)), (Handle(9), Tag(90))];
    const LONG: usize = 3 * PER_TURN;
    let (mut layer, mut wire) = begin();
    for other in OTHERS {
        layer.inner.connections.insert(other, Compression::Zlib);
    }
    answer(&mut layer, &mut wire, HANDLE, LONG);
    answer(&mut layer, &mut wire, OTHERS[0].0, LONG);
    // The turn's part is packed: whatever else happens in it, those that wait stay where they are.
    answer(&mut layer, &mut wire, OTHERS[1].0, 100);
    answer(&mut layer, &mut wire, OTHERS[0].0, 100);
    answer(&mut layer, &mut wire, OTHERS[1].0, 100);
    assert_eq!(unpacked(&wire.take(OTHERS[1].0)).len(), 200);
    assert_eq!(layer.inner.connections.waiting, [TAG, OTHERS[0].1]);
    assert_eq!(unpacked_total(&mut layer), 2 * LONG - PER_TURN + 100);
    let mut left = [HANDLE, OTHERS[0].0].map(|handle| (handle, Vec::new()));
    let mut most = 0;
    for _ in 0..10 {
        layer.turn_ended(&mut wire, NOW);
        turn(&mut layer, &mut wire);
        for (handle, bytes) in &mut left {
            bytes.extend(unpacked(&wire.take(*handle)));
        }
        most = most.max(left[0].1.len().abs_diff(left[1].1.len()));
    }
    assert_eq!(left.map(|(_, bytes)| bytes.len()), [LONG, LONG + 100]);
    // The first had a turn to itself before the second came.
    assert!(most <= 2 * PER_TURN, "one is {most} bytes ahead");
    assert_eq!(unpacked_total(&mut layer), 0);
    assert!(!layer.is_behind());
}

#[test]
fn a_large_answer_that_waits_outlasts_the_panic_of_another_connection() {
    const OTHER: (Handle, Tag) = (Handle(8), Tag(80));
    let (mut layer, mut wire) = begin();
    layer.inner.connections.insert(OTHER, Compression::Zlib);
    layer.inner.handler.outlasting = HashSet::from([OTHER.0]);
    answer(&mut layer, &mut wire, OTHER.0, 2 * PER_TURN);
    let bad = packed(b"!", 0);
    let event = AssertUnwindSafe(|| layer.received(&mut wire, TAG, &bad, NOW));
    assert!(catch_unwind(event).is_err());
    let mut suspects = Vec::new();
    assert!(layer.recover(&mut wire, &mut suspects, NOW).is_some());
    assert!(!suspects.contains(&OTHER.0), "{suspects:?}");
    while layer.is_behind() {
        layer.turn_ended(&mut wire, NOW);
        turn(&mut layer, &mut wire);
    }
    assert_eq!(unpacked(&wire.take(OTHER.0)).len(), 2 * PER_TURN);
}

#[test]
fn what_is_closed_while_its_answer_waits_is_not_counted_any_more() {
    let (mut layer, mut wire) = begin();
    answer(&mut layer, &mut wire, HANDLE, 2 * PER_TURN);
    assert_eq!(unpacked_total(&mut layer), PER_TURN);
    layer
        .inner
        .tell(&mut wire, |_, effects| effects.close(HANDLE, Close::Flush));
    assert_eq!(unpacked_total(&mut layer), 0);
    assert_eq!(unpacked(&wire.outboxes[&HANDLE]).len(), 2 * PER_TURN);
}
