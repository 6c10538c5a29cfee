//! Command bytes. Source: MySQL manual, "Command Phase"; `my_command.h` of both servers.

/// The first byte of a command's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Command {
    /// `COM_SLEEP`
    Sleep = 0x00,
    /// `COM_QUIT`
    Quit = 0x01,
    /// `COM_INIT_DB`
    InitDb = 0x02,
    /// `COM_QUERY`
    Query = 0x03,
    /// `COM_FIELD_LIST`
    FieldList = 0x04,
    /// `COM_CREATE_DB`
    CreateDb = 0x05,
    /// `COM_DROP_DB`
    DropDb = 0x06,
    /// `COM_REFRESH`
    Refresh = 0x07,
    /// `COM_SHUTDOWN`
    Shutdown = 0x08,
    /// `COM_STATISTICS`
    Statistics = 0x09,
    /// `COM_PROCESS_INFO`
    ProcessInfo = 0x0a,
    /// `COM_CONNECT`
    Connect = 0x0b,
    /// `COM_PROCESS_KILL`
    ProcessKill = 0x0c,
    /// `COM_DEBUG`
    Debug = 0x0d,
    /// `COM_PING`
    Ping = 0x0e,
    /// `COM_TIME`
    Time = 0x0f,
    /// `COM_DELAYED_INSERT`
    DelayedInsert = 0x10,
    /// `COM_CHANGE_USER`
    ChangeUser = 0x11,
    /// `COM_BINLOG_DUMP`
    BinlogDump = 0x12,
    /// `COM_TABLE_DUMP`
    TableDump = 0x13,
    /// `COM_CONNECT_OUT`
    ConnectOut = 0x14,
    /// `COM_REGISTER_SLAVE`
    RegisterSlave = 0x15,
    /// `COM_STMT_PREPARE`
    StmtPrepare = 0x16,
    /// `COM_STMT_EXECUTE`
    StmtExecute = 0x17,
    /// `COM_STMT_SEND_LONG_DATA`
    StmtSendLongData = 0x18,
    /// `COM_STMT_CLOSE`
    StmtClose = 0x19,
    /// `COM_STMT_RESET`
    StmtReset = 0x1a,
    /// `COM_SET_OPTION`
    SetOption = 0x1b,
    /// `COM_STMT_FETCH`
    StmtFetch = 0x1c,
    /// `COM_DAEMON`
    Daemon = 0x1d,
    /// `COM_BINLOG_DUMP_GTID`
    BinlogDumpGtid = 0x1e,
    /// `COM_RESET_CONNECTION`
    ResetConnection = 0x1f,
    /// `COM_CLONE` of MySQL.
    Clone = 0x20,
    /// `COM_STMT_BULK_EXECUTE` of MariaDB.
    StmtBulkExecute = 0xfa,
}

impl Command {
    /// The command of a payload's first byte, if it is one of those above.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0xfa => Some(Self::StmtBulkExecute),
            _ => ALL.get(usize::from(byte)).copied(),
        }
    }
}

const ALL: [Command; 0x21] = [
    Command::Sleep,
    Command::Quit,
    Command::InitDb,
    Command::Query,
    Command::FieldList,
    Command::CreateDb,
    Command::DropDb,
    Command::Refresh,
    Command::Shutdown,
    Command::Statistics,
    Command::ProcessInfo,
    Command::Connect,
    Command::ProcessKill,
    Command::Debug,
    Command::Ping,
    Command::Time,
    Command::DelayedInsert,
    Command::ChangeUser,
    Command::BinlogDump,
    Command::TableDump,
    Command::ConnectOut,
    Command::RegisterSlave,
    Command::StmtPrepare,
    Command::StmtExecute,
    Command::StmtSendLongData,
    Command::StmtClose,
    Command::StmtReset,
    Command::SetOption,
    Command::StmtFetch,
    Command::Daemon,
    Command::BinlogDumpGtid,
    Command::ResetConnection,
    Command::Clone,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_stands_at_its_own_byte() {
        for (byte, command) in ALL.iter().enumerate() {
            assert_eq!(*command as usize, byte);
            assert_eq!(Command::from_byte(byte as u8), Some(*command));
        }
        assert_eq!(Command::from_byte(0x21), None);
        assert_eq!(Command::from_byte(0xfa), Some(Command::StmtBulkExecute));
    }
}
