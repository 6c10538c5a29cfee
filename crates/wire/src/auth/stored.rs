//! What a server keeps of a password of `caching_sha2_password`: SHA-crypt with SHA-256, a salt of 20 bytes
//! and thousands of rounds.
//!
//! Source: "Unix crypt using SHA-256 and SHA-512" by Ulrich Drepper, and `sha2_password_common.h` of MySQL:
//! `$A$`, the rounds in thousands as three hexadecimal digits, `$`, salt and digest.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

const SALT: usize = 20;
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The servers refuse longer ones; what a wrong one costs grows with its square.
const PASSWORD_MAX: usize = 256;

/// Whether a server that keeps `stored` of a password would take this one. Slow on purpose: milliseconds.
/// False if `stored` is not of that form.
pub fn is_stored_password(password: &[u8], stored: &[u8]) -> bool {
    let Some((rounds, salt, digits)) = parts(stored) else {
        return false;
    };
    if password.len() > PASSWORD_MAX {
        return false;
    }
    let found = encode(&crypt(password, salt, rounds));
    let differs = found.iter().zip(digits);
    found.len() == digits.len() && differs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn parts(stored: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let rest = stored.strip_prefix(b"$A$")?;
    let (thousands, rest) = rest.split_at_checked(3)?;
    let thousands = usize::from_str_radix(std::str::from_utf8(thousands).ok()?, 16).ok()?;
    let (salt, digits) = rest.strip_prefix(b"$")?.split_at_checked(SALT)?;
    Some((thousands * 1_000, salt, digits))
}

fn crypt(password: &[u8], salt: &[u8], rounds: usize) -> [u8; 32] {
    let other = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize();
    let mut first = Sha256::new().chain_update(password).chain_update(salt);
    first.update(repeated(&other, password.len()));
    let mut bits = password.len();
    while bits > 0 {
        first.update(if bits & 1 == 1 { &other[..] } else { password });
        bits >>= 1;
    }
    let mut digest: [u8; 32] = first.finalize().into();
    let of_password = (0..password.len()).fold(Sha256::new(), |sum, _| sum.chain_update(password));
    let of_password = repeated(&of_password.finalize(), password.len());
    let times = 16 + usize::from(digest[0]);
    let of_salt = (0..times).fold(Sha256::new(), |sum, _| sum.chain_update(salt));
    let of_salt = repeated(&of_salt.finalize(), salt.len());
    for round in 0..rounds {
        let mut sum = Sha256::new();
        let parts = match round % 2 {
            0 => [&digest[..], &of_password[..]],
            _ => [&of_password[..], &digest[..]],
        };
        sum.update(parts[0]);
        if round % 3 != 0 {
            sum.update(&of_salt[..]);
        }
        if round % 7 != 0 {
            sum.update(&of_password[..]);
        }
        sum.update(parts[1]);
        digest = sum.finalize().into();
    }
    digest
}

/// The bytes over and over, until there are so many.
fn repeated(bytes: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(bytes.iter().copied().cycle().take(length).collect())
}

/// The digits that stand for a digest, in an order of its own.
fn encode(digest: &[u8; 32]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(43);
    let mut put = |value: u32, count: usize| {
        digits.extend((0..count).map(|place| DIGITS[(value >> (6 * place)) as usize & 0x3f]));
    };
    let byte = |place: usize| u32::from(digest[place]);
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
        (a, b, c) = ((c + 1) % 30, (a + 1) % 30, (b + 1) % 30);
    }
    put(byte(31) << 8 | byte(30), 3);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        for (password, salt, rounds, expected) in [
            (
                "Hello world!",
                "saltstring",
                5_000,
                "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "saltstringsaltst",
                10_000,
                "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
        ] {
            let digest = crypt(password.as_bytes(), salt.as_bytes(), rounds);
            assert_eq!(
                encode(&digest).escape_ascii().to_string(),
                expected.escape_default().to_string()
            );
        }
    }

    #[test]
    fn what_has_another_form_is_nobodys() {
        for stored in [
            "",
            "$A$005$",
            "$A$zzz$12345678901234567890",
            "*14E65567ABDB",
        ] {
            assert!(!is_stored_password(b"", stored.as_bytes()), "{stored}");
            assert!(
                !is_stored_password(b"secret", stored.as_bytes()),
                "{stored}"
            );
        }
    }
}
