"""put_persist_queue.py FOLDER COUNT: durable puts into persist-queue's SQLiteAckQueue, one after the
other."""
import json
import sys
import time

import persistqueue

queue = persistqueue.SQLiteAckQueue(sys.argv[1], auto_commit=True)
count = int(sys.argv[2])
began, cpu = time.perf_counter(), time.process_time()
for number in range(count):
    queue.put({"observation": number, "note": "Under a fallen beech, seen twice in the last hour."})
print(json.dumps({"count": count, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}))
