import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { bagOf } from '../../../server/archive/packs/bag/bag.ts';
import { FULL_RECORD, SAMPLE_FILES } from '../../support/archive/packFiles.ts';
import { writtenPackFile } from '../../support/archive/writtenPackFile.ts';
import { EXTRACTORS, run } from '../../support/extract.ts';
import { closeTestNodes, temporaryFolder } from '../../support/node.ts';
import { requirePrograms } from '../../support/requirements.ts';

afterEach(closeTestNodes);

test.for(Object.keys(EXTRACTORS))(
  'a bag extracted with %s passes every check of its manifests',
  async (name, { skip }) => {
    await requirePrograms([name, 'sha256sum', 'rhash', 'hashdeep'], skip);
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'x.pack.zip'), await writtenPackFile(FULL_RECORD, SAMPLE_FILES));
    await run(name, EXTRACTORS[name]?.('x.pack.zip') ?? [], folder);
    const bag = join(folder, bagOf(FULL_RECORD).id);
    for (const manifest of ['manifest-sha256.txt', 'tagmanifest-sha256.txt']) {
      const lines = (await run('sha256sum', ['-c', '--strict', manifest], bag)).trim().split('\n');
      expect(lines).toHaveLength(manifest.startsWith('tag') ? 5 : 3);
      expect(lines.every((line) => line.endsWith(': OK'))).toBe(true);
      await run('rhash', ['-c', manifest], bag);
    }
    const known = await run('hashdeep', ['-c', 'sha256', '-l', '-r', 'data'], bag);
    for (const { path, sha256, bytes } of FULL_RECORD.files)
      expect(known).toContain(`${bytes},${sha256},data/${path}\n`);
  },
);
