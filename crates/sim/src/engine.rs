//! The event queue, the threads and the scheduler.
//!
//! A thread's operation ends at a time that is known when it begins. If nothing else is due before,
//! the clock is moved there and the thread runs on; otherwise it is suspended and its resumption is
//! queued. All of a simulation happens on one OS thread, so each operation takes effect at one
//! instant: histories are sequentially consistent.
//!
//! What the running thread does is in `operations`, who runs where in `scheduler`, what is checked all the
//! time in `audit`.
//!
//! Past 500 lines by its types, which all parts share; what is done with them is in the parts.

mod audit;
mod governor;
mod operations;
mod queue;
mod scheduler;
mod turn;

use std::collections::{HashMap, VecDeque};

use lockwright_platform::COUNTERS;

use queue::{Queue, What};
pub(crate) use turn::Turn;

use crate::layout::{Layout, Ps};
use crate::lines::{Access, Lines};

/// WakeReason a thread was resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// What it did is done.
    Done,
    /// The line it spins on was written, or may have been.
    Line,
    /// Its deadline passed.
    Deadline,
    /// Whom it watches does not run.
    Stopped,
    /// The scheduler wants the CPU.
    Resched,
    /// It was woken.
    Token,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its CPU; a resumption is queued, or it is running right now.
    Running,
    /// Off its CPU, to go on with this reason when it gets one.
    Ready(WakeReason),
    /// On its CPU, asleep until something happens to its line.
    Spinning,
    /// Off its CPU, until woken; `true` until a token comes, else until a time only.
    Parked(bool),
    Done,
}

/// What a spinner waits for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    pub lines: [Option<u32>; 2],
    /// What had been [written](Lines::writes) to them when the wait began.
    pub seen: [u32; 2],
    pub deadline: Option<Ps>,
    /// CPU, and its stamp when the wait began.
    pub holder: Option<(u16, u32)>,
    pub running: Option<u16>,
    pub resched: bool,
    /// Time between polls.
    pub pace: Ps,
}

pub(crate) struct Thread {
    state: State,
    cpu: u16,
    pinned: bool,
    /// Changes whenever the thread is resumed: what was queued for it before is void.
    epoch: u32,
    pub token: bool,
    /// What it waits for; if it sleeps, only the deadline.
    watch: Watch,
    /// When the first `Alarm` event queued for it comes, and the first `Slice` event.
    alarm: Ps,
    slice: Ps,
    why: WakeReason,
    /// A request that is on its way to its line's home.
    sent: Option<(u32, Access)>,
    /// Spinners to tell when it leaves its CPU.
    watchers: Vec<u16>,
    /// Inside a lock operation.
    pub inside: bool,
    /// How many lock operations without a slot are under way.
    pub signal_guards: u8,
    /// It is not preempted: see `without_preemption`.
    pub nonpreemptible: bool,
    /// It has asked for an extension of its slice; it has been given one, which has not ended.
    asks: bool,
    granted: bool,
    voluntary: u64,
    involuntary: u64,
    /// Processor time.
    ran: Ps,
    since: Ps,
    /// What it has had of its CPU by the scheduler's account, up to `since` if it runs.
    vruntime: Ps,
    /// When it goes on, if it runs.
    resumes: Ps,
    /// What was left until then when it was interrupted.
    rest: Ps,
}

impl Thread {
    fn new(cpu: usize, pinned: bool) -> Self {
        Thread {
            state: State::Parked(false),
            cpu: cpu as u16,
            pinned,
            epoch: 0,
            token: false,
            watch: Watch::default(),
            alarm: Ps::MAX,
            slice: Ps::MAX,
            why: WakeReason::Done,
            sent: None,
            watchers: Vec::new(),
            inside: false,
            signal_guards: 0,
            nonpreemptible: false,
            asks: false,
            granted: false,
            voluntary: 0,
            involuntary: 0,
            ran: 0,
            since: 0,
            vruntime: 0,
            resumes: 0,
            rest: 0,
        }
    }

    /// What a running thread has had by now.
    fn virtual_time(&self, now: Ps) -> Ps {
        self.vruntime + (now - self.since)
    }
}

