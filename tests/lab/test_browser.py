"""Reports in headless Chromium: light and dark, on a desktop and on a phone 360 px wide."""

import html
import json
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from synthetic import fake_programs, loaded, machine_of, row

from paraes.lab import analysis, bench, reproduce
from paraes.lab.report import render

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"

# Runs in the page and reports whether it is too wide, which labels are cut off, and its colours.
PROBE = """<script>
addEventListener('load', () => {
  const cut = [];
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1)
        cut.push(svg.querySelector('title').textContent + ': ' + text.textContent);
    }
  }
  const heights = [...document.querySelectorAll('svg text')]
    .map(t => t.getBoundingClientRect().height).filter(height => height > 0);
  const figures = [...document.querySelectorAll('svg')]
    .filter(s => s.getBoundingClientRect().width > 0).length;
  const body = getComputedStyle(document.body);
  const texts = [...document.querySelectorAll('svg text')];
  const label = texts.find(t => t.style.fill.includes('muted'));
  // The verdict of each claim must be in sight without scrolling sideways.
  const hidden = [...document.querySelectorAll('.claims td:first-child')].filter(cell => {
    const box = cell.getBoundingClientRect();
    return box.width === 0 || box.left < 0 || box.right > innerWidth;
  }).length;
  const claims = document.querySelectorAll('.claims tbody tr').length;
  // Nothing of a card may stick out of it, and nothing of it may lie on something else.
  const cards = [...document.querySelectorAll('.paper')];
  const crossing = [];
  for (const card of cards) {
    const frame = card.getBoundingClientRect();
    const boxes = [...card.children].map(part => part.getBoundingClientRect());
    for (const [i, box] of boxes.entries()) {
      if (box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom + 1
          || card.children[i].scrollWidth > card.children[i].clientWidth + 1
          || card.children[i].scrollHeight > card.children[i].clientHeight + 1
          || (i > 0 && box.top < boxes[i - 1].bottom - 1))
        crossing.push(`${card.querySelector('h2').textContent}: ${card.children[i].className}`);
    }
  }
  const shares = [...document.querySelectorAll('.bar span')].map(s => s.offsetWidth);
  // Verdicts in the colours of the page, of which that of an error is none.
  const sample = (kind) => {
    const cell = document.querySelector(`td.${kind}`);
    return cell ? getComputedStyle(cell).color : null;
  };
  const colours = {good: sample('good'), other: sample('other'), open: sample('open')};
  const seen = document.querySelector('.facts');
  const pictures = cards.map(card => card.querySelector('svg').getBoundingClientRect())
    .filter(box => (box.top + box.bottom) / 2 < 800).length;
  const found = {crossing, cards: cards.length, narrowest: Math.min(...shares), colours, pictures,
    facts: seen ? seen.getBoundingClientRect().bottom : null,
    overflow: document.documentElement.scrollWidth - innerWidth, width: innerWidth,
    cut, background: body.backgroundColor, text: getComputedStyle(label).fill, hidden, claims,
    smallest: Math.min(...heights), figures};
  parent.postMessage(JSON.stringify(found), '*');
});
</script>"""
COLOURS = {  # of verdicts
    "light": {"good": "rgb(0, 115, 79)", "other": "rgb(91, 63, 168)", "open": "rgb(87, 96, 106)"},
    "dark": {"good": "rgb(74, 222, 128)", "other": "rgb(196, 161, 255)"}
    | {"open": "rgb(155, 166, 178)"},
}
# Windows of Chromium are at least 500 px wide; a frame can be as narrow as a phone.
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><body style="margin:0">
<script>
addEventListener('message', e => document.documentElement.setAttribute('data-probe', e.data));
</script>
<iframe src="{page}" style="border:0;width:{width}px;height:800px"></iframe>"""


def chrome(chromium, *flags):
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        *map(str, flags),
    ]
    # Without --user-data-dir, Chromium would leave a profile in the home folder.
    with tempfile.TemporaryDirectory(
        prefix="paraes-lab-chromium-", ignore_cleanup_errors=True
    ) as profile:
        command.insert(1, f"--user-data-dir={profile}")
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert messages == []
    return done.stdout


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The page of a reproduction in which claims agree, differ and are undecided."""
    path = RESULTS / "zen4-2cores-papers.json"
    whole = bench.read(path)
    sections = analysis.sections(bench.from_object(whole, path.name))
    page = tmp_path_factory.mktemp("stored") / "stored.html"
    page.write_text(render(reproduce.document([whole], sections, [path.name])))
    return page


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with two pages: a reproduction of all papers by the fake paraes, and a bench."""
    folder = fake_programs(tmp_path_factory.mktemp("pages"))
    machine = machine_of(folder)
    setting = reproduce.Setting(4, False, 16 << 20)
    whole = reproduce.measure(list(reproduce.NAMES), setting, machine, folder / "out")
    sections = analysis.sections(bench.from_object(whole, "all"))
    (folder / "all.html").write_text(render(reproduce.document([whole], sections, ["all"])))
    rows = [
        row(ns=1000 + n / p, bytes=n, threads=p, kernel=f"kernel{k}")
        for n in (1024, 65536)
        for p in (1, 2)
        for k in range(12)
    ]
    (folder / "bench.html").write_text(render(analysis.document(loaded(*rows))))
    return folder


def probe(chromium, page, folder, width, scheme):
    """Show a page in a frame of this width, and return what PROBE finds there."""
    probed = folder / "probed.html"
    probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
    frame = folder / "frame.html"
    frame.write_text(FRAME.replace("{page}", "probed.html").replace("{width}", str(width)))
    flags = [
        "--window-size=1300,900",
        "--virtual-time-budget=10000",
        f"--blink-settings=preferredColorScheme={1 if scheme == 'light' else 0}",
    ]
    dom = chrome(chromium, *flags, "--dump-dom", f"file://{frame}")
    found = json.loads(html.unescape(re.search(r'data-probe="([^"]*)"', dom)[1]))
    assert found["width"] == width
    return found


@pytest.mark.parametrize("name", ["all", "bench"])
@pytest.mark.parametrize("width", [360, 380, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_its_window_and_has_the_colours_of_the_scheme(
    chromium, pages, tmp_path, name, width, scheme
):
    found = probe(chromium, pages / f"{name}.html", tmp_path, width, scheme)
    assert found["overflow"] <= 0, "the page scrolls sideways"
    assert found["cut"] == []
    assert found["crossing"] == []
    assert found["smallest"] >= 9, "a label is too small to read"
    assert found["figures"] >= (1 if name == "bench" else 20)
    backgrounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}
    assert found["background"] == backgrounds[scheme]
    assert found["text"] == {"light": "rgb(87, 96, 106)", "dark": "rgb(155, 166, 178)"}[scheme]
    assert found["hidden"] == 0, "a verdict is out of sight"
    assert (found["claims"] > 5) == (name == "all")
    assert found["cards"] == (6 if name == "all" else 0)


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "dark")])
def test_the_first_screen_has_the_machine_bars_and_pictures(
    chromium, stored, tmp_path, width, scheme
):
    found = probe(chromium, stored, tmp_path, width, scheme)
    assert found["overflow"] <= 0 and found["cut"] == [] and found["crossing"] == []
    assert found["cards"] == 6
    assert found["facts"] < (420 if width < 500 else 220), "the machine takes too much room"
    assert found["pictures"] >= (1 if width < 500 else 3), "no picture is on the first screen"
    assert found["narrowest"] >= 4, "a part of a bar is out of sight"
    assert found["colours"] == COLOURS[scheme]
