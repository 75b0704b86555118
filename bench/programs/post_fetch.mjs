// post_fetch.mjs URL COUNT AT_ONCE BODY: posts the file BODY so often, so many at once.
import { readFileSync } from 'node:fs';

const [url, count, atOnce, path] = process.argv.slice(2);
const body = JSON.parse(readFileSync(path, 'utf8'));
let left = Number(count);

async function post() {
  while (left-- > 0) {
    const response = await fetch(url, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    if (response.status !== 204) throw new Error(`status ${response.status}`);
    await response.arrayBuffer();
  }
}

const cpu = process.cpuUsage();
const began = performance.now();
await Promise.all(Array.from({ length: Number(atOnce) }, post));
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ count: Number(count), seconds, cpu: (user + system) / 1e6 }));
