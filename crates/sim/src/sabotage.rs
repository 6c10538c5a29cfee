//! Rules that are broken on purpose, outside of the engine: proof that the checks would notice.

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A schema that is restored with COM_INIT_DB is not selected; OK is told.
    LoseSchema,
    /// A `SET` of the front door does nothing; OK is told.
    LoseVariables,
    /// COM_RESET_CONNECTION rolls back and does nothing else; OK is told.
    LoseReset,
    /// The server status flags never say that a transaction is open.
    HideTransactions,
    /// A write is run once more now and then, as if it had been sent to another backend, too.
    RepeatWrites,
    /// `SET last_insert_id` of the front door does nothing; OK is told.
    LoseInsertId,
    /// User variables are told to be NULL when the front door asks for them.
    LoseUserVariables,
    /// Variables that the tracker has not told are what sessions begin with when the front door asks for them.
    LoseUntold,
    /// COM_PING does not take a KILL that came late.
    PingMissesKill,
    /// A row count is told as that of the backend's last statement, whosever that was.
    StrangersCounts,
    /// Rows that were counted and not sent are forgotten before somebody asks for their number.
    LoseFoundRows,
    /// What empties a backend's list of warnings does nothing.
    KeepWarnings,
    /// Workers do not hear that a global variable was changed on another one.
    LoseGlobalNews,
    /// A statement is prepared in the schema that was selected before the present one.
    LoseBinding,
    /// An execution runs the prepared statement before the one that it names.
    SwapStatements,
    /// COM_RESET_CONNECTION leaves texts that are prepared by name.
    LeaveTexts,
    /// A file whose connection is lost is ended where it stands, as if it had been complete.
    HalfFile,
    /// A lane's backend answers the second of two statements first now and then.
    ReorderLanes,
    /// Views are told to be tables.
    HideViews,
    /// A read that runs for the second time gives no warnings.
    LoseRepeated,
    /// A limit is in force that is one above what is configured.
    RaiseLimits,
    /// Whoever came last is served first.
    NewestFirst,
    /// Workers do not hear that there is room for who waits with them, nor look by themselves.
    LoseWakeUps,
    /// Limits stay what they were when they are changed.
    KeepLimits,
    /// Workers do not hear that limits have changed.
    LoseRules,
    /// Two clients are sent each other's bytes now and then.
    SwapAnswers,
}
