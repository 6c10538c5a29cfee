//! The connection phase: who an administrator is. The password is known here, so either plugin is
//! checked against the nonce, and nobody is ever asked for the password itself.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ExtendedCapabilities,
    HandshakeResponse, InitialHandshake, Malformed, OkPacket, SslRequest, code,
};

use super::error::SqlError;
use super::result_set::{STATUS, UTF8MB4};
use super::stream::{Ended, Stream};
use crate::entrance::Entrance;

/// What a login has to pass.
pub(super) struct Guard<'a> {
    pub(super) entrance: &'a Entrance,
    /// Counts those who are refused.
    pub(super) refused: &'a AtomicU64,
    /// How long each packet may take.
    pub(super) time: Duration,
}

/// Who has logged in.
pub(super) struct Visitor {
    /// User name.
    pub(super) user: String,
    /// Looks, and changes nothing.
    pub(super) read_only: bool,
    /// What was negotiated.
    pub(super) capabilities: Capabilities,
}

const OFFERED: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::CONNECT_WITH_DB)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA)
    .union(Capabilities::DEPRECATE_EOF);

/// What a client is greeted with; it may prefer the other.
const GREETED: AuthPlugin = AuthPlugin::CachingSha2Password;

/// Goes through a login. On refusal the client is told why.
pub(super) async fn login(
    stream: &mut Stream,
    id: u32,
    guard: &Guard<'_>,
) -> Result<Visitor, Ended> {
    let nonce = nonce()?;
    let payload = hello(stream, (id, nonce), guard).await?;
    let response = HandshakeResponse::parse(&payload)?;
    let capabilities = response.capabilities & OFFERED;
    let user = String::from_utf8_lossy(response.user).into_owned();
    let (plugin, proof) = proof(stream, &response, (nonce, guard.time)).await?;
    let verify = |password: &[u8]| plugin.verify(password, &nonce, &proof);
    let Some(administrator) = guard.entrance.admit(&user, verify) else {
        guard.entrance.slow_down(guard.refused).await;
        let using = if proof.is_empty() { "NO" } else { "YES" };
        let text = format!("Access denied for user '{user}' (using password: {using})");
        let error = SqlError::new(code::ACCESS_DENIED, b"28000", text);
        return refuse(stream, &error).await;
    };
    if let Some(schema) = response.schema {
        let text = format!("Unknown database '{}'", String::from_utf8_lossy(schema));
        let error = SqlError::new(code::UNKNOWN_SCHEMA, b"42000", text);
        return refuse(stream, &error).await;
    }
    if plugin == AuthPlugin::CachingSha2Password {
        let success = AuthMoreData::FastAuthSuccess;
        stream.sequence_id = success.encode(&mut stream.out, stream.sequence_id);
    }
    let ok = OkPacket {
        status: STATUS,
        ..OkPacket::default()
    };
    ok.encode(&mut stream.out, stream.sequence_id, 0x00);
    stream.flush().await?;
    Ok(Visitor {
        user,
        read_only: administrator.read_only,
        capabilities,
    })
}

/// Greets a client. Returns its handshake response, which came over TLS if it asked for that.
async fn hello(
    stream: &mut Stream,
    (id, nonce): (u32, [u8; 20]),
    guard: &Guard<'_>,
) -> Result<Vec<u8>, Ended> {
    let offer = guard.entrance.offer();
    greet(stream, (id, nonce), offer.is_some()).await?;
    let payload = stream.read(guard.time).await?;
    if let (true, Some(server)) = (SslRequest::is(&payload), offer) {
        stream.secure(server).await?;
        return stream.read(guard.time).await;
    }
    if guard.entrance.requires_tls() {
        let text = "Connections using insecure transport are prohibited by admin.tls";
        let error = SqlError::new(code::SECURE_TRANSPORT_REQUIRED, b"HY000", text);
        return refuse(stream, &error).await;
    }
    Ok(payload)
}

/// Tells a client an error; what comes back ends the connection.
pub(super) async fn refuse<T>(stream: &mut Stream, error: &SqlError) -> Result<T, Ended> {
    let sequence_id = stream.sequence_id;
    let packet = error.packet();
    packet.encode(&mut stream.out, sequence_id, Capabilities::PROTOCOL_41);
    stream.flush().await?;
    Err(Ended::Refused)
}

async fn greet(
    stream: &mut Stream,
    (connection_id, nonce): (u32, [u8; 20]),
    offers_tls: bool,
) -> Result<(), Ended> {
    let mut capabilities = OFFERED;
    capabilities.set(Capabilities::SSL, offers_tls);
    let handshake = InitialHandshake {
        server_version: super::VERSION.as_bytes(),
        connection_id,
        nonce,
        capabilities,
        extended: ExtendedCapabilities::empty(),
        collation: UTF8MB4 as u8,
        status: STATUS,
        auth_plugin: GREETED.name(),
    };
    stream.sequence_id = handshake.encode(&mut stream.out, 0);
    stream.flush().await
}

/// The proof that a client gives, and by which plugin. A client that names none of ours, or that has
/// given none for the one it names, is asked for it.
async fn proof(
    stream: &mut Stream,
    response: &HandshakeResponse<'_>,
    (nonce, time): ([u8; 20], Duration),
) -> Result<(AuthPlugin, Vec<u8>), Ended> {
    let names = response.capabilities.contains(Capabilities::PLUGIN_AUTH);
    if !names || response.auth_plugin.is_empty() {
        return Ok((AuthPlugin::NativePassword, response.auth_response.to_vec()));
    }
    let named = AuthPlugin::named(response.auth_plugin);
    let silent = response.auth_response.is_empty() && named != Some(GREETED);
    if let (Some(plugin), false) = (named, silent) {
        return Ok((plugin, response.auth_response.to_vec()));
    }
    let plugin = named.unwrap_or(GREETED);
    let request = AuthSwitchRequest {
        plugin: plugin.name(),
        data: &nonce,
    };
    stream.sequence_id = request.encode(&mut stream.out, stream.sequence_id);
    stream.flush().await?;
    Ok((plugin, stream.read(time).await?))
}

/// Random bytes, none of which is 0.
fn nonce() -> Result<[u8; 20], Ended> {
    let mut nonce = [0; 20];
    let filled = getrandom(&mut nonce, GetRandomFlags::empty()).map_err(std::io::Error::from)?;
    if filled < nonce.len() {
        return Err(Ended::Malformed(Malformed::Truncated("nonce")));
    }
    Ok(nonce.map(|byte| 1 + byte % 127))
}
