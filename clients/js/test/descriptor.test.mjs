import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { URL_OF_TEST, fails, makeClient } from './rig.mjs';

const url = URL_OF_TEST;

/** Enqueues a descriptor; resolves with what the sidecar got, which on a refusal is nothing (B47). */
async function send(descriptor) {
  const { client, fake } = makeClient();
  const definition = client.define({ key: 'k', request: () => descriptor });
  try {
    await definition.mutate();
  } catch (error) {
    assert.equal(fake.calls.length, 0);
    throw error;
  }
  return fake.entries[0].request;
}
const takes = async (descriptor) => assert.deepEqual(await send(descriptor), descriptor);
const refuses = async (descriptor, path, text = /./) => {
  await assert.rejects(send(descriptor), (error) => {
    fails('E_INVALID', text)(error);
    assert.equal(error.path, path);
    return true;
  });
};

const bodies = {
  data: { a: 1 }, form: [{ name: 'n', contentType: 'text/plain', string: '' }], file: '/tmp/file.bin',
};

test('B31: two kinds of body are refused and both named; one kind or none is fine', async () => {
  for (const [one, two] of [['data', 'form'], ['data', 'file'], ['form', 'file']]) {
    const both = { url, [one]: bodies[one], [two]: bodies[two] };
    await refuses(both, 'request', new RegExp(`${one} and ${two}`));
  }
  await refuses({ url, ...bodies }, 'request', /data and form and file/);
  for (const [name, body] of Object.entries(bodies)) await takes({ url, [name]: body });
  await takes({ url });
});

test('B32, B33: data that cannot be serialised is refused; undefined members fall away', async () => {
  const loop = {};
  loop.loop = [loop];
  for (const data of [() => {}, Symbol('s'), loop, { deep: [{ n: 1n }] }]) {
    await refuses({ url, data }, 'request.data', /JSON-serializable/);
  }
  assert.deepEqual((await send({ url, data: { a: undefined, b: [1] } })).data, { b: [1] });
});

test('B34, B35: GET with a body is refused and the kind named, without it is fine; DELETE may', async () => {
  for (const [name, body] of Object.entries(bodies)) {
    await refuses({ url, method: 'GET', [name]: body }, `request.${name}`, /GET/);
    await takes({ url, method: 'DELETE', [name]: body });
  }
  await refuses({ url, method: 'GET', data: null }, 'request.data');
  await takes({ url, method: 'GET' });
});

test('B36: a form field needs a name, a type, and exactly one of string and path', async () => {
  const field = { name: 'n', contentType: 'text/plain' };
  await refuses({ url, form: [field] }, 'request.form[0]', /exactly one/);
  await refuses({ url, form: [{ ...field, string: 'a', path: '/b' }] }, 'request.form[0]', /exactly one/);
  await refuses({ url, form: [] }, 'request.form', /empty/);
  await refuses({ url, form: [{ ...field, string: '' }, { name: 'n', string: '' }] },
    'request.form[1].contentType', /missing/);
  await takes({ url, form: [{ ...field, path: '/b', fileName: 'c' }, { ...field, string: '' }] });
});

const part = (start, end, more) => ({ url: `${url}/${start}`, range: { start, end }, ...more });

test('B37: parts need a file', () => refuses({ parts: [part(0, 1)] }, 'request.parts', /file/));

test('B38: a url is needed and must not be empty, unless there are parts', async () => {
  await refuses({}, 'request.url', /missing/);
  await refuses({ url: '' }, 'request.url');
  await refuses({ url: new URL(url) }, 'request.url', /string/);
  await takes({ file: '/f', parts: [part(0, 1)] });
});

test('B39: methods outside the list are refused, and the list is named', async () => {
  await refuses({ url, method: 'HEAD' }, 'request.method', /POST.*got "HEAD"/);
  await refuses({ url, method: 'post' }, 'request.method');
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET']) await takes({ url, method });
});

test('B40: expiresAt that is no whole number above 0 is refused; the past is fine', async () => {
  for (const expiresAt of [NaN, Infinity, 0, -1, 1.5, '17', null, 2 ** 53]) {
    await refuses({ url, expiresAt }, 'request.expiresAt');
  }
  await takes({ url, expiresAt: 1 });
});

test('B41: a descriptor that is no plain object is refused, a promise by name', async () => {
  for (const descriptor of [null, undefined, 'text', 7, [], new Map()]) await refuses(descriptor, 'request');
  await refuses(Promise.resolve({ url }), 'request', /promise/);
  const foreign = vm.runInNewContext(`({ url: '${url}', data: { a: [1] } })`);
  assert.deepEqual(await send(foreign), { url, data: { a: [1] } });
});

test('B42: an unknown member is refused; the nearest known name is offered when one is near', async () => {
  for (const [wrong, right] of [['header', 'headers'], ['expiryAt', 'expiresAt'], ['wifionly', 'wifiOnly']]) {
    await refuses({ url, [wrong]: 1 }, `request.${wrong}`, new RegExp(`did you mean ${right}\\?`));
  }
  await refuses({ url, android: {} }, 'request.android', /^(?!.*did you mean)/);
});

