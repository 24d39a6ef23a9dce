import RelayConfig
import Testing

@Suite struct ConfigEditorTests {
  @Test(arguments: [
    ("", "messengers:\n  discord:\n    work:\n      auth: {}\n"),
    ("machine: {name: x} # mine", "machine: {name: x} # mine\nmessengers:\n  discord:\n    work:\n      auth: {}\n"),
    (
      "messengers:\r\n  echo:\r\n    default: {}\r\n",
      "messengers:\r\n  discord:\r\n    work:\r\n      auth: {}\r\n  echo:\r\n    default: {}\r\n"
    ),
    ("messengers:\n# mine\n", "messengers:\n  discord:\n    work:\n      auth: {}\n# mine\n"),
    (
      "messengers:\n    echo: {default: {}}\npi: {}\n",
      "messengers:\n    discord:\n      work:\n        auth: {}\n    echo: {default: {}}\npi: {}\n"
    ),
    (
      "messengers:\n  discord:   # two\n    home:\n      dms: true\n",
      "messengers:\n  discord:   # two\n    work:\n      auth: {}\n    home:\n      dms: true\n"
    ),
  ])
  func `an instance is added, and the rest of the file stays unchanged`(before: String, after: String) throws {
    #expect(try ConfigEditor.adding("discord", "work", settings: ["auth: {}"], to: before) == after)
  }

  @Test(arguments: ["messengers: {echo: {default: {}}}\n", "{machine: {name: x}}\n", "- a list\n"])
  func `a file that only a person can extend is left unchanged`(text: String) throws {
    #expect(try ConfigEditor.adding("discord", "work", settings: ["auth: {}"], to: text) == nil)
  }
}
