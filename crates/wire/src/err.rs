//! ERR packets, and the error numbers that Myriad itself gives out.

use crate::capabilities::Capabilities;
use crate::packet::PacketWriter;
use crate::{Malformed, Reader};

/// Error numbers. Source: MySQL manual, "Server Error Message Reference".
pub mod code {
    /// `ER_CON_COUNT_ERROR`: too many connections.
    pub const TOO_MANY_CONNECTIONS: u16 = 1040;
    /// `ER_OUT_OF_RESOURCES`: no memory is left.
    pub const OUT_OF_RESOURCES: u16 = 1041;
    /// `ER_HANDSHAKE_ERROR`: bad handshake.
    pub const BAD_HANDSHAKE: u16 = 1043;
    /// `ER_DBACCESS_DENIED_ERROR`: no right on this schema.
    pub const SCHEMA_ACCESS_DENIED: u16 = 1044;
    /// `ER_ACCESS_DENIED_ERROR`: wrong account or password.
    pub const ACCESS_DENIED: u16 = 1045;
    /// `ER_NO_DB_ERROR`: no schema selected.
    pub const NO_SCHEMA_SELECTED: u16 = 1046;
    /// `ER_UNKNOWN_COM_ERROR`: unknown command.
    pub const UNKNOWN_COMMAND: u16 = 1047;
    /// `ER_BAD_DB_ERROR`: unknown schema.
    pub const UNKNOWN_SCHEMA: u16 = 1049;
    /// `ER_SERVER_SHUTDOWN`: shutdown in progress.
    pub const SERVER_SHUTDOWN: u16 = 1053;
    /// `ER_PARSE_ERROR`.
    pub const PARSE_ERROR: u16 = 1064;
    /// `ER_UNKNOWN_TABLE`.
    pub const UNKNOWN_TABLE: u16 = 1109;
    /// `ER_TABLEACCESS_DENIED_ERROR`: no right on this table.
    pub const TABLE_ACCESS_DENIED: u16 = 1142;
    /// `ER_COLUMNACCESS_DENIED_ERROR`: no right on this column.
    pub const COLUMN_ACCESS_DENIED: u16 = 1143;
    /// `ER_NO_SUCH_TABLE`.
    pub const NO_SUCH_TABLE: u16 = 1146;
    /// `ER_WRONG_ARGUMENTS`.
    pub const WRONG_ARGUMENTS: u16 = 1210;
    /// `ER_UNKNOWN_ERROR`.
    pub const UNKNOWN_ERROR: u16 = 1105;
    /// `ER_NO_SUCH_THREAD`: KILL of a connection that is not there.
    pub const NO_SUCH_THREAD: u16 = 1094;
    /// `ER_KILL_DENIED_ERROR`: KILL of somebody else's connection.
    pub const NOT_OWNER: u16 = 1095;
    /// `ER_NET_PACKET_TOO_LARGE`: above max_allowed_packet.
    pub const PACKET_TOO_LARGE: u16 = 1153;
    /// `ER_NET_PACKETS_OUT_OF_ORDER`.
    pub const PACKETS_OUT_OF_ORDER: u16 = 1156;
    /// `ER_NET_READ_INTERRUPTED`.
    pub const READ_TIMEOUT: u16 = 1159;
    /// `ER_NEW_ABORTING_CONNECTION`: `init_connect` has failed.
    pub const NEW_ABORTING_CONNECTION: u16 = 1184;
    /// `ER_TOO_MANY_USER_CONNECTIONS`: an account's limit on what runs at once.
    pub const TOO_MANY_USER_CONNECTIONS: u16 = 1203;
    /// `ER_UNKNOWN_CHARACTER_SET`.
    pub const UNKNOWN_CHARSET: u16 = 1115;
    /// `ER_UNKNOWN_COLLATION`.
    pub const UNKNOWN_COLLATION: u16 = 1273;
    /// `ER_UNKNOWN_SYSTEM_VARIABLE`.
    pub const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
    /// `ER_WRONG_VALUE_FOR_VAR`: a variable does not take this value.
    pub const WRONG_VALUE_FOR_VAR: u16 = 1231;
    /// `ER_LOCK_DEADLOCK`.
    pub const DEADLOCK: u16 = 1213;
    /// `ER_USER_LIMIT_REACHED`: a resource of the account is used up.
    pub const USER_LIMIT_REACHED: u16 = 1226;
    /// `ER_XAER_RMFAIL`: not in this state of the XA transaction.
    pub const XA_WRONG_STATE: u16 = 1399;
    /// `ER_UNSUPPORTED_PS`: this cannot be prepared.
    pub const UNSUPPORTED_PREPARED: u16 = 1295;
    /// `ER_MALFORMED_PACKET`
    pub const MALFORMED_PACKET: u16 = 1835;
    /// `ER_STMT_HAS_NO_OPEN_CURSOR`: a fetch from a prepared statement without a cursor.
    pub const NO_OPEN_CURSOR: u16 = 1421;
    /// `ER_MAX_PREPARED_STMT_COUNT_REACHED`: one more prepared statement would be too many.
    pub const TOO_MANY_STATEMENTS: u16 = 1461;
    /// `ER_UNKNOWN_STMT_HANDLER`: no such prepared statement.
    pub const UNKNOWN_STMT_HANDLER: u16 = 1243;
    /// `ER_NOT_SUPPORTED_YET`
    pub const NOT_SUPPORTED_YET: u16 = 1235;
    /// `ER_ACCESS_DENIED_NO_PASSWORD_ERROR`: no password would do.
    pub const ACCESS_DENIED_NO_PASSWORD: u16 = 1698;
    /// `ER_SPECIFIC_ACCESS_DENIED_ERROR`: a privilege is missing.
    pub const PRIVILEGE_DENIED: u16 = 1227;
    /// `ER_NOT_SUPPORTED_AUTH_MODE`: the client's authentication is too old.
    pub const UNSUPPORTED_AUTH: u16 = 1251;
    /// `ER_CONNECTION_KILLED` of MariaDB.
    pub const CONNECTION_KILLED: u16 = 1927;
    /// `ER_RESIGNAL_WITHOUT_ACTIVE_HANDLER`: RESIGNAL outside of a handler.
    pub const NOT_RESIGNALLED: u16 = 1645;
    /// `ER_GET_STACKED_DA_WITHOUT_ACTIVE_HANDLER`: GET STACKED DIAGNOSTICS outside of a handler.
    pub const NOT_STACKED: u16 = 3004;
    /// `ER_HOST_IS_BLOCKED`: too many broken handshakes.
    pub const HOST_IS_BLOCKED: u16 = 1129;
    /// `ER_HOST_NOT_PRIVILEGED`: nobody may come from there.
    pub const HOST_NOT_PRIVILEGED: u16 = 1130;
    /// `ER_MUST_CHANGE_PASSWORD`: the password has expired, and must be set before anything else.
    pub const MUST_SET_PASSWORD: u16 = 1820;
    /// `ER_MUST_CHANGE_PASSWORD_LOGIN`: the password has expired.
    pub const MUST_CHANGE_PASSWORD: u16 = 1862;
    /// `ER_ACCOUNT_HAS_BEEN_LOCKED` of MySQL.
    pub const ACCOUNT_LOCKED: u16 = 3118;
    /// `ER_ACCOUNT_HAS_BEEN_LOCKED` of MariaDB.
    pub const ACCOUNT_LOCKED_MARIADB: u16 = 4151;
    /// `ER_CLIENT_INTERACTION_TIMEOUT` of MySQL: the client was silent for too long.
    pub const INACTIVITY: u16 = 4031;
    /// `ER_QUERY_INTERRUPTED`.
    pub const QUERY_INTERRUPTED: u16 = 1317;
    /// ER_STATEMENT_TIMEOUT of MariaDB.
    pub const STATEMENT_TIMEOUT: u16 = 1969;
    /// ER_QUERY_TIMEOUT of MySQL.
    pub const QUERY_TIMEOUT: u16 = 3024;
    /// `ER_SECURE_TRANSPORT_REQUIRED`: neither TLS nor a unix socket.
    pub const SECURE_TRANSPORT_REQUIRED: u16 = 3159;
}

