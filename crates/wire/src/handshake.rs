//! The packets of the connection phase.
//!
//! Source: MySQL manual, "Protocol::HandshakeV10", "Protocol::HandshakeResponse41",
//! "Protocol::AuthSwitchRequest"; MariaDB knowledge base, "Connection", for the extended flags in
//! the reserved bytes.

use crate::attributes::read_attributes;
use crate::capabilities::{Capabilities, ExtendedCapabilities};
use crate::packet::PacketWriter;
use crate::reader::put_lenenc_bytes;
use crate::status::ServerStatus;
use crate::{Malformed, Reader};

/// What a server says first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialHandshake<'a> {
    /// The version string, with MariaDB's `5.5.5-` prefix if it has one.
    pub server_version: &'a [u8],
    /// The connection id that KILL takes.
    pub connection_id: u32,
    /// 20 random bytes.
    pub nonce: [u8; 20],
    /// What the server can do.
    pub capabilities: Capabilities,
    /// What a MariaDB server can do besides; empty on MySQL.
    pub extended: ExtendedCapabilities,
    /// The server's default collation.
    pub collation: u8,
    /// Status flags.
    pub status: ServerStatus,
    /// The plugin that `nonce` is meant for.
    pub auth_plugin: &'a [u8],
}

impl<'a> InitialHandshake<'a> {
    /// Reads the packet. An ERR packet in its place is [`Malformed::Invalid`].
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("protocol version")? != 10 {
            return Err(Malformed::Invalid("protocol version"));
        }
        let server_version = reader.nul_terminated("server version")?;
        let connection_id = reader.u32("connection id")?;
        let mut nonce = [0; 20];
        nonce[..8].copy_from_slice(reader.bytes(8, "nonce")?);
        reader.u8("filler")?;
        let low = reader.u16("capability flags")?;
        let collation = reader.u8("collation")?;
        let status = ServerStatus::from_bits_retain(reader.u16("status flags")?);
        let high = reader.u16("capability flags")?;
        let capabilities = Capabilities::from_bits_retain(u32::from(low) | u32::from(high) << 16);
        reader.u8("nonce length")?;
        reader.bytes(6, "reserved")?;
        let mut extended = ExtendedCapabilities::from_bits_retain(reader.u32("reserved")?);
        if capabilities.contains(Capabilities::LONG_PASSWORD) {
            extended = ExtendedCapabilities::empty();
        }
        nonce[8..].copy_from_slice(reader.bytes(12, "nonce")?);
        reader.u8("nonce terminator")?;
        let auth_plugin = match capabilities.contains(Capabilities::PLUGIN_AUTH) {
            // MySQL 5.5.7 to 5.5.9 forgot the terminator.
            true => reader.nul_terminated("plugin").unwrap_or(reader.rest()),
            false => b"",
        };
        Ok(Self {
            server_version,
            connection_id,
            nonce,
            capabilities,
            extended,
            collation,
            status,
            auth_plugin,
        })
    }

    /// Appends the packet. Returns the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8) -> u8 {
        let capabilities = self.capabilities.bits().to_le_bytes();
        let mut packet = PacketWriter::begin(out, sequence_id);
        let payload = packet.payload();
        payload.push(10);
        put_nul_terminated(payload, self.server_version);
        payload.extend_from_slice(&self.connection_id.to_le_bytes());
        payload.extend_from_slice(&self.nonce[..8]);
        payload.push(0);
        payload.extend_from_slice(&capabilities[..2]);
        payload.push(self.collation);
        payload.extend_from_slice(&self.status.bits().to_le_bytes());
        payload.extend_from_slice(&capabilities[2..]);
        payload.push(21);
        payload.extend_from_slice(&[0; 6]);
        payload.extend_from_slice(&self.extended.bits().to_le_bytes());
        payload.extend_from_slice(&self.nonce[8..]);
        payload.push(0);
        put_nul_terminated(payload, self.auth_plugin);
        packet.finish()
    }
}

/// What a client answers if it wants the rest to go over TLS: the beginning of its handshake response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SslRequest {
    /// What the client wants to use; CLIENT_SSL is among it.
    pub capabilities: Capabilities,
    /// MariaDB's extended flags.
    pub extended: ExtendedCapabilities,
    /// The longest packet that the client will take.
    pub max_packet_size: u32,
    /// The collation of its connection.
    pub collation: u8,
}

impl SslRequest {
    const LEN: usize = 32;

    /// True if this is such a packet.
    pub fn is(payload: &[u8]) -> bool {
        let flags = Reader::new(payload).u32("capability flags");
        let flags = Capabilities::from_bits_retain(flags.unwrap_or_default());
        let wanted = Capabilities::PROTOCOL_41 | Capabilities::SSL;
        payload.len() == Self::LEN && flags.contains(wanted)
    }

    /// Appends the packet. Returns the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8) -> u8 {
        let mut packet = PacketWriter::begin(out, sequence_id);
        self.put(packet.payload());
        packet.finish()
    }

    fn put(&self, payload: &mut Vec<u8>) {
        payload.extend_from_slice(&self.capabilities.bits().to_le_bytes());
        payload.extend_from_slice(&self.max_packet_size.to_le_bytes());
        payload.push(self.collation);
        payload.extend_from_slice(&[0; 19]);
        payload.extend_from_slice(&self.extended.bits().to_le_bytes());
    }
}

