import Testing

@testable import RelayHTTP

@Suite struct ProxyRulesTests {
  private func proxy(
    _ environment: [String: String], to url: String = "https://discord.com/api", setting: String? = nil
  ) -> Proxy? {
    ProxyRules(setting: setting, variable: { environment[$0] }).proxy(for: url)
  }

  @Test(arguments: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
  func `servers over TLS are reached through the variables for https and for all, gateways too`(name: String) {
    for url in ["https://discord.com/api", "wss://gateway.discord.gg/?v=10", "HTTPS://discord.com"] {
      #expect(proxy([name: "http://p:1"], to: url) == Proxy(url: "http://p:1", source: name))
    }
  }

  @Test(arguments: ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"])
  func `servers without TLS are reached through the variables for http and for all`(name: String) {
    #expect(proxy([name: "socks5h://p:1"], to: "http://a.example")?.source == name)
    #expect(proxy([name: "socks5h://p:1"], to: "ws://a.example")?.source == name)
  }

  @Test func `lower case goes before upper case, a scheme's own before all, and empty values count as absent`() {
    #expect(proxy(["https_proxy": "a", "HTTPS_PROXY": "b", "all_proxy": "c"])?.url == "a")
    #expect(proxy(["https_proxy": "", "HTTPS_PROXY": "b", "all_proxy": "c"])?.url == "b")
    #expect(proxy(["HTTP_PROXY": "a"]) == nil && proxy([:]) == nil)
  }

  @Test func `a setting goes before every variable, and an empty setting means no proxy`() {
    let environment = ["https_proxy": "http://p:1", "no_proxy": "*"]
    #expect(
      proxy(environment, setting: "socks5://s:1") == Proxy(url: "socks5://s:1", source: "the setting proxy"))
    #expect(proxy(["https_proxy": "http://p:1"], setting: "") == nil)
  }

  @Test(arguments: [
    "*", "discord.com", ".discord.com", "*.discord.com", "example.com, discord.com", "a b discord.com",
    "DISCORD.COM", "discord.com:443", "com",
  ])
  func `hosts that NO_PROXY lists are reached directly`(list: String) {
    for name in ["no_proxy", "NO_PROXY"] {
      #expect(proxy(["all_proxy": "http://p:1", name: list], to: "https://discord.com/api") == nil)
      #expect(proxy(["all_proxy": "http://p:1", name: list], to: "wss://gateway.discord.com./") == nil)
    }
  }

  @Test(arguments: ["", "cord.com", "xdiscord.com", "discord.com.example", "discord.com:80", "162.159.0.0/16", "."])
  func `hosts that NO_PROXY does not list are reached through the proxy`(list: String) {
    #expect(proxy(["all_proxy": "http://p:1", "no_proxy": list]) != nil)
  }

  @Test(arguments: [
    ("http://127.0.0.1:8080/x", "127.0.0.1", true), ("http://127.0.0.1:8080/x", "127.0.0.0/8", true),
    ("http://127.0.0.1:8080/x", "127.0.0.1:8080", true), ("http://127.0.0.1:8080/x", "127.0.0.1:80", false),
    ("http://10.9.0.1/", "10.8.0.0/15", true), ("http://10.10.0.1/", "10.8.0.0/15", false),
    ("http://[fd00::1]:80/", "fd00::/8", true), ("http://[fd00::1]/", "[fd00::1]:80", true),
    ("http://[fd00::1]/", "fe80::/10", false), ("http://10.0.0.1/", "0.0.1", false),
    ("http://10.0.0.1/", "10.0.0.0/99", false),
    ("http://user:word@10.0.0.1/", "10.0.0.1", true),
  ])
  func `addresses and networks in NO_PROXY are compared by their numbers`(url: String, list: String, isDirect: Bool) {
    #expect((proxy(["http_proxy": "http://p:1", "no_proxy": list], to: url) == nil) == isDirect)
  }

  @Test func `the password of a proxy is not shown`() {
    #expect(
      proxy(["all_proxy": "socks5://ann:s3:c@ret@proxy.example:1080/"])?.description
        == "socks5://ann@proxy.example:1080/ (all_proxy)")
    #expect(proxy(["all_proxy": "ann:secret@proxy:1"])?.description == "ann@proxy:1 (all_proxy)")
    #expect(proxy(["HTTPS_PROXY": "http://proxy:3128"])?.description == "http://proxy:3128 (HTTPS_PROXY)")
  }
}
