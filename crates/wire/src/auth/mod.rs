//! Authentication plugins: what proves to know a password without sending it, and the packets that
//! only plugins exchange.
//!
//! Which of them an account may use, and who it is, are not known here.

mod caching_sha2_password;
mod more_data;
mod native_password;
mod private_key;
mod public_key;
mod server_proof;
mod stored;

pub use caching_sha2_password::{CACHING_SHA2_PASSWORD, caching_sha2_password};
pub use more_data::{AuthMoreData, REQUEST_PUBLIC_KEY};
pub use native_password::{
    NATIVE_PASSWORD, native_password, native_password_hash, native_password_stage1,
    native_password_with,
};
pub use private_key::PrivateKey;
pub use public_key::{PublicKeyError, encrypt_password};
pub use server_proof::{SERVER_PROOF_LEN, is_server_proof, server_proof};
pub use stored::is_stored_password;

/// A plugin whose responses can be made and checked by whoever has the password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AuthPlugin {
    /// `mysql_native_password`.
    #[default]
    NativePassword,
    /// `caching_sha2_password`.
    CachingSha2Password,
}

impl AuthPlugin {
    /// The plugin of that name, if it is one of these.
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            NATIVE_PASSWORD => Some(Self::NativePassword),
            CACHING_SHA2_PASSWORD => Some(Self::CachingSha2Password),
            _ => None,
        }
    }

    /// Its name in packets.
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::NativePassword => NATIVE_PASSWORD,
            Self::CachingSha2Password => CACHING_SHA2_PASSWORD,
        }
    }

    /// The authentication response for `password` and the server's `nonce`; empty for an empty
    /// password.
    pub fn response(self, password: &[u8], nonce: &[u8; 20]) -> Vec<u8> {
        match self {
            Self::NativePassword => native_password(password, nonce),
            Self::CachingSha2Password => caching_sha2_password(password, nonce),
        }
    }

    /// True if `response` proves knowledge of `password`. Takes the same time whatever differs.
    pub fn verify(self, password: &[u8], nonce: &[u8; 20], response: &[u8]) -> bool {
        let expected = self.response(password, nonce);
        // Clients of caching_sha2_password say by a single NUL that they have no password.
        let response = match (self, response) {
            (Self::CachingSha2Password, b"\0") => b"",
            _ => response,
        };
        expected.len() == response.len()
            && expected
                .iter()
                .zip(response)
                .fold(0, |difference, (a, b)| difference | (a ^ b))
                == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";
    const BOTH: [AuthPlugin; 2] = [AuthPlugin::NativePassword, AuthPlugin::CachingSha2Password];

    #[test]
    fn the_right_password_is_accepted_and_no_other() {
        for plugin in BOTH {
            let response = plugin.response(b"secret", &NONCE);
            assert!(plugin.verify(b"secret", &NONCE, &response));
            assert!(!plugin.verify(b"Secret", &NONCE, &response));
            assert!(!plugin.verify(b"secret", b"tsrqponmlkjihgfedcba", &response));
            for wrong in [&b""[..], b"\0", &response[1..]] {
                assert!(!plugin.verify(b"secret", &NONCE, wrong));
            }
        }
        let native = native_password(b"secret", &NONCE);
        assert!(!AuthPlugin::CachingSha2Password.verify(b"secret", &NONCE, &native));
    }

    #[test]
    fn an_empty_password_is_proved_by_an_empty_response_only() {
        for plugin in BOTH {
            assert!(plugin.verify(b"", &NONCE, b""));
            assert!(!plugin.verify(b"", &NONCE, &plugin.response(b"x", &NONCE)));
        }
        assert!(AuthPlugin::CachingSha2Password.verify(b"", &NONCE, b"\0"));
        assert!(!AuthPlugin::NativePassword.verify(b"", &NONCE, b"\0"));
    }

    #[test]
    fn a_plugin_is_found_by_its_name() {
        for plugin in BOTH {
            assert_eq!(AuthPlugin::named(plugin.name()), Some(plugin));
        }
        assert_eq!(AuthPlugin::named(b"mysql_clear_password"), None);
    }
}
