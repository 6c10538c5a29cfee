//! Authentication by `mysql_native_password`: what a client proves without sending its password.
//!
//! Source: MySQL manual, "Native Authentication":
//! `SHA1(password) XOR SHA1(nonce ‖ SHA1(SHA1(password)))`.

use sha1::{Digest, Sha1};

/// The plugin's name in handshakes.
pub const NATIVE_PASSWORD: &[u8] = b"mysql_native_password";

/// The authentication response for `password` and the server's 20-byte `nonce`; empty for an
/// empty password.
pub fn native_password(password: &[u8], nonce: &[u8; 20]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let stage1 = Sha1::digest(password);
    let stage2 = Sha1::digest(stage1);
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(stage2)
        .finalize();
    stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// True if `response` proves knowledge of `password`. Takes the same time whatever differs.
pub fn verify_native_password(password: &[u8], nonce: &[u8; 20], response: &[u8]) -> bool {
    let expected = native_password(password, nonce);
    if expected.len() != response.len() {
        return false;
    }
    expected
        .iter()
        .zip(response)
        .fold(0, |difference, (a, b)| difference | (a ^ b))
        == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";

    #[test]
    fn the_right_password_is_accepted_and_no_other() {
        let response = native_password(b"secret", &NONCE);
        assert_eq!(response.len(), 20);
        assert!(verify_native_password(b"secret", &NONCE, &response));
        assert!(!verify_native_password(b"Secret", &NONCE, &response));
        assert!(!verify_native_password(
            b"secret",
            b"tsrqponmlkjihgfedcba",
            &response
        ));
        assert!(!verify_native_password(b"secret", &NONCE, b""));
    }

    #[test]
    fn an_empty_password_is_proved_by_an_empty_response_only() {
        assert!(verify_native_password(b"", &NONCE, b""));
        assert!(!verify_native_password(
            b"",
            &NONCE,
            &native_password(b"x", &NONCE)
        ));
    }
}
