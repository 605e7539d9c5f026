#!/usr/bin/python3
"""How Chromium shows the pages of `inspect report`. Where it is not installed, all is skipped.

Usage: browser.py [--screenshots=FOLDER] [REPORT...]

REPORTs, one or two, are looked at too. The last line is "N passed, N failed[, N skipped]".
"""

import os
import pathlib
import subprocess
import sys
import tempfile

_HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))
import devtools  # noqa: E402
import samples  # noqa: E402

_INSPECT = pathlib.Path.cwd() / "tools/inspect"
_WIDTHS = (1200, 760, 400)

# Every text with too little contrast to what is behind it (WCAG 2.1, 1.4.3), as "text: ratio".
_CONTRASTS = """(() => {
  const context = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const channels = (color, under) => {
    context.fillStyle = under; context.fillRect(0, 0, 1, 1);
    context.fillStyle = color; context.fillRect(0, 0, 1, 1);
    return Array.from(context.getImageData(0, 0, 1, 1).data).slice(0, 3);
  };
  const css = rgb => `rgb(${rgb.join(',')})`;
  const luminance = rgb => rgb.map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.unshift(getComputedStyle(at).backgroundColor);
    }
    return layers.reduce((under, color) => css(channels(color, under)), 'white');
  };
  const low = new Set();
  document.querySelectorAll('details').forEach(details => { details.open = true; });
  document.querySelectorAll('body *').forEach(element => {
    const text = Array.from(element.childNodes).filter(n => n.nodeType === 3)
      .map(n => n.data.trim()).join('');
    if (!text || element.tagName === 'SCRIPT' || element.closest('title')) return;
    const style = getComputedStyle(element);
    const box = element.parentElement.querySelector(':scope > rect');
    const under = box ? css(channels(getComputedStyle(box).fill, behind(element)))
                      : behind(element);
    const color = element.closest('svg') ? style.fill : style.color;
    const lights = [channels(color, under), channels(under, under)].map(luminance).sort();
    const ratio = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) low.add(`${text.slice(0, 30)}: ${ratio.toFixed(2)}`);
  });
  return Array.from(low);
})()"""


def write_pages(folder, reports):
    """The pages to look at, by name."""
    texts = {
        "one": [samples.residual_net(3)],
        "two": [samples.residual_net(3), samples.residual_net(4, bits=4)],
        "large": [samples.residual_net(60)],
        "hostile": [samples.hostile_bytes()],
        "empty": [""],
    }
    inputs = {"given": reports} if reports else {}
    for name, runs in texts.items():
        inputs[name] = []
        for i, text in enumerate(runs):
            path = folder / f"{name}_{i}.textproto"
            path.write_text(text, encoding="utf-8")
            inputs[name].append(path)
    pages = {}
    for name, paths in inputs.items():
        pages[name] = folder / f"{name}.html"
        subprocess.run([str(_INSPECT), "report", *map(str, paths), f"--output={pages[name]}"],
                       check=True, stdout=subprocess.DEVNULL)
    return pages


def want(holds, message):
    if not holds:
        raise AssertionError(message)


def check_shown(browser, page, width, scheme, screenshots):
    """It fits, says nothing on the console, wants nothing from outside, and can be read."""
    browser.show(page, width, scheme=scheme)
    if screenshots:
        browser.screenshot(screenshots / f"{page.stem}_{width}_{scheme}.png")
    low = browser.evaluate(_CONTRASTS)
    wide = browser.evaluate("document.documentElement.scrollWidth")
    want(browser.evaluate("document.querySelector('h1').getBoundingClientRect().height") > 0,
         "the title is not shown")
    want(wide <= width, f"the page is {wide} pixels wide")
    want(not low, f"too little contrast: {low[:5]}")
    want(not browser.complaints(), browser.complaints())
    want(browser.requests() == [f"file://{page}"], browser.requests())


def check_without_scripts(browser, page):
    browser.show(page, 400, scripts=False)
    text = browser.evaluate("document.body.textContent")
    for part in ("91.62 %", "Ops by type", "conv_0a", "by_target: quantized"):
        want(part in text, f"{part} is missing")
    want(browser.evaluate("document.querySelector('button')") is None, "a script ran")


def check_table(browser, page):
    """It is sorted and searched, by keys too."""
    browser.show(page, 1200)
    first = "document.querySelector('.layers tbody tr:not([hidden]) code').textContent"
    browser.evaluate("document.querySelector('.layers th button').focus()")
    browser.press("Enter", 13, "\r")
    sort = "document.querySelector('.layers th').getAttribute('aria-sort')"
    want(browser.evaluate(sort) == "ascending", "not sorted by Enter")
    want(browser.evaluate(first) == "conv_0a", browser.evaluate(first))
    browser.press("Enter", 13, "\r")
    want(browser.evaluate(sort) == "descending", "not sorted the other way")
    browser.evaluate("document.querySelector('.find input').focus()")
    for letter in "conv_2":
        browser.press(letter, ord(letter.upper()), letter)
    want(browser.evaluate("document.querySelectorAll('.layers tbody tr:not([hidden])').length") == 2,
         "the search does not find two layers")


def check_links(browser, page):
    """A link to a layer unfolds its card; Tab reaches the way past the header first."""
    browser.show(page, 1200)
    browser.evaluate("document.querySelector('.layers th a').click()")
    want(browser.evaluate("document.querySelectorAll('details.layer[open]').length") == 1,
         "no card is unfolded, or several")
    browser.show(page, 1200)
    browser.press("Tab", 9)
    want(browser.evaluate("document.activeElement.className") == "skip", "no link to the content")


def check_headings(browser, page):
    """Headings descend one by one, and every cell has a header."""
    browser.show(page, 1200)
    levels = browser.evaluate(
        "Array.from(document.querySelectorAll('h1, h2, h3, h4')).map(h => +h.tagName[1])")
    want(levels[0] == 1 and levels.count(1) == 1, levels)
    want(all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels)
    want(browser.evaluate("document.querySelectorAll('th:not([scope])').length") == 0,
         "a header has no scope")
    want(browser.evaluate("Array.from(document.querySelectorAll('table'))"
                          ".every(t => t.caption && t.tHead)"), "a table has no caption")


def cases(pages, screenshots):
    """Names, and functions of a browser."""
    for name, page in pages.items():
        for width in _WIDTHS:
            for scheme in ("light", "dark") if name == "one" else ("light",):
                yield (f"{name} fits {width} pixels, {scheme}",
                       lambda browser, a=(page, width, scheme): check_shown(browser, *a,
                                                                           screenshots))
        yield f"{name} has headings", lambda browser, page=page: check_headings(browser, page)
    for name, check in [("is complete without scripts", check_without_scripts),
                        ("is sorted and searched", check_table),
                        ("has links that unfold", check_links)]:
        yield f"one {name}", lambda browser, check=check: check(browser, pages["one"])


def main():
    os.umask(0o077)
    screenshots = None
    reports = []
    for argument in sys.argv[1:]:
        if argument.startswith("--screenshots="):
            screenshots = pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."),
                                       argument.partition("=")[2])
            screenshots.mkdir(parents=True, exist_ok=True)
        else:
            reports.append(pathlib.Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."), argument))
    chromium = devtools.find_chromium()
    if chromium is None:
        print("Chromium is not installed: apt-get install chromium", file=sys.stderr)
        print("0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, devtools.Browser(chromium) as browser:
        for name, check in cases(write_pages(pathlib.Path(folder), reports), screenshots):
            try:
                check(browser)
                passed += 1
            except (AssertionError, RuntimeError) as error:
                failed += 1
                print(f"FAILED {name}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
