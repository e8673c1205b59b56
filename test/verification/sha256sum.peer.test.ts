import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { parseChecksums } from '../../shared/values/checksums.ts';
import { run } from '../support/extract.ts';
import { closeTestNodes, temporaryFolder } from '../support/node.ts';
import { requirePrograms } from '../support/requirements.ts';

afterEach(closeTestNodes);

test.for<string[]>([[], ['--tag']])(
  'the output of sha256sum %j is parsed for any file name',
  async (options, { skip }) => {
    await requirePrograms(['sha256sum'], skip);
    const folder = await temporaryFolder();
    const name = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 20 })
      .filter((text) => text.isWellFormed() && !/[\0/]/.test(text) && text !== '.' && text !== '..');
    const names = fc
      .sample(fc.uniqueArray(name, { minLength: 30, maxLength: 30 }), { numRuns: 1, seed: 7 })
      .flat();
    names.push('a\nb', 'back\\slash', ' leading', 'trailing ', '*star', 'c\rd', '\\', '(x) = y');
    for (const each of names) await writeFile(join(folder, each), each);
    const { entries, faults } = parseChecksums(await run('sha256sum', [...options, '--', ...names], folder));
    expect(faults).toEqual([]);
    expect(entries.map((entry) => entry.name)).toEqual(names);
  },
);
