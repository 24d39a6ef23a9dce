import FoundationEssentials
import Testing

/// The targets of `Package.swift` and the targets that each may import, without system libraries and products of others.
struct ModuleGraph {
  private(set) var imports: [String: Set<String>] = [:]

  init(manifest: String) throws {
    let declaration = try Regex(#"\n    \.(target|executableTarget)\(\s*name: "([^"]+)"((?:.|\n)*?)(?=\n    [./])"#)
    for match in manifest.matches(of: declaration) {
      let name = String(match.output[2].substring ?? "")
      let body = String(match.output[3].substring ?? "")
      guard !body.contains(#"path: "Tests/"#), !body.contains(#"path: "Benchmarks"#), !body.contains(#"path: "Fuzz"#)
      else { continue }
      let list =
        body.firstMatch(of: try Regex(#"dependencies: \[((?:.|\n)*?)\n?\s*\](?:,|\s)"#))?.output[1].substring ?? ""
      let own = list.replacing(try Regex(#"\.product\([^)]*\)"#), with: "")
      imports[name] = Set(
        own.matches(of: try Regex(#""([^"]+)""#)).compactMap { $0.output[1].substring.map(String.init) })
    }
    let known = Set(imports.keys)
    for name in known { imports[name]?.formIntersection(known) }
  }

  private func reached(from name: String) -> Set<String> {
    (imports[name] ?? []).reduce(into: []) { $0.formUnion(reached(from: $1).union([$1])) }
  }

  /// The longest way down from a target.
  private func height(_ name: String) -> Int { (imports[name] ?? []).map { height($0) + 1 }.max() ?? 0 }

  /// A line for each target, those with the fewest imports first. Arrows that follow from others are left out.
  var picture: [String] {
    imports.keys.sorted { (height($0), $0) < (height($1), $1) }.map { name in
      let direct = imports[name] ?? []
      let needed = direct.filter { one in !direct.contains { $0 != one && reached(from: $0).contains(one) } }
      return needed.isEmpty ? name : "\(name) → \(needed.sorted().joined(separator: ", "))"
    }
  }
}

/// A target of `Package.swift` with Swift files.
private struct DeclaredTarget {
  let name: String
  let path: String
  /// Targets and products, by the names under which they are imported.
  let dependencies: Set<String>

  static func all(in manifest: String) throws -> [DeclaredTarget] {
    let declaration = try Regex(
      #"\n    \.(target|executableTarget|testTarget)\(\s*name: "([^"]+)"((?:.|\n)*?)(?=\n    [./]|\n  \])"#)
    return try manifest.matches(of: declaration).map { match in
      let name = String(match.output[2].substring ?? "")
      let body = String(match.output[3].substring ?? "")
      let path = try body.firstMatch(of: Regex(#"path: "([^"]+)""#))?.output[1].substring.map(String.init)
      let list = try body.firstMatch(of: Regex(#"dependencies: \[((?:[^\[\]])*)\]"#))?.output[1].substring ?? ""
      let names = try list.matches(of: Regex(#""([^"]+)""#)).compactMap { $0.output[1].substring.map(module) }
      return DeclaredTarget(
        name: module(name[...]),
        path: path ?? (match.output[1].substring == "testTarget" ? "Tests/" : "Sources/") + name,
        dependencies: Set(names))
    }
  }

  private static func module(_ name: Substring) -> String { String(name.replacing("-", with: "_")) }
}

/// The page about the architecture, held against the code.
@Suite struct ArchitectureTests {
  private func page() throws -> String { try document("docs/architecture.md") }

  /// Every Swift file of Sources and Tests by its name.
  private func sources() throws -> [String: String] {
    var files: [String: String] = [:]
    for folder in ["Sources", "Tests"] {
      let names = try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
      for name in names where name.hasSuffix(".swift") {
        files[name.split(separator: "/").last.map(String.init) ?? name, default: ""] += try document(
          "\(folder)/\(name)")
      }
    }
    return files
  }

  @Test func `the picture of the modules agrees with the package`() throws {
    let graph = try ModuleGraph(manifest: document("Package.swift"))
    #expect(graph.imports.count > 30)
    let blocks = try page().components(separatedBy: "```")
    let shown = try #require(blocks.first { $0.contains("→ ") && $0.hasPrefix("text\n") })
    let lines = shown.dropFirst(5).split(separator: "\n").map(String.init)
    #expect(lines == graph.picture, "docs/architecture.md should show:\n\(graph.picture.joined(separator: "\n"))")
  }

  /// A warm build finds modules that are not declared; a clean one does not.
  @Test func `each target declares what its files import`() throws {
    let targets = try DeclaredTarget.all(in: document("Package.swift"))
    let modules = Set(targets.map(\.name)).union(["Logging", "DequeModule", "ArgumentParser"])
    #expect(targets.count > 60)
    let pattern = try Regex("(?m)^(?:@testable |package |internal |public )?import (\\w+)$")
    for target in targets {
      let folder = root.appending(path: target.path).path
      for file in try FileManager.default.subpathsOfDirectory(atPath: folder) where file.hasSuffix(".swift") {
        let isOthers = targets.contains { other in
          other.path.hasPrefix(target.path + "/") && "\(target.path)/\(file)".hasPrefix(other.path + "/")
        }
        guard !isOthers else { continue }
        for match in try document("\(target.path)/\(file)").matches(of: pattern) {
          let module = match.output[1].substring.map(String.init) ?? ""
          #expect(
            !modules.contains(module) || target.dependencies.contains(module),
            "\(target.path)/\(file) imports \(module), which Package.swift does not name for \(target.name)")
        }
      }
    }
  }

  @Test func `folders that the page names exist`() throws {
    for token in try page().split(separator: "`").map(String.init)
    where token.hasPrefix("Sources/") || token.hasPrefix("Tests/") || token.hasPrefix("docs/") {
      #expect(FileManager.default.fileExists(atPath: root.appending(path: token).path), "\(token) is not there")
    }
  }

  @Test func `types, members and files that the page names exist`() throws {
    let files = try sources()
    let (types, members) = Self.declarations(in: files.values)
    let modules = Set(try ModuleGraph(manifest: document("Package.swift")).imports.keys)
    let name = try Regex("^([A-Z][A-Za-z]+)(?:\\.([a-z][A-Za-z]*))?$")
    for token in try page().split(separator: "`").map(String.init) {
      if token.contains("+"), !token.contains(" ") {
        #expect(files["\(token).swift"] != nil, "there is no file \(token).swift")
      } else if let match = token.wholeMatch(of: name), let type = match.output[1].substring.map(String.init) {
        // An acronym is a word of the field, not a type.
        guard type.contains(where: \.isLowercase) else { continue }
        #expect(types.contains(type) || modules.contains(type), "\(token): nothing is called \(type)")
        if let member = match.output[2].substring.map(String.init) {
          #expect(members.contains(member), "\(token): nothing is called \(member)")
        }
      }
    }
  }

  /// The names that follow the keywords of declarations.
  private static func declarations(
    in sources: some Sequence<String>
  ) -> (types: Set<String>, members: Set<String>) {
    var (types, members): (Set<String>, Set<String>) = ([], [])
    for source in sources {
      var keyword: Substring = ""
      for word in source.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }) {
        switch keyword {
        case "struct", "enum", "class", "actor", "protocol", "typealias", "extension", "case":
          types.insert(String(word))
          members.insert(String(word))
        case "func", "var", "let": members.insert(String(word))
        default: break
        }
        keyword = word
      }
    }
    return (types, members)
  }
}
