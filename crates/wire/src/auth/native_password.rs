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
    let stage1 = Sha1::digest(password);
    let stage2 = Sha1::digest(stage1);
    let mask = Sha1::new()
        .chain_update(nonce)
        .chain_update(stage2)
        .finalize();
    stage1.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_response() {
        let response = native_password(b"secret", b"abcdefghijklmnopqrst");
        assert_eq!(
            format!("{response:02x?}").replace(", ", ""),
            "[8817c50fa779daef010ee7577825b0847df9842e]"
        );
    }
}
