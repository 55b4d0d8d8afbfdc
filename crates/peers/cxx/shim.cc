// The C++ locks behind one extern "C" function per operation, each a tail call or the inlined
// lock itself. Storage belongs to the caller: 16 bytes, aligned to 16.

#include <absl/synchronization/mutex.h>
#include <nsync.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/rw_mutex.h>

#include <memory>
#include <new>

#define LOCKWRIGHT_PEER(prefix, type, lock_call, unlock_call)                        \
    static_assert(sizeof(type) <= 16 && alignof(type) <= 16, "storage is 16 bytes"); \
    extern "C" void prefix##_init(void* at) { new (at) type; }                       \
    extern "C" void prefix##_lock(type* mutex) { lock_call; }                        \
    extern "C" void prefix##_unlock(type* mutex) { unlock_call; }                    \
    extern "C" void prefix##_destroy(type* mutex) { std::destroy_at(mutex); }

LOCKWRIGHT_PEER(lockwright_absl, absl::Mutex, mutex->Lock(), mutex->Unlock())
LOCKWRIGHT_PEER(lockwright_tbb, tbb::mutex, mutex->lock(), mutex->unlock())
LOCKWRIGHT_PEER(lockwright_tbb_rw, tbb::rw_mutex, mutex->lock(), mutex->unlock())

extern "C" void lockwright_absl_lock_shared(absl::Mutex* mutex) { mutex->ReaderLock(); }
extern "C" void lockwright_absl_unlock_shared(absl::Mutex* mutex) { mutex->ReaderUnlock(); }
extern "C" void lockwright_tbb_rw_lock_shared(tbb::rw_mutex* mutex) { mutex->lock_shared(); }
extern "C" void lockwright_tbb_rw_unlock_shared(tbb::rw_mutex* mutex) { mutex->unlock_shared(); }

static_assert(sizeof(nsync::nsync_mu) <= 16 && alignof(nsync::nsync_mu) <= 16, "storage is 16 bytes");
