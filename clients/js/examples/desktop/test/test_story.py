"""The story of a few uploads, from the drop to the last byte, with everything that comes between."""
import hashlib
import random
import re

from playwright.sync_api import expect

from accessible import check
from rig import Host, UploadServer, end_sidecars, until

SEED = 20251130
NAMES = ["Holiday by the sea.jpg", "Board meeting.mp4", "Annual report 2025.pdf"]


def make_files(folder, sizes):
    """Files of random bytes; their SHA-256 by name."""
    print(f"seed {SEED}")
    source = random.Random(SEED)
    digests = {}
    for name, size in sizes.items():
        content = source.randbytes(size)
        (folder / name).write_bytes(content)
        digests[name] = hashlib.sha256(content).hexdigest()
    return digests


def drop(page, files):
    """Drops files on the page as a file manager does; headless browsers have no drag of their own."""
    page.set_input_files("#picker", [])
    handle = page.evaluate_handle("""() => {
      const input = document.createElement('input');
      input.type = 'file';
      input.multiple = true;
      input.id = 'dragged';
      document.body.append(input);
      return input;
    }""")
    page.set_input_files("#dragged", [str(file) for file in files])
    page.evaluate("""(input) => {
      const dataTransfer = new DataTransfer();
      for (const file of input.files) dataTransfer.items.add(file);
      input.remove();
      for (const name of ['dragenter', 'dragover', 'drop']) {
        window.dispatchEvent(new DragEvent(name, { dataTransfer, bubbles: true, cancelable: true }));
      }
    }""", handle)


def row(page, name):
    return page.locator(".row", has=page.locator(".name", has_text=name))


def sign_in(page, password="demo"):
    page.get_by_label("Name").fill("demo")
    page.get_by_label("Password").fill(password)
    page.locator("#sign-in-form").get_by_role("button", name="Sign in").click()


def sent(page, name):
    return int(row(page, name).locator("progress").get_attribute("value"))


def test_story(server, host, open_page, programs, picture, tmp_path):
    digests = make_files(tmp_path, {NAMES[0]: 2_400_000, NAMES[1]: 6_200_000, NAMES[2]: 1_700_000})
    page = open_page(host.link)
    expect(page.get_by_role("heading", name="Drop files here")).to_be_visible()
    check(page)
    picture(page, "empty-light")

    # Signed out, so what is dropped waits for a token; a wrong password is told, the right one lets all go.
    server.tell("slow 400")
    drop(page, [tmp_path / name for name in NAMES])
    for name in NAMES:
        expect(row(page, name).locator(".status")).to_have_text("Waits for you to sign in")
    expect(page.locator("#sign-in-why")).to_have_text("3 uploads wait for you to sign in.")
    expect(page.locator("#news")).to_contain_text("3 uploads wait for you to sign in.")
    page.locator("#sign-in-now").click()
    sign_in(page, "wrong")
    expect(page.locator("#sign-in-error")).to_have_text("Name or password is wrong.")
    check(page)
    picture(page, "sign-in")
    sign_in(page)
    expect(page.locator("#sign-in")).to_be_hidden()
    expect(page.locator("#account")).to_have_text("demo")

    # Progress, in the row, in all and in the title.
    for name in NAMES:
        expect(row(page, name)).to_have_attribute("data-state", "running")
    until("progress", lambda: 300_000 < sent(page, NAMES[1]) < 6_200_000)
    expect(row(page, NAMES[1]).locator(".status")).to_have_text(re.compile(r"^\d+\skB/s, \d+\ss left$"))
    expect(page).to_have_title(re.compile(r"^[1-9]\d? % – Uploads$"))
    check(page)
    picture(page, "uploading-light")

    # Pause holds everything; the bytes stand still. Resume goes on.
    page.get_by_role("button", name="Pause", exact=True).click()
    for name in NAMES:
        expect(row(page, name).locator(".status")).to_have_text("Paused")
    expect(page.locator("#summary")).to_contain_text("paused")
    expect(page.locator("#news")).to_have_text("Everything is paused.")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(row(page, NAMES[1])).to_have_attribute("data-state", "running")

    # One kind alone, by the row of one of them.
    row(page, NAMES[0]).get_by_role("button", name="Pause all pictures").click()
    expect(row(page, NAMES[0]).locator(".status")).to_have_text("Pictures are paused")
    expect(page.get_by_role("button", name="Pictures 1")).to_have_attribute("aria-pressed", "true")
    expect(row(page, NAMES[1])).to_have_attribute("data-state", "running")
    page.get_by_role("button", name="Pictures 1").click()
    expect(row(page, NAMES[0])).to_have_attribute("data-state", "running")

    # The token runs out in the middle; a new one mends it.
    server.tell("expire")
    expect(row(page, NAMES[1]).locator(".status")).to_have_text("Waits for you to sign in")
    picture(page, "sign-in-again-light")
    row(page, NAMES[1]).get_by_role("button", name="Sign in").click()
    sign_in(page)
    expect(row(page, NAMES[1])).to_have_attribute("data-state", "running")
    expect(page.locator("#sign-in-wanted")).to_be_hidden()

    # The server goes away, and the reason is there; it comes back, and they go on.
    port = server.port
    server.kill()
    expect(row(page, NAMES[1]).locator(".status")).to_have_text(
        re.compile(r"^The server cannot be reached\. (Next try in \d+\ss|Tries again now|Goes on .*)$"))
    picture(page, "server-down-light")
    again = programs(UploadServer, tmp_path, port)
    again.tell("slow 700")
    for name in NAMES:
        expect(row(page, name).locator(".status")).to_have_text("Waits for you to sign in")
    page.locator("#sign-in-now").click()
    sign_in(page)

    # SIGKILL of the host while it uploads: the queue goes on alone, and the next start shows what it did.
    for name in NAMES:
        expect(row(page, name)).to_have_attribute("data-state", "running")
    host.kill()
    expect(page.locator("#link-lost")).to_contain_text("does not answer")
    until("the queue to go on alone", lambda: len(again.stored) >= 1)
    next_page = open_page(programs(Host, tmp_path / "app", again.url).link)
    expect(next_page.locator("#queue .row, #finished .row")).to_have_count(3)
    again.tell("fast")
    expect(next_page.locator("#finished .row")).to_have_count(3)
    expect(next_page.locator("#summary")).to_have_text("Everything is uploaded")
    assert {file["name"]: file["sha256"] for file in again.stored} == digests
    check(next_page)
    picture(next_page, "finished-light")
    next_page.get_by_role("button", name="Clear").click()
    expect(next_page.locator("#empty")).to_be_visible()
    expect(next_page.locator("#add")).to_be_focused()