struct Cpu {
    current: Option<u16>,
    queue: VecDeque<u16>,
    slice_end: Ps,
    /// See [`Engine::min_vruntime`].
    min_vruntime: Ps,
    idle_since: Ps,
    idle: Ps,
    /// Changes when a thread leaves the CPU.
    stamp: u32,
    /// Spinners to tell then.
    watchers: Vec<u16>,
    neighbours: Vec<u16>,
    /// The line of its run queue.
    queue_line: u32,
    /// When the next timer interrupt comes.
    next_tick: Ps,
    /// What other interrupts take from whoever runs there next.
    interrupts: Ps,
    governor: governor::Governor,
}

/// Operations between two audits.
const AUDIT: u64 = 1 << 14;

pub(crate) struct Engine {
    pub layout: Layout,
    pub now: Ps,
    /// The clock must not pass this.
    pub limit: Ps,
    pub lines: Lines,
    /// See [`Setup`](crate::Setup).
    pub one_line: Option<usize>,
    /// See [`Setup`](crate::Setup).
    pub stop: fn() -> bool,
    /// Likewise.
    pub patience: Option<u64>,
    /// How many operations there had been when a loop got on last, and when that was.
    got_on: (u64, Ps),
    pub rng: fastrand::Rng,
    pub threads: Vec<Thread>,
    /// What each of them polls.
    turns: Vec<Turn>,
    cpus: Vec<Cpu>,
    events: Queue,
    /// The thread whose code runs, its CPU and its core.
    pub current: u16,
    cpu: u16,
    core: u16,
    /// By how much a slice is extended, if at all.
    pub extension: Ps,
    /// When the next heavy fence can begin.
    fence_free: Ps,
    queued: usize,
    idle_cpus: usize,
    /// Threads that sleep until they are woken, not only until a time.
    parked: usize,
    idle_contended: Ps,
    contended_at: Ps,
    pub counters: [u64; COUNTERS],
    pub hash: u64,
    /// Numbers given out.
    pub numbers: u64,
    pub handled: u64,
    /// Operations of threads.
    operations: u64,
    /// When the next audit is due, and what the clock was at the last.
    audit_at: u64,
    audited: Ps,
    pub wakes: u64,
    /// Of the threads that have ended: voluntary and involuntary switches, processor time.
    ended: (u64, u64, Ps),
    /// What threads are to run that have been spawned, until they do.
    pub bodies: HashMap<u16, Box<dyn FnOnce()>>,
    /// Numbers of threads that have ended.
    free: Vec<u16>,
    done: usize,
}

/// How far a run has come.
pub(crate) enum Next {
    /// Resume this thread.
    Thread(u16),
    /// All threads have ended.
    End,
}

impl Engine {
    pub fn new(layout: Layout, seed: u64, limit: Ps) -> Self {
        let mut lines = Lines::default();
        let mut rng = fastrand::Rng::with_seed(seed);
        let cpus: Vec<_> = (0..layout.cpus)
            .map(|cpu| Cpu {
                current: None,
                queue: VecDeque::new(),
                slice_end: 0,
                min_vruntime: 0,
                idle_since: 0,
                idle: 0,
                stamp: 0,
                watchers: Vec::new(),
                neighbours: layout.neighbours(cpu),
                // No word of the program has an address on the first pages.
                queue_line: lines.at_home(cpu << 6, layout.node(layout.core(cpu))),
                next_tick: if layout.tick == 0 { Ps::MAX } else { rng.u64(0..layout.tick_every) },
                interrupts: 0,
                governor: governor::Governor::new(),
            })
            .collect();
        Engine {
            now: 0,
            limit,
            lines,
            one_line: None,
            stop: || false,
            patience: None,
            got_on: (0, 0),
            rng,
            threads: Vec::new(),
            turns: Vec::new(),
            idle_cpus: cpus.len(),
            cpus,
            events: Queue::new(),
            current: 0,
            cpu: 0,
            core: 0,
            extension: 0,
            fence_free: 0,
            queued: 0,
            parked: 0,
            idle_contended: 0,
            contended_at: 0,
            counters: [0; COUNTERS],
            hash: 0xcbf2_9ce4_8422_2325,
            numbers: 0,
            handled: 0,
            operations: 0,
            audit_at: AUDIT,
            audited: Ps::MAX,
            wakes: 0,
            ended: (0, 0, 0),
            bodies: HashMap::new(),
            free: Vec::new(),
            done: 0,
            layout,
        }
    }

