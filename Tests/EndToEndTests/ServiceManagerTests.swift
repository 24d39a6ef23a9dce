import FoundationEssentials
import Glibc
import ProcessSupervision
import RelayConcurrency
import RelayHome
import RelayTransport
import TestSupport
import Testing

extension EndToEnd.Operation {
  @Suite struct ServiceManagerTests {
    /// A socket as systemd has one (sd_notify(3)), and what arrives on it.
    private struct NotifySocket {
      let path: String
      let messages = Mailbox<String>()
      private let token: EventLoop.Token
      private let descriptor: Int32

      init(in folder: String) throws {
        let path = folder + "/notify"
        self.path = path
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let code = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
        guard code == 0 else { throw SystemError("bind") }
        self.descriptor = descriptor
        let messages = messages
        token = try EventLoop.shared.watch(descriptor, .read) { buffer in
          while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard count > 0 else { return }
            messages.post(String(decoding: buffer[..<count], as: UTF8.self))
          }
        }
      }

      /// Waits for a message, and skips others before it.
      func wait(for text: String) async -> Bool {
        while let message = await messages.next() { if message.contains(text) { return true } }
        return false
      }

      func close() { EventLoop.shared.close(token, descriptor) }
    }

    @Test func `the service manager is notified of readiness, watchdog, reload and stop`() async throws {
      let scratch = try TemporaryFolder()
      let manager = try NotifySocket(in: scratch.path)
      defer { manager.close() }
      let (child, pipes) = try ChildProcess.spawn(
        .init(
          name: "pi-relayd", path: Built.executable("pi-relayd"), arguments: ["start"],
          environment: [
            "PI_RELAY_HOME": scratch.path + "/home", "HOME": scratch.path, "PATH": "/usr/bin:/bin",
            "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "90000",
          ]), guardian: nil)
      for descriptor in [pipes.input, pipes.output, pipes.error] { _ = close(descriptor) }
      #expect(await manager.wait(for: "READY=1"))
      #expect(await manager.wait(for: "WATCHDOG=1"))
      kill(child.pid, SIGHUP)
      #expect(await manager.wait(for: "RELOADING=1"))
      #expect(await manager.wait(for: "READY=1"))
      kill(child.pid, SIGTERM)
      #expect(await manager.wait(for: "STOPPING=1"))
      #expect(await child.exit() == .exited(0))
    }

    @Test func `without systemd the unit is not installed, and another way is named`() async throws {
      guard access("/run/systemd/system", F_OK) != 0 else { return }
      let scratch = try TemporaryFolder()
      let environment = ["PI_RELAY_HOME": scratch.path + "/home", "HOME": scratch.path, "PATH": "/usr/bin:/bin"]
      let said = try await Command.run(
        Built.executable("pi-relayd"), ["install-service"], environment: environment)
      #expect(said.exit == .exited(1))
      #expect(said.errors == ["systemd does not run here. Run the daemon with: pi-relayd start --detach"])
      try HomeDirectory(path: scratch.path + "/home").prepare()
      try scratch.write("home/relay.yaml", "shutdown: {drainSeconds: 600}\n")
      let unit = try await Command.run(
        Built.executable("pi-relayd"), ["install-service", "--print"], environment: environment
      ).output
      #expect(unit.contains("TimeoutStopSec=660"))
      #expect(unit.contains("Type=notify") && unit.contains("KillMode=mixed") && unit.contains("WatchdogSec=60"))
    }
  }
}
