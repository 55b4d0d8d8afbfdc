//! What the running thread does: accesses, waits, sleeps. Where a function returns a `bool`, `true` says
//! that the thread must suspend itself.

use super::{Engine, State, WakeReason, Watch};
use crate::layout::Ps;
use crate::lines::{Access, Request};

impl Engine {
    /// Goes on at `at`.
    pub fn until(&mut self, at: Ps) -> bool {
        let cpu = &self.cpus[usize::from(self.cpu)];
        let at = match at < cpu.next_tick && cpu.interrupts == 0 {
            true => at,
            false => self.ticked(self.cpu, self.now, at),
        };
        let cpu = &self.cpus[usize::from(self.cpu)];
        let wanted = at >= cpu.slice_end && self.is_due(self.current, at);
        self.operations += 1;
        // One that runs alone makes no events, and must come to the audit too.
        let due = self.events.due().min(self.limit);
        if at < due && self.operations < self.audit_at && !wanted {
            self.now = at;
            return false;
        }
        let me = self.current;
        self.threads[usize::from(me)].why = WakeReason::Done;
        self.resume(me, at);
        true
    }

    /// When something ends that would end at `at` if no interrupt came to the CPU; it began at `from`.
    /// What fences have cost the CPU since it last did something is added. Each timer interrupt that comes
    /// meanwhile takes its time; those of the time before are over, but the last.
    fn ticked(&mut self, cpu: u16, from: Ps, at: Ps) -> Ps {
        let of_cpu = &mut self.cpus[usize::from(cpu)];
        let at = at + std::mem::take(&mut of_cpu.interrupts);
        let next = of_cpu.next_tick;
        if at < next {
            return at;
        }
        let every = self.layout.tick_every;
        let last = at - (at - next) % every;
        self.cpus[usize::from(cpu)].next_tick = last + every;
        let takes = self.about(self.layout.tick);
        if from < last {
            at + takes * (1 + (last - from.max(next)) / every)
        } else {
            at.max(last + takes)
        }
    }

    /// What the running thread has spent on CPUs so far.
    pub fn cpu_time(&mut self) -> Ps {
        let now = self.now;
        let me = self.me();
        me.ran + now - me.since
    }

    /// So much processor time, in which the thread may be preempted.
    pub fn spend(&mut self, time: Ps) -> bool {
        self.until(self.now + time)
    }

    /// A time of this length on average: what a core does between two accesses is never quite the
    /// same, and threads do not fall into step. Measured: nine of ten turns of an uncontended loop
    /// are within 5 %; more is for what other code there would be.
    pub fn about(&mut self, time: Ps) -> Ps {
        // A range of 2^9.
        time * (768 + (self.rng.u64(..) >> 55)) / 1024
    }

    /// The kernel's `membarrier`: one call at a time on the whole machine; an interrupt to each CPU that
    /// runs the program, whose answer the caller waits for. Without any it is a look at every CPU.
    pub fn heavy_fence(&mut self) -> bool {
        let here = usize::from(self.cpu());
        let (mut others, mut answers) = (0, 0);
        let core = self.layout.core(here);
        for cpu in (0..self.cpus.len()).filter(|&cpu| cpu != here) {
            if self.cpus[cpu].current.is_some() {
                others += 1;
                let far = self.layout.distance(core, self.layout.core(cpu));
                answers += if others > 1 { self.layout.latency[far as usize] } else { 0 };
                self.cpus[cpu].interrupts += self.layout.heavy_interrupt;
            }
        }
        let looks = self.layout.search * self.cpus.len() as Ps;
        let call = if others == 0 { self.layout.fence } else { self.layout.heavy_fence };
        let takes = call + looks + answers;
        let ends = self.fence_free.max(self.now) + self.about(takes);
        self.fence_free = ends;
        self.until(ends)
    }

    /// One turn of a loop in about a thousand takes longer.
    pub fn hitch(&mut self) -> Ps {
        if self.rng.u64(..1024) == 0 { self.layout.hitch } else { 0 }
    }

    /// Begins an access: to which line, and whether the thread must suspend itself until it ends.
    pub fn issue(&mut self, address: usize, access: Access) -> (u32, bool) {
        let line = self.lines.of(address);
        let core = usize::from(self.core);
        let begun = self.now + self.about(self.layout.path);
        match self.lines.request(&self.layout, &mut self.rng, line, core, access, begun) {
            Request::Served(at) => (line, self.until(at)),
            Request::Arrives(at) => {
                if self.until(at) {
                    // Its request is served when it arrives, which needs none of the thread's code.
                    self.me().sent = Some((line, access));
                    return (line, true);
                }
                (line, self.serve(line, access))
            }
        }
    }

