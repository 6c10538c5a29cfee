//! What a plugin says beyond its first response: the packets of `caching_sha2_password`.
//!
//! Source: MySQL source documentation, "Protocol::AuthMoreData" and "Caching_sha2_password
//! information".

use crate::Malformed;
use crate::packet::PacketWriter;

/// The whole payload by which a client asks for the server's public key.
pub const REQUEST_PUBLIC_KEY: &[u8] = &[0x02];

const HEADER: u8 = 0x01;
const FAST_AUTH_SUCCESS: u8 = 0x03;
const FULL_AUTHENTICATION: u8 = 0x04;

/// A server's word within an authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMoreData<'a> {
    /// The response was right; OK follows.
    FastAuthSuccess,
    /// The server must see the password itself, over a channel that is secure or encrypted.
    FullAuthentication,
    /// Anything else: the public key in PEM form, if that was asked for.
    Data(&'a [u8]),
}

impl<'a> AuthMoreData<'a> {
    /// Reads the packet.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        match payload {
            [HEADER, FAST_AUTH_SUCCESS] => Ok(Self::FastAuthSuccess),
            [HEADER, FULL_AUTHENTICATION] => Ok(Self::FullAuthentication),
            [HEADER, data @ ..] => Ok(Self::Data(data)),
            _ => Err(Malformed::Invalid("auth more data header")),
        }
    }

    /// Appends the packet. Returns the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8) -> u8 {
        let mut packet = PacketWriter::begin(out, sequence_id);
        let payload = packet.payload();
        payload.push(HEADER);
        match self {
            Self::FastAuthSuccess => payload.push(FAST_AUTH_SUCCESS),
            Self::FullAuthentication => payload.push(FULL_AUTHENTICATION),
            Self::Data(data) => payload.extend_from_slice(data),
        }
        packet.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_as_servers_send_them() {
        let table: [(AuthMoreData<'_>, &[u8]); 3] = [
            (AuthMoreData::FastAuthSuccess, b"\x02\0\0\x02\x01\x03"),
            (AuthMoreData::FullAuthentication, b"\x02\0\0\x02\x01\x04"),
            (AuthMoreData::Data(b"-----"), b"\x06\0\0\x02\x01-----"),
        ];
        for (data, bytes) in table {
            let mut out = Vec::new();
            assert_eq!(data.encode(&mut out, 2), 3);
            assert_eq!(out, bytes);
            assert_eq!(AuthMoreData::parse(&bytes[4..]), Ok(data));
        }
        assert!(AuthMoreData::parse(b"").is_err());
        assert!(AuthMoreData::parse(b"\x00\x03").is_err());
    }
}
