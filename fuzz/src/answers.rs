//! Answers of a backend: the walk finds the same end however the bytes are cut, and what a client is
//! told for them is an answer of the same shape.

use wire::{
    ClientDialect, HEADER_LEN, Piece, ResponseWalk, TextResultSet, Told, Translation, WalkError,
    write_packet,
};

use crate::input::Input;

/// The first byte: bit 0, whether the backend leaves EOF packets out; bit 1, whether the rest is the
/// answer as it is, or payloads behind their lengths that are packed here. The second byte is how
/// the answer is cut.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let choice = input.byte();
    let deprecate_eof = choice & 1 == 0;
    let step = usize::from(input.byte()).max(1);
    let answer = match choice & 2 {
        0 => packed(input),
        _ => input.rest().to_vec(),
    };
    let whole = Walked::new(&answer, deprecate_eof, answer.len().max(1));
    let cut = Walked::new(&answer, deprecate_eof, step);
    assert_eq!(cut, whole);
    read_rows(&answer, deprecate_eof);
    if deprecate_eof && whole.done {
        for client in DIALECTS {
            translated(&answer, client, &whole);
        }
    }
}

const DIALECTS: [ClientDialect; 4] = [
    dialect(false, false),
    dialect(false, true),
    dialect(true, false),
    dialect(true, true),
];

const fn dialect(deprecate_eof: bool, session_track: bool) -> ClientDialect {
    ClientDialect {
        deprecate_eof,
        session_track,
    }
}

/// Payloads, each behind one byte of length, as packets in order.
fn packed(mut input: Input<'_>) -> Vec<u8> {
    let (mut answer, mut sequence_id) = (Vec::new(), 1);
    while !input.is_empty() {
        let len = usize::from(input.byte());
        sequence_id = write_packet(&mut answer, sequence_id, input.bytes(len));
    }
    answer
}

/// What a walk found.
#[derive(Debug, PartialEq, Eq)]
struct Walked {
    /// Names of the pieces and the bytes of each, what came later of one included.
    pieces: Vec<(&'static str, Vec<u8>)>,
    error: Option<WalkError>,
    done: bool,
}

impl Walked {
    /// Walks over an answer that comes in parts of `step` bytes.
    fn new(answer: &[u8], deprecate_eof: bool, step: usize) -> Self {
        let mut walk = ResponseWalk::new(deprecate_eof, 0);
        let mut walked = Self {
            pieces: Vec::new(),
            error: None,
            done: false,
        };
        let (mut at, mut end) = (0, 0);
        while end < answer.len() && walked.error.is_none() {
            end = (end + step).min(answer.len());
            at += walked.part(&mut walk, &answer[at..end]);
        }
        walked.done = walk.is_done() && walked.error.is_none();
        if walked.done {
            assert_eq!(at, answer.len());
            assert!(walk.boundary().is_some());
        }
        walked
    }

    /// Takes pieces off `part` as far as that goes. Returns the bytes that they hold.
    fn part(&mut self, walk: &mut ResponseWalk, part: &[u8]) -> usize {
        let mut at = 0;
        loop {
            match walk.next(&part[at..]) {
                Ok(Some(piece)) => {
                    assert!(part[at..].starts_with(piece.bytes()));
                    at += piece.bytes().len();
                    self.piece(&piece);
                }
                Ok(None) => return at,
                Err(error) => {
                    self.error = Some(error);
                    return at;
                }
            }
        }
    }

    fn piece(&mut self, piece: &Piece<'_>) {
        match (piece, self.pieces.last_mut()) {
            (Piece::Rest(bytes), Some((_, begun))) => begun.extend_from_slice(bytes),
            _ => self.pieces.push((name(piece), piece.bytes().to_vec())),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        self.pieces.iter().map(|(name, _)| *name).collect()
    }
}

fn name(piece: &Piece<'_>) -> &'static str {
    match piece {
        Piece::ColumnCount(_) => "column count",
        Piece::Column(_) => "column",
        Piece::ColumnsEnd(_) => "end of columns",
        Piece::Row(_) => "row",
        Piece::Continuation(_) => "continuation",
        Piece::Rest(_) => "rest",
        Piece::Ok(_) => "OK",
        Piece::RowsEnd(_) => "end of rows",
        Piece::Err(_) => "ERR",
        Piece::LocalInfile(_) => "request for a file",
    }
}

/// What a client is told is walked over as the client would: all the same pieces, the rows and
/// column definitions in the same words.
fn translated(answer: &[u8], client: ClientDialect, backend: &Walked) {
    let (mut walk, mut translation) = (ResponseWalk::new(true, 0), Translation::new(client, 0));
    let (mut at, mut out) = (0, Vec::new());
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        let told = Told {
            state_changes: b"\x01\x05\x04shop",
            next_sequence_id: walk.next_sequence_id(),
            ..Told::default()
        };
        let translated = translation.piece(&piece, &told, &mut out);
        assert!(translated.is_ok(), "the walk has read it");
    }
    let told = Walked::new(&out, client.deprecate_eof, out.len());
    assert!(told.done, "{told:?}");
    assert_eq!(told.names(), backend.names());
    let pairs = backend.pieces.iter().zip(&told.pieces);
    for ((name, theirs), (_, ours)) in pairs {
        if matches!(
            *name,
            "column count" | "column" | "row" | "ERR" | "request for a file"
        ) {
            assert_eq!(theirs[HEADER_LEN..], ours[HEADER_LEN..]);
        }
    }
}

/// Rows are collected, or refused.
fn read_rows(answer: &[u8], deprecate_eof: bool) {
    let (mut walk, mut rows) = (
        ResponseWalk::new(deprecate_eof, 0),
        TextResultSet::default(),
    );
    let mut at = 0;
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        if rows.piece(&piece).is_err() {
            return;
        }
    }
    assert!(rows.rows().count() <= answer.len());
}
