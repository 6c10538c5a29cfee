//! What is remembered of addresses that fail to log in: broken handshakes in a row, as the servers count them for
//! `max_connect_errors`, and wrong passwords, which are answered later and later.
//!
//! Owns the table, which all workers share: of fixed size, and looked at only while somebody logs in who is in it
//! or fails. What is done about an address is the matter of `login` and `denial`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use events::{Peer, Span, Timestamp};

use crate::login::address::is_here;

const SHARDS: usize = 64;
/// Addresses per shard; one more drives out whoever failed longest ago.
const SHARD_MAX: usize = 64;

/// So many wrong passwords are told at once; people mistype.
const FREE: u32 = 3;
/// How long the next one waits for its answer. Each one more waits for twice as long.
const FIRST_DELAY: Span = Span::from_ms(100);
const DELAY_MAX: Span = Span::from_secs(5);
/// One wrong password is forgotten in so long.
const FORGIVEN_AFTER: Span = Span::from_secs(2);
/// More are not counted: the delay is at its longest long before.
const WRONG_MAX: u32 = 16;

/// Those who failed.
#[derive(Debug)]
pub(crate) struct Strangers {
    shards: Vec<Mutex<Vec<Stranger>>>,
    /// How many are in all shards; while there is none, nobody has to look.
    known: AtomicUsize,
    driven_out: AtomicU64,
}

#[derive(Debug)]
struct Stranger {
    network: u128,
    /// Broken handshakes since somebody from there logged in.
    broken: u32,
    /// Wrong passwords that are not forgiven yet, as of `since`.
    wrong: u32,
    since: Timestamp,
    /// When somebody from there failed last.
    seen: Timestamp,
}

impl Stranger {
    /// How many wrong passwords are not forgiven yet.
    fn unforgiven(&self, now: Timestamp) -> u32 {
        let forgiven = now.since(self.since).as_us() / FORGIVEN_AFTER.as_us();
        u64::from(self.wrong).saturating_sub(forgiven) as u32
    }
}

impl Default for Strangers {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            known: AtomicUsize::new(0),
            driven_out: AtomicU64::new(0),
        }
    }
}

impl Strangers {
    /// A client from there has gone before it proved anything, or has sent nonsense.
    pub(crate) fn broke(&self, peer: Peer, now: Timestamp) {
        if let Some(network) = network(peer) {
            self.change(network, now, |stranger| stranger.broken += 1);
        }
    }

    /// Somebody from there has logged in. Nothing is left to remember of it if all wrong passwords are forgiven.
    pub(crate) fn proved(&self, peer: Peer, now: Timestamp) {
        self.look(peer, |shard, at| {
            shard[at].broken = 0;
            if shard[at].unforgiven(now) == 0 {
                shard.swap_remove(at);
                self.known.fetch_sub(1, Ordering::Relaxed);
            }
        });
    }

    /// True if `max` handshakes in a row have broken there.
    pub(crate) fn is_blocked(&self, peer: Peer, max: Option<u32>) -> bool {
        max.is_some_and(|max| {
            self.look(peer, |shard, at| shard[at].broken >= max)
                .unwrap_or(false)
        })
    }

    /// Somebody from there has shown a wrong password, or said that it is somebody who is not there. Returns
    /// how long it must wait to be told.
    pub(crate) fn mistook(&self, peer: Peer, now: Timestamp) -> Span {
        let Some(network) = network(peer) else {
            return Span::ZERO;
        };
        self.change(network, now, |stranger| {
            stranger.wrong = (stranger.unforgiven(now) + 1).min(WRONG_MAX);
            stranger.since = now;
            delay(stranger.wrong)
        })
    }

