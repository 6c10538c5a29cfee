//! Packing and unpacking, there and back again, and what is not what it says.

use proptest::prelude::*;

use super::*;
use crate::packet::{HEADER_LEN, LEN_MAX};

const METHODS: [Compression; 2] = [Compression::Zlib, Compression::Zstd { level: 3 }];

/// What is in the packet at the beginning of `bytes`, of which each step sees `step` bytes at most, its sequence id, and
/// its length. `None` if it is not complete.
fn packet(
    codec: &mut Unpacker,
    method: Compression,
    bytes: &[u8],
    step: usize,
) -> Result<Option<(Vec<u8>, u8, usize)>, Broken> {
    let Some(header) = Header::parse(bytes) else {
        return Ok(None);
    };
    let mut opened = Opened::new(method, header)?;
    let (mut at, mut plain) = (HEADER_LEN, Vec::new());
    while !opened.is_done() {
        let rest = &bytes[at..];
        let part = codec.part(&mut opened, &rest[..rest.len().min(step)])?;
        if part.plain.is_empty() && part.consumed == 0 {
            return Ok(None);
        }
        assert!(part.plain.len() <= PART + 1, "{}", part.plain.len());
        plain.extend_from_slice(part.plain);
        at += part.consumed;
    }
    Ok(Some((plain, header.sequence_id, at)))
}

/// All that is in the packets, and the sequence ids that they have.
fn unpacked(
    codec: &mut Unpacker,
    method: Compression,
    mut bytes: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), Broken> {
    let (mut plain, mut ids) = (Vec::new(), Vec::new());
    while let Some((part, id, len)) = packet(codec, method, bytes, usize::MAX)? {
        plain.extend_from_slice(&part);
        ids.push(id);
        bytes = &bytes[len..];
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
            let told = packet(&mut codec, method, &out, usize::MAX);
            assert_eq!(told, Err(Broken), "{says} {method:?}");
        }
    }
}

#[test]
fn content_comes_in_parts_however_it_is_cut() {
    let (mut packer, mut codec) = (Packer::default(), Unpacker::default());
    for method in METHODS {
        for len in [100, PART - 1, PART, PART + 1, 2 * PART, 5 * PART + 7] {
            let plain: Vec<u8> = (0..len).map(|i| (i * i / 11) as u8).collect();
            let mut out = Vec::new();
            packer.pack(method, &plain, (3, &mut out));
            for step in [1, 2, 100, 10_000, usize::MAX] {
                let told = packet(&mut codec, method, &out, step).unwrap();
                let told = told.expect("it is complete");
                assert!(
                    told == (plain.clone(), 3, out.len()),
                    "{len} {step} {method:?}"
                );
            }
        }
    }
}

#[test]
fn the_last_part_waits_for_the_end_to_be_verified() {
    let mut codec = Unpacker::default();
    let plain = vec![b'x'; PART + 100];
    let mut out = Vec::new();
    Packer::default().pack(Compression::Zlib, &plain, (0, &mut out));
    let end = out.len() - 1;
    out[end] ^= 1;
    let header = Header::parse(&out).unwrap();
    let mut opened = Opened::new(Compression::Zlib, header).unwrap();
    let first = codec.part(&mut opened, &out[HEADER_LEN..end]).unwrap();
    let (first, at) = (first.plain.len(), HEADER_LEN + first.consumed);
    let rest = codec.part(&mut opened, &out[at..end]).unwrap();
    assert_eq!((first, rest.plain.len()), (PART, 0));
    let at = at + rest.consumed;
    assert_eq!(codec.part(&mut opened, &out[at..]), Err(Broken));
}

#[test]
fn content_that_is_longer_packed_than_it_can_be_is_broken() {
    let header = Header {
        len: 5_000,
        sequence_id: 0,
        plain_len: 100,
    };
    assert!(Opened::new(Compression::Zlib, header).is_err());
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
    let told = packet(&mut codec, Compression::Zlib, &bytes, usize::MAX);
    assert_eq!(told, Err(Broken));
    assert!(codec.scratch.capacity() <= 2 * PART);
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
        let all = [&header.to_bytes()[..], &bytes].concat();
        if let Ok(Some((plain, _, consumed))) = packet(&mut Unpacker::default(), method, &all, usize::MAX) {
            prop_assert_eq!(consumed, all.len());
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
        if let Ok(Some((told, ..))) = packet(&mut codec, method, &out, usize::MAX) {
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
            prop_assert_eq!(packet(&mut codec, method, &out[..cut], usize::MAX), Ok(None));
        }
    }
}
