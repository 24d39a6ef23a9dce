"""HTML as Telegram parses it: a few tags, properly nested and closed; everything else is an error."""
import html.parser

TAGS = {"b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "a", "code", "pre", "tg-spoiler", "span", "blockquote"}


class Refused(Exception):
    pass


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.text, self.open = "", []

    def handle_starttag(self, tag, attributes):
        if tag not in TAGS:
            raise Refused(f'Unsupported start tag "{tag}"')
        if tag == "blockquote" and "blockquote" in self.open:
            raise Refused("blockquote entities can't be nested")
        if self.open and self.open[-1] in ("code", "pre") and (self.open[-1], tag) != ("pre", "code"):
            raise Refused("code and pre entities can't contain others")
        self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise Refused(f'Unexpected end tag "{tag}"')

    def handle_data(self, data):
        if "<" in data:
            raise Refused("Unclosed start tag")
        self.text += data

    def handle_entityref(self, name):
        known = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
        self.text += known.get(name, f"&{name};")

    def handle_charref(self, name):
        self.text += chr(int(name[1:], 16) if name[0] in "xX" else int(name))

    def handle_comment(self, data):
        raise Refused("Unsupported comment")


def parse(source):
    """The visible text."""
    reader = Reader()
    reader.feed(source)
    reader.close()
    if reader.open:
        raise Refused(f'Can\'t find end tag corresponding to start tag "{reader.open[-1]}"')
    return reader.text


def length(text):
    return len(text.encode("utf-16-le")) // 2
