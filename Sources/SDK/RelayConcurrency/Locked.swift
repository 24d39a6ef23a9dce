public import Glibc

/// A value behind a lock.
///
/// `Synchronization.Mutex` forbids touching unsafe pointers and non-sendable closures inside its critical section, and
/// thread sanitizer reports it falsely on Linux; a plain pthread lock has neither trouble.
///
/// Public, as is `Mailbox`, though nothing outside the package sees it: only what is public is specialised in other
/// modules, and both are on the way of every delta.
///
/// `@unchecked`: the value is reached only inside `withLock`, which holds the lock for the whole call.
public final class Locked<Value>: @unchecked Sendable {
  @usableFromInline let lock: UnsafeMutablePointer<pthread_mutex_t>
  // Behind a pointer, so that each use is not checked for exclusivity once more: the lock sees to that.
  @usableFromInline let value: UnsafeMutablePointer<Value>

  /// Puts a value, which nobody else may hold, behind a lock.
  public init(_ value: sending Value) {
    self.value = .allocate(capacity: 1)
    self.value.initialize(to: value)
    lock = .allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
    value.deinitialize(count: 1)
    value.deallocate()
  }

  /// Runs `body` with the value. Not re-entrant; nothing slow belongs in here.
  @inlinable public func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result)
    throws(Failure)
    -> Result
  {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return try body(&value.pointee)
  }
}
