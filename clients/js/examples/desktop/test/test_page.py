"""The page as people with other screens, keys, files and queues meet it."""
import json
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from accessible import check
from rig import until

HOSTILE = [
    "<img src=x onerror=document.title='owned'>.png",
    "\"><script>document.title='owned'</script>.html",
    "photo\u202egpj.exe",
    "קובץ חשוב מאוד.pdf",
    "👩‍👩‍👧 día de campo 🌻.jpg",
    "a-name-without-any-place-to-break-it-" * 6 + ".mp4",
    "../../etc/passwd",
]
MANY = 400


def fits(page):
    """Nothing has to be scrolled sideways."""
    width, room = page.locator("html").evaluate("(root) => [root.scrollWidth, root.clientWidth]")
    assert width <= room, f"{width} pixels in {room}"


def fill(server, host):
    """A queue with something of everything: running, paused by kind, failed, finished."""
    host.sign_in()
    for name in ("Minutes.txt", "Cover.png"):
        host.add(name, b"x" * 48_000)
    until("the first two", lambda: len(server.stored) == 2)
    server.tell("refuse 413")
    host.add("Everything.tar", b"x" * 900_000)
    until("the refusal", lambda: "Everything.tar" in states(host, "error"))
    server.tell("accept")
    server.tell("slow 2500")
    host.call("pause", b'{"kind": "video"}')
    for name, size in (("Interview with the whole team, second take.mp3", 28_640_000),
                       ("Holiday by the sea.jpg", 18_240_000), ("Board meeting.mp4", 6_200_000)):
        host.add(name, b"x" * size)


def rows(host):
    """The rows of the snapshot with which the stream begins."""
    base, secret = host.link.split("/#")
    request = urllib.request.Request(f"{base}/api/changes", headers={"Authorization": f"Bearer {secret}"})
    with urllib.request.urlopen(request, timeout=10) as stream:
        stream.readline()
        snapshot = json.loads(stream.readline()[len(b"data: "):])
    return snapshot["rows"]


def states(host, state):
    return [row["name"] for row in rows(host) if row["state"] == state]


def amount(host, name):
    """Bytes sent of one file."""
    return sum(row["sent"] for row in rows(host) if row["name"] == name)


def test_schemes_and_sizes(server, host, open_page, picture):
    """Light and dark, 400 pixels, and 200 % of a small window: all readable, nothing cut off, axe content."""
    fill(server, host)
    views = {
        "queue-light": dict(color_scheme="light", device_scale_factor=2),
        "queue-dark": dict(color_scheme="dark", device_scale_factor=2),
        "narrow-light": dict(color_scheme="light", width=400, height=720),
        "narrow-dark": dict(color_scheme="dark", width=400, height=720),
        "zoomed-light": dict(width=380, height=310, device_scale_factor=2),
        "high-contrast": dict(forced_colors="active"),
    }
    until("something to see", lambda: amount(host, "Holiday by the sea.jpg") > 4_000_000)
    server.tell("slow 300")
    for name, options in views.items():
        page = open_page(host.link, **options)
        expect(page.locator("#queue .row")).to_have_count(4)
        paused = page.locator("[data-state=paused]")
        paused.scroll_into_view_if_needed()
        expect(paused.locator(".status")).to_have_text("Videos are paused")
        page.evaluate("scrollTo(0, 0)")
        expect(page.locator("[data-state=running] progress").first).to_be_visible()
        expect(page.locator("[data-state=running] .status").first).to_contain_text("left")
        fits(page)
        check(page)
        picture(page, name)
        page.context.close()


def test_the_secret_lasts_as_long_as_the_tab(host, open_page):
    """It leaves the address, outlives a reload behind a link within the page, and is not in another tab."""
    page = open_page(host.link)
    secret = host.link.split("#")[1]
    assert "#" not in page.url
    page.locator(".skip").press("Enter")
    assert page.url.endswith("#main")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert secret not in page.content()
    other = page.context.new_page()
    other.goto(host.link.split("#")[0])
    expect(other.locator("#link-lost")).to_contain_text("Open the link")


def test_reduced_motion(host, open_page):
    page = open_page(host.link, reduced_motion="reduce")
    assert page.locator("#add").evaluate("(button) => getComputedStyle(button).transitionProperty") == "none"


