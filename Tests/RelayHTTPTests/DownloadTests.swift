import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import RelayHTTP

@Suite struct AddressPolicyTests {
  private func v4(_ text: String) -> Bool {
    let parts = text.split(separator: ".").compactMap { UInt32($0) }
    return AddressPolicy.isPublic(v4: parts.reduce(0) { $0 << 8 | $1 })
  }

  @Test(arguments: [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "198.18.0.1",
  ])
  func `private and special addresses are refused`(address: String) {
    #expect(!v4(address))
  }

  @Test(arguments: ["8.8.8.8", "172.32.0.1", "100.128.0.1", "11.0.0.1", "198.20.0.1"])
  func `public addresses are allowed`(address: String) {
    #expect(v4(address))
  }

  @Test func `an IPv4 address inside an IPv6 address is judged by itself`() {
    func v6(_ bytes: [UInt8]) -> Bool { AddressPolicy.isPublic(v6: bytes) }
    let zeros = [UInt8](repeating: 0, count: 10)
    #expect(!v6(zeros + [0xFF, 0xFF, 127, 0, 0, 1]))
    #expect(v6(zeros + [0xFF, 0xFF, 8, 8, 8, 8]))
    #expect(!v6([0, 0x64, 0xFF, 0x9B] + [UInt8](repeating: 0, count: 8) + [10, 0, 0, 1]))
    #expect(!v6([0x20, 0x02, 192, 168, 0, 1] + zeros))
    #expect(!v6([UInt8](repeating: 0, count: 15) + [1]))
    #expect(!v6([0xFE, 0x80] + [UInt8](repeating: 0, count: 14)))
    #expect(v6([0x26, 0x06] + [UInt8](repeating: 1, count: 14)))
  }
}

/// A web server of the test's own on loopback, for one answer after another.
private final class OneShotServer: Sendable {
  let port: UInt16
  private let listener: Int32

  /// - Parameter answer: the whole response.
  init(_ answer: String) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard bound else { throw CocoaError(.fileReadUnknown) }
    port = UInt16(bigEndian: address.sin_port)
    var thread = pthread_t()
    let answerer = Unmanaged.passRetained(Answerer(listener: listener, answer: answer))
    pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Answerer>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, answerer.toOpaque())
    pthread_detach(thread)
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  private final class Answerer: Sendable {
    let listener: Int32
    let answer: String
    init(listener: Int32, answer: String) {
      self.listener = listener
      self.answer = answer
    }
    func run() {
      signal(SIGPIPE, SIG_IGN)
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 4_096)
        _ = read(connection, &buffer, buffer.count)
        let bytes = Array(answer.utf8)
        _ = write(connection, bytes, bytes.count)
        _ = close(connection)
      }
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
  private func fetch(
    _ answer: String, limit: Int = 1_000, allowsPrivate: Bool = true, plain: Bool = true
  ) async throws -> Result<String, DownloadError> {
    let server = try OneShotServer(answer)
    let folder = try TemporaryFolder()
    var download = Download(
      url: "http://127.0.0.1:\(server.port)/file", path: folder.path + "/file", maximumBytes: limit)
    download.addresses.allowsPrivate = allowsPrivate
    download.allowsPlainHTTP = plain
    download.timeoutSeconds = 10
    defer { withExtendedLifetime(server) {} }
    do {
      try await CurlEngine.shared.fetch(download)
      return .success(folder.read("file"))
    } catch {
      #expect(!FileManager.default.fileExists(atPath: download.path), "nothing is left behind")
      return .failure(error)
    }
  }

  @Test func `a file arrives whole`() async throws {
    let result = try await fetch("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    #expect(result == .success("hello"))
  }

  @Test func `a transfer ends above the limit, whatever length was declared`() async throws {
    let body = String(repeating: "x", count: 2_000)
    let claimed = try await fetch("HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n\(body)")
    let unclaimed = try await fetch("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\(body)")
    #expect(claimed == .failure(.tooLarge(limit: 1_000)))
    #expect(unclaimed == .failure(.tooLarge(limit: 1_000)))
  }

  @Test func `a private address is refused at the moment of connecting`() async throws {
    let result = try await fetch("HTTP/1.1 200 OK\r\n\r\nsecret", allowsPrivate: false)
    #expect(result == .failure(.addressRefused))
  }

  @Test func `plain http, other schemes and failures are reported differently`() async throws {
    let plain = try await fetch("HTTP/1.1 200 OK\r\n\r\nx", plain: false)
    let missing = try await fetch("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    let away = try await fetch("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n")
    #expect(plain == .failure(.schemeRefused))
    #expect(missing == .failure(.status(404)))
    #expect(away == .failure(.schemeRefused))
  }

  @Test func `an endless chain of redirects ends`() async throws {
    let result = try await fetch("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
    guard case .failure(.failed) = result else {
      Issue.record("\(result)")
      return
    }
  }
}
