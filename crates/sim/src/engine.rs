//! The event queue, the threads and the scheduler.
//!
//! A thread's operation ends at a time that is known when it begins. If nothing else is due before,
//! the clock is moved there and the thread runs on; otherwise it is suspended and its resumption is
//! queued. All of a simulation happens on one OS thread, so each operation takes effect at one
//! instant: histories are sequentially consistent.
//!
//! *Scheduler*: a queue for each CPU; a thread that has run for a slice gives way to one that waits;
//! a woken thread goes to the CPU it ran on, or to the nearest idle one; a CPU without work takes
//! from the nearest queue that has some. A wake-up costs the waker the search and the line of the
//! other CPU's queue, and the woken the interrupt and the CPU's way out of its sleep.
//!
//! *Audits*, always on: no spinner that would not hear of a write to its line; no end while a thread
//! has work left; a run that does not end says which thread waits for what.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write;

use lockwright_platform::COUNTERS;

use crate::layout::{Layout, Ps};
use crate::lines::{Access, Lines};

/// Why a thread was resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
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
    Ready(Why),
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
    pub deadline: Option<Ps>,
    /// CPU, and its stamp when the wait began.
    pub holder: Option<(u16, u32)>,
    pub running: Option<u16>,
    pub resched: bool,
    /// Time between polls.
    pub pace: Ps,
}

/// What a thread has read since it last paused, if it only read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turn {
    read: [(usize, u64); 4],
    count: usize,
    spoiled: bool,
    before: Option<([(usize, u64); 4], usize)>,
}

impl Turn {
    pub fn note(&mut self, address: usize, value: u64) {
        match self.read.get_mut(self.count) {
            Some(next) => *next = (address, value),
            None => self.spoiled = true,
        }
        self.count += 1;
    }

    /// The thread wrote something: this is no polling.
    pub fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// Begins the next turn. `Some`: this one was as the last; up to two lines' addresses.
    pub fn ends(&mut self) -> Option<[Option<usize>; 2]> {
        let this = std::mem::take(self);
        if this.spoiled || this.count == 0 {
            return None;
        }
        self.before = Some((this.read, this.count));
        if this.before != self.before {
            return None;
        }
        let first = this.read[0].0;
        let mut others = this.read[..this.count].iter().map(|read| read.0);
        let second = others.find(|address| address >> 6 != first >> 6);
        let elsewhere = |address: usize| {
            address >> 6 != first >> 6 && second.is_none_or(|second| address >> 6 != second >> 6)
        };
        if this.read[..this.count].iter().any(|read| elsewhere(read.0)) {
            return None;
        }
        Some([Some(first), second])
    }
}

pub(crate) struct Thread {
    turn: Turn,
    state: State,
    cpu: u16,
    pinned: bool,
    /// Changes whenever the thread is resumed: what was queued for it before is void.
    epoch: u32,
    pub token: bool,
    watch: Watch,
    why: Why,
    /// Spinners to tell when it leaves its CPU.
    watchers: Vec<u16>,
    /// Inside a lock operation.
    pub inside: bool,
    pub shielded: bool,
    pub voluntary: u64,
    pub involuntary: u64,
    /// Processor time.
    pub ran: Ps,
    since: Ps,
}

struct Cpu {
    current: Option<u16>,
    queue: VecDeque<u16>,
    slice_end: Ps,
    idle_since: Ps,
    idle: Ps,
    /// Changes when a thread leaves the CPU.
    stamp: u32,
    /// Spinners to tell then.
    watchers: Vec<u16>,
    neighbours: Vec<u16>,
    /// The line of its run queue.
    queue_line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The thread goes on.
    Resume,
    /// A sleeper's or spinner's time is over.
    Deadline,
    /// The thread's CPU has come to it.
    Start,
    /// A spinner's slice is over.
    Slice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Ps,
    seq: u64,
    thread: u16,
    epoch: u32,
    what: What,
}

