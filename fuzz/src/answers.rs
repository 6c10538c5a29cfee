//! Answers of a backend: the walk finds the same end however the bytes are cut, and what a client is
//! told for them is an answer of the same shape.

use wire::{
    ClientDialect, HEADER_LEN, Piece, ResponseWalk, Shape, TextResultSet, Told, Translation,
    WalkError, write_packet,
};

use crate::input::Input;

const SHAPES: [Shape; 4] = [Shape::Results, Shape::Prepare, Shape::Rows, Shape::Single];

/// What is known of an answer before it comes.
#[derive(Clone, Copy)]
struct Due {
    shape: Shape,
    deprecate_eof: bool,
}

/// The first byte: bit 0, whether the backend sends EOF packets; bit 1, whether the rest is the answer
/// as it is, or payloads behind their lengths that are packed here; bits 2 and 3, the shape. The
/// second byte is how the answer is cut.
pub fn check(data: &[u8]) {
    let mut input = Input::new(data);
    let choice = input.byte();
    let due = Due {
        shape: SHAPES[usize::from(choice >> 2 & 3)],
        deprecate_eof: choice & 1 == 0,
    };
    let step = usize::from(input.byte()).max(1);
    let answer = match choice & 2 {
        0 => packed(input),
        _ => input.rest().to_vec(),
    };
    let whole = Walked::new(&answer, due, answer.len().max(1));
    let cut = Walked::new(&answer, due, step);
    assert_eq!(cut, whole);
    read_rows(&answer, due);
    if due.deprecate_eof && whole.done {
        for client in DIALECTS {
            translated(&answer, (client, due.shape), &whole);
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
        cache_metadata: false,
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

impl Due {
    fn walk(self) -> ResponseWalk {
        ResponseWalk::shaped(self.shape, self.deprecate_eof, 0)
    }
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
    fn new(answer: &[u8], due: Due, step: usize) -> Self {
        let mut walk = due.walk();
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
        Piece::PrepareOk(_) => "prepared",
        Piece::Progress(_) => "progress",
        Piece::Text(_) => "text",
    }
}

/// What a client is told is walked over as the client would: all the same pieces, the rows and
/// column definitions in the same words. With a cursor an EOF packet less may be told.
fn translated(answer: &[u8], (client, shape): (ClientDialect, Shape), backend: &Walked) {
    let Some(out) = translate(answer, shape, Translation::new(client, 0)) else {
        // The one packet that the walk does not read to its end.
        return assert_eq!(shape, Shape::Single);
    };
    let due = Due {
        shape,
        deprecate_eof: client.deprecate_eof,
    };
    let told = Walked::new(&out, due, out.len());
    assert!(told.done, "{told:?}");
    assert_eq!(told.names(), backend.names());
    for ((name, theirs), (_, ours)) in backend.pieces.iter().zip(&told.pieces) {
        if !matches!(*name, "OK" | "end of rows" | "end of columns") {
            assert_eq!(theirs[HEADER_LEN..], ours[HEADER_LEN..]);
        }
    }
    let cursor = translate(answer, shape, Translation::new(client, 0).with_cursor());
    assert!(cursor.is_some_and(|cursor| cursor.len() <= out.len()));
}

/// What the client is told; `None` if the answer turns out to be malformed.
fn translate(answer: &[u8], shape: Shape, mut translation: Translation) -> Option<Vec<u8>> {
    let mut walk = ResponseWalk::shaped(shape, true, 0);
    let (mut at, mut out) = (0, Vec::new());
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        let told = Told {
            state_changes: b"\x01\x05\x04shop",
            next_sequence_id: walk.next_sequence_id(),
            ..Told::default()
        };
        translation.piece(&piece, &told, &mut out).ok()?;
    }
    Some(out)
}

/// Rows are collected, or refused.
fn read_rows(answer: &[u8], due: Due) {
    let (mut walk, mut rows) = (due.walk(), TextResultSet::default());
    let mut at = 0;
    while let Ok(Some(piece)) = walk.next(&answer[at..]) {
        at += piece.bytes().len();
        if rows.piece(&piece).is_err() {
            return;
        }
    }
    assert!(rows.rows().count() <= answer.len());
}
