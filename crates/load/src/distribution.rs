//! Which rows are chosen how often.

use std::ops::RangeInclusive;

use fastrand::Rng;

/// How numbers are spread over a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All numbers come equally often.
    Uniform,
    /// Small numbers come most: number n comes in proportion to n to the power of minus this
    /// exponent, which is greater than zero; 0.8 is sysbench's, 0.99 that of YCSB.
    Zipfian(f64),
}

/// A range of numbers, ready to be drawn from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers {
    range: RangeInclusive<u64>,
    zipf: Option<Zipf>,
}

impl Numbers {
    pub(crate) fn new(range: RangeInclusive<u64>, distribution: Distribution) -> Self {
        let count = range.end() - range.start() + 1;
        let zipf = match distribution {
            Distribution::Uniform => None,
            Distribution::Zipfian(exponent) => Some(Zipf::new(count as f64, exponent)),
        };
        Self { range, zipf }
    }

    /// Any of them.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        match &self.zipf {
            None => rng.u64(self.range.clone()),
            Some(zipf) => self.range.start() + zipf.draw(rng) - 1,
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.range.end() - self.range.start() + 1
    }

    /// The smallest.
    pub(crate) fn first(&self) -> u64 {
        *self.range.start()
    }
}

/// Numbers from 1 on by rejection-inversion, without a table. Source: W. Hörmann, G. Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", 1996.
#[derive(Clone, Debug, PartialEq)]
struct Zipf {
    count: f64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    sure: f64,
}

impl Zipf {
    fn new(count: f64, exponent: f64) -> Self {
        let mut zipf = Self {
            count,
            exponent,
            integral_first: 0.0,
            integral_last: 0.0,
            sure: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(count + 0.5);
        zipf.sure = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let span = self.integral_first - self.integral_last;
            let u = self.integral_last + rng.f64() * span;
            let x = self.inverse(u);
            let number = x.round().clamp(1.0, self.count);
            if number - x <= self.sure || u >= self.integral(number + 0.5) - self.density(number) {
                return number as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the density, up to a constant.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        let ratio = if t.abs() > 1e-8 {
            t.exp_m1() / t
        } else {
            1.0 + t / 2.0
        };
        ratio * log
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.exponent)).max(-1.0);
        let ratio = if t.abs() > 1e-8 {
            t.ln_1p() / t
        } else {
            1.0 - t / 2.0
        };
        (ratio * x).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(distribution: Distribution, range: RangeInclusive<u64>) -> Vec<u32> {
        let numbers = Numbers::new(range.clone(), distribution);
        let mut rng = Rng::with_seed(1);
        let mut counts = vec![0; numbers.count() as usize];
        for _ in 0..100_000 {
            counts[(numbers.draw(&mut rng) - range.start()) as usize] += 1;
        }
        counts
    }

    #[test]
    fn uniform_numbers_fill_their_range() {
        let counts = counts(Distribution::Uniform, 5..=14);
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)));
    }

    #[test]
    fn zipfian_numbers_follow_the_law() {
        for exponent in [0.8, 1.0, 1.5] {
            let counts = counts(Distribution::Zipfian(exponent), 1..=100);
            let weights: Vec<f64> = (1..=100).map(|n| f64::from(n).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            for n in [0, 1, 9] {
                let expected = 100_000.0 * weights[n] / sum;
                let ratio = f64::from(counts[n]) / expected;
                assert!((0.9..1.1).contains(&ratio), "{exponent} {n}: {ratio}");
            }
        }
    }
}
