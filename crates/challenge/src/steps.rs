//! Numbers of connections to climb, as they are written on a command line.

use std::str::FromStr;

/// The most that one step may ask for: what the front door may be configured for.
const MOST: u32 = 16_000_000;

const FIX: &str = "write numbers such as 10000,50k,1M";

/// Numbers of connections, each larger than the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps(Vec<u32>);

impl Steps {
    /// Sorts them; those that stand twice count once.
    pub fn new(mut steps: Vec<u32>) -> Self {
        steps.sort_unstable();
        steps.dedup();
        Self(steps)
    }

    /// From the least to the most.
    pub fn each(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

impl Default for Steps {
    /// The steps of the original experiment.
    fn default() -> Self {
        Self(vec![10_000, 25_000, 50_000, 75_000, 100_000])
    }
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let steps = text.split(',').map(|step| one(step.trim()));
        Ok(Self::new(steps.collect::<Result<_, _>>()?))
    }
}

fn one(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number: u32 = digits
        .parse()
        .map_err(|_| format!("'{text}' is no number of connections; {FIX}"))?;
    match number.checked_mul(unit) {
        Some(step @ 1..=MOST) => Ok(step),
        _ => Err(format!("'{text}' is not between 1 and {MOST}; {FIX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Result<Vec<u32>, String> {
        text.parse().map(|steps: Steps| steps.each().collect())
    }

    #[test]
    fn steps_are_sorted_and_stand_once() {
        assert_eq!(steps("10000"), Ok(vec![10_000]));
        assert_eq!(steps("1M, 50k,200,50000"), Ok(vec![200, 50_000, 1_000_000]));
        assert_eq!(Steps::default().each().len(), 5);
    }

    #[test]
    fn what_is_no_step_is_said() {
        for bad in [
            "", "0", "ten", "1,,2", "-5", "1.5k", "17M", "5000M", "k", "1e5",
        ] {
            let error = steps(bad).unwrap_err();
            assert!(error.contains(FIX), "{bad}: {error}");
        }
    }
}
