import CCurl
import Glibc

/// The easy handle of one request, and the state of its callbacks.
///
/// `@unchecked`: after it is handed over, only the engine's thread touches it.
final class RequestTransfer: CurlTransfer, @unchecked Sendable {
  private let request: HTTPRequest
  private let done: @Sendable (Result<HTTPResponse, HTTPError>) -> Void
  private var handle: UnsafeMutableRawPointer?
  private var list: UnsafeMutablePointer<curl_slist>?
  private var form: OpaquePointer?
  private var headers: [String: String] = [:]
  private var body: [UInt8] = []
  private var problem: HTTPError?

  init(_ request: HTTPRequest, done: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void) {
    self.request = request
    self.done = done
  }

  func prepare() -> UnsafeMutableRawPointer? {
    guard let handle = curl_easy_init() else {
      end(.failure(.notSent("libcurl has no memory")))
      return nil
    }
    self.handle = handle
    let user = Unmanaged.passUnretained(self).toOpaque()
    relay_curl_set_string(handle, CURLOPT_URL, request.url)
    relay_curl_set_string(handle, CURLOPT_CUSTOMREQUEST, request.method)
    relay_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    relay_curl_set_trust(handle)
    relay_curl_set_string(handle, CURLOPT_PROTOCOLS_STR, request.allowsPlainHTTP ? "http,https" : "https")
    relay_curl_set_long(handle, CURLOPT_TIMEOUT, request.timeoutSeconds)
    relay_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT, min(10, request.timeoutSeconds))
    relay_curl_set_string(handle, CURLOPT_ACCEPT_ENCODING, "")
    Proxy.set(request.proxy, on: handle)
    relay_curl_set_pointer(handle, CURLOPT_WRITEDATA, user)
    relay_curl_set_write(handle) { bytes, size, count, user in
      guard let bytes, let user else { return 0 }
      return Unmanaged<RequestTransfer>.fromOpaque(user).takeUnretainedValue().take(bytes, size * count)
    }
    relay_curl_set_pointer(handle, CURLOPT_HEADERDATA, user)
    relay_curl_set_header(handle) { bytes, size, count, user in
      guard let bytes, let user else { return 0 }
      return Unmanaged<RequestTransfer>.fromOpaque(user).takeUnretainedValue().takeHeader(bytes, size * count)
    }
    // libcurl repeats a request by itself where a connection that was kept breaks before the answer.
    relay_curl_set_pointer(handle, CURLOPT_PREREQDATA, user)
    relay_curl_set_prerequisite(handle) { user, _, _, _, _ in
      guard let user else { return CURL_PREREQFUNC_ABORT }
      return Unmanaged<RequestTransfer>.fromOpaque(user).takeUnretainedValue().mayGoOut
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
    var lines = request.headers.map { "\($0.name): \($0.value)" }
    setBody(of: handle, &lines)
    // Without it libcurl waits a second for "100 Continue" before it sends a file.
    lines.append("Expect:")
    for line in lines { list = curl_slist_append(list, line) }
    relay_curl_set_pointer(handle, CURLOPT_HTTPHEADER, list)
    return handle
  }

  private func setBody(of handle: UnsafeMutableRawPointer, _ lines: inout [String]) {
    switch request.body {
    case .none:
      if request.method == "GET" { relay_curl_set_long(handle, CURLOPT_HTTPGET, 1) }
      // Servers want a length where a body could be.
      if ["POST", "PUT", "PATCH"].contains(request.method) { setFields([], of: handle) }
    case .bytes(let bytes, let type):
      lines.append("Content-Type: \(type)")
      setFields(bytes, of: handle)
    case .multipart(let parts):
      form = curl_mime_init(handle)
      for part in parts { add(part) }
      relay_curl_set_mime(handle, form)
    }
  }

  private func setFields(_ bytes: [UInt8], of handle: UnsafeMutableRawPointer) {
    relay_curl_set_long(handle, CURLOPT_POSTFIELDSIZE, bytes.count)
    bytes.withUnsafeBufferPointer { buffer in
      buffer.withMemoryRebound(to: CChar.self) { _ = relay_curl_copy_fields(handle, $0.baseAddress) }
    }
  }

  private func add(_ part: HTTPRequest.Part) {
    guard let field = curl_mime_addpart(form) else { return }
    curl_mime_name(field, part.name)
    switch part.content {
    case .bytes(let bytes):
      bytes.withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { _ = curl_mime_data(field, $0.baseAddress, buffer.count) }
      }
    case .file(let path):
      if curl_mime_filedata(field, path) != CURLE_OK { problem = .notSent("a file could not be read") }
    }
    if let name = part.fileName { curl_mime_filename(field, name) }
    if let type = part.type { curl_mime_type(field, type) }
  }

  private func take(_ bytes: UnsafeMutablePointer<CChar>, _ count: Int) -> Int {
    guard body.count + count <= request.maximumBytes else {
      problem = .tooLarge(limit: request.maximumBytes)
      return 0
    }
    body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
    return count
  }

  private func takeHeader(_ bytes: UnsafeMutablePointer<CChar>, _ count: Int) -> Int {
    let line = String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    // Those of a proxy's answer, or of "100 Continue", come before.
    if line.hasPrefix("HTTP/") { headers = [:] }
    if let colon = line.firstIndex(of: ":") {
      headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...]).trimmingBlanks()
    }
    return count
  }

  func finish(_ code: CURLcode) {
    if let problem { return end(.failure(problem)) }
    let why = String(cString: curl_easy_strerror(code))
    switch code {
    case CURLE_OK:
      var status = 0
      relay_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
      end(.success(HTTPResponse(status: status, headers: headers, body: body)))
    case CURLE_ABORTED_BY_CALLBACK: end(.failure(.unanswered("the connection was closed before the answer")))
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_PROXY,
      CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_URL_MALFORMAT,
      CURLE_SSL_CACERT_BADFILE:
      end(.failure(.notSent(why)))
    default: end(.failure(isSent ? .unanswered(why) : .notSent(why)))
    }
  }

  /// A POST may act twice where it arrives twice; the caller decides how to find out whether it did.
  private var mayGoOut: Bool { request.method != "POST" || !isSent }

  /// Indicates that a part of the request went out.
  private var isSent: Bool {
    var size = 0
    relay_curl_get_long(handle, CURLINFO_REQUEST_SIZE, &size)
    return size > 0
  }

  func cancel() { end(.failure(.cancelled)) }

  private func end(_ result: Result<HTTPResponse, HTTPError>) {
    if let handle { curl_easy_cleanup(handle) }
    if let form { curl_mime_free(form) }
    if let list { curl_slist_free_all(list) }
    (handle, form, list) = (nil, nil, nil)
    done(result)
  }
}

extension String {
  func trimmingBlanks() -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" || $0 == "\n" || $0 == "\r\n" }
    return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
