// ping.mjs WINDOW COUNT COMMAND...: so many pings to COMMAND, at most WINDOW of them unanswered.
import { spawn } from 'node:child_process';

const [window, count] = process.argv.slice(2, 4).map(Number);
const child = spawn(process.argv[4], process.argv.slice(5), { stdio: ['pipe', 'pipe', 'inherit'] });
const asked = new Float64Array(count);
const took = [];
let sent = 0;
let rest = '';

function ask() {
  let text = '';
  for (; sent < Math.min(count, took.length + window); sent++) {
    asked[sent] = performance.now();
    text += `${JSON.stringify({ jsonrpc: '2.0', id: sent, method: 'ping' })}\n`;
  }
  if (text) child.stdin.write(text);
}

const began = performance.now();
child.stdout.setEncoding('utf8').on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) took.push(performance.now() - asked[JSON.parse(line).id]);
  if (took.length < count) return ask();
  const seconds = (performance.now() - began) / 1000;
  child.stdin.end();
  took.sort((a, b) => a - b);
  const at = (share) => took[Math.floor(count * share)] / 1000;
  console.log(JSON.stringify({ count, seconds, p50: at(0.5), p99: at(0.99) }));
});
ask();
