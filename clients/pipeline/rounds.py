"""The rounds: what is killed when, and the other ways that an observation can go."""
import dataclasses
import random
import time

import check
import programs
from stage import SECONDS, Stage, content_of

OLD = 500  # Bytes of a medium that was synced before.


@dataclasses.dataclass
class Result:
    name: str
    violations: list
    steps: list = dataclasses.field(default_factory=list)  # Those of the program's first start.
    seconds: float = 0.0
    kills: int = 0
    is_calm: bool = False  # Nothing was killed on purpose.
    words: str = ""  # The end of stderr, where something did not hold.


def play(name, round, command, binary, *arguments, **ledger):
    """A round on a stage of its own. Whatever it raises is a violation too."""
    begun, result = time.monotonic(), Result(name, [], is_calm=round is undisturbed)
    with Stage(command, binary, **ledger) as stage:
        try:
            round(stage, *arguments)
        except Exception as fault:  # Anything, so that the other rounds go on.
            stage.found("fault", f"{type(fault).__name__}: {fault}")
        # What is there twice is found at each look.
        result.violations = list(dict.fromkeys(stage.violations))
        result.steps = stage.starts[0].steps if stage.starts else []
        result.words = stage.last_words() if stage.violations else ""
        result.kills = stage.kills
    result.seconds = time.monotonic() - begun
    return result


def undisturbed(stage, photos, sounds):
    stage.observe(photos, sounds)
    running = stage.sync()
    stage.ends(running)
    stage.violations += check.on_progress(running.progress())
    stage.end()


def killed_after_step(stage, photos, sounds, step):
    """The host is killed after one of its steps; what was accepted goes on without it."""
    stage.observe(photos, sounds)
    running = stage.sync(kill_after=step)
    died(stage, running, f"after step {step}")
    comes_back(stage, running)


def killed_at_random(stage, photos, sounds, seconds, seed):
    """The host is killed at any moment, also while a call is on its way."""
    stage.observe(photos, sounds)
    running = stage.sync()
    time.sleep(random.Random(seed).uniform(0, seconds))
    stage.kills += 1
    running.process.kill()
    running.wait(SECONDS)
    comes_back(stage, running)


def sidecar_killed(stage, photos, sounds, seconds, seed):
    """The sidecar is killed twice under its host, which has to bring it back and go on."""
    chance = random.Random(seed)
    stage.observe(photos, sounds)
    running = stage.sync()
    running.wait_step("started", SECONDS)
    for _ in range(2):
        time.sleep(chance.uniform(0, seconds / 2))
        kill_sidecar(stage)
    stage.ends(running)
    stage.end()


def both_killed(stage, photos, sounds, seconds, seed):
    """The host, and then the sidecar that went on alone: the next start goes on from what was written."""
    stage.observe(photos, sounds)
    running = stage.sync(kill_after=2)
    died(stage, running, "after step 2")
    time.sleep(random.Random(seed).uniform(0, seconds / 2))
    kill_sidecar(stage)
    programs.wait_for_end(stage.folder, SECONDS)
    stage.look(complete=False)
    again = stage.sync()
    stage.ends(again, "the program that came back")
    stage.end()


def kill_sidecar(stage):
    pids = programs.sidecars_of(stage.folder, stage.binary)
    stage.kills += bool(pids)
    programs.kill(pids)


def died(stage, running, when):
    status = running.wait(SECONDS)
    stage.kills += status == -9
    if status != -9:
        stage.found("exit", f"it should have died {when} and ended with {status}; its steps: {running.steps}")


def comes_back(stage, first):
    """Once it was answered, the observation is complete with no host there; then the host marks it."""
    if first.enqueued:
        stage.ledger.wait(lambda state: check.is_complete(stage.expected, state), SECONDS)
    stage.is_left_alone()
    stage.look(complete=bool(first.enqueued))
    again = stage.sync()
    stage.ends(again, "the program that came back")
    stage.end()


# The other ways


