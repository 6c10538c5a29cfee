//! What the handler asks of the driver. What is about a connection that is compressed stops here: bytes that
//! leave are staged, and compressed once the event has been dealt with.

use events::{Close, Compression, Handle, Io, Span, Tag, TlsSide};

use crate::codec::Packer;
use crate::connections::Connections;

/// The driver, as the handler sees it.
pub(crate) struct Effects<'a, I> {
    pub(crate) io: &'a mut I,
    pub(crate) connections: &'a mut Connections,
    pub(crate) packer: &'a mut Packer,
}

/// So much is packed whatever else was packed in the same turn: short answers never wait.
const SHORT: usize = 16 << 10;

/// Compresses what connections have staged, as long as `left` bytes more may be packed in this turn: those that wait first,
/// each as much as is left, then those that came since. The rest waits for the next turn, and is not looked at before it:
/// the work after an event does not grow with the number of those that wait.
pub(crate) fn flush<M, I: Io<M>>(
    io: &mut I,
    connections: &mut Connections,
    packer: &mut Packer,
    left: &mut usize,
) {
    for _ in 0..connections.waiting.len() {
        if *left < SHORT {
            break;
        }
        let Some(tag) = connections.waiting.pop_front() else {
            break;
        };
        if let Some(connection) = connections.get_mut(tag) {
            connection.waits = false;
        }
        flush_one((io, tag), connections, packer, left);
    }
    while let Some(tag) = connections.staged.pop_front() {
        flush_one((io, tag), connections, packer, left);
    }
}

fn flush_one<M, I: Io<M>>(
    (io, tag): (&mut I, Tag),
    connections: &mut Connections,
    packer: &mut Packer,
    left: &mut usize,
) {
    let Some(connection) = connections.get_mut(tag) else {
        return;
    };
    let handle = connection.handle;
    let len = match connection.staged.len() {
        short if short <= SHORT => short,
        // Nor do a few bytes go alone.
        _ if *left < SHORT => 0,
        long => long.min(*left),
    };
    if len > 0 {
        let plain = &connection.staged.rest()[..len];
        let to = (connection.sequence_id, io.outbox(handle));
        connection.sequence_id = packer.pack(connection.method, plain, to);
        connection.staged.advance(len);
        *left = left.saturating_sub(len);
    }
    if connection.staged.is_empty() && std::mem::take(&mut connection.drain_wanted) {
        io.notify_drained(handle);
    }
    connections.leave(tag);
}

impl<M, I: Io<M>> Io<M> for Effects<'_, I> {
    fn outbox(&mut self, handle: Handle) -> &mut Vec<u8> {
        match self.connections.tag(handle) {
            Some(tag) => match self.connections.stage(tag) {
                Some(staged) => staged,
                None => self.io.outbox(handle),
            },
            None => self.io.outbox(handle),
        }
    }

    fn unsent(&self, handle: Handle) -> usize {
        let staged = self.connections.find(handle);
        let staged = staged.map_or(0, |connection| connection.staged.len());
        self.io.unsent(handle) + staged
    }

    fn untaken(&mut self, handle: Handle) -> usize {
        let staged = self.connections.find(handle);
        let staged = staged.map_or(0, |connection| connection.staged.len());
        self.io.untaken(handle) + staged
    }

    fn unsent_total(&self) -> usize {
        self.io.unsent_total() + self.connections.left_staged
    }

    fn notify_drained(&mut self, handle: Handle) {
        match self.connections.find_mut(handle) {
            Some(connection) if !connection.staged.is_empty() => connection.drain_wanted = true,
            _ => self.io.notify_drained(handle),
        }
    }

    fn pause_receive(&mut self, handle: Handle) {
        self.io.pause_receive(handle);
        if let Some(connection) = self.connections.find_mut(handle) {
            connection.paused = true;
        }
    }

    fn resume_receive(&mut self, handle: Handle) {
        let Some(tag) = self.connections.tag(handle) else {
            return self.io.resume_receive(handle);
        };
        let Some(connection) = self.connections.get_mut(tag) else {
            return;
        };
        connection.paused = false;
        // One that is behind is read from once it has caught up.
        if !connection.behind {
            let has_more = !connection.inbox.is_empty() || connection.opened.is_some();
            self.io.resume_receive(handle);
            self.connections.resumed.extend(has_more.then_some(tag));
        }
    }

    fn connect(&mut self, tag: Tag) -> Handle {
        self.io.connect(tag)
    }

    fn close(&mut self, handle: Handle, how: Close) {
        if let Some(connection) = self.connections.remove(handle)
            && how == Close::Flush
        {
            let to = (connection.sequence_id, self.io.outbox(handle));
            self.packer
                .pack(connection.method, connection.staged.rest(), to);
        }
        self.io.close(handle, how);
    }

    fn post(&mut self, worker: usize, mail: M) -> Result<(), M> {
        self.io.post(worker, mail)
    }

    fn stop_accepting(&mut self) {
        self.io.stop_accepting();
    }

    fn told_late(&self) -> Span {
        self.io.told_late()
    }

    fn has_told_all(&self) -> bool {
        self.io.has_told_all()
    }

    fn compress(&mut self, connection: (Handle, Tag), method: Compression) {
        self.connections.insert(connection, method);
    }

    fn end_part(&mut self, handle: Handle) -> Option<u8> {
        let tag = self.connections.tag(handle)?;
        let connection = self.connections.get_mut(tag)?;
        let staged = std::mem::take(&mut connection.staged);
        let to = (connection.sequence_id, self.io.outbox(handle));
        connection.sequence_id = self.packer.pack(connection.method, staged.rest(), to);
        let next = connection.sequence_id;
        self.connections.leave(tag);
        Some(next)
    }

    fn sequence_id(&self, handle: Handle) -> Option<u8> {
        let connection = self.connections.find(handle)?;
        Some(connection.sequence_id)
    }

    fn start_tls(&mut self, connection: (Handle, Tag), side: TlsSide, early: &[u8]) {
        self.io.start_tls(connection, side, early);
    }
}