def test_an_error_is_retried_and_another_upload_cancelled(server, host, open_page, picture, tmp_path):
    digests = make_files(tmp_path, {"notes.txt": 4000, "unwanted.zip": 900_000})
    page = open_page(host.link)
    page.locator("#account").click()
    sign_in(page)
    expect(page.locator("#account")).to_have_text("demo")
    server.tell("refuse 422")
    drop(page, [tmp_path / "notes.txt"])
    expect(row(page, "notes.txt").locator(".status")).to_have_text("The server refused it (422)")
    expect(page.locator("#news")).to_contain_text("notes.txt failed. The server refused it (422).")
    server.tell("accept")
    server.tell("slow 100")
    drop(page, [tmp_path / "unwanted.zip"])
    expect(row(page, "unwanted.zip")).to_have_attribute("data-state", "running")
    check(page)
    picture(page, "failed-light")
    row(page, "unwanted.zip").get_by_role("button", name="Cancel").click()
    expect(row(page, "unwanted.zip")).to_have_count(0)
    row(page, "notes.txt").get_by_role("button", name="Try again").click()
    expect(page.locator("#finished .name")).to_have_text(["notes.txt"])
    assert [(file["name"], file["sha256"]) for file in server.stored] == [("notes.txt", digests["notes.txt"])]


def test_the_sidecar_is_killed(server, host, open_page, tmp_path):
    """The host starts another one by itself, and the page shows the rest as if nothing had been."""
    digests = make_files(tmp_path, {"long.mov": 2_000_000})
    page = open_page(host.link)
    host.sign_in()
    server.tell("slow 400")
    drop(page, [tmp_path / "long.mov"])
    until("progress", lambda: row(page, "long.mov").count() and sent(page, "long.mov") > 200_000)
    assert end_sidecars(tmp_path) == 1
    server.tell("fast")
    expect(page.locator("#finished .name")).to_have_text(["long.mov"])
    assert [file["sha256"] for file in server.stored] == [digests["long.mov"]]
