import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { knownPages } from '../../server/evidence/evidenceParts.ts';
import { openReferenceArchive } from '../../server/verification/plainFiles.ts';
import type { Finding } from '../../server/verification/report.ts';
import { type VerifyInput, verifyPaths } from '../../server/verification/verifyPaths.ts';
import { writeEvidenceParts } from '../evidence/support.ts';
import { createCase } from '../findings/support.ts';
import { entriesOf, withManifests, zipped } from '../forger/zip.ts';
import { SAMPLE_FILES } from '../support/archive/packFiles.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { runHere } from '../support/runHere.ts';

/*
 * Bags that somebody without a key changed. Whoever changes a bag writes its manifests anew, so they never make a file one of a
 * case, a pack or an archive.
 */

let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(closeTestNodes);

/** Returns what is found that is not intact, by the paths below the folder. */
async function wrongIn(path: string, input: Partial<VerifyInput> = {}): Promise<Record<string, Finding>> {
  const wrong: Record<string, Finding> = {};
  let count = 0;
  for await (const batch of verifyPaths({ paths: [join(folder, path)], ...input }))
    for (const found of batch) {
      count += 1;
      if (found.state !== 'intact') wrong[found.path.slice(folder.length + 1)] = found;
    }
  expect(count).toBeGreaterThan(0);
  return wrong;
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
}

/** The bag of a case of one pack. */
async function caseBag(node: TestNode): Promise<Buffer> {
  const pack = await uploadNewPack(node, {}, SAMPLE_FILES);
  const { id } = await createCase(node, 'Case', [{ kind: 'pack', id: pack.id }]);
  const answer = await node.fetchAsOwner(`/api/cases/${id}/bag`);
  expect(answer.status).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

test('a page at the top of a sealed case, or of an exported archive, is not a part of it', async () => {
  const rendererFolder = await writeEvidenceParts({ script: 'check()', style: 'main {}' });
  const pages = () => knownPages(rendererFolder);
  const node = await openTestNode({ rendererFolder });
  const bag = await caseBag(node);
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
  const all = { 'case.zip': bag, 'archive.zip': await readFile(out) };
  for (const [name, bytes] of Object.entries(all)) {
    await write(name, bytes);
    expect(await wrongIn(name, { pages })).toEqual({});
    const entries = entriesOf(bytes);
    const root = `${entries[0]?.name.split('/', 1)[0]}/`;
    const page = { name: `${root}index.html`, data: Buffer.from('<h1>Another story</h1>') };
    await write(name, zipped(withManifests([...entries, page])).bytes);
    expect((await wrongIn(name, { pages }))[`${name}/index.html`]).toMatchObject({ state: 'unknown' });
    // Without a tag manifest, nothing lists it.
    const unlisted = [...entries.filter((entry) => !entry.name.includes('/tagmanifest-')), page];
    await write(name, zipped(unlisted).bytes);
    expect((await wrongIn(name, { pages }))[`${name}/index.html`]).toMatchObject({ state: 'unknown' });
  }
});

test('an exported archive is verified as one, whatever its folder is called and however its header is written', async () => {
  const node = await openTestNode();
  await uploadNewPack(node, { title: 'True title' }, {});
  await node.close();
  const out = join(folder, 'archive.zip');
  expect(await runHere(['export', '--data', node.dataFolder, '--out', out])).toMatchObject({ code: 0 });
  const forged = entriesOf(await readFile(out)).map(({ name, data }) => ({
    name: name.replace(/^[^/]+/, 'renamed'),
    data: name.endsWith('/dump.jsonl')
      ? Buffer.from(
          data
            .toString()
            .replace(/^\{"kind":"header",([^\n]*)\}\n/, '{$1,"kind":"header"}\n')
            .replaceAll('True title', 'Forged title'),
        )
      : data,
  }));
  await write('forged.zip', zipped(withManifests(forged)).bytes);
  expect(await wrongIn('forged.zip')).toMatchObject({ 'forged.zip/data/dump.jsonl': { verdict: 'altered' } });
});

test('in the folder of a bag, links and files that are no part of it are named', async () => {
  const node = await openTestNode();
  const pack = await uploadNewPack(node, {}, SAMPLE_FILES);
  const other = await uploadNewPack(node, { title: 'Other' }, { 'more.txt': 'More' });
  const bytes = await (await node.fetch(`/api/packs/${pack.id}/file`)).arrayBuffer();
  await write('x.zip', Buffer.from(bytes));
  await extract(join(folder, 'x.zip'), folder);
  expect(await wrongIn(pack.id)).toEqual({});
  await symlink('/', join(folder, pack.id, 'data/linked'));
  expect(await wrongIn(pack.id)).toMatchObject({ [`${pack.id}/data/linked`]: { state: 'unknown' } });
  // A pack without a bag: the record, and `data/`.
  await write(`plain/${pack.id}/pack.json`, await readFile(join(folder, pack.id, 'pack.json')));
  await rename(join(folder, pack.id, 'data'), join(folder, 'plain', pack.id, 'data'));
  await write(`plain/${pack.id}/README.html`, 'Another story');
  await write(`plain/${pack.id}/data/more.txt`, 'More');
  const wrong = {
    [`plain/${pack.id}/README.html`]: { state: 'unknown', detail: 'not a file of a pack' },
    [`plain/${pack.id}/data/linked`]: { state: 'unknown' },
    [`plain/${pack.id}/data/more.txt`]: { state: 'unknown', detail: 'not in the record' },
  };
  expect(await wrongIn(`plain/${pack.id}`)).toMatchObject(wrong);
  // The archive holds the bytes, as a file of another pack.
  expect(other.id).not.toBe(pack.id);
  const holder = await openReferenceArchive(node.dataFolder);
  expect(await wrongIn(`plain/${pack.id}`, { holder })).toMatchObject(wrong);
});
