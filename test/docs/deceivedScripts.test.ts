import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { sha256Of } from '../../server/ledger/entry.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';
import { SigningOwner } from '../evidence/signingOwner.ts';
import { codeBlocksOf } from '../support/docs.ts';
import { closeTestNodes, openTestNode, temporaryFolder } from '../support/node.ts';
import { requirePrograms } from '../support/requirements.ts';

/*
 * The scripts of the documentation, given what somebody made to deceive them: with the key of a node, or without any.
 */

afterEach(closeTestNodes);

const run = promisify(execFile);

/** Saves the scripts, and returns a function that runs one of them. */
async function savedScripts() {
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('verify-by-hand.md', 'python'))
    await writeFile(join(folder, name), program);
  const python = async (...words: string[]) => (await run('python3', words, { cwd: folder })).stdout;
  return { folder, python };
}

test('the signature script refuses keys with which anybody can sign', async () => {
  const { folder, python } = await savedScripts();
  const said = async (encoded: Buffer) => {
    const key = Buffer.concat([Buffer.of(1), encoded]);
    const id = createHash('sha256').update('weak.example\n').update(key).digest().subarray(0, 4);
    // The identity as the point, and 0: this holds for a key that is the identity, whatever the text is.
    const signature = Buffer.concat([id, Buffer.of(1), Buffer.alloc(63)]).toString('base64');
    await writeFile(
      join(folder, 'weak.key'),
      `weak.example+${id.toString('hex')}+${key.toString('base64')}\n`,
    );
    await writeFile(join(folder, 'weak.note'), `weak.example\n5\nAAAA\n\n— weak.example ${signature}\n`);
    return python('signature.py', 'weak.note', 'weak.key');
  };
  const encodings = {
    identity: `01${'00'.repeat(31)}`,
    ofOrderTwo: `ec${'ff'.repeat(30)}7f`,
    ofOrderFour: '00'.repeat(32),
    ofOrderEight: '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  };
  for (const [what, hex] of Object.entries(encodings))
    expect(await said(Buffer.from(hex, 'hex')), what).toMatch(/^NOT SIGNED BY/);
  // RFC 8032, section 5.1.3: x is 0, and its sign bit is set.
  for (const hex of [`01${'00'.repeat(30)}80`, `ec${'ff'.repeat(31)}`])
    await expect(said(Buffer.from(hex, 'hex')), hex).rejects.toThrow('not the one encoding of a point');
});

test('a retrieval that the ledger does not cover is not believed, whatever a node says of its entry', async () => {
  const { folder, python } = await savedScripts();
  const node = await openTestNode();
  await node.sendJson('POST', '/api/nodes', { path: 'a', title: 'A' });
  expect(await python('ledger.py', node.url)).toMatch(/^1 entries of /);
  const retrieval = { id: 5, url: 'https://page.example/never-fetched', sha256: 'a'.repeat(64), status: 200 };
  const root = sha256Of(`\0${canonicalText(retrieval)}`);
  const digest = sha256Of(canonicalText({ first: 5, last: 5, root }));
  const entry = { seq: 3, type: 'retrievals.recorded', subject: '5', digest, hash: 'not even a hash' };
  let hashes: string[] = [];
  const server = createServer((request, response) => {
    const proof = { retrieval, first: 5, last: 5, hashes, ledger_entry: 3 };
    response.end(JSON.stringify(request.url?.endsWith('/proof') ? proof : { items: [entry] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(await python('retrieval.py', url, '5')).toMatch(/^NOT COVERED by an entry "https:/);
    // It would be covered if the ledger had that entry.
    await writeFile(join(folder, 'ledger.json'), JSON.stringify([entry]));
    expect(await python('retrieval.py', url, '5')).toMatch(/^covered by entry 3 /);
    hashes = [Buffer.alloc(32).toString('base64')];
    await expect(python('retrieval.py', url, '5')).rejects.toThrow('the proof is too long');
  } finally {
    server.close();
  }
});

test('a script that rests on asserts refuses to run without them', async () => {
  let refused = 0;
  for (const document of ['verify-by-hand.md', 'pack-format.md', 'exports.md', 'scripts/python.md']) {
    const folder = await temporaryFolder();
    const scripts = await codeBlocksOf(document, 'python');
    for (const [name, program] of scripts) await writeFile(join(folder, name), program);
    for (const [name, program] of scripts) {
      if (!/^\s*(if .*: )?assert\b/m.test(program)) continue;
      refused += 1;
      await expect(run('python3', ['-O', name, '-', '-'], { cwd: folder }), name).rejects.toThrow(
        'python3 -O leaves out the checks of this script',
      );
    }
  }
  expect(refused).toBe(7);
});

/** What a reader would take for another verdict: a line of its own, after which a terminal shows nothing. */
const VERDICT = '1\nintact: "event.recorded" "1" signed by "other.example"\n\u001b[8m\u009b8m';

test('no script prints a verdict that is in what it reads', async () => {
  const { folder, python } = await savedScripts();
  const owner = new SigningOwner();
  const record = canonicalText({
    id: VERDICT,
    url: `https://page.example/${VERDICT}`,
    sha256: sha256Of('x'),
    previous_sha256: null,
  });
  const entry = owner.add('event.recorded', VERDICT, record);
  const file = { name: VERDICT, sha256: sha256Of('y'), bytes: 1, media_type: '', content: 'eQ==' };
  const evidence = owner.seal({ kind: 'event', recorded: owner.proven(entry, record), files: [file] });
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  const writeEvidence = (value: object) =>
    write('evidence.html', `<i id="evidence">${JSON.stringify(value)}</i>`);
  await write('key', `${owner.key.verifierKey}\n`);
  await writeEvidence(evidence);
  const lines = [await python('evidence.py', 'evidence.html', 'key')];
  expect(lines[0]).toMatch(/^intact: "event.recorded" "1\\nintact/);
  const { checkpoint, hashes } = owner.prove(entry);
  const path = hashes.map((hash) => `${hash}\n`).join('');
  await write('entry.json', JSON.stringify(entry));
  await write('entry.tlog-proof', `c2sp.org/tlog-proof@v1\nindex 0\n${path}\n${checkpoint}`);
  lines.push(await python('proof.py', 'entry.json', 'entry.tlog-proof'));
  await write('other.tlog-proof', `c2sp.org/tlog-proof@v1\nindex 0\n\n\u001b[8m${checkpoint}`);
  lines.push(await python('proof.py', 'entry.json', 'other.tlog-proof'));
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]+\n$/);

  // The sentences of what does not hold say no more.
  for (const change of [{ key: VERDICT }, { files: [{ ...file, content: 'eg==' }] }]) {
    await writeEvidence(owner.seal({ ...evidence, ...change }));
    const refused = run('python3', ['evidence.py', 'evidence.html', 'key'], { cwd: folder });
    await expect(refused).rejects.toThrow(/^AssertionError: [\x20-\x7e]+\n$/m);
    await expect(refused).rejects.not.toThrow(/^intact/m);
  }
});

test('the shell scripts print no verdict that is in what they read, and run nothing of it', async ({
  skip,
}) => {
  await requirePrograms(['openssl'], skip);
  const folder = await temporaryFolder();
  for (const [name, program] of await codeBlocksOf('scripts/shell.md', 'sh'))
    await writeFile(join(folder, name), program);
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  const prove = () =>
    run('sh', ['proof.sh', 'entry', 'proof', 'key'], { cwd: folder }).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error as { stdout: string }).stdout,
    );
  const owner = new SigningOwner();
  const entry = owner.add('pack.added', 'pk_\nNOT IN the ledger of anybody', '{}');
  const { checkpoint } = owner.prove(entry);
  await write('entry', canonicalText(entry));
  await write('key', `${owner.key.verifierKey}\n`);
  await write('proof', `c2sp.org/tlog-proof@v1\nindex 0\n\n${checkpoint}`);
  expect(await prove()).toMatch(
    /^signed by owner.example\nin the ledger of owner.example: \{.*pk_\\n.*\}\n$/,
  );
  for (const index of ['a[$(touch touched)]', '', '0\nindex 1']) {
    await write('proof', `c2sp.org/tlog-proof@v1\nindex ${index}\n\n${checkpoint}`);
    expect(await prove()).toBe('signed by owner.example\nthis is not a proof\n');
  }
  for (const name of ['x||p;e touch touched ', 'owner.example\nx', '']) {
    await write('key', owner.key.verifierKey.replace('owner.example', name));
    expect(await prove()).toBe('this is not the key of a node\n');
  }
  expect(await readdir(folder)).not.toContain('touched');
});
