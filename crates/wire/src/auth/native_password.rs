//! The authentication response of `mysql_native_password`.
//!
//! Source: MySQL manual, "Native Authentication":
//! `SHA1(password) XOR SHA1(nonce ‖ SHA1(SHA1(password)))`.

use sha1::{Digest, Sha1};

/// The plugin's name in packets.
pub const NATIVE_PASSWORD: &[u8] = b"mysql_native_password";

/// The authentication response for `password` and the server's 20-byte `nonce`; empty for an
/// empty password.
pub fn native_password(password: &[u8], nonce: &[u8; 20]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    native_password_with(&Sha1::digest(password).into(), nonce)
}

/// The same for a password of which `stage1 = SHA1(password)` is known.
pub fn native_password_with(stage1: &[u8; 20], nonce: &[u8; 20]) -> Vec<u8> {
    let mask = mask(nonce, &native_password_hash(stage1));
    stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// What the server keeps: `SHA1(SHA1(password))`.
pub fn native_password_hash(stage1: &[u8; 20]) -> [u8; 20] {
    Sha1::digest(stage1).into()
}

/// `SHA1(password)`, if `response` to `nonce` is right for the password with this `hash`; else something
/// that is not. `None` if it has not the length of a response.
pub fn native_password_stage1(
    response: &[u8],
    nonce: &[u8; 20],
    hash: &[u8; 20],
) -> Option<[u8; 20]> {
    let response: [u8; 20] = response.try_into().ok()?;
    let mask = mask(nonce, hash);
    Some(std::array::from_fn(|place| response[place] ^ mask[place]))
}

fn mask(nonce: &[u8; 20], hash: &[u8; 20]) -> [u8; 20] {
    let digest = Sha1::new().chain_update(nonce).chain_update(hash);
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_gives_away_what_answers_other_nonces() {
        let (one, other) = (b"abcdefghijklmnopqrst", b"ABCDEFGHIJKLMNOPQRST");
        let stage1: [u8; 20] = Sha1::digest(b"secret").into();
        let hash = native_password_hash(&stage1);
        let response = native_password(b"secret", one);
        let found = native_password_stage1(&response, one, &hash);
        assert_eq!(found, Some(stage1));
        assert_eq!(
            native_password_with(&stage1, other),
            native_password(b"secret", other)
        );
        let wrong = native_password_stage1(&native_password(b"Secret", one), one, &hash);
        assert_ne!(
            wrong.map(|stage1| native_password_hash(&stage1)),
            Some(hash)
        );
        assert_eq!(native_password_stage1(b"", one, &hash), None);
    }

    #[test]
    fn a_known_response() {
        let response = native_password(b"secret", b"abcdefghijklmnopqrst");
        assert_eq!(
            format!("{response:02x?}").replace(", ", ""),
            "[8817c50fa779daef010ee7577825b0847df9842e]"
        );
    }
}
