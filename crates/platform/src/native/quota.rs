//! How many CPUs' worth of time the control groups grant, by their files. Allocates nothing.

use super::file::File;
use super::text::Text;

/// Whole CPUs granted, at least 1; `None` where nothing limits them, or nothing can be read.
pub(super) fn cpus() -> Option<u32> {
    let mut file = [0; 4096];
    let groups = read(&[b"/proc/self/cgroup"], &mut file)?;
    let mut least = None;
    for line in groups.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(3, |&byte| byte == b':');
        let (Some(number), Some(controllers), Some(group)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let found = if number == b"0" && controllers.is_empty() {
            least_of(b"/sys/fs/cgroup", group, version_2)
        } else if controllers.split(|&byte| byte == b',').any(|name| name == b"cpu") {
            least_of(b"/sys/fs/cgroup/cpu", group, version_1)
        } else {
            None
        };
        least = smaller(least, found);
    }
    least
}

fn smaller(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    a.into_iter().chain(b).min()
}

/// The least that the group or one of those above it grants.
fn least_of(mount: &[u8], group: &[u8], quota: fn([&[u8]; 2]) -> Option<u32>) -> Option<u32> {
    let mut group = group.strip_suffix(b"/").unwrap_or(group);
    let mut least = None;
    loop {
        least = smaller(least, quota([mount, group]));
        match group.iter().rposition(|&byte| byte == b'/') {
            Some(end) => group = &group[..end],
            None => return least,
        }
    }
}

/// `cpu.max`: quota and period, or `max` and period.
fn version_2([mount, group]: [&[u8]; 2]) -> Option<u32> {
    let mut file = [0; 64];
    let text = read(&[mount, group, b"/cpu.max"], &mut file)?;
    let mut words = text.split(|&byte| byte == b' ');
    whole(number(words.next()?)?, number(words.next()?)?)
}

fn version_1([mount, group]: [&[u8]; 2]) -> Option<u32> {
    let (mut quota, mut period) = ([0; 64], [0; 64]);
    let quota = read(&[mount, group, b"/cpu.cfs_quota_us"], &mut quota)?;
    let period = read(&[mount, group, b"/cpu.cfs_period_us"], &mut period)?;
    whole(number(quota)?, number(period)?)
}

fn whole(quota: u64, period: u64) -> Option<u32> {
    Some((quota.checked_div(period)?.max(1)).try_into().unwrap_or(u32::MAX))
}

fn number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The beginning of a file, as much as fits; its name is in parts.
fn read<'a>(parts: &[&[u8]], into: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut name = Text::<512>::default();
    parts.iter().try_for_each(|part| name.append(part))?;
    name.append(b"\0")?;
    let file = File::open(&name)?;
    let mut length = 0;
    while let Some(more @ 1..) = file.read(&mut into[length..]) {
        length += more;
    }
    Some(&into[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_cpu_counts_as_one_and_no_limit_is_none() {
        assert_eq!(whole(50_000, 100_000), Some(1));
        assert_eq!(whole(250_000, 100_000), Some(2));
        assert_eq!(number(b"max"), None);
        assert_eq!(number(b"-1\n"), None);
        assert_eq!(number(b"100000\n"), Some(100_000));
    }

    #[test]
    fn the_least_of_a_group_and_those_above_it_counts() {
        let granted = |group: [&[u8]; 2]| match group {
            [b"/m", b"/a/b"] => Some(3),
            [b"/m", b"/a"] => Some(2),
            [b"/m", b""] => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(least_of(b"/m", b"/a/b", granted), Some(2));
        assert_eq!(least_of(b"/m", b"/", |[_, group]| Some(group.len() as u32)), Some(0));
    }

    #[test]
    fn a_file_whose_name_is_too_long_is_not_read() {
        assert_eq!(read(&[b"/proc/self/", &[b'a'; 512]], &mut [0; 4]), None);
    }

    /// Beside std's answer, which is the smaller of quota and affinity.
    #[cfg(not(miri))]
    #[test]
    fn agrees_with_the_standard_library() {
        let both = cpus().unwrap_or(u32::MAX).min(super::super::cpu::allowed());
        assert_eq!(both as usize, std::thread::available_parallelism().unwrap().get());
    }
}
