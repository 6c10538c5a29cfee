//! The connection phase as a client: what to say to the initial handshake, and to what follows.
//! `mysql_native_password` and the fast path of `caching_sha2_password` are spoken.

use wire::{
    AuthMoreData, AuthPlugin, AuthSwitchRequest, Capabilities, ErrPacket, HEADER_LEN,
    HandshakeResponse, Header, InitialHandshake, Malformed, SslRequest, write_packet,
};

use crate::error::LoadError;
use crate::plan::Account;

/// What every connection wants to use.
const ALWAYS: Capabilities = Capabilities::LONG_PASSWORD
    .union(Capabilities::LONG_FLAG)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::PLUGIN_AUTH_LENENC_DATA);

/// The collation `utf8mb4_general_ci`, which all servers know.
const COLLATION: u8 = 45;

/// The longest packet that is taken.
const PACKET_MAX: u32 = 1 << 24;

/// Error numbers that tell of a wrong account, schema or address; trying again does not help:
/// access denied (three kinds), host not allowed, unknown schema, unsupported authentication.
const HOPELESS: [u16; 6] = [1044, 1045, 1049, 1130, 1251, 1698];

/// What a login waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoginStep {
    /// The connection, and the initial handshake.
    Handshake,
    /// TLS; what the handshake response will be about.
    Securing(Greeted),
    /// The answer to the handshake response.
    Answer {
        /// Whether CLIENT_DEPRECATE_EOF was negotiated.
        deprecate_eof: bool,
    },
}

/// What is kept of an initial handshake until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeted {
    plugin: AuthPlugin,
    nonce: [u8; 20],
    deprecate_eof: bool,
}

/// Where a packet takes a login.
#[derive(Debug)]
pub(crate) enum LoginOutcome {
    /// It goes on.
    Next(LoginStep),
    /// Logged in.
    Done {
        /// Whether CLIENT_DEPRECATE_EOF was negotiated.
        deprecate_eof: bool,
    },
    /// Not this time.
    Refused {
        /// The error number.
        number: u16,
        /// The text that came with it.
        message: String,
    },
    /// Never.
    Hopeless(LoadError),
}

impl LoginStep {
    /// Takes one whole packet, its header included, and appends what is to be said to `out`.
    pub(crate) fn packet(
        self,
        packet: &[u8],
        account: &Account,
        out: &mut Vec<u8>,
    ) -> LoginOutcome {
        let sequence_id = Header::parse(packet).map_or(0, |header| header.sequence_id);
        let payload = packet.get(HEADER_LEN..).unwrap_or_default();
        let outcome = match (self, payload.first()) {
            (_, Some(0xff)) => refused(payload),
            (Self::Handshake, _) => respond(payload, account, out),
            (Self::Answer { deprecate_eof }, Some(0x00)) => {
                Ok(LoginOutcome::Done { deprecate_eof })
            }
            (Self::Answer { .. }, Some(0xfe)) => {
                let next_id = sequence_id.wrapping_add(1);
                switch(payload, account, next_id, out).map(|()| LoginOutcome::Next(self))
            }
            (Self::Answer { .. }, Some(0x01)) => {
                let next_id = sequence_id.wrapping_add(1);
                more_data(payload, account, next_id, out).map(|()| LoginOutcome::Next(self))
            }
            (Self::Securing(_), _) => Err(Malformed::Invalid("packet before TLS").into()),
            (Self::Answer { .. }, _) => {
                Err(Malformed::Invalid("answer to the handshake response").into())
            }
        };
        outcome.unwrap_or_else(LoginOutcome::Hopeless)
    }

    /// The connection speaks TLS: appends what is to be said. `None` if nobody asked for that.
    pub(crate) fn secured(self, account: &Account, out: &mut Vec<u8>) -> Option<Self> {
        match self {
            Self::Securing(greeted) => Some(response(greeted, account, 2, out)),
            Self::Handshake | Self::Answer { .. } => None,
        }
    }
}

impl From<Malformed> for LoadError {
    fn from(malformed: Malformed) -> Self {
        Self::Protocol(malformed.to_string())
    }
}

fn refused(payload: &[u8]) -> Result<LoginOutcome, LoadError> {
    let error = ErrPacket::parse(payload)?;
    let number = error.code;
    let message = String::from_utf8_lossy(error.message).into_owned();
    if HOPELESS.contains(&number) {
        return Err(LoadError::Refused { number, message });
    }
    Ok(LoginOutcome::Refused { number, message })
}

