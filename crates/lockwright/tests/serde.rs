//! What locks protect is serialized and deserialized, without the lock.
#![cfg(all(feature = "serde", not(loom)))]

use lockwright::{
    AtomicMutex, BiasedRwLock, FairMutex, LatencyMutex, Mutex, RecursiveRwLock, ReentrantMutex,
    RwLock, SeqLatch, SeqLock, lock_api_04,
};

#[test]
fn mutexes_are_serialized_and_deserialized() {
    let text = serde_json::to_string(&Mutex::new(vec![1, 2])).unwrap();
    assert_eq!(text, "[1,2]");
    assert_eq!(*serde_json::from_str::<Mutex<Vec<u32>>>(&text).unwrap().lock(), [1, 2]);
    assert_eq!(*serde_json::from_str::<LatencyMutex<Vec<u32>>>(&text).unwrap().lock(), [1, 2]);
    assert_eq!(*serde_json::from_str::<AtomicMutex<Vec<u32>>>(&text).unwrap().lock(), [1, 2]);
    assert_eq!(*serde_json::from_str::<FairMutex<Vec<u32>>>(&text).unwrap().lock(), [1, 2]);
    assert_eq!(*serde_json::from_str::<ReentrantMutex<Vec<u32>>>(&text).unwrap().lock(), [1, 2]);
    assert!(serde_json::from_str::<Mutex<Vec<u32>>>("{}").is_err());
}

#[test]
fn rwlocks_are_serialized_and_deserialized() {
    let text = serde_json::to_string(&RwLock::new("a")).unwrap();
    assert_eq!(text, "\"a\"");
    assert_eq!(*serde_json::from_str::<RwLock<String>>(&text).unwrap().read(), "a");
    assert_eq!(*serde_json::from_str::<RecursiveRwLock<String>>(&text).unwrap().read(), "a");
    assert_eq!(*serde_json::from_str::<BiasedRwLock<String>>(&text).unwrap().read(), "a");
}

#[test]
fn a_lock_that_was_read_from_text_is_free() {
    let lock: RwLock<u8> = serde_json::from_str("7").unwrap();
    *lock.try_write().unwrap() += 1;
    let mutex: Mutex<u8> = serde_json::from_str("7").unwrap();
    assert_eq!(*mutex.try_lock().unwrap() + *lock.try_read().unwrap(), 15);
}

#[test]
fn locks_over_the_old_lock_api_are_serialized_too() {
    let mutex: lock_api_04::Mutex<u8> = serde_json::from_str("7").unwrap();
    assert_eq!(serde_json::to_string(&mutex).unwrap(), "7");
    let lock: lock_api_04::RwLock<u8> = serde_json::from_str("7").unwrap();
    assert_eq!(serde_json::to_string(&lock).unwrap(), "7");
}

#[test]
fn plain_values_are_serialized_and_deserialized() {
    let text = serde_json::to_string(&SeqLock::new([1, 2])).unwrap();
    assert_eq!(text, "[1,2]");
    assert_eq!(serde_json::from_str::<SeqLock<[u32; 2]>>(&text).unwrap().read(), [1, 2]);
    assert_eq!(serde_json::from_str::<SeqLatch<[u32; 2]>>(&text).unwrap().read(), [1, 2]);
    assert_eq!(serde_json::to_string(&SeqLatch::new(7)).unwrap(), "7");
}