/// What a client answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// What the client wants to use.
    pub capabilities: Capabilities,
    /// MariaDB's extended flags; empty for a client that set CLIENT_LONG_PASSWORD.
    pub extended: ExtendedCapabilities,
    /// The longest packet that the client will take.
    pub max_packet_size: u32,
    /// The collation of its connection; ids above 255 are cut by the client.
    pub collation: u8,
    /// User name.
    pub user: &'a [u8],
    /// The authentication response for `auth_plugin`.
    pub auth_response: &'a [u8],
    /// The default schema, if it names one that is not empty.
    pub schema: Option<&'a [u8]>,
    /// The plugin that made `auth_response`; empty if the client did not say.
    pub auth_plugin: &'a [u8],
    /// Connection attributes, as they came.
    pub attributes: &'a [u8],
}

impl<'a> HandshakeResponse<'a> {
    /// Reads the packet of a client that speaks the protocol of 4.1 and later.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        let capabilities = Capabilities::from_bits_retain(reader.u32("capability flags")?);
        if !capabilities.contains(Capabilities::PROTOCOL_41) {
            return Err(Malformed::Invalid(
                "capability flags (protocol of before 4.1)",
            ));
        }
        let max_packet_size = reader.u32("max packet size")?;
        let collation = reader.u8("collation")?;
        reader.bytes(19, "reserved")?;
        let mut extended = ExtendedCapabilities::from_bits_retain(reader.u32("reserved")?);
        if capabilities.contains(Capabilities::LONG_PASSWORD) {
            extended = ExtendedCapabilities::empty();
        }
        let user = reader.nul_terminated("user")?;
        let auth_response = auth_response(&mut reader, capabilities)?;
        let mut schema = None;
        if capabilities.contains(Capabilities::CONNECT_WITH_DB) && !reader.is_empty() {
            schema = Some(reader.nul_terminated("schema")?).filter(|name| !name.is_empty());
        }
        let mut auth_plugin = &b""[..];
        if capabilities.contains(Capabilities::PLUGIN_AUTH) && !reader.is_empty() {
            // Some old clients forget the terminator where nothing follows.
            auth_plugin = match reader.nul_terminated("plugin") {
                Ok(name) => name,
                Err(_) => std::mem::replace(&mut reader, Reader::new(b"")).rest(),
            };
        }
        let mut attributes = &b""[..];
        if capabilities.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            attributes = read_attributes(&mut reader)?;
        }
        Ok(Self {
            capabilities,
            extended,
            max_packet_size,
            collation,
            user,
            auth_response,
            schema,
            auth_plugin,
            attributes,
        })
    }

    /// The level of compression that a client of the zstd-compressed protocol asks for, if the packet has it.
    pub fn zstd_level(payload: &[u8]) -> Option<u8> {
        let flags = Reader::new(payload).u32("capability flags").ok()?;
        let flags = Capabilities::from_bits_retain(flags);
        let level = payload
            .last()
            .filter(|_| flags.contains(Capabilities::ZSTD_COMPRESSION));
        level.copied()
    }

    /// Appends the packet. `capabilities` says which of the optional fields are written. Returns
    /// the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8) -> u8 {
        let mut packet = PacketWriter::begin(out, sequence_id);
        let payload = packet.payload();
        let beginning = SslRequest {
            capabilities: self.capabilities,
            extended: self.extended,
            max_packet_size: self.max_packet_size,
            collation: self.collation,
        };
        beginning.put(payload);
        put_nul_terminated(payload, self.user);
        if self
            .capabilities
            .contains(Capabilities::PLUGIN_AUTH_LENENC_DATA)
        {
            put_lenenc_bytes(payload, self.auth_response);
        } else if self.capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let len = u8::try_from(self.auth_response.len()).unwrap_or(u8::MAX);
            payload.push(len);
            payload.extend_from_slice(&self.auth_response[..usize::from(len)]);
        } else {
            put_nul_terminated(payload, self.auth_response);
        }
        if self.capabilities.contains(Capabilities::CONNECT_WITH_DB) {
            put_nul_terminated(payload, self.schema.unwrap_or_default());
        }
        if self.capabilities.contains(Capabilities::PLUGIN_AUTH) {
            put_nul_terminated(payload, self.auth_plugin);
        }
        if self.capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put_lenenc_bytes(payload, self.attributes);
        }
        packet.finish()
    }
}

fn auth_response<'a>(
    reader: &mut Reader<'a>,
    capabilities: Capabilities,
) -> Result<&'a [u8], Malformed> {
    const FIELD: &str = "authentication response";
    if capabilities.contains(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
        reader.lenenc_bytes(FIELD)
    } else if capabilities.contains(Capabilities::SECURE_CONNECTION) {
        let len = reader.u8(FIELD)?;
        reader.bytes(usize::from(len), FIELD)
    } else {
        reader.nul_terminated(FIELD)
    }
}

/// The server asks for another authentication plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthSwitchRequest<'a> {
    /// The plugin to use.
    pub plugin: &'a [u8],
    /// Its data: for the password plugins the nonce, without its terminator.
    pub data: &'a [u8],
}

impl<'a> AuthSwitchRequest<'a> {
    /// Reads the packet.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("auth switch header")? != 0xfe {
            return Err(Malformed::Invalid("auth switch header"));
        }
        if reader.is_empty() {
            return Err(Malformed::Invalid(
                "auth switch to the password of before 4.1",
            ));
        }
        let plugin = reader.nul_terminated("plugin")?;
        let data = reader.rest();
        Ok(Self {
            plugin,
            data: data.strip_suffix(b"\0").unwrap_or(data),
        })
    }

    /// Appends the packet. Returns the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8) -> u8 {
        let mut packet = PacketWriter::begin(out, sequence_id);
        let payload = packet.payload();
        payload.push(0xfe);
        put_nul_terminated(payload, self.plugin);
        put_nul_terminated(payload, self.data);
        packet.finish()
    }
}

fn put_nul_terminated(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

#[cfg(test)]
mod tests;