test('B43: the same inside parts, ranges, form fields, retry and accept rules, with the path', async () => {
  const full = { baseMs: 1, maxMs: 2, jitter: 0 };
  const cases = [
    [{ file: '/f', parts: [part(0, 1, { heders: {} })] }, 'request.parts[0].heders', /headers/],
    [{ file: '/f', parts: [{ url, range: { start: 0, end: 1, size: 1 } }] }, 'request.parts[0].range.size'],
    [{ url, form: [{ name: 'n', contentType: 't', text: '' }] }, 'request.form[0].text'],
    [{ url, retry: { backof: full } }, 'request.retry.backof', /backoff/],
    [{ url, retry: { backoff: { ...full, max: 1 } } }, 'request.retry.backoff.max'],
    [{ url, retry: { terminalHttp: { exempt: [], exemt: 1 } } }, 'request.retry.terminalHttp.exemt'],
    [{ url, retry: { transient: [{ status: 409, body: '' }] } }, 'request.retry.transient[0].body'],
    [{ url, accept: [{ status: 409 }, { status: 410, bodyInclude: '' }] }, 'request.accept[1].bodyInclude',
      /bodyIncludes/],
    [{ url, timeouts: { connect: 1 } }, 'request.timeouts.connect'],
  ];
  for (const [descriptor, path, hint] of cases) await refuses(descriptor, path, hint);
});

test('B44: wrong shapes in accept, retry and their parts are refused', async () => {
  const cases = [
    [{ accept: {} }, 'accept'], [{ accept: [{ status: '409' }] }, 'accept[0].status'],
    [{ accept: [{ status: 409, bodyIncludes: 7 }] }, 'accept[0].bodyIncludes'],
    [{ accept: [{}] }, 'accept[0].status'],
    [{ retry: [] }, 'retry'], [{ retry: { backoff: { baseMs: 1, maxMs: 2 } } }, 'retry.backoff.jitter'],
    [{ retry: { terminalHttp: { exempt: ['404'] } } }, 'retry.terminalHttp.exempt[0]'],
    [{ retry: { terminalHttp: {} } }, 'retry.terminalHttp.exempt'],
    [{ retry: { transient: {} } }, 'retry.transient'], [{ headers: [] }, 'headers'],
    [{ headers: { A: 1 } }, 'headers.A'], [{ priority: 'low' }, 'priority'],
    [{ staging: 'link' }, 'staging'], [{ idempotencyKey: true }, 'idempotencyKey'],
    [{ timeouts: { stallMs: 0 } }, 'timeouts.stallMs'], [{ file: '' }, 'file'],
  ];
  for (const status of [401, 403, 408, 429, 399, 500]) {
    cases.push([{ retry: { transient: [{ status }] } }, 'retry.transient[0].status']);
  }
  for (const [wrong, path] of cases) await refuses({ url, ...wrong }, `request.${path}`);
});

test('B45: right shapes are taken, an empty retry and an empty accept among them', async () => {
  await takes({ url, retry: {}, accept: [] });
  await takes({
    url,
    accept: [{ status: 409, bodyIncludes: 'already' }, { status: 304 }],
    retry: {
      backoff: { baseMs: 1, maxMs: 1, jitter: 0.5 }, terminalHttp: { exempt: [] },
      transient: [{ status: 409, bodyIncludes: 'busy', maxRetries: 0 }],
    },
    priority: 'high', staging: 'reference', idempotencyKey: 'mine', timeouts: { connectMs: 1 },
    headers: { A: '' },
  });
  await takes({ url, idempotencyKey: false });
});

test('B46: wifiOnly crosses as true, false or not at all; anything else is refused', async () => {
  await takes({ url, wifiOnly: true });
  await takes({ url, wifiOnly: false });
  assert.deepEqual(await send({ url, wifiOnly: undefined }), { url });
  for (const wifiOnly of [null, 'yes', 1]) await refuses({ url, wifiOnly }, 'request.wifiOnly');
});

test('B47: the refusals above reached no sidecar, not even to start it', async () => {
  const { client, fake } = makeClient();
  const definition = client.define({ key: 'k', request: () => ({ url: '' }) });
  await assert.rejects(definition.mutate(), fails('E_INVALID'));
  await assert.rejects(definition.mutate(null, { id: '' }), fails('E_INVALID', /id/));
  await assert.rejects(definition.mutate(null, { di: 'x' }), fails('E_INVALID', /did you mean id/));
  assert.deepEqual(fake.calls, []);
});

test('B48, D9: parts that tile are taken, also the one of an empty file; no parts are refused', async () => {
  await takes({ file: '/f', method: 'PUT', parts: [part(0, 5), part(5, 6, { headers: { A: 'b' } })] });
  await takes({ file: '/f', parts: [part(0, 0)] });
  await refuses({ file: '/f', parts: [] }, 'request.parts', /empty/);
});

test('B49: ranges below zero, empty, backwards, fractional or not a number are refused', async () => {
  const cases = [[-1, 5, '.start'], [0, 5.5, '.end'], [NaN, 5, '.start'], [5, 2, '.end'], ['0', 5, '.start']];
  for (const [start, end, where] of cases) {
    await refuses({ file: '/f', parts: [{ url, range: { start, end } }] }, `request.parts[0].range${where}`);
  }
  await refuses({ file: '/f', parts: [part(0, 5), part(5, 5)] }, 'request.parts[1].range.end');
});

test('B50: first not at 0, gaps, overlaps, wrong order, an empty url, bad headers: by index', async () => {
  const file = '/f';
  await refuses({ file, parts: [part(1, 5)] }, 'request.parts[0].range.start', /must be 0, got 1/);
  const gap = [part(0, 5), part(6, 9)];
  await refuses({ file, parts: gap }, 'request.parts[1].range.start', /must be 5, got 6/);
  await refuses({ file, parts: [part(0, 5), part(4, 9)] }, 'request.parts[1].range.start');
  await refuses({ file, parts: [part(5, 9), part(0, 5)] }, 'request.parts[0].range.start');
  await refuses({ file, parts: [part(0, 5), part(5, 9, { url: '' })] }, 'request.parts[1].url');
  await refuses({ file, parts: [part(0, 5, { headers: ['a'] })] }, 'request.parts[0].headers');
});