    /// A new thread, which starts on `cpu` when the clock stands still at `at`.
    pub fn add_thread(&mut self, cpu: usize, pinned: bool, at: Ps) {
        let id = self.threads.len() as u16;
        let watch = Watch { deadline: Some(at), ..Watch::default() };
        self.threads.push(Thread { watch, ..Thread::new(cpu, pinned) });
        self.turns.push(Turn::default());
        self.set_alarm(id);
    }

    fn me(&mut self) -> &mut Thread {
        &mut self.threads[usize::from(self.current)]
    }

    pub fn turn(&mut self) -> &mut Turn {
        &mut self.turns[usize::from(self.current)]
    }

    pub fn cpu(&self) -> u16 {
        self.cpu
    }

    pub fn stamp(&self, cpu: u16) -> u32 {
        self.cpus.get(usize::from(cpu)).map_or(0, |cpu| cpu.stamp)
    }

    /// The CPU that a thread is on, or was on last.
    pub fn cpu_of(&self, thread: u16) -> u16 {
        self.threads[usize::from(thread)].cpu
    }

    pub fn is_running(&self, thread: u16) -> bool {
        let state = self.threads.get(usize::from(thread)).map(|thread| thread.state);
        matches!(state, Some(State::Running | State::Spinning))
    }

    pub fn should_yield(&self) -> bool {
        self.is_wanted(self.current, self.now)
    }

    /// Whether a thread that goes on at `at` on its CPU has to give way first.
    fn is_due(&self, thread: u16, at: Ps) -> bool {
        !self.threads[usize::from(thread)].nonpreemptible && self.is_wanted(thread, at)
    }

    /// Whether another thread should have the CPU of this one at `at`.
    fn is_wanted(&self, thread: u16, at: Ps) -> bool {
        let cpu = &self.cpus[usize::from(self.threads[usize::from(thread)].cpu)];
        at >= cpu.slice_end && !cpu.queue.is_empty()
    }

    fn push(&mut self, at: Ps, thread: u16, what: What) {
        let epoch = self.threads[usize::from(thread)].epoch;
        self.events.push(at, thread, epoch, what);
    }

    /// Sees to it that a thread that begins to wait is told when its deadline has come.
    fn set_alarm(&mut self, thread: u16) {
        let t = &mut self.threads[usize::from(thread)];
        if let Some(at) = t.watch.deadline
            && at < t.alarm
        {
            t.alarm = at;
            self.push(at, thread, What::Alarm);
        }
    }

    /// Sees to it that a spinner looks at `at` whether its slice is over.
    fn set_slice(&mut self, thread: u16, at: Ps) {
        let t = &mut self.threads[usize::from(thread)];
        if at < t.slice {
            t.slice = at;
            self.push(at, thread, What::Slice);
        }
    }

    /// Whether the thread spins and has to give way; if its slice ends later, it looks again then.
    fn is_over(&mut self, thread: u16, at: Ps) -> bool {
        let t = &mut self.threads[usize::from(thread)];
        if t.slice != at {
            return false;
        }
        t.slice = Ps::MAX;
        if t.state != State::Spinning {
            return false;
        }
        let cpu = &self.cpus[usize::from(t.cpu)];
        let (waited_for, slice_end) = (!cpu.queue.is_empty(), cpu.slice_end);
        if waited_for && at < slice_end {
            self.set_slice(thread, slice_end);
        }
        waited_for && at >= slice_end
    }

    /// Whether the thread is one whose deadline has come; if it comes later, it is told then.
    fn rings(&mut self, thread: u16, at: Ps) -> bool {
        let t = &mut self.threads[usize::from(thread)];
        if t.alarm != at {
            return false;
        }
        t.alarm = Ps::MAX;
        let waits = matches!(t.state, State::Parked(_) | State::Spinning);
        if waits && t.watch.deadline != Some(at) {
            self.set_alarm(thread);
            return false;
        }
        waits
    }

    /// A running thread goes on at `at`.
    fn resume(&mut self, thread: u16, at: Ps) {
        self.threads[usize::from(thread)].resumes = at;
        self.push(at, thread, What::Resume);
    }