    /// `FLUSH HOSTS`.
    pub(crate) fn forget(&self) {
        for shard in &self.shards {
            let mut shard = lock(shard);
            self.known.fetch_sub(shard.len(), Ordering::Relaxed);
            shard.clear();
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.known.load(Ordering::Relaxed)
    }

    /// How many were forgotten to make room for others.
    pub(crate) fn driven_out(&self) -> u64 {
        self.driven_out.load(Ordering::Relaxed)
    }

    /// Looks at an address that may be known.
    fn look<T>(&self, peer: Peer, look: impl FnOnce(&mut Vec<Stranger>, usize) -> T) -> Option<T> {
        if self.known.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let network = network(peer)?;
        let mut shard = lock(&self.shards[place(network)]);
        let at = shard.iter().position(|known| known.network == network)?;
        Some(look(&mut shard, at))
    }

    /// Changes what is known of an address, which is known from now on.
    fn change<T>(
        &self,
        network: u128,
        now: Timestamp,
        change: impl FnOnce(&mut Stranger) -> T,
    ) -> T {
        let mut shard = lock(&self.shards[place(network)]);
        let known = shard.iter().position(|known| known.network == network);
        let at = known.unwrap_or_else(|| self.add(&mut shard, network, now));
        shard[at].seen = now;
        change(&mut shard[at])
    }

    fn add(&self, shard: &mut Vec<Stranger>, network: u128, now: Timestamp) -> usize {
        let stranger = Stranger {
            network,
            broken: 0,
            wrong: 0,
            since: now,
            seen: now,
        };
        let oldest = shard.iter().enumerate().min_by_key(|(_, known)| known.seen);
        match oldest.map(|(at, _)| at) {
            Some(at) if shard.len() >= SHARD_MAX => {
                self.driven_out.fetch_add(1, Ordering::Relaxed);
                shard[at] = stranger;
                at
            }
            _ => {
                self.known.fetch_add(1, Ordering::Relaxed);
                shard.push(stranger);
                shard.len() - 1
            }
        }
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

/// What stands for an address; `None` for this machine, which the servers do not count either.
fn network(peer: Peer) -> Option<u128> {
    (!is_here(peer)).then(|| crate::login::address::network(peer))
}

fn place(network: u128) -> usize {
    let folded = (network as u64) ^ (network >> 64) as u64;
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SHARDS
}

/// Also if somebody failed while it was open: each entry is changed in one step.
fn lock(shard: &Mutex<Vec<Stranger>>) -> MutexGuard<'_, Vec<Stranger>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

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
        let blocked = |who| strangers.is_blocked(who, Some(3));
        for _ in 0..2 {
            strangers.broke(bad, at(0));
        }
        assert!(!blocked(bad));
        strangers.proved(bad, at(0));
        for _ in 0..3 {
            assert!(!blocked(bad));
            strangers.broke(bad, at(1));
        }
        assert!(blocked(bad) && !blocked(good));
        assert!(!strangers.is_blocked(bad, None), "switched off");
        strangers.forget();
        assert!(!blocked(bad));
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
                strangers.broke(who, at(0));
                assert_eq!(strangers.mistook(who, at(0)), Span::ZERO);
            }
            assert!(!strangers.is_blocked(who, Some(1)));
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
        assert!(!strangers.is_blocked(who, Some(1)), "wrong is not broken");
    }

    #[test]
    fn the_table_is_bounded_and_says_what_it_forgot() {
        let strangers = Strangers::default();
        let all = SHARDS * SHARD_MAX;
        for number in 0..20_000_u32 {
            let ip = std::net::Ipv4Addr::from(0x0a00_0000 + number);
            let who = Peer::Tcp((ip, 1).into());
            strangers.broke(who, at(u64::from(number)));
            assert!(strangers.is_blocked(who, Some(1)), "the last is known");
        }
        assert!(strangers.len() <= all && strangers.len() > all / 2);
        assert_eq!(strangers.driven_out(), 20_000 - strangers.len() as u64);
    }

    #[test]
    fn whoever_failed_longest_ago_is_driven_out_first() {
        let strangers = Strangers::default();
        let who = |number: u32| {
            let ip = std::net::Ipv4Addr::from(0x0a00_0000 + number);
            Peer::Tcp((ip, 1).into())
        };
        strangers.broke(who(0), at(0));
        let mut others = (1..).filter(|&other| {
            let shard = |number| place(network(who(number)).unwrap());
            shard(other) == shard(0)
        });
        for number in others.by_ref().take(SHARD_MAX - 1) {
            strangers.broke(who(number), at(1));
        }
        strangers.broke(who(0), at(2));
        strangers.broke(who(others.next().unwrap()), at(3));
        assert_eq!(strangers.driven_out(), 1);
        assert!(strangers.is_blocked(who(0), Some(2)), "it failed again");
    }

    #[test]
    fn of_whom_nothing_is_left_to_hold_against_it_nothing_is_remembered() {
        let strangers = Strangers::default();
        let who = peer("10.0.0.1");
        strangers.broke(who, at(0));
        strangers.mistook(who, at(0));
        strangers.proved(who, at(0));
        assert_eq!(strangers.len(), 1, "a wrong password is not forgiven yet");
        assert!(!strangers.is_blocked(who, Some(1)));
        strangers.proved(who, at(2_000));
        assert_eq!(strangers.len(), 0);
        strangers.broke(peer("10.0.0.2"), at(2_000));
        assert_eq!(strangers.len(), 1);
    }
}
