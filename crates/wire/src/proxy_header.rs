//! The PROXY protocol, versions 1 and 2: what a load balancer says of whom it connects for, ahead of the
//! connection's own bytes.
//!
//! Source: "The PROXY protocol", haproxy.org, 2.1 and 2.2. Which peers are believed is not known here.

use std::net::{IpAddr, SocketAddr};

use crate::Malformed;

/// The first bytes of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// No header of version 1 is longer.
const LINE_MAX: usize = 107;

/// No header of version 2 is taken that is longer: addresses, and a little for what may follow them.
const BINARY_MAX: usize = 16 + 2_048;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyHeader {
    /// For whom the connection is; `None`: for the balancer itself, or somebody without such an address.
    pub client: Option<SocketAddr>,
    /// Bytes that it takes.
    pub len: usize,
}

/// What connections begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// A header.
    Header(ProxyHeader),
    /// Something else.
    Other,
    /// That cannot be told yet.
    TooShort,
}

/// Looks at the first bytes of a connection.
///
/// # Errors
///
/// They begin like a header and are none.
pub fn proxy_header(bytes: &[u8]) -> Result<Beginning, Malformed> {
    let begins = |with: &[u8]| bytes.len() < with.len() && with.starts_with(bytes);
    if begins(b"PROXY ") || begins(SIGNATURE) {
        return Ok(Beginning::TooShort);
    }
    if bytes.starts_with(b"PROXY ") {
        line(bytes)
    } else if bytes.starts_with(SIGNATURE) {
        binary(bytes)
    } else {
        Ok(Beginning::Other)
    }
}

fn line(bytes: &[u8]) -> Result<Beginning, Malformed> {
    let wrong = Malformed::Invalid("PROXY header");
    let Some(end) = bytes
        .windows(2)
        .take(LINE_MAX - 1)
        .position(|two| two == b"\r\n")
    else {
        return if bytes.len() < LINE_MAX {
            Ok(Beginning::TooShort)
        } else {
            Err(wrong)
        };
    };
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| wrong)?;
    let words: Vec<&str> = text.split(' ').collect();
    let client = match words[..] {
        ["PROXY", "UNKNOWN", ..] => None,
        ["PROXY", family @ ("TCP4" | "TCP6"), from, _, port, _] => {
            let ip: IpAddr = from.parse().map_err(|_| wrong)?;
            if ip.is_ipv4() != (family == "TCP4") {
                return Err(wrong);
            }
            let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
            let port = port.parse().ok().filter(|_| is_number).ok_or(wrong)?;
            Some(SocketAddr::new(ip, port))
        }
        _ => return Err(wrong),
    };
    Ok(Beginning::Header(ProxyHeader {
        client,
        len: end + 2,
    }))
}

fn binary(bytes: &[u8]) -> Result<Beginning, Malformed> {
    let wrong = Malformed::Invalid("PROXY header");
    let Some((head, rest)) = bytes.split_at_checked(16) else {
        return Ok(Beginning::TooShort);
    };
    let len = 16 + usize::from(u16::from_be_bytes([head[14], head[15]]));
    if len > BINARY_MAX || head[12] >> 4 != 2 {
        return Err(wrong);
    }
    let Some(addresses) = rest.get(..len - 16) else {
        return Ok(Beginning::TooShort);
    };
    let client = match (head[12] & 0xf, head[13]) {
        // LOCAL: the balancer's own, to see whether we are well.
        (0, _) => None,
        (1, 0x11) => Some(address::<4>(addresses, 8).ok_or(wrong)?),
        (1, 0x21) => Some(address::<16>(addresses, 32).ok_or(wrong)?),
        (1, _) => None,
        _ => return Err(wrong),
    };
    Ok(Beginning::Header(ProxyHeader { client, len }))
}

