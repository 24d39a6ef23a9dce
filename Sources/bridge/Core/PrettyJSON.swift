/// Lays JSON out over lines with two blanks a level, in the members' own order. Text that is no JSON stays as it is.
package func prettyJSON(_ json: [UInt8]) -> [UInt8] {
  var out: [UInt8] = []
  var depth = 0
  var isInString = false
  var isEscaped = false
  func breakLine(_ out: inout [UInt8]) {
    out.append(UInt8(ascii: "\n"))
    out += repeatElement(UInt8(ascii: " "), count: max(0, depth) * 2)
  }
  for byte in json {
    if isInString {
      out.append(byte)
      isInString = isEscaped || byte != UInt8(ascii: "\"")
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
      continue
    }
    switch byte {
    case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): continue
    case UInt8(ascii: "\""):
      isInString = true
      out.append(byte)
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      out.append(byte)
      depth += 1
      breakLine(&out)
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      // An empty container stays on its line.
      let content = out.lastIndex { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }
      if let content, out[content] == UInt8(ascii: "{") || out[content] == UInt8(ascii: "[") {
        out.removeLast(out.count - content - 1)
      } else {
        breakLine(&out)
      }
      out.append(byte)
    case UInt8(ascii: ","):
      out.append(byte)
      breakLine(&out)
    case UInt8(ascii: ":"): out += [byte, UInt8(ascii: " ")]
    default: out.append(byte)
    }
  }
  return out
}
