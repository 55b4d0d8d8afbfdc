//! Who runs where.
//!
//! As the kernel's fair scheduler: a queue for each CPU, in the order of what each thread has had
//! of it; one that has run for a slice gives way to one that waits; a woken thread goes to the CPU
//! it ran on, or to the nearest idle one, and takes it at once if it has had that much less than
//! who runs there; a CPU without work takes from the nearest queue that has some. A wake-up costs
//! the waker the search, the lock of the other CPU's queue, for which wakers compete, and some
//! lines more from there; and the woken the interrupt and the CPU's way out of its sleep. Across
//! sockets the waker fetches fewer lines, and the other CPU does the rest. A thread on its way to
//! sleep, half a switch, can still be told to stay. A new thread goes to the CPU that has the fewest,
//! behind those. A timer interrupt takes its time from the thread that runs or spins. *Checked by*
//! `tests/scheduler.rs` and `tests/spawn.rs`.

use super::governor::Depth;
use super::{Engine, State, Thread, Turn, WakeReason};
use crate::layout::{Distance, Ps};
use crate::lines::{Access, Request};

impl Engine {
    /// A running thread goes into its CPU's queue, but not to its head.
    pub(super) fn make_ready(&mut self, thread: u16, why: WakeReason) {
        let now = self.now;
        let t = &mut self.threads[usize::from(thread)];
        t.state = State::Ready(why);
        t.epoch += 1;
        let (cpu, vruntime) = (usize::from(t.cpu), t.virtual_time(now));
        self.enqueue(cpu, thread, vruntime, 1);
        self.leave_cpu(thread);
    }

    /// Puts a thread that has had so much into a CPU's queue, behind those that have had no more, and
    /// behind `least` others if so many are there.
    fn enqueue(&mut self, cpu: usize, thread: u16, vruntime: Ps, least: usize) {
        let queue = &self.cpus[cpu].queue;
        let before = |&other: &u16| self.threads[usize::from(other)].vruntime <= vruntime;
        let place = queue.partition_point(before).max(least.min(queue.len()));
        self.cpus[cpu].queue.insert(place, thread);
        self.queued += 1;
    }

    /// What the thread has had that has had least of a CPU; it never goes back.
    fn min_vruntime(&mut self, cpu: usize) -> Ps {
        let c = &self.cpus[cpu];
        let current = c.current.map(|id| self.threads[usize::from(id)].virtual_time(self.now));
        let first = c.queue.front().map(|&id| self.threads[usize::from(id)].vruntime);
        let least = current.into_iter().chain(first).min();
        let c = &mut self.cpus[cpu];
        c.min_vruntime = c.min_vruntime.max(least.unwrap_or(0));
        c.min_vruntime
    }

    /// A thread that does not run goes from one CPU to another, whose threads may have had more or less.
    fn migrate(&mut self, thread: u16, from: usize, to: usize) {
        if from != to {
            let (from, to) = (self.min_vruntime(from), self.min_vruntime(to));
            let t = &mut self.threads[usize::from(thread)];
            t.vruntime = (t.vruntime + to).saturating_sub(from);
        }
    }

    /// The running thread has what others wait for.
    pub fn ask_for_time(&mut self) {
        self.me().asks = self.extension > 0;
    }

    /// It has it no more; whether it had been given time for it.
    pub fn give_time_back(&mut self) -> bool {
        let me = self.me();
        me.asks = false;
        std::mem::take(&mut me.granted)
    }

    /// Whether a thread keeps the CPU that it should lose now, since it has asked for that and has not been given any.
    pub(super) fn extends_slice(&mut self, thread: u16) -> bool {
        let t = &mut self.threads[usize::from(thread)];
        if !std::mem::take(&mut t.asks) {
            return false;
        }
        t.granted = true;
        let cpu = usize::from(t.cpu);
        self.cpus[cpu].slice_end = self.now + self.extension;
        true
    }