pub(crate) struct Engine {
    pub layout: Layout,
    pub now: Ps,
    /// The clock must not pass this.
    pub limit: Ps,
    pub lines: Lines,
    pub rng: fastrand::Rng,
    pub threads: Vec<Thread>,
    cpus: Vec<Cpu>,
    events: BinaryHeap<Reverse<Event>>,
    seq: u64,
    /// The thread whose code runs.
    pub current: u16,
    queued: usize,
    idle_cpus: usize,
    parked: usize,
    idle_contended: Ps,
    contended_at: Ps,
    pub counters: [u64; COUNTERS],
    pub hash: u64,
    /// Numbers given out.
    pub numbers: u64,
    pub handled: u64,
    pub wakes: u64,
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
        let cpus: Vec<_> = (0..layout.cpus)
            .map(|cpu| Cpu {
                current: None,
                queue: VecDeque::new(),
                slice_end: 0,
                idle_since: 0,
                idle: 0,
                stamp: 0,
                watchers: Vec::new(),
                neighbours: layout.neighbours(cpu),
                // No word of the program has an address on the first pages.
                queue_line: lines.of(cpu << 6),
            })
            .collect();
        Engine {
            now: 0,
            limit,
            lines,
            rng: fastrand::Rng::with_seed(seed),
            threads: Vec::new(),
            idle_cpus: cpus.len(),
            cpus,
            events: BinaryHeap::new(),
            seq: 0,
            current: 0,
            queued: 0,
            parked: 0,
            idle_contended: 0,
            contended_at: 0,
            counters: [0; COUNTERS],
            hash: 0xcbf2_9ce4_8422_2325,
            numbers: 0,
            handled: 0,
            wakes: 0,
            done: 0,
            layout,
        }
    }

    /// A new thread, which starts on `cpu` when the clock stands still at `at`.
    pub fn add_thread(&mut self, cpu: usize, pinned: bool, at: Ps) {
        let id = self.threads.len() as u16;
        self.threads.push(Thread {
            turn: Turn::default(),
            state: State::Parked(false),
            cpu: cpu as u16,
            pinned,
            epoch: 0,
            token: false,
            watch: Watch::default(),
            why: Why::Done,
            watchers: Vec::new(),
            inside: false,
            shielded: false,
            voluntary: 0,
            involuntary: 0,
            ran: 0,
            since: 0,
        });
        self.parked += 1;
        self.push(at, id, What::Deadline);
    }

    fn me(&mut self) -> &mut Thread {
        &mut self.threads[usize::from(self.current)]
    }

    pub fn turn(&mut self) -> &mut Turn {
        &mut self.me().turn
    }

    pub fn cpu(&self) -> u16 {
        self.threads[usize::from(self.current)].cpu
    }

    pub fn stamp(&self, cpu: u16) -> u32 {
        self.cpus.get(usize::from(cpu)).map_or(0, |cpu| cpu.stamp)
    }

    pub fn is_running(&self, thread: u16) -> bool {
        let state = self.threads.get(usize::from(thread)).map(|thread| thread.state);
        matches!(state, Some(State::Running | State::Spinning))
    }

    pub fn should_yield(&self) -> bool {
        let cpu = &self.cpus[usize::from(self.cpu())];
        !cpu.queue.is_empty() && self.now >= cpu.slice_end
    }

    fn push(&mut self, at: Ps, thread: u16, what: What) {
        self.seq += 1;
        let epoch = self.threads[usize::from(thread)].epoch;
        self.events.push(Reverse(Event { at, seq: self.seq, thread, epoch, what }));
    }

    // What the running thread does. `true`: it must suspend itself.

    /// Goes on at `at`.
    pub fn until(&mut self, at: Ps) -> bool {
        let due = self.events.peek().map_or(self.limit, |Reverse(next)| next.at.min(self.limit));
        if at < due && !self.must_switch(at) {
            self.now = at;
            return false;
        }
        let me = self.current;
        self.threads[usize::from(me)].why = Why::Done;
        self.push(at, me, What::Resume);
        true
    }

    /// Whether a thread that goes on at `at` has to give way first.
    fn must_switch(&self, at: Ps) -> bool {
        let cpu = &self.cpus[usize::from(self.cpu())];
        at >= cpu.slice_end && !cpu.queue.is_empty()
    }

    /// So much processor time, in which the thread may be preempted.
    pub fn spend(&mut self, time: Ps) -> bool {
        self.until(self.now + time)
    }

    pub fn access(&mut self, address: usize, access: Access) -> bool {
        let line = self.lines.of(address);
        let core = self.layout.core(usize::from(self.cpu()));
        let begun = self.now + self.layout.path;
        let at = self.lines.access(&self.layout, &mut self.rng, line, core, access, begun);
        self.until(at)
    }

    /// After a write by the running thread: those who spin on the line fetch it again.
    pub fn written(&mut self, address: usize) {
        let line = self.lines.of(address);
        for thread in self.lines.take_watchers(line) {
            self.unwatch(thread, Some(line));
            let (cpu, pace) = {
                let spinner = &self.threads[usize::from(thread)];
                (usize::from(spinner.cpu), spinner.watch.pace)
            };
            let looks = self.now + self.rng.u64(0..=pace);
            let core = self.layout.core(cpu);
            let at =
                self.lines.access(&self.layout, &mut self.rng, line, core, Access::Load, looks);
            self.go_on(thread, Why::Line, at);
        }
    }

    /// Takes a spinner off every list but that of `line`, whose list is taken already.
    fn unwatch(&mut self, thread: u16, line: Option<u32>) {
        let watch = self.threads[usize::from(thread)].watch;
        for other in watch.lines.into_iter().flatten().filter(|&other| Some(other) != line) {
            self.lines.forget(other, thread);
        }
        if let Some((cpu, _)) = watch.holder
            && let Some(cpu) = self.cpus.get_mut(usize::from(cpu))
        {
            cpu.watchers.retain(|&other| other != thread);
        }
        if let Some(other) = watch.running
            && let Some(other) = self.threads.get_mut(usize::from(other))
        {
            other.watchers.retain(|&other| other != thread);
        }
    }

    /// A spinner that is on no list any more goes on at `at`, on its CPU.
    fn go_on(&mut self, thread: u16, why: Why, at: Ps) {
        let spinner = &mut self.threads[usize::from(thread)];
        debug_assert_eq!(spinner.state, State::Spinning);
        spinner.state = State::Running;
        spinner.epoch += 1;
        spinner.why = why;
        self.push(at, thread, What::Resume);
    }

    /// The running thread sleeps on its CPU until something of `watch` happens. `Some`: it has.
    pub fn spin(&mut self, watch: Watch) -> Option<Why> {
        if watch.deadline.is_some_and(|at| at <= self.now) {
            return Some(Why::Deadline);
        }
        if watch.holder.is_some_and(|(cpu, stamp)| self.stamp(cpu) != stamp) {
            return Some(Why::Stopped);
        }
        if watch.running.is_some_and(|thread| !self.is_running(thread)) {
            return Some(Why::Stopped);
        }
        if watch.resched && self.should_yield() {
            return Some(Why::Resched);
        }
        let me = self.current;
        let thread = self.me();
        thread.state = State::Spinning;
        thread.watch = watch;
        thread.epoch += 1;
        for line in watch.lines.into_iter().flatten() {
            self.lines.watch(line, me);
        }
        if let Some((cpu, _)) = watch.holder
            && let Some(cpu) = self.cpus.get_mut(usize::from(cpu))
        {
            cpu.watchers.push(me);
        }
        if let Some(other) = watch.running {
            self.threads[usize::from(other)].watchers.push(me);
        }
        if let Some(at) = watch.deadline {
            self.push(at, me, What::Deadline);
        }
        let cpu = &self.cpus[usize::from(self.cpu())];
        let slice_end = cpu.slice_end.max(self.now);
        if !cpu.queue.is_empty() {
            self.push(slice_end, me, What::Slice);
        }
        None
    }

    /// The running thread gives up its CPU: until woken (`token`), or until `deadline`.
    /// `Some`: it does not have to.
    pub fn park(&mut self, token: bool, deadline: Option<Ps>) -> Option<Why> {
        if token && std::mem::take(&mut self.me().token) {
            return Some(Why::Token);
        }
        if deadline.is_some_and(|at| at <= self.now) {
            return Some(Why::Deadline);
        }
        let me = self.current;
        let thread = self.me();
        thread.state = State::Parked(token);
        thread.epoch += 1;
        thread.voluntary += 1;
        self.note_contention();
        self.parked += 1;
        if let Some(at) = deadline {
            self.push(at, me, What::Deadline);
        }
        self.leave_cpu(me);
        None
    }

    /// The running thread lets others run; true if there are any.
    pub fn yield_now(&mut self) -> bool {
        let me = self.current;
        let cpu = self.cpu();
        if self.cpus[usize::from(cpu)].queue.is_empty() {
            return false;
        }
        self.me().voluntary += 1;
        self.make_ready(me, Why::Done);
        true
    }

    /// A running thread goes to the end of its CPU's queue.
    fn make_ready(&mut self, thread: u16, why: Why) {
        let t = &mut self.threads[usize::from(thread)];
        t.state = State::Ready(why);
        t.epoch += 1;
        let cpu = usize::from(t.cpu);
        self.cpus[cpu].queue.push_back(thread);
        self.queued += 1;
        self.leave_cpu(thread);
    }

    /// The thread's state says already that it does not run.
    fn leave_cpu(&mut self, thread: u16) {
        let now = self.now;
        let t = &mut self.threads[usize::from(thread)];
        t.ran += now - t.since;
        let (cpu, watchers) = (t.cpu, std::mem::take(&mut t.watchers));
        let c = &mut self.cpus[usize::from(cpu)];
        c.stamp += 1;
        c.current = None;
        let of_cpu = std::mem::take(&mut c.watchers);
        for watcher in watchers.into_iter().chain(of_cpu) {
            if self.threads[usize::from(watcher)].state == State::Spinning {
                self.unwatch(watcher, None);
                let at = now + self.layout.pause;
                self.go_on(watcher, Why::Stopped, at);
            }
        }
        self.dispatch(usize::from(cpu), self.layout.switch);
    }

    /// A CPU without a thread takes the next, from its own queue or the nearest that has one.
    fn dispatch(&mut self, cpu: usize, after: Ps) {
        let mut thread = self.cpus[cpu].queue.pop_front();
        let mut moved = 0;
        if thread.is_none() && self.queued > 0 {
            for i in 0..self.cpus[cpu].neighbours.len() {
                let other = usize::from(self.cpus[cpu].neighbours[i]);
                let free = self.cpus[other]
                    .queue
                    .iter()
                    .position(|&id| !self.threads[usize::from(id)].pinned);
                if let Some(position) = free {
                    thread = self.cpus[other].queue.remove(position);
                    moved = self.layout.migrate + self.layout.search * (i as Ps + 1);
                    break;
                }
            }
        }
        match thread {
            Some(thread) => {
                self.queued -= 1;
                self.place(thread, cpu, after + moved);
            }
            None => {
                self.note_contention();
                self.idle_cpus += 1;
                self.cpus[cpu].idle_since = self.now;
            }
        }
    }

    /// A ready thread gets a free CPU, and goes on there after so much time.
    fn place(&mut self, thread: u16, cpu: usize, after: Ps) {
        let slice = self.layout.slice;
        let t = &mut self.threads[usize::from(thread)];
        let State::Ready(why) = t.state else { unreachable!("{thread} is not ready") };
        t.state = State::Running;
        t.why = why;
        t.cpu = cpu as u16;
        t.since = self.now;
        let c = &mut self.cpus[cpu];
        c.current = Some(thread);
        c.slice_end = self.now + after + slice;
        self.push(self.now + after, thread, What::Start);
    }

    fn note_contention(&mut self) {
        let idle = self.idle_cpus.min(self.parked) as Ps;
        self.idle_contended += (self.now - self.contended_at) * idle;
        self.contended_at = self.now;
    }

    /// Makes a sleeping thread ready; returns what that costs the one who does it.
    fn wake(&mut self, thread: u16, why: Why, waker: Option<usize>) -> Ps {
        self.note_contention();
        self.parked -= 1;
        let t = &mut self.threads[usize::from(thread)];
        t.state = State::Ready(why);
        t.epoch += 1;
        let (home, pinned) = (usize::from(t.cpu), t.pinned);
        let mut cost = 0;
        let mut cpu = home;
        if self.cpus[home].current.is_some() && !pinned && self.idle_cpus > 0 {
            for (i, &other) in self.cpus[home].neighbours.iter().enumerate() {
                if self.cpus[usize::from(other)].current.is_none() {
                    cpu = usize::from(other);
                    cost += self.layout.search * (i as Ps + 1);
                    break;
                }
            }
        }
        if let Some(waker) = waker {
            self.wakes += 1;
            let core = self.layout.core(waker);
            let line = self.cpus[cpu].queue_line;
            let at = self.now + cost;
            let got = self.lines.access(&self.layout, &mut self.rng, line, core, Access::Rmw, at);
            cost += self.layout.wake + (got - at);
        }
        if self.cpus[cpu].current.is_some() {
            self.cpus[cpu].queue.push_back(thread);
            self.queued += 1;
            // A spinner there has to learn that somebody waits for its CPU.
            if let Some(current) = self.cpus[cpu].current
                && self.threads[usize::from(current)].state == State::Spinning
            {
                let at = self.cpus[cpu].slice_end.max(self.now);
                self.push(at, current, What::Slice);
            }
            return cost;
        }
        self.idle_cpus -= 1;
        let c = &mut self.cpus[cpu];
        let slept = self.now - c.idle_since;
        c.idle += slept;
        let l = &self.layout;
        let exit = match slept {
            _ if slept < l.polls => 0,
            _ if slept < l.deep_after => l.interrupt + l.exit_shallow,
            _ => l.interrupt + l.exit_deep,
        };
        let moved = if cpu == home { 0 } else { l.migrate };
        let after = cost + exit + l.switch + moved;
        self.place(thread, cpu, after);
        cost
    }

    /// Leaves a token for a thread, and wakes it if it sleeps; the running thread pays. Whether it
    /// slept, and whether the running thread must suspend itself.
    pub fn unpark(&mut self, thread: u16) -> (bool, bool) {
        if usize::from(thread) >= self.threads.len() {
            return (false, false);
        }
        if self.threads[usize::from(thread)].state != State::Parked(true) {
            self.threads[usize::from(thread)].token = true;
            return (false, false);
        }
        let waker = usize::from(self.cpu());
        let cost = self.wake(thread, Why::Token, Some(waker));
        (true, self.until(self.now + cost))
    }

    /// The running thread has ended.
    pub fn end(&mut self) {
        let me = self.current;
        let thread = self.me();
        thread.state = State::Done;
        thread.epoch += 1;
        self.done += 1;
        self.leave_cpu(me);
    }

    /// What the running thread was resumed for.
    pub fn why(&self) -> Why {
        self.threads[usize::from(self.current)].why
    }

    // The event loop.

    /// Moves the clock to the next resumption.
    ///
    /// # Errors
    ///
    /// Nothing is due and there are threads left, or the clock has reached the limit: who waits for what.
    pub fn next(&mut self) -> Result<Next, String> {
        loop {
            let Some(Reverse(event)) = self.events.pop() else {
                return if self.done == self.threads.len() {
                    Ok(Next::End)
                } else {
                    Err(format!("nobody can go on: {}", self.waiters()))
                };
            };
            let thread = &self.threads[usize::from(event.thread)];
            if thread.epoch != event.epoch {
                continue;
            }
            self.now = event.at;
            if self.now >= self.limit {
                return Err(format!("no end in sight: {}", self.waiters()));
            }
            self.handled += 1;
            if self.handled.is_multiple_of(1 << 16) {
                self.audit()?;
            }
            let id = event.thread;
            match (event.what, thread.state) {
                (What::Resume | What::Start, State::Running) => {
                    if self.at_slice_end(id) {
                        let why = self.threads[usize::from(id)].why;
                        self.threads[usize::from(id)].involuntary += 1;
                        self.make_ready(id, why);
                        continue;
                    }
                    self.current = id;
                    self.hash = (self.hash ^ self.now ^ u64::from(id) << 48)
                        .wrapping_mul(0x0000_0100_0000_01b3);
                    return Ok(Next::Thread(id));
                }
                (What::Deadline, State::Parked(_)) => {
                    self.wake(id, Why::Deadline, None);
                }
                (What::Deadline, State::Spinning) => {
                    self.unwatch(id, None);
                    self.go_on(id, Why::Deadline, self.now);
                }
                (What::Slice, State::Spinning) if self.at_slice_end(id) => {
                    self.unwatch(id, None);
                    let t = &mut self.threads[usize::from(id)];
                    if t.watch.resched {
                        self.go_on(id, Why::Resched, self.now);
                    } else {
                        // It looks at its line again when it gets the CPU back.
                        t.involuntary += 1;
                        self.make_ready(id, Why::Line);
                    }
                }
                _ => {}
            }
        }
    }

    fn at_slice_end(&self, thread: u16) -> bool {
        let cpu = &self.cpus[usize::from(self.threads[usize::from(thread)].cpu)];
        !cpu.queue.is_empty() && self.now >= cpu.slice_end
    }

    fn audit(&self) -> Result<(), String> {
        for (id, thread) in self.threads.iter().enumerate() {
            let deaf = |&line: &u32| !self.lines.hears(line, id as u16);
            if thread.state == State::Spinning && thread.watch.lines.iter().flatten().any(deaf) {
                return Err(format!("thread {id} spins on a line and would not hear of a write"));
            }
        }
        Ok(())
    }

    /// Who waits for what, for messages.
    fn waiters(&self) -> String {
        let mut text = String::new();
        for (id, thread) in self.threads.iter().enumerate() {
            if thread.state != State::Done {
                let _ = write!(text, "thread {id} on CPU {} is {:?}", thread.cpu, thread.state);
                if thread.state == State::Spinning {
                    let _ = write!(text, " ({:?})", thread.watch);
                }
                text += "; ";
            }
            if text.len() > 2_000 {
                text += "and more";
                break;
            }
        }
        text
    }

    /// Time that CPUs were idle, in all, and while threads slept.
    pub fn idle(&mut self) -> (Ps, Ps) {
        self.note_contention();
        let idle = |cpu: &Cpu| {
            cpu.idle + if cpu.current.is_none() { self.now - cpu.idle_since } else { 0 }
        };
        (self.cpus.iter().map(idle).sum(), self.idle_contended)
    }
}
