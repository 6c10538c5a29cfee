//! Addresses that fail to log in, over all workers: broken handshakes in a row, for which an address is blocked
//! (`max_connect_errors`), and wrong passwords, which are answered later and later.

mod table;

use std::net::IpAddr;

use events::{Peer, Span, Timestamp};

use crate::record::address::{Network, is_here};
use crate::record::strangers::table::Table;

/// So many wrong passwords are told at once; people mistype.
const FREE: u32 = 3;

/// How long the next one waits for its answer. Each one more waits for twice as long.
const FIRST_DELAY: Span = Span::from_ms(100);

const DELAY_MAX: Span = Span::from_secs(5);

/// One wrong password is forgotten in so long.
const FORGIVEN_AFTER: Span = Span::from_secs(2);

/// More are not counted: the delay is at its longest long before.
const WRONG_MAX: u32 = 16;

/// Addresses that failed.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// By address, so that the neighbours of a broken client are not blocked with it.
    broken: Table<Broken>,
    /// Of IPv6 by network of 64 bits: a host may have all addresses in it, and would guess from each of them.
    wrong: Table<Wrong>,
}

/// Handshakes of an address that broke since a client from there logged in.
#[derive(Debug, Default)]
struct Broken {
    count: u32,
    blocked: bool,
}

/// Wrong passwords that are not forgiven yet, as of `since`.
#[derive(Debug, Default)]
struct Wrong {
    count: u32,
    since: Timestamp,
}

/// An address where handshakes broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenHost {
    /// Where.
    pub address: IpAddr,
    /// How many broke since a client from there logged in.
    pub handshakes: u32,
    /// Whether clients from there are refused.
    pub blocked: bool,
}

impl Wrong {
    fn unforgiven(&self, now: Timestamp) -> u32 {
        let forgiven = now.since(self.since).as_us() / FORGIVEN_AFTER.as_us();
        u64::from(self.count).saturating_sub(forgiven) as u32
    }
}

impl Strangers {
    /// The handshake of a client from there broke. Returns how many did in a row if the address is blocked from now on,
    /// because they are `max`.
    pub(crate) fn broke(&self, peer: Peer, max: Option<u32>, now: Timestamp) -> Option<u32> {
        self.broken.change(elsewhere(peer)?, now, |broken| {
            broken.count = broken.count.saturating_add(1);
            let blocks = !broken.blocked && max.is_some_and(|max| broken.count >= max);
            broken.blocked |= blocks;
            blocks.then_some(broken.count)
        })
    }

    /// A client from there has logged in.
    pub(crate) fn proved(&self, peer: Peer, now: Timestamp) {
        let Some(address) = elsewhere(peer) else {
            return;
        };
        self.broken.forget_one(address, |_| true);
        self.wrong
            .forget_one(network(address), |wrong| wrong.unforgiven(now) == 0);
    }

    /// Whether clients from there are refused.
    pub(crate) fn is_blocked(&self, peer: Peer) -> bool {
        let blocked = |address| self.broken.look(address, |broken| broken.blocked);
        elsewhere(peer).and_then(blocked).unwrap_or(false)
    }

    /// A client from there has shown a wrong password, or named an account that is not there. Returns how long it must
    /// wait for its refusal.
    pub(crate) fn mistook(&self, peer: Peer, now: Timestamp) -> Span {
        let Some(address) = elsewhere(peer) else {
            return Span::ZERO;
        };
        self.wrong.change(network(address), now, |wrong| {
            wrong.count = (wrong.unforgiven(now) + 1).min(WRONG_MAX);
            wrong.since = now;
            delay(wrong.count)
        })
    }

    /// Forgets all addresses: `FLUSH HOSTS`.
    pub(crate) fn forget(&self) -> usize {
        self.broken.forget_if(|_, _| true) + self.wrong.forget_if(|_, _| true)
    }

    /// Forgets one address: `FLUSH HOSTS 'address'`. True if it had failed.
    pub(crate) fn forget_one(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let broken = self.broken.forget_one(address, |_| true);
        self.wrong.forget_one(network(address), |_| true) || broken
    }

    /// Handshakes that break there are not counted any more.
    pub(crate) fn exempt(&self, networks: &[Network]) {
        let exempt = |address: IpAddr, _: &Broken| {
            let peer = Peer::Tcp((address, 0).into());
            networks.iter().any(|network| network.contains(peer))
        };
        if !networks.is_empty() {
            self.broken.forget_if(exempt);
        }
    }

    /// Where handshakes broke, in no order.
    pub(crate) fn broken(&self) -> Vec<BrokenHost> {
        self.broken.pick(|address, broken| {
            Some(BrokenHost {
                address,
                handshakes: broken.count,
                blocked: broken.blocked,
            })
        })
    }

    /// How many addresses are blocked.
    pub(crate) fn blocked(&self) -> usize {
        let blocked = |_, broken: &Broken| broken.blocked.then_some(());
        self.broken.pick(blocked).len()
    }

    /// How many addresses are remembered, by either table.
    pub(crate) fn len(&self) -> usize {
        self.broken.len() + self.wrong.len()
    }

    /// How many were forgotten to make room for others.
    pub(crate) fn evicted(&self) -> u64 {
        self.broken.evicted() + self.wrong.evicted()
    }
}

/// How long the answer to that many wrong passwords waits.
fn delay(wrong: u32) -> Span {
    if wrong <= FREE {
        return Span::ZERO;
    }
    let doubled = FIRST_DELAY.as_us() << (wrong - FREE - 1).min(16);
    Span::from_us(doubled.min(DELAY_MAX.as_us()))
}