/// The source of two addresses of that length, whose ports begin at `ports`.
fn address<const N: usize>(bytes: &[u8], ports: usize) -> Option<SocketAddr>
where
    IpAddr: From<[u8; N]>,
{
    let ip = IpAddr::from(*bytes.first_chunk::<N>()?);
    // The source's, and then the destination's.
    let [first, second, ..] = bytes.get(ports..ports + 4)? else {
        return None;
    };
    Some(SocketAddr::new(ip, u16::from_be_bytes([*first, *second])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(client: Option<&str>, len: usize) -> Result<Beginning, Malformed> {
        let client = client.map(|text| text.parse().unwrap());
        Ok(Beginning::Header(ProxyHeader { client, len }))
    }

    #[test]
    fn lines_as_balancers_write_them() {
        for (text, expected) in [
            (
                "PROXY TCP4 10.1.2.3 10.0.0.1 5555 3306\r\n\x01",
                header(Some("10.1.2.3:5555"), 40),
            ),
            (
                "PROXY TCP6 fd00::1 fd00::2 5555 3306\r\n",
                header(Some("[fd00::1]:5555"), 38),
            ),
            ("PROXY UNKNOWN\r\n", header(None, 15)),
            ("PROXY UNKNOWN a b c d\r\n", header(None, 23)),
            ("PRO", Ok(Beginning::TooShort)),
            ("", Ok(Beginning::TooShort)),
            ("PROXY TCP4 10.1.2.3 10", Ok(Beginning::TooShort)),
            ("\x20\0\0\x01", Ok(Beginning::Other)),
        ] {
            assert_eq!(proxy_header(text.as_bytes()), expected, "{text:?}");
        }
        for wrong in [
            "PROXY TCP4 fd00::1 fd00::2 5555 3306\r\n",
            "PROXY TCP4 10.1.2.3 10.0.0.1 555555 3306\r\n",
            "PROXY TCP4 10.1.2.3\r\n",
            "PROXY \r\n",
            "PROXY UDP4 10.1.2.3 10.0.0.1 1 2\r\n",
            "PROXY TCP4 10.1.2.3 10.0.0.1 +1 2\r\n",
            "PROXY TCP4  10.1.2.3 10.0.0.1 1 2\r\n",
            "PROXY TCP4 010.1.2.3 10.0.0.1 1 2\r\n",
            "PROXY TCP4 10.1.2.3 10.0.0.1 1 2 3\r\n",
            "PROXY TCP4 10.1.2.3 \u{e9} 1\r\n",
            &format!("PROXY {}", "x".repeat(120)),
        ] {
            assert!(proxy_header(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    fn binary(command: u8, family: u8, addresses: &[u8]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend_from_slice(&[command, family]);
        bytes.extend_from_slice(&(addresses.len() as u16).to_be_bytes());
        bytes.extend_from_slice(addresses);
        bytes
    }

    #[test]
    fn binary_headers_as_balancers_write_them() {
        let four = [10, 1, 2, 3, 10, 0, 0, 1, 0x15, 0xb3, 0x0c, 0xea];
        let mut six = [0; 36];
        (six[0], six[15], six[32], six[33]) = (0xfd, 1, 0x15, 0xb3);
        let with_more = [&four[..], b"\x04\0\x02ab"].concat();
        for (bytes, expected) in [
            (binary(0x21, 0x11, &four), header(Some("10.1.2.3:5555"), 28)),
            (
                binary(0x21, 0x11, &with_more),
                header(Some("10.1.2.3:5555"), 33),
            ),
            (binary(0x21, 0x21, &six), header(Some("[fd00::1]:5555"), 52)),
            (binary(0x20, 0x00, b""), header(None, 16)),
            (binary(0x21, 0x31, &[0; 216]), header(None, 232)),
        ] {
            assert_eq!(proxy_header(&bytes), expected);
            for end in 0..bytes.len() {
                assert_eq!(
                    proxy_header(&bytes[..end]),
                    Ok(Beginning::TooShort),
                    "{end}"
                );
            }
        }
        for wrong in [
            binary(0x11, 0x11, &four),
            binary(0x22, 0x11, &four),
            binary(0x21, 0x11, &four[..11]),
            binary(0x21, 0x11, &[0; 3_000]),
        ] {
            assert!(proxy_header(&wrong).is_err());
        }
    }

    #[test]
    fn the_longest_line_is_taken_and_a_longer_one_is_not() {
        let line = |len: usize| format!("PROXY UNKNOWN {}\r\n", "x".repeat(len - 16));
        assert_eq!(proxy_header(line(107).as_bytes()), header(None, 107));
        assert!(proxy_header(line(108).as_bytes()).is_err());
        let unended = "PROXY UNKNOWN ".to_owned() + &"x".repeat(92);
        assert_eq!(proxy_header(unended.as_bytes()), Ok(Beginning::TooShort));
        assert!(proxy_header((unended + "x").as_bytes()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn whatever_comes_is_told_the_same_in_pieces(
            start in proptest::sample::select(vec![&b""[..], b"PROXY ", b"PROXY TCP4 ", &SIGNATURE[..]]),
            rest in proptest::collection::vec(0_u8.., 0..300),
        ) {
            let bytes = [start, &rest].concat();
            let whole = proxy_header(&bytes);
            for end in 0..bytes.len() {
                let part = proxy_header(&bytes[..end]);
                proptest::prop_assert!(part == Ok(Beginning::TooShort) || part == whole);
            }
            if let Ok(Beginning::Header(header)) = whole {
                proptest::prop_assert!(header.len <= bytes.len());
            }
        }

        #[test]
        fn an_address_is_read_as_it_was_written(ip: IpAddr, port: u16) {
            let (family, to) = if ip.is_ipv4() { ("TCP4", "10.0.0.1") } else { ("TCP6", "::1") };
            let text = format!("PROXY {family} {ip} {to} {port} 3306\r\n");
            let client = Some(SocketAddr::new(ip, port));
            let expected = Beginning::Header(ProxyHeader { client, len: text.len() });
            proptest::prop_assert_eq!(proxy_header(text.as_bytes()), Ok(expected));
        }
    }
}
