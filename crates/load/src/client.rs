//! A connection of its own thread, for what is not measured: one statement after another, each
//! awaited. Rows are read and dropped.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use driver::Address;
use wire::{Command, ErrPacket, HEADER_LEN, Piece, ResponseWalk};

use crate::error::LoadError;
use crate::explain::explain;
use crate::login::{LoginOutcome, LoginStep};
use crate::packets::first_packet;
use crate::plan::Account;
use crate::tally::ErrorNumber;

/// How much is read at once.
const READ: usize = 16 * 1024;

trait Stream: Read + Write + Send {}

impl<S: Read + Write + Send> Stream for S {}

/// A connection that is logged in.
pub(crate) struct Client {
    stream: Box<dyn Stream>,
    /// Received and not used yet.
    input: Vec<u8>,
    deprecate_eof: bool,
}

impl Client {
    /// Connects to the first address that takes the connection, and logs in.
    pub(crate) fn connect(target: &[Address], account: &Account) -> Result<Self, LoadError> {
        let mut client = Self {
            stream: open(target)?,
            input: Vec::new(),
            deprecate_eof: false,
        };
        client.log_in(account)?;
        Ok(client)
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// The target answered with an error, or the connection was lost.
    pub(crate) fn execute(&mut self, statement: &[u8]) -> Result<(), LoadError> {
        let mut command = vec![Command::Query as u8];
        command.extend_from_slice(statement);
        let mut out = Vec::new();
        wire::write_packet(&mut out, 0, &command);
        self.stream.write_all(&out).map_err(LoadError::Lost)?;
        let mut walk = ResponseWalk::new(self.deprecate_eof, 0);
        while !walk.is_done() {
            let packet = self.packet()?;
            take(&mut walk, &packet, statement)?;
        }
        Ok(())
    }

    fn log_in(&mut self, account: &Account) -> Result<(), LoadError> {
        let mut step = LoginStep::Handshake;
        loop {
            let packet = self.packet()?;
            let mut out = Vec::new();
            let outcome = step.packet(&packet, account, &mut out);
            self.stream.write_all(&out).map_err(LoadError::Lost)?;
            match outcome {
                LoginOutcome::Next(next) => step = next,
                LoginOutcome::Done { deprecate_eof } => {
                    self.deprecate_eof = deprecate_eof;
                    return Ok(());
                }
                LoginOutcome::Refused { number, message } => {
                    return Err(LoadError::Refused { number, message });
                }
                LoginOutcome::Hopeless(error) => return Err(error),
            }
        }
    }

    /// The next packet, its header included.
    fn packet(&mut self) -> Result<Vec<u8>, LoadError> {
        loop {
            if let Some(packet) = first_packet(&self.input) {
                let len = packet.len();
                return Ok(self.input.drain(..len).collect());
            }
            let mut bytes = [0; READ];
            match self.stream.read(&mut bytes).map_err(LoadError::Lost)? {
                0 => return Err(LoadError::Lost(io::ErrorKind::UnexpectedEof.into())),
                n => self.input.extend_from_slice(&bytes[..n]),
            }
        }
    }
}

fn open(target: &[Address]) -> Result<Box<dyn Stream>, LoadError> {
    let mut cause = io::Error::from(io::ErrorKind::InvalidInput);
    for address in target {
        match open_one(address) {
            Ok(stream) => return Ok(stream),
            Err(error) => cause = error,
        }
    }
    let target = crate::error::list(target);
    Err(LoadError::Connect { target, cause })
}

fn open_one(address: &Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Unix(path) => Box::new(UnixStream::connect(path)?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    })
}

fn take(walk: &mut ResponseWalk, packet: &[u8], statement: &[u8]) -> Result<(), LoadError> {
    let mut rest = packet;
    let broken = |error: wire::WalkError| LoadError::Protocol(error.to_string());
    while !rest.is_empty() {
        let Some(piece) = walk.next(rest).map_err(broken)? else {
            return Err(LoadError::Protocol("a packet ends too early".into()));
        };
        if let Piece::Err(_) = piece {
            let error = ErrPacket::parse(&packet[HEADER_LEN..])?;
            return Err(refused(&error, statement));
        }
        rest = rest.get(piece.bytes().len()..).unwrap_or_default();
    }
    Ok(())
}

fn refused(error: &ErrPacket<'_>, statement: &[u8]) -> LoadError {
    let beginning = String::from_utf8_lossy(&statement[..statement.len().min(60)]);
    let fix = explain(ErrorNumber::Err(error.code));
    LoadError::Statement {
        statement: beginning.lines().next().unwrap_or_default().to_owned(),
        number: error.code,
        message: String::from_utf8_lossy(error.message).into(),
        fix: fix.unwrap_or("check the account's privileges and the target's log"),
    }
}
