import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SAMPLE_FILES } from '../support/archive/packFiles.ts';
import { uploadNewPack } from '../support/archive/packs.ts';
import { closeTestNodes, openTestNode, type TestNode, temporaryFolder } from '../support/node.ts';
import { requirePrograms } from '../support/requirements.ts';

const run = promisify(execFile);
const DOCUMENT = fileURLToPath(new URL('../../docs/pack-format.md', import.meta.url));
const CLI = fileURLToPath(new URL('../../server/cli.ts', import.meta.url));

let node: TestNode;
let folder: string;
let id: string;
let document: string;

beforeEach(async () => {
  document = await readFile(DOCUMENT, 'utf8');
  node = await openTestNode();
  folder = await temporaryFolder();
  ({ id } = await uploadNewPack(node, {}, SAMPLE_FILES));
  const response = await node.fetch(`/api/packs/${id}/file`);
  await writeFile(join(folder, `${id}.pack.zip`), Buffer.from(await response.arrayBuffer()));
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/strongroom'), `#!/bin/sh\nexec ${process.execPath} ${CLI} "$@"\n`);
  await chmod(join(folder, 'bin/strongroom'), 0o755);
});
afterEach(closeTestNodes);

/** A fenced block of the document by its language and name. */
function block(language: string, name: string): string {
  const fence = new RegExp(`^\`\`\`${language} ${name.replace('.', '\\.')}\\n(.*?)^\`\`\`$`, 'ms');
  return fence.exec(document)?.[1] ?? 'exit 9';
}

async function output(name: string): Promise<string> {
  const env = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    LC_ALL: 'C.UTF-8',
    FILE: `${id}.pack.zip`,
    ID: id,
    NODE: node.url,
    TOKEN: node.token,
  };
  return (await run('sh', ['-ec', block('sh', name)], { cwd: folder, env })).stdout;
}

test('the commands in pack-format.md accept a pack file created by a node', async ({ skip }) => {
  await requirePrograms(['unzip', 'zip', 'curl', 'python3', 'sha256sum'], skip);
  expect((await output('check')).trim().split('\n')).toEqual([
    'data/notes.txt: OK',
    'data/readings/north.csv: OK',
    'data/readings/süd.csv: OK',
    'bag-info.txt: OK',
    'bagit.txt: OK',
    'manifest-sha256.txt: OK',
    'pack.json: OK',
    'ro-crate-metadata.json: OK',
  ]);
  expect(await output('name')).toBe(`${id}\n`);
  await writeFile(join(folder, 'read_pack.py'), block('python', 'read_pack.py'));
  expect(await output('python')).toBe('"Sea level at Cuxhaven" - 3 files, all intact\n');
  expect(await output('verify')).toMatch(/Everything is intact: 8 files\.\n$/);

  const record = JSON.parse(await readFile(join(folder, id, 'pack.json'), 'utf8')) as { title: string };
  await writeFile(join(folder, 'pack.json'), JSON.stringify({ ...record, title: 'Made by hand' }));
  for (const [path, content] of Object.entries(SAMPLE_FILES)) {
    await mkdir(dirname(join(folder, 'data', path)), { recursive: true });
    await writeFile(join(folder, 'data', path), content);
  }
  await output('make');
  expect(JSON.parse(await output('send'))).toMatchObject({ title: 'Made by hand', evidence: { files: 3 } });
});

test('rhash and hashdeep agree with the manifests', async ({ skip }) => {
  await requirePrograms(['unzip', 'rhash', 'hashdeep'], skip);
  await output('check');
  const said = await output('others');
  expect(said).toContain('Everything OK');
  for (const line of (await readFile(join(folder, id, 'manifest-sha256.txt'), 'utf8')).trim().split('\n')) {
    const [digest, path] = line.split('  ');
    expect(said).toContain(`${digest},${path}`);
  }
});
