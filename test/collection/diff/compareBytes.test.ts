import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { compareBytes } from '../../../server/collection/diff/compareBytes.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';

afterEach(closeTestNodes);

async function compare(from: Buffer, to: Buffer) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'from'), from);
  await writeFile(join(folder, 'to'), to);
  return compareBytes(join(folder, 'from'), join(folder, 'to'));
}

describe('comparing two files', () => {
  test.each([0, 1, 100, 1_048_575, 1_048_576, 2_500_000])(
    'finds the first difference at byte %i',
    async (place) => {
      const from = Buffer.alloc(3_000_000, 'abc');
      const to = Buffer.from(from);
      to[place] = 0xff;
      const { summary, around } = await compare(from, to);
      expect(summary).toEqual({ length_change: 0, first_difference: place });
      expect(around?.offset).toBe(Math.max(0, place - 16));
      expect(around?.to).toContain('ff');
      expect(around?.from).not.toContain('ff');
    },
  );

  test('finds the end of the shorter file if the longer one begins with it', async () => {
    const { summary } = await compare(Buffer.from('abc'), Buffer.from('abcdef'));
    expect(summary).toEqual({ length_change: 3, first_difference: 3 });
  });

  test('finds no difference between equal files', async () => {
    const { summary, around, sha256 } = await compare(Buffer.from('abc'), Buffer.from('abc'));
    expect(summary).toEqual({ length_change: 0, first_difference: null });
    expect(around).toBeNull();
    expect(sha256.from).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