/// The address of a client; `None` on this machine, which the servers do not count either.
fn elsewhere(peer: Peer) -> Option<IpAddr> {
    match peer {
        Peer::Tcp(address) if !is_here(peer) => Some(address.ip().to_canonical()),
        _ => None,
    }
}

/// Of IPv4 the address, of IPv6 the first of its network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(ip) => IpAddr::V6((u128::from(ip) >> 64 << 64).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Option<u32> = Some(3);

    fn peer(ip: &str) -> Peer {
        Peer::Tcp((ip.parse::<IpAddr>().unwrap(), 1_000).into())
    }

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_us(ms * 1_000)
    }

    #[test]
    fn broken_handshakes_in_a_row_block_an_address() {
        let strangers = Strangers::default();
        let (bad, good) = (peer("10.0.0.1"), peer("10.0.0.2"));
        for _ in 0..2 {
            assert_eq!(strangers.broke(bad, MAX, at(0)), None);
        }
        strangers.proved(bad, at(0));
        let told: Vec<_> = (0..5).map(|_| strangers.broke(bad, MAX, at(1))).collect();
        assert_eq!(told, [None, None, Some(3), None, None], "told once");
        assert!(strangers.is_blocked(bad) && !strangers.is_blocked(good));
        assert_eq!((strangers.blocked(), strangers.len()), (1, 1));
        strangers.broke(good, MAX, at(1));
        let mut broken = strangers.broken();
        broken.sort_by_key(|host| host.address);
        let row = |ip: &str, handshakes, blocked| BrokenHost {
            address: ip.parse().unwrap(),
            handshakes,
            blocked,
        };
        assert_eq!(
            broken,
            [row("10.0.0.1", 5, true), row("10.0.0.2", 1, false)]
        );
        assert_eq!(strangers.forget(), 2);
        assert!(!strangers.is_blocked(bad));
    }

    #[test]
    fn without_a_limit_no_address_is_blocked() {
        let strangers = Strangers::default();
        for _ in 0..1_000 {
            assert_eq!(strangers.broke(peer("10.0.0.1"), None, at(0)), None);
        }
        assert!(!strangers.is_blocked(peer("10.0.0.1")));
    }

    #[test]
    fn a_block_holds_for_one_address_and_is_lifted_for_one() {
        let strangers = Strangers::default();
        let hosts = ["2001:db8::1", "2001:db8::2", "10.0.0.1"].map(peer);
        for who in [hosts[0], hosts[2]] {
            strangers.broke(who, Some(1), at(0));
        }
        let blocked = || hosts.map(|who| strangers.is_blocked(who));
        assert_eq!(blocked(), [true, false, true], "not its neighbours");
        assert!(!strangers.forget_one("2001:db8::2".parse().unwrap()));
        assert!(strangers.forget_one("::ffff:10.0.0.1".parse().unwrap()));
        assert_eq!(blocked(), [true, false, false]);
        strangers.exempt(&[Network::Ip("10.0.0.0".parse().unwrap(), 8)]);
        assert_eq!(blocked(), [true, false, false]);
        strangers.exempt(&[Network::Ip("2001:db8::".parse().unwrap(), 64)]);
        assert_eq!(blocked(), [false; 3]);
        assert_eq!(strangers.len(), 0);
    }

    #[test]
    fn this_machine_is_never_blocked_nor_made_to_wait() {
        let strangers = Strangers::default();
        for who in [
            Peer::Unix,
            peer("127.0.0.1"),
            peer("::1"),
            peer("::ffff:127.0.0.9"),
        ] {
            for _ in 0..100 {
                assert_eq!(strangers.broke(who, Some(1), at(0)), None);
                assert_eq!(strangers.mistook(who, at(0)), Span::ZERO);
            }
            assert!(!strangers.is_blocked(who));
        }
        assert_eq!(strangers.len(), 0);
    }

    #[test]
    fn wrong_passwords_wait_longer_and_longer_and_are_forgiven() {
        let strangers = Strangers::default();
        let who = peer("2001:db8::1");
        let waits: Vec<u64> = (0..12)
            .map(|_| strangers.mistook(who, at(0)).as_us() / 1_000)
            .collect();
        let expected = [0, 0, 0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000];
        assert_eq!(waits, expected);
        // Whoever is in the same network is the same.
        let neighbour = peer("2001:db8::2");
        assert_eq!(strangers.mistook(neighbour, at(0)), DELAY_MAX);
        assert_eq!(
            strangers.mistook(peer("2001:db8:0:1::1"), at(0)),
            Span::ZERO
        );
        assert_eq!(strangers.mistook(who, at(18_000)), Span::from_ms(200));
        assert_eq!(strangers.mistook(who, at(100_000)), Span::ZERO);
        assert!(!strangers.is_blocked(who), "wrong is not broken");
    }

    #[test]
    fn a_login_clears_all_but_wrong_passwords_that_are_not_forgiven() {
        let strangers = Strangers::default();
        let who = peer("10.0.0.1");
        strangers.broke(who, Some(1), at(0));
        strangers.mistook(who, at(0));
        strangers.proved(who, at(0));
        assert_eq!(strangers.len(), 1, "a wrong password is not forgiven yet");
        assert!(!strangers.is_blocked(who));
        strangers.proved(who, at(2_000));
        assert_eq!(strangers.len(), 0);
        strangers.broke(peer("10.0.0.2"), Some(1), at(2_000));
        assert_eq!(strangers.len(), 1);
    }
}
