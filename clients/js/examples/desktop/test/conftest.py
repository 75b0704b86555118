"""A browser, the two programs, and a place for pictures."""
import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from rig import PATIENCE_S, REPOSITORY, Host, UploadServer, end_sidecars

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
PICTURES = Path(os.environ.get("PICTURES", REPOSITORY / "dist/desktop"))
# Debian without a desktop has no user interface font; Inter stands in for it.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<include>/etc/fonts/fonts.conf</include>
<alias binding="strong"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
<alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
</fontconfig>
"""


@pytest.fixture(scope="session")
def fonts(tmp_path_factory):
    file = tmp_path_factory.mktemp("fonts") / "fonts.conf"
    file.write_text(FONTS)
    os.environ["FONTCONFIG_FILE"] = str(file)


@pytest.fixture(scope="session")
def browser(fonts):
    # Long enough for a machine that does other things besides.
    expect.set_options(timeout=PATIENCE_S * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def programs(tmp_path):
    """Makes programs, and ends them, with the sidecars that go on without them."""
    made = []

    def make(kind, *args):
        program = kind(*args)
        made.append(program)
        return program

    yield make
    for program in reversed(made):
        program.end()
    # What they have left to send, nobody takes any more.
    end_sidecars(tmp_path)


@pytest.fixture
def server(programs, tmp_path):
    return programs(UploadServer, tmp_path)


@pytest.fixture
def host(programs, server, tmp_path):
    return programs(Host, tmp_path / "app", server.url)


@pytest.fixture
def open_page(browser):
    """Opens a link in a window of its own; whatever the page complains about fails the test."""
    contexts, complaints = [], []

    def open_link(link, width=760, height=620, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text)
                if message.type in ("error", "warning") and "net::ERR" not in message.text else None)
        page.goto(link)
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_link
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="session")
def picture():
    """Keeps a picture of the page, made small where pngquant is there."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(page, name):
        file = PICTURES / f"{name}.png"
        page.screenshot(path=file)
        shrink(file)

    return take


def shrink(file):
    try:
        subprocess.run(["pngquant", "--force", "--skip-if-larger", "--output", file, "128", file],
                       check=False)
    except FileNotFoundError:
        pass
