//! What a COM_STMT_PREPARE is answered with.

use wire::{Header, Reader, whole_packet, write_packet};

use crate::all;

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
