use super::*;

fn spec(readers_percent: u32, mix: Mix) -> RwSpec {
    let time = Duration::from_millis(20);
    let readers = Percent::whole(readers_percent);
    RwSpec { threads: 4, readers, mix, load: 5, outside: 0, time }
}

struct Std(std::sync::RwLock<AtomicU64>);

impl BenchRwLock for Std {
    fn new() -> Self {
        Std(std::sync::RwLock::default())
    }

    fn read<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        section(&self.0.read().unwrap())
    }

    fn write<T>(&self, section: impl FnOnce(&AtomicU64) -> T) -> T {
        section(&self.0.write().unwrap())
    }
}

#[test]
fn dedicated_threads_keep_to_their_roles() {
    let report = RwRunner::<Std>::NEW.round(&spec(25, Mix::Dedicated), &Interrupt::new()).unwrap();
    let roles: Vec<_> = report.threads.iter().map(|t| (t.reads > 0, t.writes > 0)).collect();
    assert_eq!(roles, [(true, false), (false, true), (false, true), (false, true)]);
    assert_eq!(report.intrusions, 0);
}

#[test]
fn mixed_threads_do_both_and_pure_ones_do_not() {
    let round = |percent| {
        RwRunner::<Std>::NEW.round(&spec(percent, Mix::Drawn), &Interrupt::new()).unwrap().threads
    };
    let sum = |threads: Vec<RwThread>| {
        threads.iter().fold((0, 0), |sum, t| (sum.0 + t.reads, sum.1 + t.writes))
    };
    let (reads, writes) = sum(round(50));
    assert!(reads > 0 && writes > 0, "{reads} {writes}");
    assert_eq!(sum(round(100)).1, 0);
    assert_eq!(sum(round(0)).0, 0);
}

#[test]
fn a_lock_that_lets_everybody_in_is_noticed() {
    let spec = RwSpec { load: 200, time: Duration::from_millis(200), ..spec(50, Mix::Drawn) };
    let report = RwRunner::<NoRwLock>::NEW.round(&spec, &Interrupt::new()).unwrap();
    assert!(report.intrusions > 0);
}

#[test]
fn roles_are_shared_out() {
    let readers =
        |threads, percent| RwSpec { threads, ..spec(percent, Mix::Dedicated) }.reading_threads();
    assert_eq!([readers(8, 50), readers(8, 99), readers(8, 1), readers(8, 100)], [4, 7, 1, 8]);
    assert_eq!([readers(1, 50), readers(1, 0), readers(2, 90)], [1, 0, 1]);
}

#[test]
fn blocks_are_so_many_reads_and_then_writes() {
    let lock = Std::new();
    let mut kinds = Vec::new();
    let body = RwBody {
        readers: Percent::whole(30),
        block: 100,
        load: 0,
        outside: 0,
        sleep_ns: 0,
        seed: 0,
    };
    sections::<_, Native>(&lock, body, |done| {
        kinds.push(done.reads);
        kinds.len() == 200
    });
    let reads: Vec<u64> = (1..=200).map(|n: u64| n / 100 * 30 + (n % 100).min(30)).collect();
    assert_eq!(kinds, reads);
}

#[test]
fn draws_are_about_what_was_asked() {
    let mut draw = Draw::new(3);
    let below = (0..100_000).filter(|_| draw.below(Percent::ALL) < Percent::whole(90).0).count();
    assert!((89_000..91_000).contains(&below), "{below}");
}

#[test]
fn percentages_have_four_decimals() {
    let read = |text: &str| text.parse::<Percent>();
    for (text, parts) in [("0", 0), ("50", 500_000), ("99.99", 999_900), ("99.9999", 999_999)] {
        assert_eq!(read(text), Ok(Percent(parts)));
        assert_eq!(Percent(parts).to_string(), text);
    }
    assert_eq!(read("100"), Ok(Percent::whole(100)));
    for wrong in ["", "x", "-1", "100.1", "101", "nan", "inf", "99.99999"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