    /// Moves the clock to the next resumption.
    ///
    /// # Errors
    ///
    /// Nothing is due and there are threads left, the clock has reached the limit, or it would go back:
    /// who waits for what.
    pub fn next(&mut self) -> Result<Next, String> {
        loop {
            let Some(event) = self.events.pop() else {
                return if self.done == self.threads.len() {
                    Ok(Next::End)
                } else {
                    self.audit()?;
                    Err(format!("nobody can go on: {}", self.waiters()))
                };
            };
            let holds = match event.what {
                What::Resume => self.threads[usize::from(event.thread)].epoch == event.epoch,
                What::Alarm => self.rings(event.thread, event.at),
                What::Slice => self.is_over(event.thread, event.at),
            };
            if !holds {
                continue;
            }
            if event.at < self.now {
                return Err(format!("the clock would go back: {}", self.waiters()));
            }
            self.now = event.at;
            if self.now >= self.limit {
                let seconds = self.limit as f64 / 1e12;
                let waiters = self.waiters();
                return Err(format!("no end in sight after {seconds} simulated s: {waiters}"));
            }
            self.handled += 1;
            if self.operations >= self.audit_at {
                self.audit_at = self.operations + AUDIT;
                if (self.stop)() {
                    return Err("interrupted".to_owned());
                }
                let idle = self.operations - self.got_on.0;
                if self.patience.is_some_and(|patience| idle > patience) {
                    let (ms, waiters) =
                        ((self.now - self.got_on.1) / 1_000_000_000, self.waiters());
                    let what = format!("no section ended in {idle} operations, {ms} ms");
                    return Err(format!("it stands still: {what}: {waiters}"));
                }
                if std::mem::replace(&mut self.audited, self.now) == self.now {
                    return Err(format!("the clock stands still: {}", self.waiters()));
                }
                self.audit()?;
            }
            let id = event.thread;
            match (event.what, self.threads[usize::from(id)].state) {
                (What::Resume, State::Running) => {
                    if self.is_due(id, self.now) && !self.extends_slice(id) {
                        let why = self.threads[usize::from(id)].why;
                        self.threads[usize::from(id)].involuntary += 1;
                        self.make_ready(id, why);
                        continue;
                    }
                    self.current = id;
                    self.cpu = self.threads[usize::from(id)].cpu;
                    self.core = self.layout.core(usize::from(self.cpu)) as u16;
                    if let Some((line, access)) = self.me().sent.take()
                        && self.serve(line, access)
                    {
                        continue;
                    }
                    self.hash = (self.hash ^ self.now ^ u64::from(id) << 48)
                        .wrapping_mul(0x0000_0100_0000_01b3);
                    return Ok(Next::Thread(id));
                }
                (What::Alarm, State::Parked(_)) => {
                    self.wake(id, WakeReason::Deadline, None);
                }
                (What::Alarm, State::Spinning) => {
                    self.unwatch(id, None);
                    self.go_on(id, WakeReason::Deadline, self.now);
                }
                (What::Slice, State::Spinning) => {
                    let t = &mut self.threads[usize::from(id)];
                    if t.watch.resched {
                        self.unwatch(id, None);
                        self.go_on(id, WakeReason::Resched, self.now);
                    } else if !t.nonpreemptible {
                        // It looks at its line again when it gets the CPU back.
                        t.involuntary += 1;
                        self.unwatch(id, None);
                        self.make_ready(id, WakeReason::Line);
                    }
                }
                _ => {}
            }
        }
    }

    /// A loop got on.
    pub fn got_on(&mut self) {
        self.got_on = (self.operations, self.now);
    }

    /// Voluntary and involuntary switches and processor time of all threads.
    pub fn spent(&self) -> (u64, u64, Ps) {
        let mut sum = self.ended;
        for t in self.threads.iter().filter(|t| t.state != State::Done) {
            let runs = matches!(t.state, State::Running | State::Spinning);
            let now = if runs { self.now - t.since } else { 0 };
            sum = (sum.0 + t.voluntary, sum.1 + t.involuntary, sum.2 + t.ran + now);
        }
        sum
    }

    /// Time that CPUs were idle, in all, and while as many threads slept until woken.
    pub fn idle(&mut self) -> (Ps, Ps) {
        self.note_contention();
        let idle = |cpu: &Cpu| {
            cpu.idle + if cpu.current.is_none() { self.now - cpu.idle_since } else { 0 }
        };
        (self.cpus.iter().map(idle).sum(), self.idle_contended)
    }
}
