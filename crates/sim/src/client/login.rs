//! The connection phase, as a client sees it.

use wire::{
    AuthPlugin, AuthSwitchRequest, CACHING_SHA2_PASSWORD, Capabilities, ErrPacket,
    HandshakeResponse, InitialHandshake, Malformed, NATIVE_PASSWORD, OkPacket, ServerStatus,
    caching_sha2_password, code, native_password, whole_packet, write_packet,
};

use super::profile::Profile;
use super::reasons::fickle_since;
use super::{Client, Phase, Request, Surroundings};
use crate::catalog::{ACCOUNTS, FICKLE, SCHEMAS};
use crate::database::login::{QUESTIONS, SECOND_ANSWER, SECOND_QUESTION};
use crate::failure::{Broken, Rule, ensure};

impl Client {
    /// Deals with a packet of the connection phase. False if more bytes are needed.
    pub(super) fn log_in(&mut self, around: &mut Surroundings<'_>) -> Result<bool, Broken> {
        let Ok(packet) = whole_packet(&self.inbox) else {
            return Ok(false);
        };
        let (consumed, sequence_id) = (packet.consumed, packet.sequence_id);
        let payload = packet.payload.bytes().to_vec();
        self.inbox.drain(..consumed);
        // An error that was under way while the client sent its response knows nothing of that.
        let crossed = payload.first() == Some(&0xff) && sequence_id + 1 == self.login_sequence;
        ensure(
            Rule::Protocol,
            crossed || sequence_id == self.login_sequence,
            || {
                format!(
                    "login packet {sequence_id} came where {} was due",
                    self.login_sequence
                )
            },
        )?;
        let unreadable = |error: Malformed| Broken::new(Rule::Protocol, error.to_string());
        match (self.phase, payload.first()) {
            (_, Some(0xff)) => {
                let error = ErrPacket::parse(&payload).map_err(unreadable)?;
                self.login_refused(around, error.code)?;
            }
            (Phase::Handshake, _) => {
                let handshake = InitialHandshake::parse(&payload).map_err(unreadable)?;
                self.respond(around, &handshake)?;
            }
            (Phase::Login, Some(0x01)) => {
                ensure(Rule::Protocol, payload == b"\x01\x03", || {
                    format!("a login was answered with {payload:?}")
                })?;
                self.login_sequence = sequence_id.wrapping_add(1);
            }
            (Phase::Login, Some(0x00)) => {
                let ok = OkPacket::parse(&payload).map_err(unreadable)?;
                self.logged_in(around, ok.status)?;
            }
            (Phase::Login, Some(0x02)) if payload == SECOND_QUESTION => {
                return self.say_in_login(around, (SECOND_ANSWER, sequence_id));
            }
            (Phase::Login, Some(0xfe)) => {
                let request = AuthSwitchRequest::parse(&payload).map_err(unreadable)?;
                let nonce = request.data.first_chunk().copied().unwrap_or_default();
                if request.plugin == QUESTIONS {
                    let answer = native_password(self.profile.password.as_bytes(), &nonce);
                    return self.say_in_login(around, (&answer, sequence_id));
                }
                self.nonce = nonce;
                let plugin = AuthPlugin::named(request.plugin).unwrap_or_default();
                let answer = plugin.response(self.profile.password.as_bytes(), &nonce);
                let mut out = Vec::new();
                self.login_sequence = write_packet(&mut out, sequence_id + 1, &answer);
                self.send_bytes(around, &out);
            }
            _ => {
                let text = "a login was answered with something else than OK or ERR";
                return Err(Broken::new(Rule::Protocol, text));
            }
        }
        Ok(true)
    }

    /// Answers a question of the database; or leaves.
    fn say_in_login(
        &mut self,
        around: &mut Surroundings<'_>,
        (answer, sequence_id): (&[u8], u8),
    ) -> Result<bool, Broken> {
        match self.rng.u8(0..20) {
            0 => {
                self.hang_up(around)?;
                return Ok(false);
            }
            1 => {
                self.vanish(around);
                return Ok(false);
            }
            _ => {}
        }
        let mut out = Vec::new();
        self.login_sequence = write_packet(&mut out, sequence_id + 1, answer);
        self.send_bytes(around, &out);
        Ok(true)
    }

    fn respond(
        &mut self,
        around: &mut Surroundings<'_>,
        handshake: &InitialHandshake<'_>,
    ) -> Result<(), Broken> {
        let own_id = handshake.connection_id >= engine::FIRST_CONNECTION_ID;
        ensure(Rule::Answer, own_id, || {
            format!("was told the connection id {}", handshake.connection_id)
        })?;
        let capabilities =
            self.profile.capabilities & (handshake.capabilities | Capabilities::LONG_PASSWORD);
        self.profile.capabilities = capabilities;
        let (auth_plugin, auth_response) = proof(&self.profile, &handshake.nonce);
        let response = HandshakeResponse {
            capabilities,
            extended: wire::ExtendedCapabilities::empty(),
            max_packet_size: 1 << 24,
            collation: self.profile.collation,
            user: self.profile.user.as_bytes(),
            auth_response: &auth_response,
            schema: self.profile.schema.as_deref().map(str::as_bytes),
            auth_plugin,
            attributes: b"",
        };
        let mut out = Vec::new();
        self.login_sequence = response.encode(&mut out, 1);
        self.phase = Phase::Login;
        self.nonce = handshake.nonce;
        around
            .kills
            .came(self.profile.client, handshake.connection_id);
        self.begin(around);
        self.send_bytes(around, &out);
        // Who says nothing for another plugin than the handshake named is asked again.
        let asked = auth_response.is_empty() && auth_plugin != handshake.auth_plugin;
        if self.profile.eager && !self.profile.other_plugin && !asked {
            self.send_next(around);
        }
        Ok(())
    }

