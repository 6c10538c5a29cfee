//! Packing and unpacking, there and back again, and what is not what it says.

use proptest::prelude::*;

use super::*;
use crate::packet::LEN_MAX;

const METHODS: [Compression; 2] = [Compression::Zlib, Compression::Zstd { level: 3 }];

/// All that is in the packets, and the sequence ids that they have.
fn unpacked(
    codec: &mut Unpacker,
    method: Compression,
    mut bytes: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), Broken> {
    let (mut plain, mut ids) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        match codec.unpack(method, bytes)? {
            Unpacked::Incomplete => break,
            Unpacked::Packet {
                plain: part,
                sequence_id,
                consumed,
            } => {
                plain.extend_from_slice(part);
                ids.push(sequence_id);
                bytes = &bytes[consumed..];
            }
        }
    }
    Ok((plain, ids))
}

#[test]
fn content_survives_at_each_length_that_matters() {
    let (mut packer, mut codec) = (Packer::default(), Unpacker::default());
    for method in METHODS {
        for len in [0, 1, 49, 50, 5_000, CHUNK, CHUNK + 1, 20 << 20] {
            let plain: Vec<u8> = (0..len).map(|i| (i / 7) as u8).collect();
            let mut out = Vec::new();
            let next = packer.pack(method, &plain, (254, &mut out));
            assert_eq!(usize::from(next.wrapping_sub(254)), len.div_ceil(CHUNK));
            assert!(len < 5_000 || out.len() < len / 2);
            let (told, ids) = unpacked(&mut codec, method, &out).unwrap();
            assert!(told == plain, "{len} {method:?}");
            assert!(ids.iter().zip(254..).all(|(&id, nth)| id == nth as u8));
        }
    }
    codec.forget();
    assert!(codec.scratch.capacity() <= SCRATCH_MAX);
    assert!(packer.scratch.capacity() <= SCRATCH_MAX);
}

#[test]
fn what_does_not_pack_goes_as_it_is() {
    let mut random = 1_u32;
    let mut noise = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 24) as u8
    };
    let plain: Vec<u8> = (0..10_000).map(|_| noise()).collect();
    for method in METHODS {
        let mut out = Vec::new();
        Packer::default().pack(method, &plain, (0, &mut out));
        assert_eq!(Header::parse(&out).unwrap().plain_len, 0);
        assert_eq!(out[HEADER_LEN..], plain);
    }
}

#[test]
fn a_packet_that_is_more_or_less_than_it_says_is_broken() {
    let (mut packer, mut codec) = (Packer::default(), Unpacker::default());
    for method in METHODS {
        let mut out = Vec::new();
        packer.pack(method, &[b'x'; 1_000], (0, &mut out));
        for says in [1, 999, 1_001, LEN_MAX] {
            let mut header = Header::parse(&out).unwrap();
            header.plain_len = says;
            out[..HEADER_LEN].copy_from_slice(&header.to_bytes());
            assert_eq!(codec.unpack(method, &out), Err(Broken), "{says} {method:?}");
        }
    }
}

#[test]
fn a_bomb_takes_no_more_than_it_says() {
    let mut codec = Unpacker::default();
    // 16 MiB − 1 of nothing, and a header that says 1,000.
    let mut deflate = Compress::new(flate2::Compression::new(9), true);
    let mut packed = Vec::with_capacity(1 << 20);
    let nothing = vec![0; LEN_MAX];
    let done = deflate.compress_vec(&nothing, &mut packed, FlushCompress::Finish);
    assert!(matches!(done, Ok(Status::StreamEnd)));
    let header = Header {
        len: packed.len(),
        sequence_id: 0,
        plain_len: 1_000,
    };
    let bytes = [&header.to_bytes()[..], &packed].concat();
    assert_eq!(codec.unpack(Compression::Zlib, &bytes), Err(Broken));
    assert!(codec.scratch.capacity() < 10_000);
}

proptest! {
    #[test]
    fn whatever_comes_is_refused_or_is_as_long_as_it_says(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        plain_len in 0_usize..300,
        zstd in any::<bool>(),
    ) {
        let method = METHODS[usize::from(zstd)];
        let header = Header { len: bytes.len(), sequence_id: 7, plain_len };
        let packet = [&header.to_bytes()[..], &bytes].concat();
        if let Ok(Unpacked::Packet { plain, consumed, .. }) = Unpacker::default().unpack(method, &packet) {
            prop_assert_eq!(consumed, packet.len());
            prop_assert_eq!(plain.len(), if plain_len == 0 { bytes.len() } else { plain_len });
        }
    }

    #[test]
    fn a_packet_that_was_changed_is_refused_or_has_its_length(
        plain in prop::collection::vec(0_u8..4, 50..500),
        (place, byte) in (0_usize..100, any::<u8>()),
        zstd in any::<bool>(),
    ) {
        let method = METHODS[usize::from(zstd)];
        let (mut packer, mut codec) = (Packer::default(), Unpacker::default());
        let mut out = Vec::new();
        packer.pack(method, &plain, (0, &mut out));
        let place = HEADER_LEN + place % (out.len() - HEADER_LEN);
        out[place] = byte;
        if let Ok(Unpacked::Packet { plain: told, .. }) = codec.unpack(method, &out) {
            prop_assert_eq!(told.len(), plain.len());
        }
    }

    #[test]
    fn an_incomplete_packet_waits(plain in prop::collection::vec(0_u8..4, 0..300), zstd in any::<bool>()) {
        let method = METHODS[usize::from(zstd)];
        let (mut packer, mut codec) = (Packer::default(), Unpacker::default());
        let mut out = Vec::new();
        packer.pack(method, &plain, (0, &mut out));
        for cut in 0..out.len() {
            prop_assert_eq!(codec.unpack(method, &out[..cut]), Ok(Unpacked::Incomplete));
        }
    }
}
