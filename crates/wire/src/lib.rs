//! The MySQL client/server protocol as bytes: framing, the packets of the connection phase,
//! commands, and where a response ends.
//!
//! Pure: no socket, no clock, no randomness. This crate knows what packets look like; what they
//! mean for a session is the business of `session` and `engine`.
//!
//! Source: MySQL manual, "Client/Server Protocol", and the MariaDB knowledge base,
//! "MariaDB protocol".

mod attributes;
mod auth;
mod capabilities;
mod change_user;
mod command;
mod definitions;
mod err;
mod execute;
mod handshake;
mod ok;
mod packet;
mod proxy_header;
mod query_attributes;
mod reader;
mod response;
mod result_set;
mod status;
mod track;
mod translate;

pub use attributes::encode_attributes;
pub use auth::{
    AuthMoreData, AuthPlugin, CACHING_SHA2_PASSWORD, NATIVE_PASSWORD, PrivateKey, PublicKeyError,
    REQUEST_PUBLIC_KEY, SERVER_PROOF_LEN, caching_sha2_password, encrypt_password, is_server_proof,
    is_stored_password, native_password, native_password_hash, native_password_stage1,
    native_password_with, server_proof,
};
pub use capabilities::{Capabilities, ExtendedCapabilities};
pub use change_user::ChangeUser;
pub use command::Command;
pub use definitions::{Definitions, Fingerprint};
pub use err::{ErrPacket, code};
pub use execute::{
    BULK_EXECUTE_HEADER_LEN, ParameterList, ParameterTypes, ParameterValue, PrepareOk, TypeList,
    asks_for_cursor, long_data_parameter, parameter_types, parameter_values, statement_id,
    with_parameter_types,
};
pub use handshake::{AuthSwitchRequest, HandshakeResponse, InitialHandshake, SslRequest};
pub use ok::{OkPacket, encode_eof};
pub use packet::{
    Complete, HEADER_LEN, Header, MAX_PAYLOAD, PacketWriter, Payload, join_packets, number_packets,
    whole_len, whole_packet, write_packet,
};
pub use proxy_header::{Beginning, ProxyHeader, proxy_header};
pub use query_attributes::{NO_ATTRIBUTES, query_attributes};
pub use reader::{Reader, put_lenenc_bytes, put_lenenc_int};
pub use response::{Piece, ResponseWalk, Shape, WalkError};
pub use result_set::TextResultSet;
pub use status::ServerStatus;
pub use track::{StateChange, StateChanges};
pub use translate::{ClientDialect, Told, Translation};

/// The bytes do not follow the protocol; whoever sent them is to be disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A field reaches past the end of its packet.
    #[error("packet ends inside {0}")]
    Truncated(&'static str),
    /// A field holds a value that the protocol does not know.
    #[error("{0} has a value that the protocol does not know")]
    Invalid(&'static str),
}
