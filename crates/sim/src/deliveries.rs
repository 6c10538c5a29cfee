//! What arrives: bytes and ends at engines, clients and the database, and connections.

use events::{ConnectError, Handle, Handler, HangUp, Peer as Address, Tag};

use crate::failure::Broken;
use crate::network::{Peer, ToEngine, ToPeer};
use crate::world::World;

const CONNECTION_REFUSED: i32 = 111;

impl World {
    pub(crate) fn reach_peer(&mut self, handle: Handle) -> Result<(), Broken> {
        let peer = self.network.link(handle).peer;
        let arrived = self.network.arrive_at_peer(&mut self.schedule, handle);
        match (peer, arrived) {
            (_, ToPeer::Nothing) | (Peer::Nobody, _) => Ok(()),
            (Peer::Client(client), ToPeer::Bytes(bytes)) => {
                let (client, mut around) = self.client(client);
                client.received(&mut around, &bytes)
            }
            (Peer::Client(client), ToPeer::End) => {
                let (client, mut around) = self.client(client);
                client.ended(&mut around)
            }
            (Peer::Database(connection), ToPeer::Bytes(bytes)) => {
                let (database, mut outside) = self.database();
                database.received(&mut outside, connection, &bytes)
            }
            (Peer::Database(connection), ToPeer::End) => {
                let (database, mut outside) = self.database();
                database.ended(&mut outside, connection)
            }
        }
    }

    pub(crate) fn reach_engine(&mut self, handle: Handle) -> Result<(), Broken> {
        let (worker, peer) = {
            let link = self.network.link(handle);
            (link.worker, link.peer)
        };
        match self.network.arrive_at_engine(&mut self.schedule, handle) {
            ToEngine::Nothing => {}
            ToEngine::Received(tag, bytes) => {
                self.turn(worker, Some(handle), |engine, io, now| {
                    engine.received(io, tag, &bytes, now);
                });
            }
            ToEngine::HungUp(tag, how) => self.hung_up((worker, handle), peer, tag, how),
        }
        Ok(())
    }

    /// From now on, what of the client was not sent must never run.
    fn hung_up(&mut self, (worker, handle): (usize, Handle), peer: Peer, tag: Tag, how: HangUp) {
        let now = self.schedule.now();
        self.trace.line(now, || {
            format!("worker {worker} hears that {peer:?} hung up: {how:?}")
        });
        self.turn(worker, Some(handle), |engine, io, now| {
            engine.hung_up(io, tag, how, now);
        });
        let Peer::Client(client) = peer else { return };
        for sent in &self.clients[client].waiting {
            if !self.database.will_run(&self.network, &sent.tag) {
                self.database.forbidden.insert(sent.tag.clone());
            }
        }
    }

    pub(crate) fn connect(&mut self, handle: Handle) -> Result<(), Broken> {
        let worker = self.network.link(handle).worker;
        if !self.network.is_connecting(handle) {
            return Ok(());
        }
        let now = self.schedule.now();
        let refused = self.database.health.refuses(now);
        self.trace.line(now, || {
            format!("worker {worker} connects, refused: {refused}")
        });
        if refused {
            if let Some(tag) = self.network.refused(handle) {
                let error = ConnectError::Os(CONNECTION_REFUSED);
                self.turn(worker, Some(handle), |engine, io, now| {
                    engine.connect_failed(io, tag, error, now);
                });
            }
            return Ok(());
        }
        let (database, mut outside) = self.database();
        let connection = database.accept(&mut outside, handle);
        if let Some(tag) = self.network.established(handle, connection) {
            self.turn(worker, Some(handle), |engine, io, now| {
                engine.connected(io, tag, now);
            });
        }
        Ok(())
    }

    pub(crate) fn arrive(&mut self, number: usize) -> Result<(), Broken> {
        let worker = self.rng.usize(..self.workers.len());
        let client = &mut self.clients[number];
        if self.network.closed_doors[worker] {
            client.turned_away();
            return Ok(());
        }
        let now = self.schedule.now();
        let pace = client.profile.pace;
        let handle = self.network.open(worker, number, pace);
        client.connected(handle, now);
        self.trace.line(now, || {
            format!(
                "client {number} comes to worker {worker}: {:?}",
                client.profile
            )
        });
        let mut nonce = [0; 32];
        nonce.fill_with(|| self.rng.u8(..));
        let tag = self.turn(worker, Some(handle), |engine, io, now| {
            engine.accepted(io, handle, Address::Unix, nonce, now)
        });
        if let Some(tag) = tag {
            self.network.set_tag(handle, tag);
        }
        Ok(())
    }
}
