//! What a COM_STMT_PREPARE is answered with.

use wire::{
    ClientDialect, Header, Reader, ResponseWalk, ServerStatus, Shape, Told, Translation,
    whole_packet, write_packet,
};

use crate::answers::{deprecate_eof, name};
use crate::{all, each};

#[test]
fn a_prepared_statement_with_one_parameter_and_four_columns() {
    for kept in all("prepare") {
        let packets = kept.golden.packets();
        let mut reader = Reader::new(&packets[0][4..]);
        assert_eq!(reader.u8("status"), Ok(0));
        assert!(reader.u32("statement id").is_ok_and(|id| id > 0));
        assert_eq!(
            (reader.u16("columns"), reader.u16("parameters")),
            (Ok(4), Ok(1))
        );
        let ends = if kept.name.ends_with("_old") { 2 } else { 0 };
        assert_eq!(
            packets.len(),
            1 + 1 + 4 + ends,
            "{} {}",
            kept.server,
            kept.name
        );
    }
}

#[test]
fn packets_come_in_order_and_are_written_as_they_came() {
    for kept in all("prepare").into_iter().chain(all("answer_")) {
        let mut again = Vec::new();
        for (packet, due) in kept.golden.packets().into_iter().zip(1..) {
            let sequence_id = Header::parse(packet).map(|header| header.sequence_id);
            assert_eq!(sequence_id, Some(due), "{}", kept.name);
            let complete = whole_packet(packet).unwrap();
            write_packet(&mut again, due, complete.payload.bytes());
        }
        assert_eq!(again, kept.golden.bytes);
    }
}

#[test]
fn the_walk_finds_the_end_of_a_response_to_a_prepare() {
    let expected = "prepared column columns end column column column column columns end";
    for kept in all("prepare") {
        let mut walk = ResponseWalk::shaped(Shape::Prepare, deprecate_eof(&kept), 0);
        let (mut at, mut names) = (0, Vec::new());
        while let Some(piece) = walk.next(&kept.golden.bytes[at..]).unwrap() {
            at += piece.bytes().len();
            names.push(name(&piece));
        }
        assert!(walk.is_done() && at == kept.golden.bytes.len());
        assert_eq!(names.join(" "), expected, "{}", kept.server);
    }
}

#[test]
fn an_old_client_is_told_of_a_prepared_statement_what_the_server_tells_it() {
    for (kept, old) in each("prepare").iter().zip(each("prepare_old")) {
        let mut walk = ResponseWalk::shaped(Shape::Prepare, true, 0);
        let mut translation = Translation::new(ClientDialect::default(), 0);
        let (mut at, mut told) = (0, Vec::new());
        while let Some(piece) = walk.next(&kept.golden.bytes[at..]).unwrap() {
            at += piece.bytes().len();
            let beside = Told {
                next_sequence_id: walk.next_sequence_id(),
                status: ServerStatus::AUTOCOMMIT,
                ..Told::default()
            };
            translation.piece(&piece, &beside, &mut told).unwrap();
        }
        // The statement's id may differ.
        let id = 5..9;
        told[id.clone()].copy_from_slice(&old.golden.bytes[id]);
        assert_eq!(told, old.golden.bytes, "{}", kept.server);
    }
}
