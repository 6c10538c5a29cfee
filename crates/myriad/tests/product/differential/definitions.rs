//! The column definitions that a client keeps (`MARIADB_CLIENT_CACHE_METADATA`): an answer as it reads it, whether they
//! were sent again or not. When they are is the server's own affair, and the front door's.

use wire::Reader;

use crate::support::{Answer, Packet, Part};

/// Stands behind a number of columns whose definitions do not follow, and whose definitions do.
const LEFT_OUT: u8 = 0;
const FOLLOW: u8 = 1;

/// Those of one prepared statement, as they were sent last.
#[derive(Default)]
pub(super) struct Definitions(Vec<Packet>);

impl Definitions {
    /// Those that the answer to COM_STMT_PREPARE tells, behind those of so many parameters.
    pub(super) fn prepared(answer: &Answer, parameters: u16) -> Self {
        let told = answer.packets.iter();
        let told = told.filter(|(part, _)| *part == Part::Column);
        let columns = told.skip(parameters.into());
        Self(columns.map(|(_, packet)| packet.clone()).collect())
    }

    /// Puts what was kept where an execution's answer leaves it out, and keeps what that tells.
    pub(super) fn complete(&mut self, answer: &mut Answer) {
        let (mut place, mut added) = (0, 0_u8);
        while let Some((part, packet)) = answer.packets.get_mut(place) {
            packet.sequence_id = packet.sequence_id.wrapping_add(added);
            place += 1;
            if *part != Part::ColumnCount {
                continue;
            }
            if !is_left_out(packet) {
                let told = answer.packets[place..].iter();
                let told = told.take_while(|(part, _)| *part == Part::Column);
                self.0 = told.map(|(_, packet)| packet.clone()).collect();
                continue;
            }
            *packet.payload.last_mut().unwrap() = FOLLOW;
            let first = packet.sequence_id.wrapping_add(1);
            let kept = (first..).zip(&self.0).map(|(sequence_id, kept)| {
                let payload = kept.payload.clone();
                let packet = Packet {
                    sequence_id,
                    payload,
                };
                (Part::Column, packet)
            });
            let kept: Vec<_> = kept.collect();
            added = added.wrapping_add(u8::try_from(kept.len()).unwrap());
            let behind = place + kept.len();
            answer.packets.splice(place..place, kept);
            place = behind;
        }
    }
}

fn is_left_out(count: &Packet) -> bool {
    let mut reader = Reader::new(&count.payload);
    reader.lenenc_int("column count").unwrap();
    reader.rest() == [LEFT_OUT]
}

#[test]
fn what_was_kept_stands_where_it_was_left_out() {
    use wire::Capabilities;
    let read = |packets: &[(u8, &[u8])]| {
        let mut packets = packets.iter().map(|&(sequence_id, payload)| Packet {
            sequence_id,
            payload: payload.to_vec(),
        });
        Answer::read(Capabilities::DEPRECATE_EOF, || packets.next().ok_or(())).unwrap()
    };
    let end = b"\xfe\0\0\x02\0\0\0";
    let told = read(&[(1, &[1, FOLLOW]), (2, b"def a"), (3, b"\0\0 7"), (4, end)]);
    let less = read(&[(1, &[1, LEFT_OUT]), (2, b"\0\0 7"), (3, end)]);
    let mut kept = Definitions::default();
    let mut complete = |answer: &Answer| {
        let mut answer = answer.clone();
        kept.complete(&mut answer);
        answer
    };
    assert_ne!(complete(&less), told);
    assert_eq!(complete(&told), told);
    assert_eq!(complete(&less), told);
    let other = read(&[(1, &[1, FOLLOW]), (2, b"def b"), (3, b"\0\0 7"), (4, end)]);
    assert_eq!(complete(&other), other);
    assert_ne!(complete(&less), told);
}
