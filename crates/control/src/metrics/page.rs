//! Writes metric families. Names go in as they come out, `_total` and `_info` included.

use std::fmt::Result;

use engine::Histogram;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;

/// The text as far as it is written.
pub(super) struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    pub(super) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    pub(super) fn gauge(
        &mut self,
        name: &str,
        help: &str,
        value: impl EncodeGaugeValue + Copy,
    ) -> Result {
        self.family(name, help, MetricType::Gauge)?
            .encode_gauge(&value)
    }

    /// One gauge per value of `label`.
    pub(super) fn gauges(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (impl AsRef<str>, u64)>,
    ) -> Result {
        let mut family = self.family(name, help, MetricType::Gauge)?;
        for (text, value) in values {
            family
                .encode_family(&[(label, text.as_ref())])?
                .encode_gauge(&value)?;
        }
        Ok(())
    }

    pub(super) fn counter(
        &mut self,
        name: &str,
        help: &str,
        value: impl EncodeCounterValue + Copy,
    ) -> Result {
        let mut family = self.family(without(name, "_total"), help, MetricType::Counter)?;
        count(&mut family, &value)
    }

    /// One counter per value of `label`.
    pub(super) fn counters(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (impl AsRef<str>, u64)>,
    ) -> Result {
        let mut family = self.family(without(name, "_total"), help, MetricType::Counter)?;
        for (text, value) in values {
            count(
                &mut family.encode_family(&[(label, text.as_ref())])?,
                &value,
            )?;
        }
        Ok(())
    }

    /// In seconds. The last bucket takes what is above the others.
    pub(super) fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) -> Result {
        let last = histogram.buckets.len() - 1;
        let bounds = (0..last).map(|bits| seconds(1 << bits)).chain([f64::MAX]);
        let buckets: Vec<_> = bounds.zip(histogram.buckets).collect();
        let sum = seconds(histogram.sum_us);
        self.family(name, help, MetricType::Histogram)?
            .encode_histogram::<NoLabelSet>(sum, histogram.count(), &buckets, None)
    }

    pub(super) fn build_info(&mut self, name: &str, help: &str, version: &str) -> Result {
        self.family(without(name, "_info"), help, MetricType::Info)?
            .encode_info(&[("version", version)])
    }

    fn family<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> std::result::Result<MetricEncoder<'s>, std::fmt::Error> {
        let help = help.trim().trim_end_matches('.');
        self.0.encode_descriptor(name, help, None, kind)
    }
}

/// Microseconds as seconds.
pub(super) fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn count(family: &mut MetricEncoder<'_>, value: &impl EncodeCounterValue) -> Result {
    family.encode_counter::<NoLabelSet, _, u64>(value, None)
}

/// The encoder puts the suffix back.
fn without<'n>(name: &'n str, suffix: &str) -> &'n str {
    name.strip_suffix(suffix).unwrap_or(name)
}
