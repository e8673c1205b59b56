import { expect, test } from 'vitest';
import { type PayloadFile, zippedBag } from '../../server/cases/caseBag.ts';

const MEBIBYTE = 1_048_576;
const DESCRIPTION = { folder: 'bag', info: [], modified: new Date(0) };

test('files are read one after the other, and only as far as the reader takes them', async () => {
  let produced = 0;
  const opened: string[] = [];
  const fileOf = (path: string): PayloadFile => ({
    path,
    read: async function* () {
      opened.push(path);
      for (let piece = 0; piece < 64; piece += 1) {
        produced += MEBIBYTE;
        yield Buffer.alloc(MEBIBYTE, piece);
      }
    },
  });
  let taken = 0;
  let furthest = 0;
  for await (const chunk of zippedBag([fileOf('a'), fileOf('b')], DESCRIPTION)) {
    taken += chunk.length;
    furthest = Math.max(furthest, produced - taken);
  }
  expect(opened).toEqual(['a', 'b']);
  expect(taken).toBeGreaterThan(128 * MEBIBYTE);
  expect(furthest).toBeLessThan(16 * MEBIBYTE);
});

test('an error while a file is read ends the bag with that error, and reads no further file', async () => {
  const opened: string[] = [];
  const files = ['a', 'b'].map((path) => ({
    path,
    read: async function* () {
      opened.push(path);
      yield Buffer.alloc(10);
      throw new Error(`${path} is damaged`);
    },
  }));
  const bag = async () => {
    for await (const chunk of zippedBag(files, DESCRIPTION)) expect(chunk.length).toBeGreaterThan(0);
  };
  await expect(bag()).rejects.toThrow('a is damaged');
  expect(opened).toEqual(['a']);
});
