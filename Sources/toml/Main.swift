import FoundationEssentials
import Glibc
import TOMLKit

/// Prints a TOML file as JSON. A program of its own, because the parser needs the C++ runtime, which a daemon that
/// reads no TOML does without.
@main struct ReadTOML {
  static let largestFile = 1 << 20

  static func main() {
    guard CommandLine.arguments.count == 2 else { fail("usage: pi-relay-toml FILE", code: 2) }
    let path = CommandLine.arguments[1]
    guard let data = FileManager.default.contents(atPath: path) else { fail("\(path) cannot be read") }
    guard data.count <= largestFile else { fail("\(path) is larger than \(largestFile) bytes") }
    guard let text = String(validating: data, as: UTF8.self) else { fail("\(path) is not UTF-8") }
    do {
      print(try TOMLTable(string: text).convert(to: .json))
    } catch let error as TOMLParseError {
      fail("\(path):\(error.source.begin.line):\(error.source.begin.column): \(error.description)")
    } catch {
      fail("\(path): \(error)")
    }
  }

  private static func fail(_ words: String, code: Int32 = 1) -> Never {
    let line = Array((words + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(code)
  }
}
