//! What the database keeps of passwords, in the form that its plugins have in memory. Whoever has it can prove to a client,
//! which has the password, that it is the database or reads its accounts; it logs nobody in.
//!
//! Source: the plugins `mysql_native_password`, `ed25519` and `parsec` of MariaDB 11.8, and what they keep in
//! `mysql.global_priv`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use sha1::{Digest, Sha1};
use wire::native_password_hash;

/// What is kept of an account's passwords, by the plugins of which a client may use any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vouchers(Box<[Voucher]>);

/// What one plugin keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Voucher {
    /// As clients call it.
    plugin: &'static [u8],
    kept: Box<[u8]>,
}

impl Vouchers {
    /// From plugins, as the database calls them, and the `authentication_string` of each. Leaves out what vouches for nobody.
    pub fn stored<'a>(ways: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let read = |(plugin, stored)| Voucher::stored(plugin, stored);
        Self(ways.into_iter().filter_map(read).collect())
    }

    /// What is kept for a plugin, as clients call it. `None` if nothing is, or if it may be of either of two passwords.
    pub(crate) fn kept(&self, plugin: &[u8]) -> Option<&[u8]> {
        let mut suiting = self.0.iter().filter(|voucher| voucher.plugin == plugin);
        let first = suiting.next()?;
        suiting.next().is_none().then_some(&first.kept)
    }
}

impl Voucher {
    fn stored(plugin: &str, stored: &str) -> Option<Self> {
        let (plugin, kept) = match plugin {
            "mysql_native_password" => (wire::NATIVE_PASSWORD, native(stored)?.into()),
            "ed25519" => (&b"client_ed25519"[..], bytes::<32>(stored)?.into()),
            "parsec" => (&b"parsec"[..], parsec(stored)?),
            _ => return None,
        };
        Some(Self { plugin, kept })
    }
}

/// What `mysql_native_password` keeps of a password: `SHA1(SHA1(password))`.
pub(crate) fn native_of(password: &[u8]) -> [u8; 20] {
    native_password_hash(&Sha1::digest(password).into())
}

/// The same as it stands in `authentication_string`: `*` and 40 hexadecimal digits.
pub(crate) fn native(stored: &str) -> Option<[u8; 20]> {
    let digits = stored.strip_prefix('*')?;
    let mut hash = [0; 20];
    if digits.len() != 2 * hash.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(hash)
}

/// `P`, a digit for the number of iterations, salt and public key: in memory one byte each, 18 and 32.
fn parsec(stored: &str) -> Option<Box<[u8]>> {
    let mut parts = stored.splitn(3, ':');
    let (how, salt, key) = (parts.next()?, parts.next()?, parts.next()?);
    let [b'P', iterations @ b'0'..=b'9'] = how.as_bytes() else {
        return None;
    };
    let (salt, key) = (bytes::<18>(salt)?, bytes::<32>(key)?);
    Some(
        [&[b'P', iterations - b'0'][..], &salt, &key]
            .concat()
            .into(),
    )
}

fn bytes<const LEN: usize>(base64: &str) -> Option<[u8; LEN]> {
    BASE64.decode(base64).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";
    const ED25519: &str = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY";
    const PARSEC: &str = "P0:Nv5YaZ2SUUZaArxHpxEwkOWO:LvUXBwlQ1SUk9v6ekDj9no24ltATu3hzA6f0GHLLrVc";

    fn kept(ways: &[(&str, &str)], plugin: &str) -> Option<Vec<u8>> {
        let vouchers = Vouchers::stored(ways.iter().copied());
        vouchers.kept(plugin.as_bytes()).map(<[u8]>::to_vec)
    }

    /// The password is `secret`; MariaDB 11.8 has kept that of it.
    #[test]
    fn what_plugins_have_in_memory_is_read_from_what_they_store() {
        let native = ("mysql_native_password", NATIVE);
        assert_eq!(kept(&[native], native.0), Some(native_of(b"secret").into()));
        let ed25519 = kept(&[("ed25519", ED25519)], "client_ed25519").unwrap();
        assert_eq!((ed25519.len(), ed25519[0], ed25519[31]), (32, 0x64, 0x96));
        let parsec = kept(&[("parsec", PARSEC)], "parsec").unwrap();
        assert_eq!((parsec.len(), &parsec[..3]), (52, &b"P\0\x36"[..]));
        for wrong in ["", "invalid", "P0:Nv5Y:LvUX", "Q0:a:b", "*14E6"] {
            for plugin in ["mysql_native_password", "ed25519", "parsec", "pam"] {
                assert_eq!(Vouchers::stored([(plugin, wrong)]), Vouchers::default());
            }
        }
    }

    #[test]
    fn one_password_of_a_plugin_vouches_and_two_do_not() {
        let native = ("mysql_native_password", NATIVE);
        let ed25519 = ("ed25519", ED25519);
        assert!(kept(&[ed25519, native], native.0).is_some());
        assert_eq!(kept(&[ed25519, ed25519], "client_ed25519"), None);
        assert_eq!(kept(&[native], "parsec"), None);
    }
}
