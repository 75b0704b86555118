import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunkPlan } from '../src/index.mjs';
import { fails, makeClient } from './rig.mjs';

const MIB = 2 ** 20;
const sizes = (plan) => plan.map(({ start, end }) => end - start);

test('B99: the same numbers give the same plan, from the client too', () => {
  const { client } = makeClient();
  assert.deepEqual(chunkPlan(100 * MIB), chunkPlan(100 * MIB));
  assert.deepEqual(client.chunkPlan(48, { min: 8, max: 20 }), chunkPlan(48, { min: 8, max: 20 }));
});

test('B100, B101: ranges of max, one behind the other; an exact multiple gives equal ranges', () => {
  assert.deepEqual(chunkPlan(48, { min: 8, max: 20 }), [
    { start: 0, end: 20 }, { start: 20, end: 40 }, { start: 40, end: 48 }]);
  assert.deepEqual(sizes(chunkPlan(60, { min: 8, max: 20 })), [20, 20, 20]);
  assert.deepEqual(sizes(chunkPlan(60 * MIB)), [20 * MIB, 20 * MIB, 20 * MIB]);
});

test('B102, B103: a rest of min - 1 joins the range before, a rest of min stands by itself', () => {
  assert.deepEqual(sizes(chunkPlan(47, { min: 8, max: 20 })), [20, 27]);
  assert.deepEqual(sizes(chunkPlan(48, { min: 8, max: 20 })), [20, 20, 8]);
});

test('B104, D9: less than min is one range, a single byte too; a size of 0 is one empty range', () => {
  assert.deepEqual(chunkPlan(7, { min: 8, max: 20 }), [{ start: 0, end: 7 }]);
  assert.deepEqual(chunkPlan(1), [{ start: 0, end: 1 }]);
  assert.deepEqual(chunkPlan(0), [{ start: 0, end: 0 }]);
});

test('B105, B106: bad sizes and limits are refused by name', () => {
  for (const size of [-1, 1.5, NaN, Infinity, '8', undefined, 2 ** 53]) {
    assert.throws(() => chunkPlan(size), fails('E_INVALID', /size/));
  }
  assert.throws(() => chunkPlan(9, { min: 0 }), fails('E_INVALID', /min/));
  assert.throws(() => chunkPlan(9, { min: 8, max: 7 }), fails('E_INVALID', /max/));
  const tooMany = fails('E_INVALID', /100001 ranges, at most 100000/);
  assert.throws(() => chunkPlan(100_001, { min: 1, max: 1 }), tooMany);
  assert.equal(chunkPlan(100_000, { min: 1, max: 1 }).length, 100_000);
});

test('B107: over all sizes up to ten times max: gapless, complete, none under min, all but one max', () => {
  const [min, max] = [8, 20];
  for (let size = 1; size <= 10 * max; size++) {
    const plan = chunkPlan(size, { min, max });
    assert.equal(plan[0].start, 0);
    assert.equal(plan.at(-1).end, size);
    plan.slice(1).forEach(({ start }, index) => assert.equal(start, plan[index].end));
    if (plan.length > 1) assert.ok(sizes(plan).every((bytes) => bytes >= min), `size ${size}`);
    assert.ok(sizes(plan).slice(0, -1).every((bytes) => bytes === max), `size ${size}`);
    assert.ok(sizes(plan).at(-1) <= max + min - 1);
  }
});
