// Compiled, never run. A line behind @ts-expect-error must not compile.
import { createUploadClient, chunkPlan, CallError, SidecarExited } from 'outtray';
import type {
  Accepted, Binding, Bound, Json, Meta, OutcomeError, RawResponse, RequestRow, Step,
} from 'outtray';
import { createFakeSidecar } from 'outtray/testing';
import { Session } from 'outtray/session';

const uploads = createUploadClient({ dir: '/var/lib/app/outtray', background: true });

/** Compiles when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
const same = <A, B>(_: Same<A, B>) => {};

// 1. vars infer from request, data from response.
const note = uploads.define({
  key: 'note.add',
  request: ({ noteId, text }: { noteId: string; text: string }) => ({
    url: `https://api.test/notes/${noteId}`, data: { text },
  }),
  response: (raw) => (raw as { count: number }).count,
  onSuccess: (count, vars, meta) => {
    same<typeof count, number>(true);
    same<typeof vars.noteId, string>(true);
    same<typeof meta, Meta>(true);
  },
  onError: (error, vars, meta) => {
    same<typeof error, OutcomeError>(true);
    same<typeof vars.text, string>(true);
    same<typeof meta.deliveries, number>(true);
  },
});
note.mutate({ noteId: 'a', text: 'b' });
note.mutate({ noteId: 'a', text: 'b' }, { id: 'mine' }).then(({ id, generation, disposition }) => {
  same<typeof id, string>(true);
  same<typeof generation, number>(true);
  if (disposition === 'resumed') return;
});

// 2. Wrong, missing and extra vars do not compile.
// @ts-expect-error
note.mutate({ noteId: 1, text: 'b' });
// @ts-expect-error
note.mutate({ noteId: 'a' });
// @ts-expect-error
note.mutate({ noteId: 'a', text: 'b', more: 1 });
// @ts-expect-error
note.mutate();
// @ts-expect-error
note.mutate(null);
// @ts-expect-error
note.mutate({ noteId: 'a', text: 'b' }, { key: 'k' });

// 3. Without a parser onSuccess gets a RawResponse.
uploads.define({
  key: 'raw',
  request: (vars: { a: number }) => ({ url: 'https://api.test/', data: vars }),
  onSuccess: (response, vars) => {
    same<typeof response, RawResponse>(true);
    same<typeof vars, { a: number }>(true);
  },
});
const request = (_: { a: number }) => ({ url: 'https://api.test/' });
// @ts-expect-error
uploads.define({ key: 'raw', request, onSuccess: (data: { id: number }) => data.id });

// 4. What response returns is what onSuccess takes.
// @ts-expect-error
uploads.define({ key: 'k', request, response: (raw) => String(raw), onSuccess: (data: number) => data });
uploads.define({ key: 'k', request, response: (raw) => String(raw), onSuccess: (data: string) => data });

// 5. No vars: mutate takes none, or null.
const ping = uploads.define({ key: 'ping', request: () => ({ url: 'https://api.test/', method: 'GET' }) });
ping.mutate();
ping.mutate(null, { id: 'x' });
ping.mutate(undefined, { id: 'x' });
// @ts-expect-error
ping.mutate({ a: 1 });

// 6. Primitive vars do not compile.
// @ts-expect-error
uploads.define({ key: 'text', request: (text: string) => ({ url: text }) });
// @ts-expect-error
uploads.define({ key: 'number', request: (n: number) => ({ url: `https://api.test/${n}` }) });

// 7. A bad method, a bad priority, a body of a wrong shape.
// @ts-expect-error
uploads.define({ key: 'head', request: () => ({ url: 'https://api.test/', method: 'HEAD' }) });
// @ts-expect-error
uploads.define({ key: 'low', request: () => ({ url: 'https://api.test/', priority: 'low' }) });
uploads.define({
  key: 'form',
  // @ts-expect-error
  request: () => ({ url: 'https://a.test/', form: [{ name: 'a', contentType: 'b', string: '', path: '/' }] }),
});

// 8. An async parser types as the promise that onSuccess gets.
uploads.define({
  key: 'async',
  request: (_: { a: number }) => ({ url: 'https://api.test/' }),
  response: async (raw, vars) => ({ raw, a: vars.a }),
  onSuccess: async (data) => {
    same<typeof data, Promise<{ raw: unknown; a: number }>>(true);
    same<typeof data extends Promise<infer T> ? T : never, { raw: unknown; a: number }>(true);
    await data;
  },
});

// 9. Interfaces, readonly arrays, optional and nullable fields, classes are vars.
interface Vars {
  readonly ids: readonly number[];
  note?: string;
  parent: { id: string } | null;
}
const typed = uploads.define({ key: 'k', request: ({ ids }: Vars) => ({ url: `https://api.test/${ids}` }) });
typed.mutate({ ids: [1], parent: null });
typed.mutate({ ids: [1], parent: { id: 'a' }, note: 'b' });
const listed = uploads.define({ key: 'list', request: (ids: readonly string[]) => ({ url: ids[0] }) });
listed.mutate(['https://api.test/']);
const maybe = uploads.define({
  key: 'maybe', request: (vars: { a: number } | null) => ({ url: `https://api.test/${vars?.a}` }),
});
maybe.mutate();
maybe.mutate({ a: 1 });

// 10. A whole descriptor.
uploads.define({
  key: 'file',
  request: ({ path, size }: { path: string; size: number }) => ({
    method: 'PUT',
    file: path,
    parts: chunkPlan(size, { min: 1, max: 2 }).map((range, index) => ({
      url: `https://api.test/${index}`, range,
      headers: { 'Content-Range': `${range.start}-${range.end - 1}/${size}` },
    })),
    accept: [{ status: 409, bodyIncludes: 'already' }],
    retry: {
      backoff: { baseMs: 1, maxMs: 2, jitter: 0 }, terminalHttp: { exempt: [] },
      transient: [{ status: 409, maxRetries: 2 }],
    },
    expiresAt: Date.now() + 1000, wifiOnly: true, priority: 'high', timeouts: { stallMs: 1 },
    idempotencyKey: false, staging: 'move', headers: { A: 'b' },
  }),
});

// 11. key and request are needed, mutate is read-only.
// @ts-expect-error
uploads.define({ request: () => ({ url: 'https://api.test/' }) });
// @ts-expect-error
uploads.define({ key: 'k' });
// @ts-expect-error
ping.key = 'other';

// 12. Settings.
uploads.configure({ headers: () => ({ A: 'x' }), lifetimeMs: null, onWarning: (text, more) => [text, more] });
// @ts-expect-error
uploads.configure({ headers: { Authorization: 'x' } });
// @ts-expect-error
uploads.configure({ android: {} });

// 13. Rows: vars are Json, to be narrowed.
uploads.getRequests({ key: 'capture.file' }).then((rows) => {
  same<typeof rows, RequestRow[]>(true);
  rows.filter((row) => (row.vars as { captureId?: string }).captureId === 'a')
    .forEach((row) => uploads.cancel(row.id));
  const vars: Json = rows[0].vars;
  // @ts-expect-error
  return vars.captureId;
});

// 14. Events, by listener and by loop.
uploads.addListener('state', (row) => [row.state === 'awaiting-auth', row.reason, row.nextAttemptAt]);
uploads.addListener('progress', ({ bytesSent, totalBytes }) => bytesSent / totalBytes).remove();
uploads.addListener('resync', () => {});
// @ts-expect-error
uploads.addListener('settled', () => {});
async function read() {
  for await (const { event, detail } of uploads.events('progress')) {
    same<typeof event, 'progress'>(true);
    same<typeof detail.bytesSent, number>(true);
  }
  for await (const each of uploads.events()) {
    if (each.event === 'attempt') same<typeof each.detail.url, string>(true);
  }
  // @ts-expect-error
  uploads.events('settled');
}

// 15. Scopes.
uploads.pause();
uploads.resume({ keys: ['a'] });
// @ts-expect-error
uploads.pause({ keys: 'a' });
// @ts-expect-error
uploads.pause({});

// 16. Errors.
async function fail() {
  try {
    await ping.mutate();
  } catch (error) {
    if (error instanceof CallError && error.code === 'E_STORAGE') return error.path;
    if (error instanceof SidecarExited) return error.entryId;
  }
  return read;
}

// 17. The fake.
const fake = createFakeSidecar({ ackTimeoutMs: 50 });
createUploadClient({ sidecar: fake });
fake.settle('a', { kind: 'error', error: { errorKind: 'expired' } });
fake.settle('a', { response: { body: '{}' } });
fake.failNext('enqueue', 'E_STORAGE');
fake.entries[0].request.data.anything;
// @ts-expect-error
fake.settle({ id: 'a' });

// 18. Sessions know the wire.
Session.open({ dir: '/q' }).then(async (session) => {
  const { records } = await session.call('takeDiagnostics');
  same<typeof records[0]['at'], number>(true);
  await session.call('pause', { keys: ['a'] });
});

// 19. Disposal.
same<ReturnType<typeof uploads[typeof Symbol.asyncDispose]>, Promise<void>>(true);

// 20. explain and stats.
uploads.explain('a').then(({ gates }) => gates[0].until);
uploads.stats().then(({ entries }) => entries.awaitingAuth);
export { fail };

// 12. Names of bound values follow from the annotation of `bound`, and `bind` has to give them.
const attach = uploads.define({
  key: 'photo.attach',
  request: ({ no }: { no: number }, bound: Bound<'observation' | 'photo'>) => ({
    url: `https://api.test/observations/${bound.observation}/photos`,
    data: { photo_id: bound.photo, no },
  }),
  onSuccess: (response, vars) => {
    same<typeof vars, { no: number }>(true);
  },
});
const located = uploads.define({
  key: 'located',
  request: (vars: null, { place }: Bound<'place'>) => ({ url: `${place}`, boundOrigin: true }),
  response: (raw) => raw as { a: number },
  onSuccess: (parsed) => {
    same<typeof parsed, { a: number }>(true);
  },
});
const from: Binding = { entry: 'a', pointer: '/id' };
attach.mutate({ no: 1 }, { bind: { observation: from, photo: { entry: 'b', header: 'Location' } } });
located.mutate(null, { bind: { place: from }, after: ['a', { id: 'b' }], lane: 'l', weight: 0.5 });
// @ts-expect-error
attach.mutate({ no: 1 });
// @ts-expect-error
attach.mutate({ no: 1 }, { bind: { observation: from } });
// @ts-expect-error
attach.mutate({ no: 1 }, { bind: { observation: from, photo: { entry: 'b' } } });
// @ts-expect-error
attach.mutate({ no: 1 }, { bind: { observation: from, photo: { entry: 'b', pointer: '', header: 'x' } } });
uploads.define({
  key: 'wrong',
  // @ts-expect-error
  request: (vars: null, bound: Bound<'photo'>) => ({ url: `${bound.other}` }),
});

// 13. A step takes what its definition's mutate takes.
const pipeline = uploads.pipeline({ group: 'g', lane: 'l', onFailure: 'settle', groupDeadlineMs: 1 });
const first = pipeline.add(note, { noteId: 'a', text: 'b' }, { id: 'a', weight: 0.5 });
const bare = pipeline.add(uploads.define({ key: 'bare', request: () => ({ url: '/' }) }));
pipeline.add(attach, { no: 1 }, {
  after: [bare, first.id], bind: { observation: first.pointer('/id'), photo: bare.header('Location') },
});
// @ts-expect-error
pipeline.add(note, { noteId: 1, text: 'b' });
// @ts-expect-error
pipeline.add(note);
// @ts-expect-error
pipeline.add(attach, { no: 1 }, { bind: { observation: first.pointer('/id') } });
// @ts-expect-error
uploads.pipeline({ id: 'a' });
pipeline.enqueue().then((accepted) => {
  same<typeof accepted, Map<Step, Accepted>>(true);
});

// 14. Groups.
uploads.onGroupSettled(async ({ group, counts, failed }) => {
  same<typeof counts.completed, number>(true);
  same<typeof failed, readonly string[]>(true);
  await uploads.cancelGroup(group);
});
uploads.addListener('group', ({ progress }) => progress * 100);
uploads.pause({ groups: ['g'] });
uploads.resume({ keys: ['k'], groups: ['g'] });
// @ts-expect-error
uploads.pause({});
uploads.getRequests({ group: 'g' }).then(([row]) => same<typeof row.lane, string | undefined>(true));
uploads.explainGroup('g').then(({ entries }) => entries[0].gates);