fn respond(
    payload: &[u8],
    account: &Account,
    out: &mut Vec<u8>,
) -> Result<LoginOutcome, LoadError> {
    let handshake = InitialHandshake::parse(payload)?;
    let greeted = Greeted {
        plugin: AuthPlugin::named(handshake.auth_plugin).unwrap_or_default(),
        nonce: handshake.nonce,
        deprecate_eof: handshake.capabilities.contains(Capabilities::DEPRECATE_EOF),
    };
    if !account.tls {
        return Ok(LoginOutcome::Next(response(greeted, account, 1, out)));
    }
    if !handshake.capabilities.contains(Capabilities::SSL) {
        return Err(LoadError::NoTls);
    }
    SslRequest {
        capabilities: capabilities(greeted, account),
        extended: wire::ExtendedCapabilities::empty(),
        max_packet_size: PACKET_MAX,
        collation: COLLATION,
    }
    .encode(out, 1);
    Ok(LoginOutcome::Next(LoginStep::Securing(greeted)))
}

fn capabilities(greeted: Greeted, account: &Account) -> Capabilities {
    let mut capabilities = ALWAYS;
    capabilities.set(Capabilities::DEPRECATE_EOF, greeted.deprecate_eof);
    capabilities.set(Capabilities::CONNECT_WITH_DB, !account.schema.is_empty());
    capabilities.set(Capabilities::SSL, account.tls);
    capabilities
}

fn response(greeted: Greeted, account: &Account, sequence_id: u8, out: &mut Vec<u8>) -> LoginStep {
    let plugin = greeted.plugin;
    HandshakeResponse {
        capabilities: capabilities(greeted, account),
        extended: wire::ExtendedCapabilities::empty(),
        max_packet_size: PACKET_MAX,
        collation: COLLATION,
        user: account.user.as_bytes(),
        auth_response: &plugin.response(account.password.as_bytes(), &greeted.nonce),
        schema: Some(account.schema.as_bytes()),
        auth_plugin: plugin.name(),
        attributes: b"",
    }
    .encode(out, sequence_id);
    LoginStep::Answer {
        deprecate_eof: greeted.deprecate_eof,
    }
}

fn switch(
    payload: &[u8],
    account: &Account,
    sequence_id: u8,
    out: &mut Vec<u8>,
) -> Result<(), LoadError> {
    let request = AuthSwitchRequest::parse(payload)?;
    let Some(plugin) = AuthPlugin::named(request.plugin) else {
        let plugin = String::from_utf8_lossy(request.plugin).into_owned();
        return Err(LoadError::Plugin { plugin });
    };
    let nonce = request.data.first_chunk::<20>();
    let nonce = nonce.ok_or(Malformed::Truncated("nonce"))?;
    let response = plugin.response(account.password.as_bytes(), nonce);
    write_packet(out, sequence_id, &response);
    Ok(())
}

