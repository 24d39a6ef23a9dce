import Testing

@testable import Telegram

@Suite struct TelegramHTMLTests {
  @Test(arguments: [
    ("a < b && c > \"d\"", "a &lt; b &amp;&amp; c &gt; &quot;d&quot;"),
    (
      "**bold** and *italic* and ~~gone~~ and `a<b`",
      "<b>bold</b> and <i>italic</i> and <s>gone</s> and <code>a&lt;b</code>"
    ),
    ("# Title\n\ntext", "<b>Title</b>\n\ntext"),
    ("```swift\nlet a = 1 < 2\n```", "<pre><code class=\"language-swift\">let a = 1 &lt; 2</code></pre>"),
    ("one\n\ntwo\nthree", "one\n\ntwo\nthree"),
    ("- a\n- b\n  1. c\n  2. d\n\nend", "• a\n• b\n  1. c\n  2. d\n\nend"),
    ("- [ ] open\n- [x] done", "☐ open\n☑ done"),
    ("> quoted\n> > more\n\nend", "<blockquote>quoted\n\nmore</blockquote>\n\nend"),
    ("[words](https://a.example/?b=1&c=2)", "<a href=\"https://a.example/?b=1&amp;c=2\">words</a>"),
    ("[words](file:///etc/passwd)", "words"),
    ("<b>not a tag</b>", "&lt;b&gt;not a tag&lt;/b&gt;"),
    ("&lt;b&gt; &nbsp;", "&lt;b&gt; &amp;nbsp;"),
  ])
  func `Markdown becomes the tags that Telegram knows, and everything else is escaped`(markdown: String, html: String) {
    #expect(TelegramHTML.render(markdown) == html)
  }

  @Test func `a table is set in columns`() {
    let html = TelegramHTML.render("| a | *b* |\n|---|---|\n| 1 | <2> |\n\nend")
    #expect(html.hasPrefix("<pre>a  b\n"))
    #expect(html.contains("1  &lt;2&gt;</pre>\n\nend"))
  }
}
