"""ack_persist_queue.py FOLDER COUNT: takes and acknowledges what waits in persist-queue's SQLiteAckQueue,
one by one."""
import json
import sys
import time

import persistqueue

queue = persistqueue.SQLiteAckQueue(sys.argv[1], auto_commit=True)
count = int(sys.argv[2])
for number in range(count):
    queue.put({"observation": number, "note": "Under a fallen beech, seen twice in the last hour."})
began, cpu = time.perf_counter(), time.process_time()
for _ in range(count):
    queue.ack(queue.get())
print(json.dumps({"count": count, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}))
