//! What tells a client that has logged in over TLS that it talks to the server that keeps its password, and to nobody in
//! between: a client that trusts the certificate of nobody else can then do without a file of authorities.
//!
//! The information text of the OK packet is the byte 1 and SHA-256, in hexadecimal digits, of what the server keeps of the
//! password, the nonce of the login and the SHA-256 digest of the certificate. Source: `run_plugin_auth` in MariaDB
//! Connector/C 3.4; MariaDB sends it since 11.4.

use sha2::{Digest, Sha256};

/// Bytes of a proof.
pub const SERVER_PROOF_LEN: usize = 65;

/// Marks a text as a proof.
const MARK: u8 = 1;

/// The proof of whoever keeps `kept` of a password and shows the certificate with this digest.
pub fn server_proof(
    kept: &[u8],
    nonce: &[u8; 20],
    certificate: &[u8; 32],
) -> [u8; SERVER_PROOF_LEN] {
    let digest = Sha256::new()
        .chain_update(kept)
        .chain_update(nonce)
        .chain_update(certificate)
        .finalize();
    let mut proof = [MARK; SERVER_PROOF_LEN];
    for (pair, byte) in proof[1..].chunks_exact_mut(2).zip(digest) {
        pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 0x0f)]);
    }
    proof
}

/// True if the information text of an OK packet is a proof.
pub fn is_server_proof(info: &[u8]) -> bool {
    info.len() == SERVER_PROOF_LEN && info[0] == MARK
}

fn digit(value: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(value & 0x0f)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of 20 bytes `a`, 20 bytes `b` and 32 bytes `c`, by `sha256sum`.
    #[test]
    fn a_proof_is_a_digest_in_capitals() {
        let proof = server_proof(&[b'a'; 20], &[b'b'; 20], &[b'c'; 32]);
        let text = std::str::from_utf8(&proof[1..]).expect("digits");
        assert_eq!(
            text,
            "266D973438B99809AEA17EAD0FC36C76C99646CB35DFA3EBF5C998F00D41C1A3"
        );
        assert!(is_server_proof(&proof));
        assert!(!is_server_proof(b"Rows matched: 1") && !is_server_proof(&proof[..64]));
        let other = server_proof(&[b'a'; 20], &[b'b'; 20], &[b'd'; 32]);
        assert_ne!(proof, other);
    }
}