def left_alone(stage):
    """--once enqueues and leaves; the next sync only marks."""
    stage.observe(3, 1)
    stage.ends(stage.sync("--once"))
    stage.is_left_alone()
    stage.look()
    stage.ends(stage.sync())
    stage.end()


def oldest_first(stage):
    """Three observations, written in another order; killed in the middle of them."""
    for created_at in (3, 1, 2):
        stage.observe(photos=created_at - 1, created_at=created_at)
    died(stage, stage.sync(kill_after=7), "after step 7")
    stage.ledger.wait(lambda state: check.is_complete(stage.expected, state), SECONDS)
    stage.is_left_alone()
    stage.look()
    stage.ends(stage.sync())
    stage.end()


def update(stage):
    """The server has it, with a photo; a new photo and a sound are added, nothing is taken off."""
    uuid = "00000000-0000-4000-8000-000000000001"
    synced = old_observation(stage, uuid)
    stage.observe(1, 1, server_id=synced["id"], synced=[synced["medium"]], name=uuid)
    stage.ends(stage.sync())
    stage.end()


def old_observation(stage, uuid):
    """As an earlier sync would have left it on the server."""
    content = content_of(uuid, OLD)
    observation = stage.post("/observations", {"uuid": uuid, "note": "before"})
    photo = stage.post("/photos", {"uuid": f"{uuid}/old"}, file=content)
    stage.post(f"/observations/{observation['id']}/photos", {"photo_id": photo["id"], "uuid": f"{uuid}/old"})
    medium = check.Medium("photo", stage.ledger.state()["media"][0]["sha256"], photo["id"])
    return {"id": observation["id"], "medium": medium}


def token_expires(stage, uses):
    """The token is good for some requests of a sync; another one is given while it waits."""
    stage.observe(2, 1)
    running = stage.sync("--token", stage.ledger.new_token(uses=uses))
    if not running.wait_stderr("sign in again", SECONDS):
        stage.found("words", f"no \"sign in again\" on stderr: {running.stderr()[-400:]}")
    new_token(stage)
    stage.ends(running)
    stage.end()


def token_expires_alone(stage, uses):
    """The same with no host there: the entries wait, the process ends, the new token lets the rest go on."""
    stage.observe(2, 1)
    died(stage, stage.sync("--token", stage.ledger.new_token(uses=uses), kill_after=2), "after step 2")
    stage.is_left_alone()
    stage.look(complete=False)
    token = new_token(stage)
    stage.ledger.wait(lambda state: check.is_complete(stage.expected, state), SECONDS)
    stage.is_left_alone()
    stage.look()
    stage.ends(stage.sync("--token", token))
    stage.end()


def new_token(stage):
    token = stage.ledger.new_token()
    stage.ends(stage.start("token", "--queue", stage.queue, token), "observations token")
    return token


def gone(stage):
    """Somebody deleted the observation: nothing is attached, the record goes, others are not disturbed."""
    uuid = "00000000-0000-4000-8000-000000000002"
    synced = old_observation(stage, uuid)
    stage.post(f"/observations/{synced['id']}", method="DELETE")
    stage.observe(2, 0, server_id=synced["id"], synced=[synced["medium"]], name=uuid)
    other = stage.observe(1, 0, created_at=2)
    running = stage.sync()
    stage.ends(running)
    stage.is_left_alone()
    if "no longer exists" not in running.stderr():
        stage.found("words", f"nothing on stderr about it: {running.stderr()[-400:]}")
    if stage.record(uuid) is not None:
        stage.found("record", "the record of the deleted observation is still there")
    state = stage.ledger.state()
    attached = [row for row in state["attachments"] if row["observation"] == synced["id"]]
    tried = [row for row in state["requests"]
             if row["method"] == "POST" and row["path"].startswith(f"/observations/{synced['id']}/")]
    if len(attached) != 1 or len(tried) != 1:
        stage.found("stray", f"{len(tried) - 1} requests to attach to what is gone")
    wanted = check.on_server([other], state)
    stage.violations += [one for one in wanted if one.kind in ("incomplete", "duplicate", "order")]
    stage.violations += check.on_record(other, stage.record(other.uuid), state)
    # What ended in an error stays in the queue, to be enqueued again.
    stage.look_at_queue(states=("error",))


