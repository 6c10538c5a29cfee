//! Framing and the packets of the command phase: cut, read, written again.

use wire::{
    Capabilities, ErrPacket, HEADER_LEN, Header, OkPacket, Payload, Reader, ServerStatus,
    put_lenenc_bytes, put_lenenc_int, whole_packet, write_packet,
};

/// No input panics, and what was read is read again from what is written of it.
pub fn check(data: &[u8]) {
    framing(data);
    fields(data);
    ok(data);
    err(data);
}

fn framing(data: &[u8]) {
    if let Some(header) = Header::parse(data) {
        assert_eq!(header.to_bytes(), data[..HEADER_LEN]);
    }
    match whole_packet(data) {
        Err(needed) => assert!(needed > data.len(), "{needed} bytes are there already"),
        Ok(complete) => {
            let mut again = Vec::new();
            let first = data[HEADER_LEN - 1];
            let next = write_packet(&mut again, first, complete.payload.bytes());
            assert_eq!(again.len(), complete.consumed);
            if let Payload::Whole(_) = complete.payload {
                assert_eq!(again, data[..complete.consumed]);
                assert_eq!(next, complete.sequence_id.wrapping_add(1));
            }
        }
    }
}

fn fields(data: &[u8]) {
    let mut reader = Reader::new(data);
    if let Ok(value) = reader.lenenc_int("value") {
        let mut again = Vec::new();
        put_lenenc_int(&mut again, value);
        assert!(again.len() <= data.len() - reader.rest().len());
        assert_eq!(Reader::new(&again).lenenc_int("value"), Ok(value));
    }
    let mut again = Vec::new();
    put_lenenc_bytes(&mut again, data);
    assert_eq!(Reader::new(&again).text_column("value"), Ok(Some(data)));
    let mut reader = Reader::new(data);
    while !reader.is_empty() && reader.text_column("value").is_ok() {}
}

fn ok(data: &[u8]) {
    let Ok(mut ok) = OkPacket::parse(data) else {
        return;
    };
    // A change takes a byte at least.
    assert!(ok.changes().count() <= ok.state_changes.len());
    let mut again = Vec::new();
    ok.encode(&mut again, 0, data[0]);
    let flag = ServerStatus::SESSION_STATE_CHANGED;
    ok.status.set(flag, !ok.state_changes.is_empty());
    assert_eq!(OkPacket::parse(&again[HEADER_LEN..]), Ok(ok));
}

fn err(data: &[u8]) {
    let Ok(err) = ErrPacket::parse(data) else {
        return;
    };
    let mut again = Vec::new();
    err.encode(&mut again, 0, Capabilities::PROTOCOL_41);
    assert_eq!(ErrPacket::parse(&again[HEADER_LEN..]), Ok(err));
}
