"""ping.py WINDOW COUNT COMMAND...: so many pings to COMMAND, at most WINDOW of them unanswered."""
import json
import subprocess
import sys
import time

window, count = int(sys.argv[1]), int(sys.argv[2])
with subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
    asked, took = [0.0] * count, []

    def ask(number):
        asked[number] = time.perf_counter()
        child.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode() + b"\n")

    began = time.perf_counter()
    sent = 0
    while len(took) < count:
        while sent < min(count, len(took) + window):
            ask(sent)
            sent += 1
        child.stdin.flush()
        number = json.loads(child.stdout.readline())["id"]
        took.append(time.perf_counter() - asked[number])
    whole = time.perf_counter() - began
    child.stdin.close()
took.sort()
print(json.dumps({"count": count, "seconds": whole, "p50": took[count // 2], "p99": took[count * 99 // 100]}))
