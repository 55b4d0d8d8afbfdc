//! Memory that can vanish, child processes, bare threads and signals, as the contract needs them.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicPtr, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// A range of address space whose pages are mapped and unmapped one by one.
///
/// An unmapped page stays reserved, so that a late access faults instead of hitting whatever
/// was mapped there next.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    pages: usize,
    page_bytes: usize,
}

// SAFETY: the arena only hands out addresses; whoever uses one must say why it may.
unsafe impl Send for Arena {}
// SAFETY: as for `Send`; mapping and unmapping are system calls that threads may mix.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves `pages` pages, none of them accessible.
    ///
    /// # Panics
    ///
    /// If the kernel refuses.
    pub fn reserve(pages: usize) -> Self {
        // SAFETY: sysconf reads a constant.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page_bytes = usize::try_from(page_bytes).expect("the page size is known");
        let base = map(ptr::null_mut(), pages * page_bytes, libc::PROT_NONE, 0);
        Arena { base: NonNull::new(base).expect("mmap gives no null"), pages, page_bytes }
    }

    fn page(&self, index: usize) -> *mut u8 {
        // SAFETY: the offset stays inside the reserved range.
        unsafe { self.base.as_ptr().add(index % self.pages * self.page_bytes) }
    }

    /// Maps page `index` (modulo the number of pages) with a fresh `value` in it.
    pub fn place<T>(&self, index: usize, value: T) -> NonNull<T> {
        assert!(size_of::<T>() <= self.page_bytes && align_of::<T>() <= self.page_bytes);
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        let page = map(self.page(index), self.page_bytes, read | write, libc::MAP_FIXED);
        let place = NonNull::new(page.cast::<T>()).expect("a page is not null");
        // SAFETY: the page was mapped just now, is large and aligned enough, and nobody else
        // knows of it.
        unsafe { place.write(value) };
        place
    }

    /// Unmaps page `index`; the value in it is not dropped.
    ///
    /// # Safety
    ///
    /// 1. Nobody may use the value in the page after this call begins. The contract's point is
    ///    that a lock's unlock keeps this rule; one that does not is stopped by SIGSEGV.
    pub unsafe fn unmap(&self, index: usize) {
        map(self.page(index), self.page_bytes, libc::PROT_NONE, libc::MAP_FIXED);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the range is ours alone, and borrows of the arena have ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.pages * self.page_bytes) };
    }
}

fn map(at: *mut u8, bytes: usize, prot: i32, fixed: i32) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: without MAP_FIXED the kernel chooses free addresses; with it, the callers name a
    // page of their own arena.
    let got = unsafe { libc::mmap(at.cast(), bytes, prot, flags, -1, 0) };
    assert_ne!(got, libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
    got.cast()
}

/// How a child process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It did not, within the limit, and was killed.
    Hung,
}

/// Forks; the child runs `body` and exits with the code that it returns, without destructors
/// or exit handlers. Waits for the child, but at most `limit`.
///
/// `body` should print nothing: another thread may have held the lock of a standard stream.
///
/// # Panics
///
/// If the kernel cannot fork.
pub fn in_child(limit: Duration, body: impl FnOnce() -> i32) -> Ended {
    // SAFETY: the child of a threaded process may strictly call only async-signal-safe
    // functions. `body` calls the lock under test, and thread creation and malloc, which glibc
    // and musl keep usable in the child.
    let pid = unsafe { libc::fork() };
    assert_ne!(pid, -1, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let code = body();
        // SAFETY: ends the child without running anything of the parent's.
        unsafe { libc::_exit(code) };
    }
    wait_for(pid, limit)
}

