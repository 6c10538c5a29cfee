//! The connection phase: who an administrator is. The password is known here, so either plugin is
//! checked against the nonce, and nobody is ever asked for the password itself.

use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};
use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ExtendedCapabilities,
    HandshakeResponse, InitialHandshake, Malformed, OkPacket, code,
};
use zeroize::Zeroizing;

use super::error::SqlError;
use super::result_set::{STATUS, UTF8MB4};
use super::stream::{Ended, Stream};

/// Who may log in.
pub struct Administrator {
    /// User name.
    pub user: String,
    /// Password; not empty. Overwritten when dropped.
    pub password: Zeroizing<String>,
}

/// Who has logged in.
pub(super) struct Visitor {
    /// User name.
    pub(super) user: String,
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

/// Goes through a login, within `time` for each packet. On refusal the client is told why.
pub(super) async fn login(
    stream: &mut Stream,
    (id, administrators): (u32, &[Administrator]),
    time: Duration,
) -> Result<Visitor, Ended> {
    let nonce = nonce()?;
    greet(stream, id, nonce).await?;
    let payload = stream.read(time).await?;
    let response = HandshakeResponse::parse(&payload)?;
    let capabilities = response.capabilities & OFFERED;
    let user = String::from_utf8_lossy(response.user).into_owned();
    let (plugin, proof) = proof(stream, &response, (nonce, time)).await?;
    if !is_right(administrators, &user, |password| {
        plugin.verify(password, &nonce, &proof)
    }) {
        let using = if proof.is_empty() { "NO" } else { "YES" };
        let text = format!("Access denied for user '{user}' (using password: {using})");
        let error = SqlError::new(code::ACCESS_DENIED, b"28000", text);
        return refuse(stream, &error).await;
    }
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
    Ok(Visitor { user, capabilities })
}

/// Tells a client an error; what comes back ends the connection.
pub(super) async fn refuse<T>(stream: &mut Stream, error: &SqlError) -> Result<T, Ended> {
    let sequence_id = stream.sequence_id;
    let packet = error.packet();
    packet.encode(&mut stream.out, sequence_id, Capabilities::PROTOCOL_41);
    stream.flush().await?;
    Err(Ended::Refused)
}

async fn greet(stream: &mut Stream, connection_id: u32, nonce: [u8; 20]) -> Result<(), Ended> {
    let handshake = InitialHandshake {
        server_version: super::VERSION.as_bytes(),
        connection_id,
        nonce,
        capabilities: OFFERED,
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

/// An unknown user is checked against a password all the same: it must not be told apart by time.
fn is_right(
    administrators: &[Administrator],
    user: &str,
    verify: impl FnOnce(&[u8]) -> bool,
) -> bool {
    let found = administrators.iter().find(|known| known.user == user);
    let password = found.map_or("\0", |known| &known.password);
    verify(password.as_bytes()) && found.is_some()
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