def test_names_are_text(host, open_page, picture):
    """Markup, marks that turn writing around, other scripts, emoji, endless names: text, nothing more."""
    host.call("pause")
    for name in HOSTILE:
        host.add(name, b"x")
    page = open_page(host.link)
    expect(page.locator("#queue .row")).to_have_count(len(HOSTILE))
    shown = page.locator(".name").all_text_contents()
    assert shown == [name.replace("\u202e", "‹U+202E›") for name in HOSTILE]
    assert page.locator("img, .rows script").count() == 0
    assert "owned" not in page.title()
    # The longest ends in an ellipsis before the buttons of its row.
    ends = page.locator(".row", has_text="a-name-without").evaluate("""(row) =>
      ['.name', '.figures', '.actions'].map((part) => row.querySelector(part).getBoundingClientRect())
        .flatMap(({ left, right }) => [left, right])""")
    assert ends == sorted(ends), ends
    fits(page)
    check(page)
    picture(page, "names-light")


def test_keys(server, host, open_page, picture):
    """Everything without a mouse, and the focus is always to be seen."""
    host.call("pause")
    for name in ("one.txt", "two.png", "three.txt", "four.png"):
        host.add(name, b"x" * 1000)
    page = open_page(host.link)
    expect(page.locator("#queue .row")).to_have_count(4)

    def focused():
        found = page.evaluate("""() => {
          const { activeElement: at } = document;
          const { outlineStyle, outlineWidth } = getComputedStyle(at);
          const text = (at.querySelector('.name') || at.querySelector('span') || at).textContent;
          return [at.id || at.dataset.act || text,
            outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2];
        }""")
        assert found[1], f"no focus to be seen on {found[0]}"
        return found[0]

    order = []
    for _ in range(10):
        page.keyboard.press("Tab")
        order.append(focused())
    assert order == ["To the list", "account", "help", "pause", "add", "Documents 2", "Pictures 2",
                     "one.txt", "kind", "cancel"]
    moves = {"ArrowDown": "two.png", "End": "four.png", "Home": "one.txt", "ArrowUp": "one.txt"}
    for key, name in moves.items():
        page.keyboard.press(key)
        assert focused() == name
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Documents 2")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Delete")
    expect(page.locator("#queue .row")).to_have_count(3)
    assert focused() == "two.png"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    check(page)
    picture(page, "shortcuts-light")
    page.keyboard.press("Escape")
    assert focused() == "two.png"
    host.sign_in()
    page.keyboard.press("p")
    expect(page.locator("#finished .name")).to_have_count(2)
    expect(page.locator("#queue .name")).to_have_text(["three.txt"])


def test_hundreds_of_rows(server, host, open_page):
    """What moves is all that is touched: no row is built again, no row is changed that has nothing new."""
    host.sign_in()
    host.call("pause")
    # The first three are those that run, and they do so for long.
    for number in range(3):
        host.add(f"long {number}.bin", b"x" * 3_000_000)
    with ThreadPoolExecutor(8) as several:
        list(several.map(lambda number: host.add(f"file {number:03}.bin", b"x"), range(MANY - 3)))
    page = open_page(host.link)
    expect(page.locator("#queue .row")).to_have_count(MANY)
    server.tell("slow 150")
    host.call("resume")
    expect(page.locator("[data-state=running]")).to_have_count(3)
    expect(page.locator(".status", has_text="Paused")).to_have_count(0)
    moved = page.evaluate("""() => new Promise((resolve) => {
      const rows = new Set();
      let built = 0;
      let ticks = 0;
      const watch = new MutationObserver((records) => {
        for (const { type, target, attributeName } of records) {
          if (type === 'childList' && target.matches('.rows')) built += 1;
          const row = (target.parentElement || target).closest('.row');
          if (row) rows.add(row.dataset.id);
          if (attributeName === 'value') ticks += 1;
        }
        if (ticks < 12) return;
        watch.disconnect();
        resolve({ rows: rows.size, built });
      });
      watch.observe(document.getElementById('queue'),
        { childList: true, subtree: true, attributes: true, characterData: true });
    })""")
    assert moved == {"rows": 3, "built": 0}
    expect(page.locator("#summary")).to_contain_text(re.compile(rf"of {MANY} done"))
