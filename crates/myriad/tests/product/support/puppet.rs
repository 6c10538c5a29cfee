//! A database that says more than it is asked: a gateway before a real one, which sends clients bytes of a test's own.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::Address;

/// An open gateway. Dropping it closes its port; connections go on until either side ends them.
pub(crate) struct Puppet {
    address: Address,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    closed: AtomicBool,
    /// The clients' ends of the connections so far.
    clients: Mutex<Vec<TcpStream>>,
    /// What follows the next bytes of the database, in one write with them.
    follows: Mutex<Vec<u8>>,
}

impl Puppet {
    /// Opens one before `address`, which is a unix socket.
    pub(crate) fn before(address: &Address) -> Self {
        let Address::Unix(socket) = address.clone() else {
            panic!("{address:?} is no unix socket");
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let seen = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if seen.closed.load(Ordering::SeqCst) {
                    return;
                }
                let database = UnixStream::connect(&socket).unwrap();
                connect(client.unwrap(), database, &seen).unwrap();
            }
        });
        Self { address, state }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Sends bytes to all clients that are connected. Returns how many those are.
    pub(crate) fn say(&self, bytes: &[u8]) -> usize {
        let clients = self.state.clients.lock().unwrap();
        let said = clients.iter().map(|mut client| client.write_all(bytes));
        said.filter(Result::is_ok).count()
    }

    /// Sends bytes behind whatever the database says next, in one write.
    pub(crate) fn say_behind_next(&self, bytes: &[u8]) {
        bytes.clone_into(&mut self.state.follows.lock().unwrap());
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::SeqCst);
        let Address::Tcp(address) = self.address else {
            return;
        };
        // This one is for the listener to look up; it is not passed on.
        let _woken = TcpStream::connect(address);
    }
}

fn connect(client: TcpStream, database: UnixStream, state: &Arc<State>) -> io::Result<()> {
    client.set_nodelay(true)?;
    state.clients.lock().unwrap().push(client.try_clone()?);
    let (mut from_client, mut to_database) = (client.try_clone()?, database.try_clone()?);
    let (mut from_database, mut to_client) = (database, client);
    let state = state.clone();
    // Whatever ends one direction ends the connection.
    std::thread::spawn(move || {
        let _ended = io::copy(&mut from_client, &mut to_database);
        let _gone = to_database.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count) = from_database.read(&mut buffer)
            && count > 0
        {
            let follows = std::mem::take(&mut *state.follows.lock().unwrap());
            let said = [&buffer[..count], &follows].concat();
            if to_client.write_all(&said).is_err() {
                break;
            }
        }
        let _gone = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}
