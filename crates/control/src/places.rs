//! The connections of a listener, of which there may be so many. Whoever has not said who it is gives way when
//! somebody else comes and all places are taken, so that nobody keeps administrators out by saying nothing.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// So long nobody gives way, unless its address has more places than others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// The places. Dropping them ends all connections.
pub(crate) struct Places {
    most: usize,
    patience: Duration,
    connections: JoinSet<()>,
    strangers: Strangers,
    last: u64,
}

/// A place that is given up when somebody else needs it, as long as this is kept.
pub(crate) struct Place {
    number: u64,
    strangers: Strangers,
}

/// Those who have not said who they are, the oldest first.
#[derive(Clone, Default)]
struct Strangers(Arc<Mutex<Vec<Stranger>>>);

struct Stranger {
    number: u64,
    address: Option<IpAddr>,
    since: Instant,
    gives_way: oneshot::Sender<()>,
}

impl Places {
    /// So many; who has had one for `patience` gives way.
    pub(crate) fn new(most: usize, patience: Duration) -> Self {
        Self {
            most,
            patience,
            connections: JoinSet::new(),
            strangers: Strangers::default(),
            last: 0,
        }
    }

    /// Has a connection served, in a place of somebody who gives way if there is no other. `Err`: it has none.
    pub(crate) fn admit<F>(
        &mut self,
        socket: TcpStream,
        serve: impl FnOnce(TcpStream, Place) -> F,
    ) -> Result<(), TcpStream>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        while self.connections.try_join_next().is_some() {}
        let address = socket.peer_addr().ok().map(|peer| peer.ip());
        if self.connections.len() >= self.most && !self.strangers.make_room(address, self.patience)
        {
            return Err(socket);
        }
        self.last += 1;
        let (gives_way, mut told) = oneshot::channel();
        self.strangers.open().push(Stranger {
            number: self.last,
            address,
            since: Instant::now(),
            gives_way,
        });
        let place = Place {
            number: self.last,
            strangers: self.strangers.clone(),
        };
        let served = serve(socket, place);
        self.connections.spawn(async move {
            tokio::select! {
                () = served => {}
                Ok(()) = &mut told => tracing::debug!("a connection of nobody known gave way"),
            }
        });
        Ok(())
    }

    /// Waits until all connections have ended.
    pub(crate) async fn ended(&mut self) {
        while self.connections.join_next().await.is_some() {}
    }
}

impl Strangers {
    /// Has one of them give way to somebody from `address`: the oldest of the address that has most, unless that is
    /// the same or has hardly more; else the oldest of all who have been patiently waited for. False if there is none.
    fn make_room(&self, address: Option<IpAddr>, patience: Duration) -> bool {
        let mut strangers = self.open();
        let count = |whose| strangers.iter().filter(|s| s.address == whose).count();
        let busiest = strangers
            .iter()
            .map(|s| s.address)
            .max_by_key(|&a| count(a));
        let of_busiest = busiest
            .filter(|&busiest| busiest != address && count(busiest) > count(address) + 1)
            .and_then(|busiest| strangers.iter().position(|s| s.address == busiest));
        let is_late = |stranger: &Stranger| stranger.since.elapsed() >= patience;
        let Some(place) = of_busiest.or_else(|| strangers.iter().position(is_late)) else {
            return false;
        };
        // One that has ended meanwhile has left its place, too.
        let _ended = strangers.remove(place).gives_way.send(());
        true
    }

    fn open(&self) -> MutexGuard<'_, Vec<Stranger>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut strangers = self.strangers.open();
        strangers.retain(|stranger| stranger.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn stranger(strangers: &Strangers, last: u8) -> oneshot::Receiver<()> {
        let (gives_way, told) = oneshot::channel();
        let mut all = strangers.open();
        let number = all.len() as u64;
        all.push(Stranger {
            number,
            address: Some(Ipv4Addr::new(10, 0, 0, last).into()),
            since: Instant::now(),
            gives_way,
        });
        told
    }

    fn from(last: u8) -> Option<IpAddr> {
        Some(Ipv4Addr::new(10, 0, 0, last).into())
    }

    #[test]
    fn an_address_with_many_places_gives_one_to_another_at_once() {
        let strangers = Strangers::default();
        let mut other = stranger(&strangers, 7);
        let mut flood: Vec<_> = (0..3).map(|_| stranger(&strangers, 1)).collect();
        let hour = Duration::from_secs(3_600);
        assert!(!strangers.make_room(from(1), hour), "to itself");
        assert!(strangers.make_room(from(2), hour));
        assert!(flood[0].try_recv().is_ok(), "the oldest");
        assert!(strangers.make_room(from(2), Duration::ZERO));
        assert!(flood[1].try_recv().is_ok() || other.try_recv().is_ok());
        assert!(flood[2].try_recv().is_err());
    }

    #[test]
    fn whoever_has_had_its_time_gives_way_the_oldest_first() {
        let strangers = Strangers::default();
        let mut both = [stranger(&strangers, 1), stranger(&strangers, 1)];
        assert!(!strangers.make_room(from(1), Duration::from_secs(3_600)));
        for told in &mut both {
            assert!(strangers.make_room(from(1), Duration::ZERO));
            assert!(told.try_recv().is_ok());
        }
        assert!(!strangers.make_room(from(1), Duration::ZERO));
    }
}
