use std::vec;

use proptest::prelude::*;

use super::*;

/// A file with one of everything.
fn file() -> Vec<u8> {
    let mut bytes = vec![0; size_of::<File>()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(at!(Header.magic), &layout::MAGIC.to_le_bytes());
    put(at!(Header.version), &layout::VERSION.to_le_bytes());
    put(at!(Header.pid), &4711_u32.to_le_bytes());
    put(at!(Header.event_count), &2_u32.to_le_bytes());
    put(at!(Header.events) + 8, &9_u64.to_le_bytes());
    put(at!(Header.program), b"/usr/bin/server");
    let lock = offset_of!(File, locks) + 3 * size_of::<layout::Lock>();
    put(lock + at!(Lock.address), &0x1000_u64.to_le_bytes());
    put(lock + at!(Lock.kind), &(Kind::RwLock as u32).to_le_bytes());
    put(lock + at!(Lock.wait_max_ns), &1_000_u64.to_le_bytes());
    put(lock + at!(Lock.histogram) + 4 * layout::bucket(900), &10_u32.to_le_bytes());
    let site = offset_of!(File, sites) + 5 * size_of::<layout::Site>();
    put(site + at!(Site.key), &7_u64.to_le_bytes());
    put(site + at!(Site.lock), &3_u32.to_le_bytes());
    put(site + at!(Site.role), &(Role::MakesWait as u32).to_le_bytes());
    let stack = offset_of!(File, stacks);
    put(stack + at!(Stack.key), &8_u64.to_le_bytes());
    put(stack + at!(Stack.site), &5_u32.to_le_bytes());
    put(stack + at!(Stack.depth), &2_u32.to_le_bytes());
    put(stack + at!(Stack.frames), &0x40_1000_u64.to_le_bytes());
    let thread = offset_of!(File, threads);
    put(thread + at!(Thread.tid), &4712_u32.to_le_bytes());
    put(thread + at!(Thread.name), b"work\x1b[31mer");
    let module = offset_of!(File, modules);
    put(module + at!(Module.start), &0x40_0000_u64.to_le_bytes());
    put(module + at!(Module.end), &0x41_0000_u64.to_le_bytes());
    put(module + at!(Module.path), b"/usr/bin/server");
    bytes
}

#[test]
fn what_was_written_is_read() {
    let read = Snapshot::read(&file()).unwrap();
    assert_eq!((read.pid, read.ended, &read.events[..]), (4711, false, &[0, 9][..]));
    assert_eq!(read.program_name(), "server");
    let lock = read.locks[3].as_ref().unwrap();
    assert_eq!((lock.address, lock.kind), (0x1000, Kind::RwLock));
    assert!((800..=1_000).contains(&lock.quantile_ns(0.99)));
    let site = read.sites[5].as_ref().unwrap();
    assert_eq!((site.lock, site.role), (3, Role::MakesWait));
    assert_eq!(read.stacks[0].frames, [0x40_1000, 0]);
    assert_eq!(read.module_of(0x40_1000).unwrap().path, "/usr/bin/server");
    assert_eq!(read.module_of(0x41_0000), None);
}

#[test]
fn what_was_counted_since_an_earlier_reading_is_the_difference() {
    let (before, mut after) = (Snapshot::read(&file()).unwrap(), Snapshot::read(&file()).unwrap());
    after.events[1] += 4;
    let lock = after.locks[3].as_mut().unwrap();
    lock.contended += 7;
    lock.histogram[layout::bucket(900)] += 2;
    after.stacks[0].ns += 5;
    let since = after.since(&before);
    let lock = since.locks[3].as_ref().unwrap();
    assert_eq!((since.events[1], lock.contended, since.stacks[0].ns), (4, 7, 5));
    assert_eq!((lock.histogram[layout::bucket(900)], lock.wait_max_ns), (2, 1_000));
}

#[test]
fn what_a_terminal_would_obey_is_not_passed_on() {
    assert_eq!(Snapshot::read(&file()).unwrap().threads[0].name, "work?[31mer");
}

#[test]
fn what_is_no_file_is_told_apart() {
    let good = file();
    let refused = |bytes: &[u8]| Snapshot::read(bytes).unwrap_err();
    assert_eq!(refused(&[]), NotAFile::Magic);
    assert_eq!(refused(b"hello, this is a text"), NotAFile::Magic);
    assert_eq!(refused(&good[..good.len() - 1]), NotAFile::Short);
    assert_eq!(refused(&good[..40]), NotAFile::Short);
    let mut other = good;
    other[at!(Header.version)] = 77;
    assert_eq!(refused(&other), NotAFile::Version(77));
}

#[test]
fn names_of_files_are_told_from_others() {
    assert_eq!(pid_of(&file_name(4711, 0xabc)), Some(4711));
    for other in
        ["4711", "4711-abc", "-0000000000000abc", "0-0000000000000abc", "x-0000000000000abc"]
    {
        assert_eq!(pid_of(other), None, "{other}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    /// Bytes of a good file replaced at random, most of them in the parts that are read.
    #[test]
    fn no_bytes_break_the_reader(
        changes in prop::collection::vec((0..size_of::<File>(), any::<u64>()), 1..2_000),
        first_pages in prop::collection::vec((8..16_384_usize, any::<u8>()), 0..500),
        cut in prop::option::of(0..size_of::<File>()),
    ) {
        let mut bytes = file();
        for (at, value) in changes {
            let at = at.min(bytes.len() - 8) & !7;
            if at >= 16 {
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        for (at, value) in first_pages {
            if at >= 16 {
                bytes[at] = value;
            }
        }
        bytes.truncate(cut.unwrap_or(usize::MAX));
        if let Ok(read) = Snapshot::read(&bytes) {
            for lock in read.locks.iter().flatten() {
                prop_assert!(lock.quantile_ns(0.99) <= lock.wait_max_ns);
            }
            for site in read.sites.iter().flatten() {
                prop_assert!(site.lock < read.locks.len());
            }
            for stack in &read.stacks {
                prop_assert!(stack.site < read.sites.len() && stack.frames.len() <= FRAMES);
            }
            let texts = read.threads.iter().map(|t| &t.name).chain(read.modules.iter().map(|m| &m.path));
            for text in texts.chain([&read.program, &read.policy]) {
                prop_assert!(!text.chars().any(char::is_control));
            }
        }
    }

    #[test]
    fn arbitrary_bytes_behind_a_good_start_do_not_either(
        seed in any::<u64>(), filled in any::<u8>(),
    ) {
        // A whole file of noise, from a generator that is quick.
        let mut state = seed | 1;
        let mut bytes: Vec<u8> = (0..size_of::<File>()).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if filled > 200 { 0xff } else { state as u8 }
        }).collect();
        bytes[..8].copy_from_slice(&layout::MAGIC.to_le_bytes());
        bytes[8..12].copy_from_slice(&layout::VERSION.to_le_bytes());
        Snapshot::read(&bytes).unwrap();
    }
}
