import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import type { Pack } from '../../../shared/archive/pack.ts';
import { sha256Of } from '../../support/archive/packs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../support/node.ts';
import { runHere } from '../../support/runHere.ts';

afterEach(closeTestNodes);

/** Pack files as version 1 wrote them (decision 7): a pack, and one that replicates and supersedes it. */
const OLDER = {
  original: {
    id: 'pk_6f68c6fa41defc43d3b0',
    sha256: '8f99f9edb0ef3ece42e4ce6d4b92acf61a77f8d69b934f997ae9d00218b12d40',
  },
  replication: {
    id: 'pk_61110256025c6c1ba9c3',
    sha256: '81d1b1b60c99b7afbd182f3c1b5af505066132b00f1ffefcf5b7316a95c0c8bc',
  },
};
const older = (name: string) =>
  fileURLToPath(new URL(`../../support/fixtures/older-pack-files/${name}.pack.zip`, import.meta.url));

test('pack files of version 1 are taken, keep their ids and fingerprints, and are written anew in other bytes', async () => {
  const node = await openTestNode();
  for (const [name, { id, sha256 }] of Object.entries(OLDER)) {
    const bytes = await readFile(older(name));
    expect(sha256Of(bytes)).toBe(sha256);
    const response = await node.fetchAsOwner('/api/packs', {
      method: 'POST',
      headers: { 'Content-Type': 'application/zip' },
      body: bytes,
    });
    expect(response.status).toBe(201);
    const pack = (await response.json()) as Pack;
    expect(pack).toMatchObject({ id, digest: expect.stringContaining(id.slice(3)) });
    const written = Buffer.from(await (await node.fetch(`/api/packs/${id}/file`)).arrayBuffer());
    expect(written.equals(bytes)).toBe(false);
    expect(await (await node.fetch(`/api/packs/${id}/verify`)).json()).toMatchObject({ ok: true });
  }
});

test('strongroom verify finds pack files of version 1 intact', async () => {
  const folder = await temporaryFolder();
  for (const name of Object.keys(OLDER)) await copyFile(older(name), join(folder, `${name}.pack.zip`));
  const { code, stdout } = await runHere(['verify', folder]);
  expect({ code, stdout }).toMatchObject({ code: 0 });
});