    /// The running thread's request has arrived. True: the thread must suspend itself.
    pub(super) fn serve(&mut self, line: u32, access: Access) -> bool {
        let core = usize::from(self.core);
        let at = self.lines.access(&self.layout, &mut self.rng, line, core, access, self.now);
        self.until(at)
    }

    /// After a write by the running thread: those who spin on the line fetch it again.
    pub fn written(&mut self, line: u32) {
        if !self.lines.is_watched(line) {
            return;
        }
        let watchers = self.lines.take_watchers(line);
        for &thread in &watchers {
            self.unwatch(thread, Some(line));
            let (cpu, pace) = {
                let spinner = &self.threads[usize::from(thread)];
                (usize::from(spinner.cpu), spinner.watch.pace)
            };
            let looks = self.now + self.rng.u64(0..=pace);
            let core = self.layout.core(cpu);
            // Its copy was dropped before the write took effect: its request has arrived by then.
            let at =
                self.lines.access(&self.layout, &mut self.rng, line, core, Access::Load, looks);
            self.go_on(thread, WakeReason::Line, at);
        }
        // Nobody began to watch meanwhile: no thread ran.
        self.lines.give_back(line, watchers);
    }

    /// Takes a spinner off every list but that of `line`, whose list is taken already.
    pub(super) fn unwatch(&mut self, thread: u16, line: Option<u32>) {
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
    pub(super) fn go_on(&mut self, thread: u16, why: WakeReason, at: Ps) {
        let cpu = self.threads[usize::from(thread)].cpu;
        let at = self.ticked(cpu, at, at);
        let spinner = &mut self.threads[usize::from(thread)];
        debug_assert_eq!(spinner.state, State::Spinning);
        spinner.state = State::Running;
        spinner.epoch += 1;
        spinner.why = why;
        self.resume(thread, at);
    }

    /// The running thread sleeps on its CPU until something of `watch` happens. `Some`: it has.
    pub fn spin(&mut self, mut watch: Watch) -> Option<WakeReason> {
        if watch.deadline.is_some_and(|at| at <= self.now) {
            return Some(WakeReason::Deadline);
        }
        if watch.holder.is_some_and(|(cpu, stamp)| self.stamp(cpu) != stamp) {
            return Some(WakeReason::Stopped);
        }
        if watch.running.is_some_and(|thread| !self.is_running(thread)) {
            return Some(WakeReason::Stopped);
        }
        if watch.resched && self.should_yield() {
            return Some(WakeReason::Resched);
        }
        let me = self.current;
        watch.seen = watch.lines.map(|line| line.map_or(0, |line| self.lines.writes(line)));
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
        self.set_alarm(me);
        let cpu = &self.cpus[usize::from(self.cpu())];
        let slice_end = cpu.slice_end.max(self.now);
        if !cpu.queue.is_empty() {
            self.set_slice(me, slice_end);
        }
        None
    }

    /// The running thread gives up its CPU: until woken (`token`), or until `deadline`.
    /// `Some`: it does not have to.
    pub fn park(&mut self, token: bool, deadline: Option<Ps>) -> Option<WakeReason> {
        if token && std::mem::take(&mut self.me().token) {
            return Some(WakeReason::Token);
        }
        if deadline.is_some_and(|at| at <= self.now) {
            return Some(WakeReason::Deadline);
        }
        let me = self.current;
        let thread = self.me();
        thread.state = State::Parked(token);
        thread.epoch += 1;
        thread.voluntary += 1;
        thread.watch.deadline = deadline;
        self.note_contention();
        self.parked += usize::from(token);
        self.set_alarm(me);
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
        self.make_ready(me, WakeReason::Done);
        true
    }

    /// The running thread has ended.
    pub fn end(&mut self) {
        let me = self.current;
        let thread = self.me();
        thread.state = State::Done;
        thread.epoch += 1;
        self.done += 1;
        self.leave_cpu(me);
        let t = &self.threads[usize::from(me)];
        self.ended.0 += t.voluntary;
        self.ended.1 += t.involuntary;
        self.ended.2 += t.ran;
        self.free.push(me);
    }

    /// What the running thread was resumed for.
    pub fn why(&self) -> WakeReason {
        self.threads[usize::from(self.current)].why
    }
}
