"""post_requests.py URL COUNT AT_ONCE BODY: posts the file BODY so often over one session, one after the
other."""
import json
import sys
import time

import requests

url, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[4]
with open(path, encoding="ascii") as file:
    body = json.load(file)
with requests.Session() as session:
    began, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        assert session.post(url, json=body).status_code == 204
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps({"count": count, "seconds": seconds, "cpu": cpu}))
