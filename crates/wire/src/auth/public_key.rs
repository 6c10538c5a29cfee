//! The password under the server's public key: the full exchange of `caching_sha2_password` where
//! the channel is not secure by itself.
//!
//! Source: MySQL source documentation, "Caching_sha2_password information": the password with its
//! NUL, XOR the nonce over and over, under RSA with OAEP padding (SHA-1).

use rsa::pkcs8::DecodePublicKey;
use rsa::rand_core::CryptoRngCore;
use rsa::{Oaep, RsaPublicKey};
use sha1::Sha1;
use zeroize::Zeroizing;

/// Why a password cannot be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    /// What should be a key is none.
    #[error(
        "its public key cannot be read; it must be an RSA key of at most 4096 bits in PEM form"
    )]
    Unreadable,
    /// A password of this length does not fit into the key.
    #[error("the password is too long for its public key; use a longer key or a shorter password")]
    TooLong,
}

/// Encrypts `password` for the server whose public key is `pem` and whose nonce is `nonce`.
/// `random` makes the padding.
///
/// # Errors
///
/// [`PublicKeyError`] says what to do.
pub fn encrypt_password(
    password: &[u8],
    nonce: &[u8; 20],
    pem: &[u8],
    random: &mut impl CryptoRngCore,
) -> Result<Vec<u8>, PublicKeyError> {
    let pem = std::str::from_utf8(pem).map_err(|_| PublicKeyError::Unreadable)?;
    let key = RsaPublicKey::from_public_key_pem(pem.trim_matches(['\0', '\n', ' ']))
        .map_err(|_| PublicKeyError::Unreadable)?;
    let mut masked = Zeroizing::new(Vec::with_capacity(password.len() + 1));
    let terminated = password.iter().chain(&[0]);
    masked.extend(terminated.zip(nonce.iter().cycle()).map(|(a, b)| a ^ b));
    key.encrypt(random, Oaep::new::<Sha1>(), &masked)
        .map_err(|_| PublicKeyError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rsa::rand_core::SeedableRng;
    use rsa::{RsaPrivateKey, pkcs8::EncodePublicKey, pkcs8::LineEnding};

    const NONCE: [u8; 20] = *b"abcdefghijklmnopqrst";

    fn random() -> ChaCha20Rng {
        ChaCha20Rng::from_seed([7; 32])
    }

    fn key() -> (RsaPrivateKey, String) {
        let key = RsaPrivateKey::new(&mut random(), 1024).unwrap();
        let pem = key.to_public_key().to_public_key_pem(LineEnding::LF);
        (key, pem.unwrap())
    }

    #[test]
    fn the_server_reads_the_password() {
        let (key, pem) = key();
        for (password, ending) in [
            (&b"secret"[..], ""),
            (b"a password of 30 bytes, no less", "\0"),
        ] {
            let pem = format!("{pem}{ending}");
            let encrypted =
                encrypt_password(password, &NONCE, pem.as_bytes(), &mut random()).unwrap();
            let mut read = key.decrypt(Oaep::new::<Sha1>(), &encrypted).unwrap();
            for (byte, mask) in read.iter_mut().zip(NONCE.iter().cycle()) {
                *byte ^= mask;
            }
            assert_eq!(read, [password, b"\0"].concat());
        }
    }

    #[test]
    fn the_padding_is_as_random_as_what_it_is_given() {
        let (_, pem) = key();
        let mut random = random();
        let mut once = || encrypt_password(b"secret", &NONCE, pem.as_bytes(), &mut random);
        assert_ne!(once(), once());
    }

    #[test]
    fn what_does_not_fit_or_is_no_key_is_refused() {
        let (_, pem) = key();
        let encrypt = |password: &[u8], pem: &[u8]| {
            encrypt_password(password, &NONCE, pem, &mut random()).map(|bytes| bytes.len())
        };
        // 128 bytes of key less 42 of padding less the NUL.
        assert_eq!(encrypt(&[b'x'; 85], pem.as_bytes()), Ok(128));
        assert_eq!(
            encrypt(&[b'x'; 86], pem.as_bytes()),
            Err(PublicKeyError::TooLong)
        );
        for bad in [
            &b""[..],
            b"-----BEGIN PUBLIC KEY-----",
            b"\xff",
            &pem.as_bytes()[..99],
        ] {
            assert_eq!(encrypt(b"secret", bad), Err(PublicKeyError::Unreadable));
        }
    }
}
