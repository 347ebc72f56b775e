"""Checks a built site: every link in it leads somewhere, and nothing in it comes from elsewhere."""

import html.parser
import re
import urllib.parse

# What a browser fetches by itself, and what it goes to when somebody clicks.
FETCHED = {
    "script": ["src"],
    "img": ["src", "srcset"],
    "link": ["href"],
    "iframe": ["src"],
    "source": ["src", "srcset"],
    "video": ["src", "poster"],
    "audio": ["src"],
    "track": ["src"],
    "object": ["data"],
    "embed": ["src"],
    "input": ["src"],
    "use": ["href", "xlink:href"],
    "image": ["href", "xlink:href"],
}
FOREIGN = re.compile(r"(?:https?:)?//", re.IGNORECASE)
IN_CSS = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])((?:https?:)?//[^\s\"')]+)", re.IGNORECASE)
IN_SCRIPT = re.compile(r"[\"'`](https?://[^\"'`\s]+)")
# In the scripts of the theme, for what the pages do not have: a figure by Mermaid, a link to a
# repository of the project, and a browser older than 2020.
NEVER_FETCHED = re.compile(
    r"https://unpkg\.com/(resize-observer-polyfill|mermaid@[\d.]+/dist/mermaid\.min\.js)"
    r"|https://api\.github\.com/(repos|users)/|https://gitlab\.com/|https://\$\{|https?://www\.w3\.org/"
)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.fetched, self.names = {""}, [], [], set()
        self.rules = self.scripts = ""
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        given = dict(attributes)
        self.names.add(tag)
        self.names.update(given.get("class", "").split() if given.get("class") else [])
        for name in ("id", "name"):
            if given.get(name):
                self.anchors.add(given[name])
        if tag == "a" and given.get("href") is not None:
            self.links.append(given["href"])
        self.rules += given.get("style") or ""
        for name in FETCHED.get(tag, ()):
            # A canonical address is only named.
            if given.get(name) and given.get("rel") not in ("canonical", "next", "prev"):
                parts = given[name].split(",") if name == "srcset" else [given[name]]
                self.fetched += [part.split()[0] for part in parts if part.split()]

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_data(self, text):
        if self.inside == "style":
            self.rules += text
        elif self.inside == "script":
            self.scripts += text

    def handle_endtag(self, tag):
        self.inside = ""


def foreign_in(text, css):
    pattern = IN_CSS if css else IN_SCRIPT
    return [found for found in pattern.findall(text) if css or not NEVER_FETCHED.match(found)]


def faults(site):
    """What is wrong with the site, as lines of text."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"{site}: no pages"]
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name}: fetches {target}" for target in page.fetched if FOREIGN.match(target)]
        found += [f"{name}: fetches {target}" for target in foreign_in(page.rules, css=True)]
        found += [f"{name}: fetches {target}" for target in foreign_in(page.scripts, css=False)]
        if "mermaid" in page.names:
            found.append(f"{name}: a figure by Mermaid, whose script would be fetched")
        if name.name == "404.html":
            continue  # its links are from the root of a server
        for target in [*page.links, *page.fetched]:
            if why := why_wrong(path, target, pages):
                found.append(f"{name}: {target} {why}")
    for path in sorted(site.rglob("*")):
        if path.suffix in (".css", ".svg", ".js") and path.name != "search_index.js":
            text = path.read_text(encoding="utf-8")
            found += [
                f"{path.relative_to(site)}: fetches {target}"
                for target in foreign_in(text, css=path.suffix != ".js")
            ]
    return found


def why_wrong(path, target, pages):
    if FOREIGN.match(target) or re.match(r"(mailto|data|javascript):", target):
        return ""
    name, _, anchor = target.partition("#")
    place = path
    if name.partition("?")[0]:
        name = urllib.parse.unquote(name.partition("?")[0])
        place = (path.parent / name).resolve()
        if place.is_dir():
            place /= "index.html"
        if not place.is_file():
            return "does not exist"
    if anchor and place in pages and urllib.parse.unquote(anchor) not in pages[place].anchors:
        return "has no such anchor"
    return ""