    /// Takes the CPU from a thread in the middle of what it does, if it does not spin and may be
    /// preempted; what it has not done yet it does later. Time is given only if that is enough for it.
    fn interrupt(&mut self, thread: u16) {
        let t = &self.threads[usize::from(thread)];
        if t.state != State::Running || t.nonpreemptible {
            return;
        }
        if t.resumes <= self.now + self.extension && self.extends_slice(thread) {
            return;
        }
        let t = &mut self.threads[usize::from(thread)];
        t.rest = t.resumes.saturating_sub(self.now);
        t.involuntary += 1;
        let why = t.why;
        self.make_ready(thread, why);
    }

    /// The thread's state says already that it does not run.
    pub(super) fn leave_cpu(&mut self, thread: u16) {
        let now = self.now;
        let t = &mut self.threads[usize::from(thread)];
        (t.asks, t.granted) = (false, false);
        t.ran += now - t.since;
        t.vruntime = t.virtual_time(now);
        t.since = now;
        let parked = t.state == State::Parked(true);
        let (cpu, watchers) = (t.cpu, std::mem::take(&mut t.watchers));
        let c = &mut self.cpus[usize::from(cpu)];
        c.stamp += 1;
        c.current = None;
        let of_cpu = std::mem::take(&mut c.watchers);
        for watcher in watchers.into_iter().chain(of_cpu) {
            if self.threads[usize::from(watcher)].state == State::Spinning {
                self.unwatch(watcher, None);
                let at = now + self.layout.pause;
                self.go_on(watcher, WakeReason::Stopped, at);
            }
        }
        // One that waits for a token has spent half of its switch on the way: see `park`.
        let spent = if parked { self.layout.switch / 2 } else { 0 };
        self.dispatch(usize::from(cpu), self.layout.switch - spent);
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
                let from = usize::from(self.threads[usize::from(thread)].cpu);
                self.migrate(thread, from, cpu);
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
        let rest = std::mem::take(&mut t.rest);
        let c = &mut self.cpus[cpu];
        c.current = Some(thread);
        c.slice_end = self.now + after + slice;
        self.resume(thread, self.now + after + rest);
    }

    pub(super) fn note_contention(&mut self) {
        let idle = self.idle_cpus.min(self.parked) as Ps;
        self.idle_contended += (self.now - self.contended_at) * idle;
        self.contended_at = self.now;
    }

