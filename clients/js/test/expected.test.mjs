import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Expected } from '../src/expected.js';

const entries = [{ id: 'a', group: 'g' }, { id: 'b', group: 'g' }, { id: 'c' }];
const all = (disposition) => entries.map(() => ({ disposition }));

function begin(hasCome = () => false) {
  const expected = new Expected();
  return { expected, begun: expected.begin(entries, hasCome) };
}
const left = ({ entries: ids, groups }) => [ids, groups];

test('D48: the outcomes of entries and of their group are expected until they come', () => {
  const { expected, begun } = begin();
  begun.accepted(all('created'));
  assert.deepEqual(left(expected), [3, 1]);
  for (const { id } of entries) expected.entrySettled(id);
  assert.deepEqual(left(expected), [0, 1]);
  expected.groupSettled('g');
  assert.deepEqual(left(expected), [0, 0]);
});

test('D42: nothing comes for an entry that was kept, but its group is still to come', () => {
  const { expected, begun } = begin();
  begun.accepted(all('kept'));
  assert.deepEqual(left(expected), [0, 1]);
});

test('D42: the outcome of a group that is here already comes again only when something of it lives', () => {
  for (const [disposition, groups] of [['kept', 0], ['redelivered', 0], ['resumed', 1], ['replaced', 1]]) {
    const { expected, begun } = begin((group) => group === 'g');
    begun.accepted(all(disposition));
    assert.equal(expected.groups, groups, disposition);
  }
});

test('D50: a refused call leaves what was expected before', () => {
  const { expected, begun } = begin();
  begun.accepted(all('created'));
  expected.begin([...entries, { id: 'd', group: 'h' }], () => false).failed();
  assert.deepEqual(left(expected), [3, 1]);
});
