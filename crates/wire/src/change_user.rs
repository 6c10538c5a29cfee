//! COM_CHANGE_USER. Source: MySQL manual, "COM_CHANGE_USER".

use crate::attributes::read_attributes;
use crate::capabilities::Capabilities;
use crate::{Malformed, Reader};

/// Another login on the same connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// User name.
    pub user: &'a [u8],
    /// The authentication response for `auth_plugin` and the nonce of the initial handshake.
    pub auth_response: &'a [u8],
    /// The default schema, if it names one that is not empty.
    pub schema: Option<&'a [u8]>,
    /// The collation of the new session, if the client said so; ids above 255 are cut.
    pub collation: Option<u8>,
    /// The plugin that made `auth_response`; empty if the client did not say.
    pub auth_plugin: &'a [u8],
}

impl<'a> ChangeUser<'a> {
    /// Reads what follows the command byte.
    pub fn parse(argument: &'a [u8], client: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(argument);
        let user = reader.nul_terminated("user")?;
        let auth_response = if client.contains(Capabilities::SECURE_CONNECTION) {
            let len = reader.u8("authentication response")?;
            reader.bytes(usize::from(len), "authentication response")?
        } else {
            reader.nul_terminated("authentication response")?
        };
        let schema = Some(reader.nul_terminated("schema")?).filter(|name| !name.is_empty());
        let mut collation = None;
        if !reader.is_empty() {
            collation = Some(reader.u16("collation")?.to_le_bytes()[0]);
        }
        let mut auth_plugin = &b""[..];
        if client.contains(Capabilities::PLUGIN_AUTH) {
            auth_plugin = reader.nul_terminated("plugin")?;
        }
        if client.contains(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            read_attributes(&mut reader)?;
        }
        Ok(Self {
            user,
            auth_response,
            schema,
            collation,
            auth_plugin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_old_and_new_clients_send() {
        let caps = Capabilities::SECURE_CONNECTION | Capabilities::PLUGIN_AUTH;
        let full = b"app\0\x03abcshop\0\x2d\0mysql_native_password\0\x01\x02";
        let change = ChangeUser::parse(full, caps).expect("complete");
        assert_eq!(change.user, b"app");
        assert_eq!(change.auth_response, b"abc");
        assert_eq!(change.schema, Some(&b"shop"[..]));
        assert_eq!(change.collation, Some(45));
        assert_eq!(change.auth_plugin, b"mysql_native_password");
        let old = Capabilities::SECURE_CONNECTION;
        let short = ChangeUser::parse(b"app\0\0\0", old).expect("complete");
        assert_eq!(
            (short.schema, short.collation, short.auth_plugin),
            (None, None, &b""[..])
        );
        let attributes = b"app\0\0\0\x2d\0x\0\x09\x03_os\x04Unix";
        let caps_too = caps | Capabilities::CONNECT_ATTRS;
        assert!(ChangeUser::parse(attributes, caps_too).is_ok());
        let cut = &attributes[..attributes.len() - 1];
        assert!(ChangeUser::parse(cut, caps_too).is_err());
        // Who knows of plugins names one, as the servers have it.
        for cut in 0..full.len() - 2 {
            assert!(
                ChangeUser::parse(&full[..cut], caps).is_err(),
                "cut at {cut}"
            );
        }
    }
}
