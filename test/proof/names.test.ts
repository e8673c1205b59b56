import { expect, test } from 'vitest';
import { bagKindIn, caseIn, formatIn, isCommonName, packIn, subjectIn } from '../../shared/proof/names.ts';

const CYRILLIC_THREE = '\u0417';
const CYRILLIC_O = '\u043e';

test.each([1, 4, 20, 200])('an event is imitated by %d signs that are no digits', (count) => {
  for (const signs of [CYRILLIC_THREE.repeat(count), `${CYRILLIC_THREE.repeat(count)}l`])
    for (const name of [`event-${signs}.evidence.html`, `\u0435vent-${signs}.evidence (1).html`])
      expect(subjectIn(name), name).toMatch(/^what only looks like /);
});

test('an id is imitated, also where none of its digits is one', () => {
  const digits = CYRILLIC_O.repeat(20);
  expect(packIn(`pk_${digits}.zip`)).toMatch(/^what only looks like pk_/);
  expect(caseIn(`strongroom-case-ca_${digits}.zip`)).toMatch(/^what only looks like strongroom-case-ca_/);
  expect(subjectIn(`fi_${digits}.evidence.html`)).toMatch(/^what only looks like fi_/);
  // A word of another language before 20 letters of it.
  expect(packIn(`${CYRILLIC_O.repeat(23)}.zip`)).toBeUndefined();
});

test.each([
  ['event-1.evidence.html', 'evidence'],
  ['mine.evidence - Copy.html', 'evidence'],
  ['mine.evidence 2.HTML', 'evidence'],
  ['mine.evidence copy (3).htm', 'evidence'],
  ['mine.evidence.html.1', 'evidence'],
  ['event-1.\u0435vidence.html', 'evidence'],
  ['in/checkpoint', 'checkpoint'],
  ['checkpoint (1)', 'checkpoint'],
  ['log.checkpoint - Copy', 'checkpoint'],
  ['log.che\u0441kpoint', 'checkpoint'],
  ['dump (1).jsonl', 'dump'],
  ['dump.jsonl.1', 'dump'],
  ['x.tlog-proof', 'proof'],
  ['x.TSR', 'timestamp'],
  ['x.\uff57acz', 'wacz'],
  ['x.evidence-notes.html', undefined],
  ['checkpoints', undefined],
  ['x.checkpoint.txt', undefined],
  ['x.\u0436\u0436\u0436\u0436', undefined],
])('%s has the format %s by its name', (name, format) => {
  expect(formatIn(name)).toBe(format);
});

test.each([
  'data.jsonl',
  'app.jsonl.1',
  'train.jsonl - Copy',
  'enwiki-dump.jsonl',
  'dumps.jsonl',
  'dump-2024.jsonl',
  '\u0431\u0430\u0437\u0430.jsonl',
  'data.js\u043enl',
  'checkpoint',
  'model/checkpoint-1',
  'checkpoint.1',
  'checkpoint 2',
  'checkpoint (1)',
  'model.checkpoint',
  'catalog.checkpoint',
  'strongroom-notes.checkpoint',
  'data.zip',
])('other software may name a file %s', (name) => {
  expect(isCommonName(name)).toBe(true);
});

test.each([
  'in/dump.jsonl',
  'dump (1).jsonl',
  'dump - Copy.jsonl',
  'Copy of dump.jsonl',
  'dump.jsonl.1',
  'dump.jsonl (1)',
  'd\u0443mp.jsonl',
  'dump.js\u043enl',
  'log.checkpoint',
  'log (2).checkpoint',
  'log.checkpoint - Copy',
  'l\u043eg.checkpoint',
  'log.che\u0441kpoint',
  'node-0123456789.local-strongroom-42.checkpoint',
  'node-0123456789.local-str\u043engroom-42 (1).checkpoint',
  `pk_${'0'.repeat(20)}`,
  'strongroom-archive.zip',
  'event-1.evidence.html',
  'x.tlog-proof.1',
  'x.tsr',
  'x.wacz',
])('only a node writes a file %s', (name) => {
  expect(isCommonName(name)).toBe(false);
});

test.each([
  CYRILLIC_THREE,
  '\u2014',
  '\u2014 1',
  ' 1',
  '(',
  '()',
  '-',
  '.evidence',
  '.zip',
  '/',
  '\\',
  `${CYRILLIC_THREE} (1)`,
])('a name of 300,000 signs is judged before the test is ended: %s', (part) => {
  for (const [before = '', after = ''] of [
    ['event-'],
    ['event-1'],
    ['event-1.evidence'],
    ['pk_'],
    [`pk_${'0'.repeat(20)}`],
    ['ca_'],
    ['strongroom-archive'],
    ['x.checkpoint'],
    ['dump', '.jsonl'],
    ['strongroom-1', '.checkpoint'],
    [],
  ]) {
    const name = `${before}${part.repeat(300_000 / part.length)}!${after}`;
    // Where each sign is compared with each other, this takes many minutes.
    for (const judge of [formatIn, bagKindIn, isCommonName]) expect(() => judge(name)).not.toThrow();
  }
});