/// An ERR packet's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// The error number.
    pub code: u16,
    /// SQLSTATE, five characters.
    pub sql_state: &'a [u8],
    /// The text for a person.
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    /// The ERR packet in `payload`. Before the handshake is complete an ERR has no SQLSTATE; it
    /// reads as `HY000` then.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("ERR header")? != 0xff {
            return Err(Malformed::Invalid("ERR header"));
        }
        let code = reader.u16("error number")?;
        let sql_state = match reader.rest().first() {
            Some(b'#') => &reader.bytes(6, "SQLSTATE")?[1..],
            _ => b"HY000",
        };
        Ok(Self {
            code,
            sql_state,
            message: reader.rest(),
        })
    }

    /// Appends the packet. Returns the next sequence id.
    pub fn encode(&self, out: &mut Vec<u8>, sequence_id: u8, client: Capabilities) -> u8 {
        let mut packet = PacketWriter::begin(out, sequence_id);
        let payload = packet.payload();
        payload.push(0xff);
        payload.extend_from_slice(&self.code.to_le_bytes());
        if client.contains(Capabilities::PROTOCOL_41) {
            payload.push(b'#');
            payload.extend_from_slice(self.sql_state);
        }
        payload.extend_from_slice(self.message);
        packet.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_and_without_sql_state() {
        let err = ErrPacket {
            code: 1045,
            sql_state: b"28000",
            message: b"no",
        };
        let mut out = Vec::new();
        assert_eq!(err.encode(&mut out, 2, Capabilities::PROTOCOL_41), 3);
        assert_eq!(out, b"\x0b\0\0\x02\xff\x15\x04#28000no");
        assert_eq!(ErrPacket::parse(&out[4..]), Ok(err));
        assert_eq!(
            ErrPacket::parse(b"\xff\x10\x04Too many connections"),
            Ok(ErrPacket {
                code: 1040,
                sql_state: b"HY000",
                message: b"Too many connections"
            })
        );
        assert!(ErrPacket::parse(b"\xff\x10").is_err());
        assert!(ErrPacket::parse(b"\x00\x10\x04").is_err());
    }
}
