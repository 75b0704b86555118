"""What axe finds wrong with a page, which has to be nothing."""
from axe_playwright_python.sync_playwright import Axe


def check(page):
    found = Axe().run(page).response["violations"]
    assert found == [], "\n".join(
        f"{each['id']}: {each['help']}: {[node['html'][:120] for node in each['nodes']]}" for each in found)
