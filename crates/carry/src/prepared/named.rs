//! Commands that name a prepared statement, as the backend gets them: under its own id, with the long data
//! that was kept for the execution, and with the types of the parameters if the client left them out and the
//! backend does not have them.

use wire::Command;

/// True for a command that names a prepared statement and is sent to a backend.
pub fn names_statement(payload: &[u8]) -> bool {
    let command = payload.first().copied().and_then(Command::from_byte);
    matches!(
        command,
        Some(
            Command::StmtExecute
                | Command::StmtBulkExecute
                | Command::StmtFetch
                | Command::StmtReset
        )
    )
}

/// True for a command that runs a prepared statement.
pub fn executes(payload: &[u8]) -> bool {
    let runs = [Command::StmtExecute as u8, Command::StmtBulkExecute as u8];
    payload.first().is_some_and(|byte| runs.contains(byte))
}