def aborted(stage):
    """The server refuses a file: the error is kept, the rest waits until it is aborted; mended, it goes."""
    wanted = stage.observe(2, 0)
    first = stage.records / stage.record(wanted.uuid)["photos"][0]
    content = first.read_bytes()
    first.write_bytes(b"no photo at all")
    running = stage.sync()
    waits = time.monotonic() + SECONDS
    while not (stage.record(wanted.uuid) or {}).get("errors") and time.monotonic() < waits:
        time.sleep(0.02)
    if not (stage.record(wanted.uuid) or {}).get("errors"):
        stage.found("record", "the error is not in the record")
    stage.ends(stage.start("abort", "--queue", stage.queue, wanted.uuid), "observations abort")
    stage.ends(running)
    stage.is_left_alone()
    state = stage.ledger.state()
    if state["observations"] or state["attachments"]:
        stage.found("stray", "an observation was made of what was aborted")
    if (stage.record(wanted.uuid) or {}).get("needs_sync") is not True:
        stage.found("record", "what was aborted does not need sync any more")
    first.write_bytes(content)
    stage.ends(stage.sync(), "the sync after the file was mended")
    stage.is_left_alone()
    # The good photo of the first time may be there once more: its entry was forgotten with the group.
    state = stage.ledger.state()
    stage.violations += [one for one in check.on_server([wanted], state) if one.kind == "incomplete"]
    stage.violations += check.on_record(wanted, stage.record(wanted.uuid), state)
    stage.look_at_queue()


def refused_alone(stage):
    """The same with no host there: what waits for that file keeps no process alive; mended, all goes once."""
    wanted = stage.observe(2, 1)
    first = stage.records / stage.record(wanted.uuid)["photos"][0]
    content = first.read_bytes()
    first.write_bytes(b"no photo at all")
    died(stage, stage.sync(kill_after=2), "after step 2")
    stage.is_left_alone()
    if stage.ledger.state()["observations"]:
        stage.found("stray", "an observation was made without its photo")
    first.write_bytes(content)
    stage.ends(stage.sync(), "the sync after the file was mended")
    stage.end()


def answers_lost(stage):
    """The server loses a part of its answers after the commit; the host is there."""
    stage.quick_retries()
    stage.observe(3, 1)
    stage.ends(stage.sync())
    stage.end()
    if not any(row["lost"] for row in stage.ledger.state()["requests"]):
        stage.found("fault", "no answer was lost: another seed")


def answers_lost_alone(stage):
    """The same, and the host is killed once it was answered."""
    stage.quick_retries()
    stage.observe(3, 1)
    running = stage.sync(kill_after=2)
    died(stage, running, "after step 2")
    comes_back(stage, running)


WAYS = [
    ("left alone by --once", left_alone, [], {}),
    ("three, oldest first", oldest_first, [], {}),
    ("update, ignore_photos", update, [], {}),
    ("token expires after 2 requests", token_expires, [2], {"needs_token": True}),
    ("token expires after 4 requests", token_expires, [4], {"needs_token": True}),
    ("token expires, no host", token_expires_alone, [2], {"needs_token": True}),
    ("deleted meanwhile, 410", gone, [], {}),
    ("refused, aborted, mended", aborted, [], {}),
    ("refused, no host, mended", refused_alone, [], {}),
    *((f"30 % of answers lost, seed {seed}", answers_lost, [], {"lose_answers": 0.3, "seed": seed})
      for seed in (1, 2, 3)),
    *((f"30 % lost, no host, seed {seed}", answers_lost_alone, [], {"lose_answers": 0.3, "seed": seed})
      for seed in (4, 5, 6)),
]