    /// Makes a sleeping thread ready; returns what that costs the one who does it.
    pub(super) fn wake(&mut self, thread: u16, why: WakeReason, waker: Option<usize>) -> Ps {
        self.note_contention();
        let t = &mut self.threads[usize::from(thread)];
        self.parked -= usize::from(t.state == State::Parked(true));
        t.state = State::Ready(why);
        t.epoch += 1;
        let (home, pinned) = (usize::from(t.cpu), t.pinned);
        let (mut cost, mut enqueue) = (0, 0);
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
            let far = self.layout.distance(self.layout.core(waker), self.layout.core(cpu));
            let l = &self.layout;
            let mut lines = l.wake_lines;
            if far as usize >= Distance::Near as usize {
                lines = lines.min(l.queue_lines);
                enqueue = (l.wake_lines - lines) * l.latency[Distance::Cluster as usize];
            }
            cost += self.reach(waker, cpu, lines, self.now + cost);
        }
        self.migrate(thread, home, cpu);
        let least = self.min_vruntime(cpu).saturating_sub(self.layout.credit);
        let t = &mut self.threads[usize::from(thread)];
        t.vruntime = t.vruntime.max(least);
        let moved = if cpu == home { 0 } else { self.layout.migrate };
        self.arrive(thread, cpu, waker, cost + enqueue + moved);
        cost
    }

    /// What it takes a CPU to get the lock of another's queue, and so many lines from there.
    fn reach(&mut self, waker: usize, cpu: usize, lines: Ps, at: Ps) -> Ps {
        let core = self.layout.core(waker);
        let line = self.cpus[cpu].queue_line;
        let (layout, rng) = (&self.layout, &mut self.rng);
        let got = match self.lines.request(layout, rng, line, core, Access::Rmw, at) {
            Request::Served(got) => got,
            Request::Arrives(at) => self.lines.access(layout, rng, line, core, Access::Rmw, at),
        };
        let far = self.layout.distance(core, self.layout.core(cpu));
        let fetched = lines * self.layout.latency[far as usize];
        self.layout.wake + self.about(fetched) + (got - at)
    }

    /// A ready thread comes to a CPU: into its queue, or if the CPU is idle onto it, `after` the way out
    /// of its sleep.
    fn arrive(&mut self, thread: u16, cpu: usize, waker: Option<usize>, after: Ps) {
        let mine = self.threads[usize::from(thread)].vruntime;
        if let Some(current) = self.cpus[cpu].current {
            self.enqueue(cpu, thread, mine, 0);
            let theirs = self.threads[usize::from(current)].virtual_time(self.now);
            if theirs > mine + self.layout.preempt {
                self.cpus[cpu].slice_end = self.now;
                // The waker itself gives way at its next step.
                if waker != Some(cpu) {
                    self.interrupt(current);
                }
            }
            // A spinner there has to learn that somebody waits for its CPU.
            if self.threads[usize::from(current)].state == State::Spinning {
                let at = self.cpus[cpu].slice_end.max(self.now);
                self.set_slice(current, at);
            }
            return;
        }
        self.note_contention();
        self.idle_cpus -= 1;
        let exit = self.depth(cpu).exit(&self.layout);
        let c = &mut self.cpus[cpu];
        c.idle += self.now - c.idle_since;
        c.governor.woke(c.idle_since, self.now);
        // The idle loop has nothing to be saved: half a switch.
        self.place(thread, cpu, after + exit + self.layout.switch / 2);
    }

    /// How deep an idle CPU sleeps: no deeper than its core, nor than the core's other CPUs let that.
    fn depth(&self, cpu: usize) -> Depth {
        let depth = |cpu: usize| {
            let cpu = &self.cpus[cpu];
            cpu.governor.depth(&self.layout, cpu.idle_since, self.now)
        };
        let others = self.layout.siblings(cpu).filter(|&other| other != cpu);
        let allowed = others.map(|other| match self.cpus[other].current {
            Some(_) => Depth::Shallow,
            // One that polls runs.
            None => depth(other).max(Depth::Shallow),
        });
        allowed.fold(depth(cpu), Depth::min)
    }

    /// A new thread of the running one, on the CPU that has the fewest, of those the nearest. It goes
    /// behind the others by a slice, as CFS has it, and so preempts nobody. True: the running thread must
    /// suspend itself.
    pub fn spawn(&mut self) -> (u16, bool) {
        let here = usize::from(self.cpu());
        let had = |cpu: &usize| {
            let cpu = &self.cpus[*cpu];
            usize::from(cpu.current.is_some()) + cpu.queue.len()
        };
        let others = self.cpus[here].neighbours.iter().map(|&cpu| usize::from(cpu));
        // The first of the least.
        let cpu = std::iter::once(here).chain(others).min_by_key(had).expect("a CPU");
        let looked = self.layout.search * self.cpus.len() as Ps;
        let cost = looked + self.reach(here, cpu, self.layout.wake_lines, self.now + looked);
        let vruntime = self.min_vruntime(cpu) + self.layout.slice;
        let thread = match self.free.pop() {
            Some(id) => {
                self.done -= 1;
                id
            }
            None => {
                let id = u16::try_from(self.threads.len()).ok().filter(|&id| id < u16::MAX);
                self.threads.push(Thread::new(cpu, false));
                self.turns.push(Turn::default());
                id.expect("at most 65,535 threads at a time")
            }
        };
        self.turns[usize::from(thread)] = Turn::default();
        let t = &mut self.threads[usize::from(thread)];
        *t = Thread {
            state: State::Ready(WakeReason::Done),
            // Of the thread that had this number events may be queued.
            epoch: t.epoch + 1,
            since: self.now,
            vruntime,
            ..Thread::new(cpu, false)
        };
        let moved = if cpu == here { 0 } else { self.layout.migrate };
        self.arrive(thread, cpu, Some(here), cost + moved);
        (thread, self.until(self.now + cost))
    }

    /// Whether a thread sleeps until it is woken.
    pub fn is_parked(&self, thread: u16) -> bool {
        self.threads.get(usize::from(thread)).is_some_and(|t| t.state == State::Parked(true))
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
        let cost = self.wake(thread, WakeReason::Token, Some(waker));
        (true, self.until(self.now + cost))
    }
}