    /// COM_CHANGE_USER: another account, or the same one again; the session begins anew.
    pub(super) fn change_user(&mut self, around: &mut Surroundings<'_>) -> Request {
        let profile = &mut self.profile;
        profile.account = self.rng.usize(..ACCOUNTS.len());
        let (user, password) = ACCOUNTS[profile.account];
        profile.known = self.rng.u8(0..12) > 0;
        profile.user = user.to_owned();
        profile.password = password.to_owned();
        if !profile.known {
            profile.password.push_str("wrong");
        }
        profile.schema = match around.database.questions {
            true => Some(SCHEMAS[0].to_owned()),
            false => super::profile::schema(&mut self.rng),
        };
        profile.collation = [45, 8, 33, 46][self.rng.usize(..4)];
        profile.other_plugin = self.rng.u8(0..4) == 0;
        if profile.texts > 0 {
            profile.ask_for_little(password);
        }
        let (plugin, proof) = proof(profile, &self.nonce);
        let schema = profile.schema.as_deref().unwrap_or_default();
        let collation = [profile.collation, 0];
        let mut argument = [user.as_bytes(), &[0, proof.len() as u8], &proof].concat();
        argument.extend_from_slice(&[schema.as_bytes(), &[0], &collation, plugin, &[0]].concat());
        self.begin(around);
        Request::ChangeUser(argument)
    }

    /// A session begins as the profile says.
    fn begin(&mut self, around: &mut Surroundings<'_>) {
        let profile = &self.profile;
        self.began = around.outside.schedule.now();
        self.model.begin(profile);
        around.kills.logs_in(profile.client, profile.account);
    }

    fn logged_in(
        &mut self,
        around: &mut Surroundings<'_>,
        status: ServerStatus,
    ) -> Result<(), Broken> {
        let status = status - ServerStatus::SESSION_STATE_CHANGED;
        ensure(Rule::Answer, status == ServerStatus::AUTOCOMMIT, || {
            format!("a session began with {status:?}")
        })?;
        let now = around.outside.schedule.now();
        around.kills.logged_in(self.profile.client, now);
        ensure(Rule::Answer, self.profile.known, || {
            "a stranger was let in".to_owned()
        })?;
        ensure(
            Rule::Answer,
            self.profile.schema.as_deref() != Some("nosuch"),
            || "a schema was selected that does not exist".to_owned(),
        )?;
        self.phase = Phase::Commands;
        if self.waiting.is_empty() {
            self.think(around);
        }
        Ok(())
    }

    fn login_refused(&mut self, around: &mut Surroundings<'_>, error: u16) -> Result<(), Broken> {
        let now = around.outside.schedule.now();
        let schema = self.profile.schema.as_deref();
        let expected = match error {
            code::ACCESS_DENIED => !self.profile.known,
            code::UNKNOWN_SCHEMA => {
                let gone = schema == Some(FICKLE) && fickle_since(around, self.answered_at);
                self.profile.known && (schema == Some("nosuch") || gone)
            }
            // The database may be full, and decides itself.
            code::TOO_MANY_CONNECTIONS => {
                around.settings.max_connections < 1_000 || self.is_questioned(around)
            }
            code::TOO_MANY_USER_CONNECTIONS => {
                schema.is_some() && now.since(self.answered_at) >= around.settings.queue_timeout
            }
            code::USER_LIMIT_REACHED => around.quotas.refuses_logins(self.profile.account),
            code::SERVER_SHUTDOWN => self.excuse_end(around, "1053 at login").is_ok(),
            _ => false,
        };
        ensure(Rule::Reason, expected, || {
            format!("login was refused with {error}: {:?}", self.profile)
        })?;
        self.told_end = true;
        Ok(())
    }
}

/// The plugin that a client names, and its proof: one that can be checked, whatever the handshake
/// named; or one that cannot.
fn proof(profile: &Profile, nonce: &[u8; 20]) -> (&'static [u8], Vec<u8>) {
    let password = profile.password.as_bytes();
    match (profile.other_plugin, profile.collation) {
        (true, 45) => (
            CACHING_SHA2_PASSWORD,
            caching_sha2_password(password, nonce),
        ),
        (true, _) => (b"dialog", b"not a proof".to_vec()),
        (false, _) => (NATIVE_PASSWORD, native_password(password, nonce)),
    }
}
