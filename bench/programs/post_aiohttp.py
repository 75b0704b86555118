"""post_aiohttp.py URL COUNT AT_ONCE BODY: posts the file BODY so often, so many at once."""
import asyncio
import json
import sys
import time

import aiohttp

url, count, at_once, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
with open(path, encoding="ascii") as file:
    body = json.load(file)


async def post(session, numbers):
    for _ in numbers:
        async with session.post(url, json=body) as response:
            assert response.status == 204
            await response.read()


async def main():
    numbers = iter(range(count))
    async with aiohttp.ClientSession() as session:
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(post(session, numbers) for _ in range(at_once)))
        return time.perf_counter() - began, time.process_time() - cpu


seconds, cpu = asyncio.run(main())
print(json.dumps({"count": count, "seconds": seconds, "cpu": cpu}))
