//! The other side of the full exchange of `caching_sha2_password`: a key pair of our own, whose public half
//! clients get, and the password that they send under it.
//!
//! Decrypting is blinded, so that its time says nothing of the key.

use rsa::pkcs8::{EncodePublicKey, LineEnding};
use rsa::rand_core::CryptoRngCore;
use rsa::{Oaep, RsaPrivateKey};
use sha1::Sha1;
use zeroize::Zeroizing;

const BITS: usize = 2048;

/// A key pair. Shows nothing of itself, and is overwritten when dropped.
pub struct PrivateKey {
    key: RsaPrivateKey,
    pem: String,
}

impl PrivateKey {
    /// A new one; `None` if none was found, which does not happen with good random numbers. Takes long.
    pub fn generate(random: &mut impl CryptoRngCore) -> Option<Self> {
        let key = RsaPrivateKey::new(random, BITS).ok()?;
        let pem = key.to_public_key().to_public_key_pem(LineEnding::LF).ok()?;
        Some(Self { key, pem })
    }

    /// Its public half, as it is sent.
    pub fn public_pem(&self) -> &str {
        &self.pem
    }

    /// The password in what a client sent that got `nonce`, without its NUL; `None` if there is none in it.
    pub fn decrypt_password(
        &self,
        encrypted: &[u8],
        nonce: &[u8; 20],
        random: &mut impl CryptoRngCore,
    ) -> Option<Zeroizing<Vec<u8>>> {
        let decrypted = self
            .key
            .decrypt_blinded(random, Oaep::new::<Sha1>(), encrypted);
        let mut password = Zeroizing::new(decrypted.ok()?);
        for (byte, mask) in password.iter_mut().zip(nonce.iter().cycle()) {
            *byte ^= mask;
        }
        (password.pop() == Some(0)).then_some(password)
    }
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PrivateKey")
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rsa::rand_core::SeedableRng;

    use super::*;
    use crate::encrypt_password;

    #[test]
    fn what_clients_encrypt_is_read_again() {
        let mut random = ChaCha20Rng::from_seed([7; 32]);
        let (nonce, other) = (b"abcdefghijklmnopqrst", b"tsrqponmlkjihgfedcba");
        let key = PrivateKey::generate(&mut random).unwrap();
        let pem = key.public_pem().as_bytes();
        let encrypted = encrypt_password("gehéim".as_bytes(), nonce, pem, &mut random).unwrap();
        let read = key
            .decrypt_password(&encrypted, nonce, &mut random)
            .unwrap();
        assert_eq!(*read, "gehéim".as_bytes());
        assert_eq!(key.decrypt_password(&encrypted, other, &mut random), None);
        for wrong in [&b""[..], &[0; 256], &encrypted[1..]] {
            assert_eq!(key.decrypt_password(wrong, nonce, &mut random), None);
        }
        assert_eq!(format!("{key:?}"), "PrivateKey");
    }
}