fn more_data(
    payload: &[u8],
    account: &Account,
    sequence_id: u8,
    out: &mut Vec<u8>,
) -> Result<(), LoadError> {
    match AuthMoreData::parse(payload)? {
        AuthMoreData::FastAuthSuccess => Ok(()),
        AuthMoreData::FullAuthentication if account.tls => {
            let password = [account.password.as_bytes(), b"\0"].concat();
            write_packet(out, sequence_id, &password);
            Ok(())
        }
        AuthMoreData::FullAuthentication => Err(LoadError::FullAuthentication),
        AuthMoreData::Data(_) => Err(Malformed::Invalid("auth more data").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{CACHING_SHA2_PASSWORD, caching_sha2_password, native_password};

    const WAITING: LoginStep = LoginStep::Answer {
        deprecate_eof: true,
    };

    fn packet(sequence_id: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        write_packet(&mut packet, sequence_id, payload);
        packet
    }

    fn step(step: LoginStep, packet: &[u8]) -> (LoginOutcome, Vec<u8>) {
        let account = Account {
            user: "u".into(),
            password: "p".into(),
            schema: "s".into(),
            tls: false,
        };
        let mut out = Vec::new();
        (step.packet(packet, &account, &mut out), out)
    }

    fn handshake(capabilities: Capabilities) -> Vec<u8> {
        let mut packet = Vec::new();
        InitialHandshake {
            server_version: b"8.0.36",
            connection_id: 1,
            nonce: [7; 20],
            capabilities,
            extended: wire::ExtendedCapabilities::empty(),
            collation: COLLATION,
            status: wire::ServerStatus::AUTOCOMMIT,
            auth_plugin: b"caching_sha2_password",
        }
        .encode(&mut packet, 0);
        packet
    }

    #[test]
    fn the_response_names_user_schema_and_plugin() {
        let everything = ALWAYS | Capabilities::DEPRECATE_EOF;
        let (outcome, out) = step(LoginStep::Handshake, &handshake(everything));
        assert!(matches!(outcome, LoginOutcome::Next(step) if step == WAITING));
        let response = HandshakeResponse::parse(&out[HEADER_LEN..]).unwrap();
        assert_eq!((out[3], response.user), (1, &b"u"[..]));
        assert_eq!(response.schema, Some(&b"s"[..]));
        assert_eq!(
            response.auth_response,
            caching_sha2_password(b"p", &[7; 20])
        );
        assert_eq!(response.auth_plugin, CACHING_SHA2_PASSWORD);
        assert!(response.capabilities.contains(everything));
    }

    #[test]
    fn who_speaks_tls_says_who_it_is_over_it() {
        let account = Account {
            user: "u".into(),
            password: "p".into(),
            schema: "s".into(),
            tls: true,
        };
        let mut out = Vec::new();
        let offered = ALWAYS | Capabilities::SSL;
        let outcome = LoginStep::Handshake.packet(&handshake(offered), &account, &mut out);
        let LoginOutcome::Next(step) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(SslRequest::is(&out[HEADER_LEN..]));
        out.clear();
        let step = step.secured(&account, &mut out).unwrap();
        let response = HandshakeResponse::parse(&out[HEADER_LEN..]).unwrap();
        assert_eq!((out[3], response.user), (2, &b"u"[..]));
        assert!(response.capabilities.contains(Capabilities::SSL));
        out.clear();
        // Nobody else hears the password.
        let outcome = step.packet(&packet(3, b"\x01\x04"), &account, &mut out);
        assert!(matches!(outcome, LoginOutcome::Next(next) if next == step));
        assert_eq!(out, packet(4, b"p\0"));
        let outcome = LoginStep::Handshake.packet(&handshake(ALWAYS), &account, &mut out);
        assert!(matches!(outcome, LoginOutcome::Hopeless(LoadError::NoTls)));
    }

    #[test]
    fn an_old_server_sends_its_eof_packets() {
        let (outcome, _) = step(LoginStep::Handshake, &handshake(ALWAYS));
        let old = LoginStep::Answer {
            deprecate_eof: false,
        };
        assert!(matches!(outcome, LoginOutcome::Next(step) if step == old));
    }

    #[test]
    fn the_plugin_may_be_switched_to_one_that_is_spoken() {
        let request = packet(2, b"\xfemysql_native_password\0\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\x09\0");
        let (outcome, out) = step(WAITING, &request);
        assert!(matches!(outcome, LoginOutcome::Next(step) if step == WAITING));
        assert_eq!(out, packet(3, &native_password(b"p", &[9; 20])));
        let request = packet(2, b"\xfesha256_password\0nonce");
        let (outcome, _) = step(WAITING, &request);
        let LoginOutcome::Hopeless(error) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(error.to_string().contains("plugin sha256_password"));
    }

    #[test]
    fn a_server_that_must_see_the_password_is_not_told() {
        let (outcome, out) = step(WAITING, &packet(2, b"\x01\x03"));
        assert!(matches!(outcome, LoginOutcome::Next(step) if step == WAITING));
        assert!(out.is_empty());
        let (outcome, _) = step(WAITING, &packet(2, b"\x01\x04"));
        assert!(matches!(
            outcome,
            LoginOutcome::Hopeless(LoadError::FullAuthentication)
        ));
    }

    #[test]
    fn refusals_are_final_or_not() {
        let (outcome, _) = step(LoginStep::Handshake, &packet(0, b"\xff\x10\x04Too many"));
        assert!(matches!(
            outcome,
            LoginOutcome::Refused { number: 1040, .. }
        ));
        let (outcome, _) = step(WAITING, &packet(2, b"\xff\x15\x04#28000no"));
        assert!(matches!(
            outcome,
            LoginOutcome::Hopeless(LoadError::Refused { number: 1045, .. })
        ));
        let (outcome, _) = step(LoginStep::Handshake, &packet(0, b"HTTP"));
        assert!(matches!(
            outcome,
            LoginOutcome::Hopeless(LoadError::Protocol(_))
        ));
        let (outcome, _) = step(WAITING, &packet(2, b"\0\0\0\x02\0\0\0"));
        assert!(matches!(
            outcome,
            LoginOutcome::Done {
                deprecate_eof: true
            }
        ));
    }
}