fn wait_for(pid: libc::pid_t, limit: Duration) -> Ended {
    let start = Instant::now();
    let mut status = 0;
    loop {
        let late = start.elapsed() > limit;
        if late {
            // SAFETY: the child has not been reaped, so the number is still its.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        // SAFETY: `status` is ours to write.
        let got = unsafe { libc::waitpid(pid, &mut status, if late { 0 } else { libc::WNOHANG }) };
        if got == pid && late {
            return Ended::Hung;
        }
        if got == pid && libc::WIFEXITED(status) {
            return Ended::Code(libc::WEXITSTATUS(status));
        }
        if got == pid {
            return Ended::Signal(libc::WTERMSIG(status));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs `body` in `n` threads of the C library's own, and `meanwhile` in the caller; returns when
/// all have ended.
///
/// For forked children: a thread of std's takes a lock of std's when it starts and when it ends.
/// If another thread had that lock at the fork, the child would hang before it came to the lock
/// under test.
///
/// # Panics
///
/// If a thread cannot be made. A `body` that panics aborts the process.
pub fn with_bare_threads<F: Fn() + Sync, T>(
    n: usize,
    body: &F,
    meanwhile: impl FnOnce() -> T,
) -> T {
    extern "C" fn run<F: Fn() + Sync>(body: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: the pointer is `body` of with_bare_threads(), which joins before it returns.
        unsafe { (*body.cast::<F>())() };
        ptr::null_mut()
    }
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let mut thread = MaybeUninit::uninit();
            let (at, body) = (thread.as_mut_ptr(), ptr::from_ref(body).cast_mut().cast());
            // SAFETY: `thread` is ours to write; `run` has the type of a thread's body, and what
            // it is given outlives it.
            let made = unsafe { libc::pthread_create(at, ptr::null(), run::<F>, body) };
            assert_eq!(made, 0, "pthread_create: {}", std::io::Error::from_raw_os_error(made));
            // SAFETY: written by the call, which succeeded.
            Joined(unsafe { thread.assume_init() })
        })
        .collect();
    let result = meanwhile();
    drop(threads);
    result
}

/// A thread that is waited for on drop, whatever unwinds.
struct Joined(libc::pthread_t);

impl Drop for Joined {
    fn drop(&mut self) {
        // SAFETY: the thread was made joinable, and is joined once.
        unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
    }
}

/// What SIGUSR1 runs, while one is installed.
static HANDLER: AtomicPtr<Handler> = AtomicPtr::new(ptr::null_mut());

struct Handler(Box<dyn Fn() + Sync>);

extern "C" fn on_usr1(_signal: libc::c_int) {
    // SAFETY: a handler is leaked when it is installed, so the pointer is null or valid.
    if let Some(handler) = unsafe { HANDLER.load(SeqCst).as_ref() } {
        (handler.0)();
    }
}

/// Runs `body` with `handler` as the process's handler of SIGUSR1. One at a time per process.
///
/// The handler is leaked: a thread may still be inside it when `body` returns.
///
/// # Panics
///
/// If the kernel refuses the handler.
pub fn with_usr1<T>(handler: impl Fn() + Sync + 'static, body: impl FnOnce() -> T) -> T {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|failed| failed.into_inner());
    HANDLER.store(Box::into_raw(Box::new(Handler(Box::new(handler)))), SeqCst);
    // SAFETY: `on_usr1` has the type of a handler and stays for ever.
    unsafe { handle(libc::SIGUSR1, on_usr1) };
    let result = body();
    HANDLER.store(ptr::null_mut(), SeqCst);
    result
}

/// How long SIGUSR2 stops the thread that it falls on, in nanoseconds.
static NAP_NS: AtomicI64 = AtomicI64::new(0);

extern "C" fn on_usr2(_signal: libc::c_int) {
    let nap = libc::timespec { tv_sec: 0, tv_nsec: NAP_NS.load(SeqCst) };
    // SAFETY: `errno` is the thread's own, and may be in use where it was interrupted; `nap` lives
    // during the call, which may be made in a handler.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::nanosleep(&nap, ptr::null_mut());
        *errno = before;
    }
}

/// Runs `body` with SIGUSR2 stopping whatever thread it falls on for `nap`, less than a second. One
/// at a time per process.
///
/// # Panics
///
/// If the kernel refuses the handler.
pub fn with_naps<T>(nap: Duration, body: impl FnOnce() -> T) -> T {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|failed| failed.into_inner());
    NAP_NS.store(nap.subsec_nanos().into(), SeqCst);
    // SAFETY: `on_usr2` has the type of a handler and stays for ever.
    unsafe { handle(libc::SIGUSR2, on_usr2) };
    let result = body();
    NAP_NS.store(0, SeqCst);
    result
}

/// Installs a handler, without SA_RESTART, so that waits are interrupted, which is the harder case.
///
/// # Safety
///
/// 1. `handler` may run at any moment from now on, on any thread.
unsafe fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: all-zero bytes are a valid sigaction, which is filled in; rule 1 is the caller's.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        libc::sigemptyset(&mut action.sa_mask);
        let set = libc::sigaction(signal, &action, ptr::null_mut());
        assert_eq!(set, 0, "sigaction: {}", std::io::Error::last_os_error());
    }
}

/// A thread of this process, by the kernel's number for it.
#[derive(Clone, Copy, Debug)]
pub struct ThreadId(libc::pid_t);

impl ThreadId {
    /// The calling thread.
    pub fn here() -> Self {
        // SAFETY: gettid only returns a number.
        ThreadId(unsafe { libc::gettid() })
    }

    /// The number.
    pub fn number(self) -> i32 {
        self.0
    }

    /// Sends SIGUSR1 to the thread; nothing happens if it has exited.
    pub fn interrupt(self) {
        self.send(libc::SIGUSR1);
    }

    /// Stops the thread for a while; see [`with_naps`].
    pub fn nap(self) {
        self.send(libc::SIGUSR2);
    }

    fn send(self, signal: libc::c_int) {
        // SAFETY: tgkill checks both numbers.
        unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.0, signal) };
    }
}

/// How many system calls a program makes that is run without arguments.
///
/// # Panics
///
/// If it cannot be run, or does not end by itself.
pub fn count_system_calls(program: &std::path::Path) -> usize {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(program);
    // SAFETY: ptrace may be called between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    // Waited for below, where each of its stops is.
    #[allow(clippy::zombie_processes)]
    let child = command.spawn().expect("the program starts");
    let pid = child.id() as libc::pid_t;
    let (mut stops, mut status) = (0, 0);
    loop {
        // SAFETY: `status` is ours to write, the child ours to wait for.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        if !libc::WIFSTOPPED(status) {
            assert!(libc::WIFEXITED(status), "{} did not end by itself", program.display());
            // One stop where a call begins and one where it returns; the stop after exec is the first.
            return stops / 2;
        }
        stops += 1;
        // SAFETY: the child is stopped and traced by this thread.
        assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, 0) }, 0);
    }
}
