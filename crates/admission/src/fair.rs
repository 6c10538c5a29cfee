//! Start-time fair queueing between accounts: who is next, and what it costs them.
//!
//! Each account has a tag, the virtual time at which what it was given so far would be paid off. The
//! lowest tag is next. A statement is charged the backend time that statements of its account
//! took lately, divided by the account's weight, and the difference when it is over. Deficit round
//! robin would need to know the cost before it serves; here an account that runs long statements
//! pays for them by the time it wants the next one. An account that wanted nothing for a while begins
//! at the present virtual time: it has saved nothing.

/// Tags are in µs of backend time at the weight [`SCALE`].
const SCALE: u64 = 1_024;
/// What an account that could not be served may catch up on: 100 ms.
const CREDIT: u64 = 100_000 * SCALE;
const NOWHERE: u32 = u32::MAX;

/// The accounts that want something, by tag.
#[derive(Debug, Default)]
pub(crate) struct Fair {
    /// A binary heap of account numbers.
    heap: Vec<u32>,
    accounts: Vec<Share>,
    /// The tag of whoever was served last.
    now: u64,
}

#[derive(Debug)]
struct Share {
    tag: u64,
    weight: u64,
    /// What a statement took lately, in µs.
    usual_us: u64,
    place: u32,
}

impl Fair {
    /// Adds the next account.
    pub(crate) fn add(&mut self, weight: u32) {
        self.accounts.push(Share {
            tag: 0,
            weight: u64::from(weight.max(1)),
            usual_us: 1_000,
            place: NOWHERE,
        });
    }

    pub(crate) fn set_weight(&mut self, account: u32, weight: u32) {
        self.accounts[account as usize].weight = u64::from(weight.max(1));
    }

    /// The account wants something from now on.
    pub(crate) fn want(&mut self, account: u32) {
        let now = self.now;
        let share = &mut self.accounts[account as usize];
        if share.place != NOWHERE {
            return;
        }
        share.tag = share.tag.max(now);
        share.place = self.heap.len() as u32;
        self.heap.push(account);
        self.sift_up(self.heap.len() - 1);
    }

    /// It wants nothing any more, or cannot have it now.
    pub(crate) fn rest(&mut self, account: u32) {
        let place = std::mem::replace(&mut self.accounts[account as usize].place, NOWHERE);
        if place == NOWHERE {
            return;
        }
        let place = place as usize;
        self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.accounts[self.heap[place] as usize].place = place as u32;
            self.sift_up(place);
            self.sift_down(place);
        }
    }

    /// It still wants something, but is passed over for a moment.
    pub(crate) fn set_aside(&mut self, account: u32) {
        self.rest(account);
    }

    /// It is no longer passed over. What it missed meanwhile is made good, up to [`CREDIT`].
    pub(crate) fn take_back(&mut self, account: u32) {
        let (now, tag) = (self.now, self.accounts[account as usize].tag);
        self.now = now.saturating_sub(CREDIT).max(tag.min(now));
        self.want(account);
        self.now = now;
    }

    /// Whose turn it is.
    pub(crate) fn first(&self) -> Option<u32> {
        self.heap.first().copied()
    }

    /// Charges the account for one statement. Returns how much, in µs.
    pub(crate) fn charge(&mut self, account: u32) -> u64 {
        let share = &mut self.accounts[account as usize];
        self.now = self.now.max(share.tag);
        share.tag = self.now.max(share.tag) + share.usual_us * SCALE / share.weight;
        let (us, place) = (share.usual_us, share.place);
        if place != NOWHERE {
            self.sift_down(place as usize);
        }
        us
    }

    /// The statement that was charged `charged_us` is over; it took `took_us`.
    pub(crate) fn correct(&mut self, account: u32, charged_us: u64, took_us: u64) {
        let share = &mut self.accounts[account as usize];
        let [charged, took] = [charged_us, took_us].map(|us| us * SCALE / share.weight);
        share.tag = (share.tag + took).saturating_sub(charged);
        share.usual_us = ((7 * share.usual_us + took_us) / 8).max(1);
        let place = share.place;
        if place != NOWHERE {
            self.sift_up(place as usize);
            self.sift_down(self.accounts[account as usize].place as usize);
        }
    }

    fn tag(&self, place: usize) -> (u64, u32) {
        let account = self.heap[place];
        (self.accounts[account as usize].tag, account)
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            self.accounts[self.heap[place] as usize].place = place as u32;
        }
    }

    fn sift_up(&mut self, mut place: usize) {
        while place > 0 && self.tag(place) < self.tag((place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2].into_iter();
            let children = children.filter(|&child| child < self.heap.len());
            let Some(least) = children.min_by_key(|&child| self.tag(child)) else {
                return;
            };
            if self.tag(place) <= self.tag(least) {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Serves `turns` times whoever is first; each statement takes `cost(account)`. What each got.
    fn serve(weights: &[u32], turns: usize, cost: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut fair = Fair::default();
        for (account, &weight) in weights.iter().enumerate() {
            fair.add(weight);
            fair.want(account as u32);
        }
        let mut got = vec![0; weights.len()];
        for _ in 0..turns {
            let Some(account) = fair.first() else { break };
            let charged = fair.charge(account);
            let took = cost(account as usize);
            fair.correct(account, charged, took);
            got[account as usize] += took;
        }
        got
    }

    #[test]
    fn time_is_shared_by_weight_whatever_a_statement_takes() {
        let got = serve(&[1, 1, 2], 40_000, |account| [100, 10_000, 500][account]);
        let part = |account: usize| got[account] as f64 / got.iter().sum::<u64>() as f64;
        let parts = [part(0), part(1), part(2)];
        for (part, expected) in parts.into_iter().zip([0.25, 0.25, 0.5]) {
            assert!((part - expected).abs() < 0.01, "{parts:?}");
        }
    }

    #[test]
    fn whoever_wanted_nothing_has_saved_nothing() {
        let mut fair = Fair::default();
        (0..2).for_each(|_| fair.add(1));
        fair.want(0);
        for _ in 0..1_000 {
            fair.charge(0);
        }
        fair.want(1);
        let turns: Vec<u32> = (0..10)
            .map(|_| {
                let first = fair.first().unwrap();
                fair.charge(first);
                first
            })
            .collect();
        assert!(
            turns.iter().filter(|&&account| account == 1).count() <= 6,
            "{turns:?}"
        );
    }

    proptest! {
        #[test]
        fn the_first_has_the_lowest_tag(steps in prop::collection::vec((0..4_u8, 0..9_u32, 1..9_999_u64), 0..300)) {
            let mut fair = Fair::default();
            (0..9).for_each(|weight| fair.add(weight));
            for (step, account, us) in steps {
                match step {
                    0 => fair.want(account),
                    1 => fair.rest(account),
                    2 => { fair.charge(account); }
                    _ => fair.correct(account, us / 2, us),
                }
                let wanting = fair.accounts.iter().enumerate().filter(|(_, share)| share.place != NOWHERE);
                let least = wanting.map(|(account, share)| (share.tag, account as u32)).min();
                prop_assert_eq!(fair.first(), least.map(|(_, account)| account));
            }
        }
    }
}
