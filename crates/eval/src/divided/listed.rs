//! Devices listed by the user, and the division of sections among them.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::device::AdapterSummary;
use gputexel_dataset::Layout;
use gputexel_dataset::objective::LossKind;
use gputexel_io::{Error, Result};

use super::{DeviceThread, Divided, Division, Helper};
use crate::gpu::{GpuContext, GpuOptions};
use crate::{Population, Request};

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceList {
    /// Adapters by their numbers, `None` for the CPU; and the share of each, if given.
    pub devices: Vec<(Option<usize>, Option<f64>)>,
}

impl DeviceList {
    /// Parses `all`, or adapters and `cpu`, separated by commas, all or none of them followed by `=` and a share:
    /// `0,1`, `0=3,cpu=1`.
    pub fn parse(text: &str, adapters: &[AdapterSummary]) -> Result<Self> {
        let usage = |reason: String| Err(Error::Usage(format!("--device {text}: {reason}")));
        let usable = |index: usize| adapters[index].unusable.is_none();
        if text == "all" {
            let real = |&index: &usize| usable(index) && !adapters[index].software;
            let devices: Vec<_> = (0..adapters.len()).filter(real).map(|index| (Some(index), None)).collect();
            return match devices.is_empty() {
                true => usage("there is no GPU; 'gputexel devices' lists what there is".to_string()),
                false => Ok(Self { devices }),
            };
        }
        let mut devices = Vec::new();
        for entry in text.split(',') {
            let (name, share) = match entry.split_once('=') {
                Some((name, share)) => (name, Some(share)),
                None => (entry, None),
            };
            let share = match share.map(|share| (share, share.parse::<f64>())) {
                None => None,
                Some((_, Ok(value))) if value > 0.0 && value.is_finite() => Some(value),
                Some((share, _)) => return usage(format!("share '{share}': expected a positive number")),
            };
            let device = match (name, name.parse::<usize>()) {
                ("cpu", _) => None,
                (_, Ok(index)) if index < adapters.len() => match &adapters[index].unusable {
                    None => Some(index),
                    Some(why) => return usage(format!("{} cannot be used: {why}", adapters[index].name)),
                },
                (_, Ok(_)) => {
                    return usage(format!(
                        "'{name}': {}",
                        match adapters.len() {
                            0 => "there is no adapter".to_string(),
                            1 => "there is one adapter, number 0".to_string(),
                            count => format!("there are {count} adapters, counted from 0"),
                        }
                    ));
                }
                _ => {
                    let name = name.to_lowercase();
                    let named = |&index: &usize| adapters[index].name.to_lowercase().contains(&name);
                    match (0..adapters.len()).filter(|index| usable(*index)).find(named) {
                        Some(index) if !name.trim().is_empty() => Some(index),
                        _ => {
                            return usage(format!(
                                "'{name}': expected all, cpu, or the number or name of an adapter"
                            ));
                        }
                    }
                }
            };
            devices.push((device, share));
        }
        if devices.iter().filter(|(device, _)| device.is_none()).count() > 1 {
            return usage("the CPU is listed twice".to_string());
        }
        let given = devices.iter().filter(|(_, share)| share.is_some()).count();
        match given == 0 || given == devices.len() {
            true => Ok(Self { devices }),
            false => usage("shares are given for some devices only".to_string()),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ListedDevice {
    /// `None` for the CPU.
    pub context: Option<GpuContext>,
    /// Its share of the sections, relative to those of others; determined by its speed if not given.
    pub share: Option<f64>,
}

impl ListedDevice {
    fn open(
        &self,
        layout: &Layout,
        sections: Range<usize>,
        memory: Option<u64>,
    ) -> Result<Option<DeviceThread>> {
        let Some(context) = &self.context else { return Ok(None) };
        let options = GpuOptions { memory_bytes: memory, ..GpuOptions::new(context) };
        DeviceThread::try_new(context, layout, sections, options).map(Some)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Speeds(Mutex<Option<Vec<f64>>>);

const MEMBERS: usize = 64;

impl Speeds {
    fn of(&self, devices: &[ListedDevice], layout: &Layout, memory: Option<u64>) -> Result<Vec<f64>> {
        if let Some(given) = devices.iter().map(|device| device.share).collect::<Option<Vec<f64>>>() {
            return Ok(given);
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let speed = |device: &ListedDevice| {
            let first = layout.sections().start;
            let sample = layout.select(first..first + 1)?;
            let helper = device.open(&sample, first..first + 1, memory)?;
            let own = if helper.is_some() { first..first } else { first..first + 1 };
            let helpers = helper.into_iter().map(|helper| Box::new(helper) as Box<dyn Helper>).collect();
            let mut alone = Divided::try_new(&sample, own, helpers, false)?;
            let theta = vec![0.0; 2 * layout.features() * MEMBERS];
            let population = Population::new(layout.features(), theta, vec![1.0; MEMBERS]);
            let parts = 0..layout.parts().len();
            let request = Request { parts, loss: LossKind::Squared, gradients: true, curvature: false };
            let task = std::sync::Arc::new((population, request));
            // The first time includes compiling and uploading.
            alone.nodes(&task)?;
            let start = Instant::now();
            alone.nodes(&task)?;
            Ok(1.0 / start.elapsed().as_secs_f64().max(1e-9))
        };
        let speeds: Vec<f64> = devices.iter().map(speed).collect::<Result<_>>()?;
        Ok(known.insert(speeds).clone())
    }
}

/// Divides sections in proportion to shares, in order; some devices may get none.
fn by_shares(sections: Range<usize>, shares: &[f64]) -> Vec<Range<usize>> {
    let (all, count) = (shares.iter().sum::<f64>(), sections.len() as f64);
    let mut before = 0.0;
    let mut start = sections.start;
    let mut of = |share: &f64| {
        before += share;
        let end = sections.start + (count * before / all).round() as usize;
        let own = start..end.clamp(start, sections.end);
        start = own.end;
        own
    };
    shares.iter().map(&mut of).collect()
}

pub(crate) fn divide(
    devices: &[ListedDevice],
    speeds: &Speeds,
    layout: &Layout,
    sections: Range<usize>,
    memory: Option<u64>,
) -> Result<Division> {
    let none = sections.start..sections.start;
    let shares = match devices {
        _ if sections.is_empty() => return Ok(Division { own: none, helpers: Vec::new(), idle: 0 }),
        [_] => vec![1.0],
        _ => speeds.of(devices, layout, memory)?,
    };
    let (mut own, mut helpers, mut idle) = (none, Vec::new(), 0);
    for (device, sections) in devices.iter().zip(by_shares(sections, &shares)) {
        if sections.is_empty() {
            idle += 1;
            continue;
        }
        match device.open(layout, sections.clone(), memory)? {
            Some(helper) => helpers.push(Box::new(helper) as Box<dyn Helper>),
            None => own = sections,
        }
    }
    Ok(Division { own, helpers, idle })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, software: bool, unusable: Option<&str>) -> AdapterSummary {
        AdapterSummary {
            name: name.to_string(),
            backend: "vulkan".to_string(),
            kind: if software { "software" } else { "discrete GPU" }.to_string(),
            software,
            unusable: unusable.map(str::to_string),
            vendor: 0,
            driver: String::new(),
            max_buffer_bytes: 1 << 30,
            max_binding_bytes: 1 << 30,
            workgroup_memory_bytes: 1 << 15,
            workgroup_threads: 256,
            subgroup_sizes: (32, 32),
        }
    }

    #[test]
    fn lists_of_devices() {
        let adapters =
            [adapter("A", false, None), adapter("B", true, None), adapter("C", false, Some("too small"))];
        let parse = |text: &str| DeviceList::parse(text, &adapters);
        assert_eq!(parse("all").unwrap().devices, [(Some(0), None)]);
        assert_eq!(parse("1,0,0").unwrap().devices, [(Some(1), None), (Some(0), None), (Some(0), None)]);
        assert_eq!(parse("b,a").unwrap().devices, [(Some(1), None), (Some(0), None)]);
        assert_eq!(parse("0=3,cpu=1").unwrap().devices, [(Some(0), Some(3.0)), (None, Some(1.0))]);
        let bad = [
            ("0=3,cpu", "for some devices only"),
            ("3", "there are 3 adapters"),
            ("2", "C cannot be used: too small"),
            ("cpu,cpu", "listed twice"),
            ("0=0", "expected a positive number"),
            ("0=x", "expected a positive number"),
            ("", "expected all, cpu"),
            ("radeon", "expected all, cpu"),
        ];
        for (text, reason) in bad {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(DeviceList::parse("all", &adapters[1..2]).unwrap_err().to_string().contains("no GPU"));
    }

    #[test]
    fn sections_go_to_devices_by_their_shares() {
        assert_eq!(by_shares(0..12, &[2.0, 1.0]), [0..8, 8..12]);
        assert_eq!(by_shares(3..4, &[1.0, 2.0, 1.0]), [3..3, 3..4, 4..4]);
        assert_eq!(by_shares(0..3, &[1.0; 5]).iter().map(Range::len).sum::<usize>(), 3);
        assert_eq!(by_shares(5..5, &[1.0, 1.0]), [5..5, 5..5]);
    }
}
