//! TCP for a database that has only a unix socket: for programs that know nothing else. Bytes are
//! passed on as they come.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Address;

/// An open gateway. Dropping it closes its port; connections go on until either side ends them.
pub(crate) struct Gateway {
    tcp: SocketAddr,
    closed: Arc<AtomicBool>,
}

impl Gateway {
    /// Opens one before `address`, which is a unix socket.
    pub(crate) fn before(address: &Address) -> Self {
        let Address::Unix(socket) = address.clone() else {
            panic!("{address:?} needs no gateway");
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let tcp = listener.local_addr().unwrap();
        let closed = Arc::new(AtomicBool::new(false));
        let seen = closed.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if seen.load(Ordering::SeqCst) {
                    return;
                }
                connect(client.unwrap(), &socket).unwrap();
            }
        });
        Self { tcp, closed }
    }

    /// Where it listens.
    pub(crate) fn tcp(&self) -> SocketAddr {
        self.tcp
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::SeqCst);
        // This one is for the listener to look up; it is not passed on.
        let _woken = TcpStream::connect(self.tcp);
    }
}

fn connect(client: TcpStream, socket: &Path) -> io::Result<()> {
    let database = UnixStream::connect(socket)?;
    client.set_nodelay(true)?;
    let (mut from_client, mut to_database) = (client.try_clone()?, database.try_clone()?);
    let (mut from_database, mut to_client) = (database, client);
    // Whatever ends one direction ends the connection.
    std::thread::spawn(move || {
        let _ended = io::copy(&mut from_client, &mut to_database);
        let _gone = to_database.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        let _ended = io::copy(&mut from_database, &mut to_client);
        let _gone = to_client.shutdown(Shutdown::Both);
    });
    Ok(())
}
