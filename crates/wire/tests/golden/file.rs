//! How golden packets are kept: a packet per line in hexadecimal, runs of a byte shortened to
//! `78*300`; `#` begins a comment.

use std::fmt::Write;
use std::path::PathBuf;

use wire::whole_packet;

/// Shorter runs are written out.
const RUN_MIN: usize = 12;

/// Packets that came one after the other.
pub(crate) struct Golden {
    /// All of them, headers included.
    pub(crate) bytes: Vec<u8>,
}

impl Golden {
    /// Reads the files whose names begin with `prefix`, in the order of their names.
    pub(crate) fn named(server: &str, prefix: &str) -> Vec<(String, Self)> {
        let folder = path(server, "").parent().map(PathBuf::from).unwrap();
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap();
            if name.starts_with(prefix) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((name.to_owned(), Self::from_text(&text)));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    fn from_text(text: &str) -> Self {
        let lines = text.lines().filter_map(|line| line.split('#').next());
        let bytes = lines.flat_map(str::split_whitespace).flat_map(run);
        Self {
            bytes: bytes.collect(),
        }
    }

    /// Writes the file. `about` says what the packets are.
    pub(crate) fn write(&self, server: &str, name: &str, about: &str) {
        let path = path(server, name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut text = String::new();
        for line in about.lines() {
            writeln!(text, "# {line}").unwrap();
        }
        for packet in self.packets() {
            writeln!(text, "{}", hexadecimal(packet)).unwrap();
        }
        std::fs::write(path, text).unwrap();
    }

    /// Each packet, header included.
    pub(crate) fn packets(&self) -> Vec<&[u8]> {
        let (mut packets, mut rest) = (Vec::new(), &self.bytes[..]);
        while !rest.is_empty() {
            let (packet, more) = rest.split_at(whole_packet(rest).expect("complete").consumed);
            packets.push(packet);
            rest = more;
        }
        packets
    }

    /// The payload of the only packet.
    pub(crate) fn payload(&self) -> &[u8] {
        let [packet] = self.packets()[..] else {
            panic!("not one packet");
        };
        &packet[wire::HEADER_LEN..]
    }
}

fn path(server: &str, name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    folder.join(server).join(format!("{name}.hex"))
}

fn run(word: &str) -> Vec<u8> {
    let (byte, times) = word.split_once('*').unwrap_or((word, "1"));
    let byte = u8::from_str_radix(byte, 16).expect("two hexadecimal digits");
    vec![byte; times.parse().expect("a number")]
}

/// The packet in one line, with what a person can read of it behind.
fn hexadecimal(packet: &[u8]) -> String {
    let mut line = String::new();
    for run in packet.chunk_by(|a, b| a == b) {
        let byte = run[0];
        if run.len() >= RUN_MIN {
            write!(line, "{byte:02x}*{} ", run.len()).unwrap();
        } else {
            line.push_str(&format!("{byte:02x} ").repeat(run.len()));
        }
    }
    let readable = |byte: &u8| match byte {
        b'#' | 0..=b' ' | 0x7f.. => '.',
        _ => char::from(*byte),
    };
    let text: String = packet.iter().skip(4).take(60).map(readable).collect();
    format!("{line} # {text}")
}

#[test]
fn what_is_written_is_read() {
    let packet = [&[4, 1, 0, 7][..], &[b'x'; 260]].concat();
    let line = hexadecimal(&packet);
    assert!(line.starts_with("04 01 00 07 78*260  # xxx"), "{line}");
    assert_eq!(Golden::from_text(&line).bytes, packet);
}
