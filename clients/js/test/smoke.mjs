// What a client must be able to do anywhere: run by runtimes.test.mjs in each runtime, with the real binary.
import process from 'node:process';
import { createUploadClient } from '../src/index.mjs';

const [binary, dir, url, end] = process.argv.slice(2);
const warnings = [];
const outcomes = [];
let tell = () => {};
const uploads = createUploadClient({ dir, binary, onWarning: (message) => warnings.push(message) });
const note = uploads.define({
  key: 'note', request: ({ n }) => ({ url, data: { n } }), response: (raw) => raw.id,
  onSuccess: (id, { n }) => {
    outcomes.push(`${n}:${id}`);
    tell();
  },
});
const heard = (count) => new Promise((resolve) => {
  tell = () => outcomes.length >= count && resolve();
  tell();
});
uploads.configure();
await note.mutate({ n: 1 }, { id: 'a' });
await heard(1);
while ((await uploads.getRequests()).length > 0);
process.kill((await uploads.server()).pid, 'SIGKILL');
while (warnings.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
await note.mutate({ n: 2 }, { id: 'b' });
await heard(2);
console.log(outcomes.join(' '), warnings.length);
if (end === 'close') await uploads.close();
