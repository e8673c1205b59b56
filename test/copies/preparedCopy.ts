import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { closeTestNodes, type TestNode } from '../support/node.ts';

export interface PreparedCopy {
  /** The folder of the copy. */
  place: string;
  /** The data folder of the archive that is copied. */
  data: string;
  /** Puts both into a state that is made once. What makes it returns its node, which is closed. */
  begin(name: string, make: () => Promise<TestNode>): Promise<void>;
}

/**
 * An archive and its copy for the tests of a file: what several of them begin with is made once and put back, because a
 * sync takes half a second of the processor. After each test its nodes are closed and both folders are removed.
 */
export function usePreparedCopy(): PreparedCopy {
  const states = new Set<string>();
  let root = '';
  const prepared: PreparedCopy = {
    place: '',
    data: '',
    async begin(name, make) {
      const kept = { data: join(root, name, 'data'), place: join(root, name, 'copy') };
      if (states.has(name)) {
        for (const part of ['data', 'place'] as const)
          await cp(kept[part], prepared[part], { recursive: true });
        return;
      }
      await (await make()).close();
      for (const part of ['data', 'place'] as const)
        await cp(prepared[part], kept[part], { recursive: true });
      states.add(name);
    },
  };
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
    prepared.place = join(root, 'copy');
    prepared.data = join(root, 'data');
  });
  afterEach(async () => {
    await closeTestNodes();
    for (const folder of [prepared.place, prepared.data]) await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => rm(root, { recursive: true }));
  return prepared;
}
