//! What the handler asks of the driver. What is about a connection that speaks TLS stops here: bytes that leave
//! are staged, and encrypted once the event has been dealt with.

use events::{Close, Compression, Handle, Io, Span, Tag, TlsSide};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;

use crate::connections::{Connection, Connections, Phase};
use crate::layer::Parties;
use crate::session::Session;

/// Buffers that are kept for what is staged next, and how large one may be to be kept.
const SPARES: usize = 64;
const SPARE_CAPACITY: usize = 64 << 10;

/// All that the layer has besides the handler.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) parties: Parties,
    pub(crate) connections: Connections,
    /// Those that should speak TLS and cannot.
    pub(crate) refused: Vec<Tag>,
    pub(crate) spares: Vec<Vec<u8>>,
}

/// The driver, as the handler sees it.
pub(crate) struct Effects<'a, I> {
    pub(crate) io: &'a mut I,
    pub(crate) desk: &'a mut Desk,
}

impl Desk {
    /// True if something is due.
    pub(crate) fn has_work(&self) -> bool {
        let connections = &self.connections;
        !(connections.staged.is_empty() && connections.due.is_empty() && self.refused.is_empty())
    }

    /// Encrypts all that was staged.
    pub(crate) fn seal_all<M, I: Io<M>>(&mut self, io: &mut I) {
        while let Some(handle) = self.connections.staged.pop() {
            let Some(connection) = self.connections.get_mut(handle) else {
                continue;
            };
            // Until there are keys it stays staged.
            if connection.phase == Phase::Handshake {
                continue;
            }
            let broken = !connection.seal(io.outbox(handle));
            if std::mem::take(&mut connection.drain_wanted) {
                io.notify_drained(handle);
            }
            let (tag, spare) = (connection.tag, std::mem::take(&mut connection.staged));
            self.connections.due.extend(broken.then_some(tag));
            self.recycle(spare);
        }
    }

    /// The agreement is there: what was staged before can leave.
    pub(crate) fn established(&mut self, handle: Handle) {
        if let Some(connection) = self.connections.get_mut(handle) {
            connection.phase = Phase::Established;
            if !connection.staged.is_empty() {
                self.connections.staged.push(handle);
            }
        }
    }

    fn stage(&mut self, handle: Handle) -> Option<&mut Vec<u8>> {
        let connection = self.connections.get_mut(handle)?;
        if connection.staged.is_empty() {
            if connection.staged.capacity() == 0 {
                connection.staged = self.spares.pop().unwrap_or_default();
            }
            if self.connections.staged.last() != Some(&handle) {
                self.connections.staged.push(handle);
            }
        }
        let connection = self.connections.get_mut(handle)?;
        Some(&mut connection.staged)
    }

    fn recycle(&mut self, mut spare: Vec<u8>) {
        if self.spares.len() < SPARES && (1..=SPARE_CAPACITY).contains(&spare.capacity()) {
            spare.clear();
            self.spares.push(spare);
        }
    }

    fn session(&self, side: TlsSide) -> Option<Session> {
        let session = match side {
            TlsSide::Server => {
                let (config, shown) = self.parties.server.as_ref()?.config();
                let connection = UnbufferedServerConnection::new(config);
                connection.map(|connection| Session::Server(connection, shown))
            }
            TlsSide::Client => {
                let (config, name) = self.parties.client.as_ref()?.config();
                UnbufferedClientConnection::new(config, name).map(Session::Client)
            }
        };
        session
            .inspect_err(|error| tracing::error!(%error, "no TLS session can be begun"))
            .ok()
    }
}

impl Connection {
    /// Encrypts what is staged. False if that failed, now or before.
    fn seal(&mut self, out: &mut Vec<u8>) -> bool {
        let done = self.phase == Phase::Established
            && (self.staged.is_empty() || self.session.seal(&mut self.inbox, &self.staged, out));
        if !done {
            self.phase = Phase::Failed;
        }
        done
    }
}

impl<M, I: Io<M>> Io<M> for Effects<'_, I> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        match self.desk.connections.get(handle) {
            Some(_) => match self.desk.stage(handle) {
                Some(staged) => staged,
                None => self.io.outbox(handle),
            },
            None => self.io.outbox(handle),
        }
    }

    fn unsent(&self, handle: Handle) -> usize {
        let connection = self.desk.connections.get(handle);
        let staged = connection.map_or(0, |connection| connection.staged.len());
        self.io.unsent(handle) + staged
    }

    fn untaken(&mut self, handle: Handle) -> usize {
        let connection = self.desk.connections.get(handle);
        let staged = connection.map_or(0, |connection| connection.staged.len());
        self.io.untaken(handle) + staged
    }

    fn unsent_total(&self) -> usize {
        self.io.unsent_total()
    }

    fn notify_drained(&mut self, handle: Handle) {
        match self.desk.connections.get_mut(handle) {
            Some(connection) if !connection.staged.is_empty() => connection.drain_wanted = true,
            _ => self.io.notify_drained(handle),
        }
    }

    fn pause_receive(&mut self, handle: Handle) {
        self.io.pause_receive(handle);
    }

    fn resume_receive(&mut self, handle: Handle) {
        self.io.resume_receive(handle);
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        self.io.connect(tag)
    }

    fn close(&mut self, handle: Handle, how: Close) {
        let Some(mut connection) = self.desk.connections.remove(handle) else {
            return self.io.close(handle, how);
        };
        let failed = connection.phase == Phase::Failed;
        if how == Close::Flush && connection.phase == Phase::Established {
            let out = self.io.outbox(handle);
            if connection.seal(out) {
                let Connection { session, inbox, .. } = &mut *connection;
                // Without it the peer takes the end for one that somebody else brought about.
                let _told = session.end(inbox, out);
            }
        }
        // The peer is to hear of what went wrong.
        self.io
            .close(handle, if failed { Close::Flush } else { how });
        self.desk.recycle(connection.staged);
    }

    fn post(&mut self, worker: usize, mail: M) -> Result<(), M> {
        self.io.post(worker, mail)
    }

    fn stop_accepting(&mut self) {
        self.io.stop_accepting();
    }

    fn compress(&mut self, connection: (Handle, Tag), method: Compression) {
        self.io.compress(connection, method);
    }

    fn start_tls(&mut self, (handle, tag): (Handle, Tag), side: TlsSide, early: &[u8]) {
        match self.desk.session(side) {
            Some(session) => self.desk.connections.insert((handle, tag), session, early),
            None => self.desk.refused.push(tag),
        }
    }

    fn told_late(&self) -> Span {
        self.io.told_late()
    }

    fn has_told_all(&self) -> bool {
        self.io.has_told_all()
    }
}
