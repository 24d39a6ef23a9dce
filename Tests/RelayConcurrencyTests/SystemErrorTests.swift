import Glibc
import RelayConcurrency
import Testing

@Suite struct SystemErrorTests {
  @Test func `the description names the failed operation, the file and the reason`() {
    #expect(
      "\(SystemError("cannot be read", path: "/x", code: ENOENT))" == "/x cannot be read: No such file or directory")
    #expect("\(SystemError("epoll_ctl", code: EBADF))" == "epoll_ctl: Bad file descriptor")
  }

  @Test func `the error of the last call is taken when none is given`() {
    errno = EACCES
    #expect(SystemError("cannot be read", path: "/x").code == EACCES)
    errno = EPERM
    #expect(SystemError.reason() == "Operation not permitted")
  }
}
