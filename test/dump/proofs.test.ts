import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cosign, cosignerFrom } from '../../server/ledger/witness/cosignature.ts';
import type { Copy } from '../../shared/node/copy.ts';
import { noteBody } from '../../shared/proof/ledger/signedNote.ts';
import { keyOf } from '../evidence/signingOwner.ts';
import { history, ScriptedLog } from '../ledger/witness/scriptedLog.ts';
import {
  closeTimestampAuthorities,
  EC_KEY,
  TimestampAuthority,
} from '../support/network/timestampAuthority.ts';
import { closeTestNodes, openTestNode, type TestNode } from '../support/node.ts';
import { requirePrograms } from '../support/requirements.ts';
import { runHere } from '../support/runHere.ts';
import { closeTestStores, openTestStore } from '../support/store.ts';
import {
  altered,
  indexOf,
  type Line,
  member,
  parseLines,
  refusal,
  type ValidDump,
  withTrailer,
} from './dumpLines.ts';

/** Dumps and copies carry what authorities and witnesses said, and what this node saw as a witness. */

const valid: ValidDump = { folder: '', lines: [], data: '', head: undefined };
const LOG = new ScriptedLog();
/** A key of another owner with the name of that log. */
const OTHER = keyOf('log.example/scripted', 8);
let node: TestNode;
let copied: Copy;

beforeEach(async ({ skip }) => requirePrograms(['openssl'], skip));

/** An archive with a timestamp, a cosignature, a log that it witnesses, and a refused history of that log. */
beforeAll(async () => {
  valid.folder = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  valid.data = join(valid.folder, 'data');
  node = await openTestNode({ dataFolder: valid.data });
  const witness = await openTestNode();
  await send(witness, '/manage/witness/logs', { key: (await read(node, '/api/ledger/key')).trim() });
  await send(node, '/api/nodes', { path: 'a', title: 'A' });
  await send(node, '/api/nodes', { path: 'b', title: 'B' });
  const target = `file://${join(valid.folder, 'copy')}`;
  copied = (await (await send(node, '/manage/copies', { target })).json()) as Copy;
  await sync();
  // Nothing of what follows makes the ledger grow.
  const authority = await TimestampAuthority.open(EC_KEY);
  const witnesses = [
    { url: new URL('/witness', witness.url).href, key: (await read(witness, '/witness/key')).trim() },
  ];
  const settings = { timestamp_authorities: [authority.url], witnesses };
  expect((await node.sendJson('PATCH', '/manage/settings', settings)).status).toBe(200);
  await send(node, '/manage/timestamps', {});
  await send(node, '/manage/witnesses/submit', {});
  await send(node, '/manage/witness/logs', { key: LOG.key });
  const post = (body: string) => node.fetch('/witness/add-checkpoint', { method: 'POST', body });
  expect((await post(LOG.request(history('a', 2), 0))).status).toBe(200);
  expect((await post(LOG.request(history('b', 3), 2))).status).toBe(422);
  await sync();
  valid.lines = parseLines(await read(node, '/api/dump.jsonl'));
  await node.close();
  valid.empty = await openTestStore(join(valid.folder, 'empty'));
});
afterAll(async () => {
  await closeTestStores();
  await closeTestNodes();
  await closeTimestampAuthorities();
  await rm(valid.folder, { recursive: true });
});

async function send(to: TestNode, path: string, body: object): Promise<Response> {
  const answer = await to.sendJson('POST', path, body);
  expect(answer.ok, `${path}: ${await answer.clone().text()}`).toBe(true);
  return answer;
}

async function read(from: TestNode, path: string): Promise<string> {
  return (await from.fetchAsOwner(path)).text();
}

async function sync(): Promise<void> {
  await send(node, `/manage/copies/${copied.id}/sync?wait=true`, {});
}

const KINDS = ['timestamp', 'cosignature', 'witnessed_log', 'witness_refusal'];

test('a dump has them, and verifies', async () => {
  for (const kind of KINDS)
    expect(
      valid.lines.filter((line) => line.kind === kind),
      kind,
    ).toHaveLength(1);
  const file = join(valid.folder, 'dump.jsonl');
  // The trailer is made anew, and nobody signed it.
  await writeFile(file, withTrailer(valid.lines));
  expect(await runHere(['verify', file])).toMatchObject({ code: 3 });
});

test.each(['a dump', 'a copy'])('%s restores them', async (from) => {
  const folder = join(valid.folder, from.replace(' ', '-'));
  const file = join(valid.folder, 'restored.jsonl');
  await writeFile(file, withTrailer(valid.lines));
  const copy = `file://${join(valid.folder, 'copy')}`;
  if (from === 'a copy') expect(await runHere(['verify', copy])).toMatchObject({ code: 0, stderr: '' });
  const command = from === 'a dump' ? ['import', file] : ['restore', copy];
  expect(await runHere([...command, '--data', folder])).toMatchObject({ code: 0, stderr: '' });
  const restored = await openTestNode({ dataFolder: folder });
  expect(JSON.parse(await read(restored, '/api/ledger/timestamps'))).toMatchObject({ items: [{ size: 2 }] });
  expect(JSON.parse(await read(restored, '/manage/witness/refusals'))).toMatchObject({
    items: [{ origin: 'log.example/scripted', known_size: 2, size: 3 }],
  });
  expect(JSON.parse(await read(restored, '/api/ledger/verify'))).toMatchObject({ ok: true, problems: [] });
  const again = parseLines(await read(restored, '/api/dump.jsonl'));
  for (const kind of KINDS)
    expect(again.filter((line) => line.kind === kind)).toEqual(
      valid.lines.filter((line) => line.kind === kind),
    );
  await restored.close();
});

describe('a dump is refused if', () => {
  const CHANGES: [kind: string, what: string, change: (line: Line) => Line, message: string][] = [
    ['timestamp', 'of another root', member('root', 'f'.repeat(64)), 'another size or root'],
    ['timestamp', 'of another size', member('size', 1), 'another size or root'],
    ['timestamp', 'of another time', member('at', '2020-01-01T00:00:00.000Z'), 'its time or its number'],
    ['timestamp', 'with an altered reply', (line) => cut(line, 'reply'), 'the timestamp is not valid'],
    [
      'timestamp',
      'of another ledger',
      (line) => ({
        ...line,
        root: '00'.repeat(32),
        text: String(line.text).replace(/\n[^\n]{44}\n/, `\n${'A'.repeat(43)}=\n`),
      }),
      'is not valid',
    ],
    [
      'cosignature',
      'of another root',
      member('root', 'f'.repeat(64)),
      'the line of the witness is not valid',
    ],
    ['cosignature', 'of another log', member('origin', 'other/log'), 'the line of the witness is not valid'],
    [
      'cosignature',
      'with an altered line',
      (line) => cut(line, 'line'),
      'the line of the witness is not valid',
    ],
    ['cosignature', 'of another time', member('at', '2020-01-01T00:00:00.000Z'), 'not that of the line'],
    ['witnessed_log', 'of another size', member('size', 9), 'another log, size or root'],
    [
      'witnessed_log',
      'with an altered checkpoint',
      (line) => cut(line, 'note'),
      'its signature does not match',
    ],
    ['witnessed_log', 'of another key', member('key', OTHER.verifierKey), 'has not signed this checkpoint'],
    ['witnessed_log', 'of the key of another log', (line) => ({ ...line, key: 'x' }), 'that of another log'],
    ['witness_refusal', 'of another size', member('size', 9), 'another checkpoint'],
    ['witness_refusal', 'with another checkpoint', member('body', 'x\n1\n'), 'another checkpoint'],
    [
      'witness_refusal',
      'of an altered request',
      (line) => cut(line, 'request'),
      'its signature does not match',
    ],
    [
      'witness_refusal',
      'of an altered checkpoint that was known',
      (line) => cut(line, 'known_note'),
      'its signature does not match',
    ],
    ['witness_refusal', 'with another known size', member('known_size', 3), 'it does not contradict'],
    [
      'witness_refusal',
      'of what was known',
      (line) => {
        const known = LOG.checkpoint(history('a', 2));
        return { ...line, size: 2, body: noteBody(known), request: LOG.request(history('a', 2), 2) };
      },
      'it does not contradict',
    ],
  ];

  test.each(CHANGES)('a %s is %s', async (kind, _what, change, message) => {
    const { line, sentence } = await refusal(valid, withTrailer(altered(valid.lines, kind, 0, change)));
    expect([line, sentence]).toEqual([
      indexOf(valid.lines, kind, 0) + 1,
      expect.stringContaining(message) as string,
    ]);
  });

  test('a witness_refusal is of a log that is not there', async () => {
    const others = valid.lines.filter(({ kind }) => kind !== 'witnessed_log');
    expect(await refusal(valid, withTrailer(others))).toEqual({
      line: indexOf(others, 'witness_refusal', 0) + 1,
      sentence: expect.stringContaining('no earlier line defines its log') as string,
    });
  });

  test.each([
    ['other entries', 1, 'it belongs to another ledger'],
    ['more entries', 7, 'it covers more entries than the dump has'],
  ])('a witness cosigned %s', async (_what, size, message) => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const cosigner = cosignerFrom('other/witness', privateKey);
    const root = Buffer.alloc(32, 1);
    const { origin } = valid.lines.find(({ kind }) => kind === 'cosignature') as Line;
    const change = {
      witness: cosigner.verifierKey,
      size,
      root: root.toString('hex'),
      line: cosign(cosigner, `${String(origin)}\n${size}\n${root.toString('base64')}\n`, 0),
      at: '1970-01-01T00:00:00.000Z',
    };
    const other = altered(valid.lines, 'cosignature', 0, (line) => ({ ...line, ...change }));
    const { line, sentence } = await refusal(valid, withTrailer(other));
    expect(line).toBe(indexOf(valid.lines, 'cosignature', 0) + 1);
    expect(sentence).toContain(message);
  });
});

/** Changes a character near the end of a member. */
function cut(line: Line, name: string): Line {
  const text = String(line[name]);
  // Near the end, where the signature is.
  const at = text.length - 12;
  return { ...line, [name]: `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}` };
}
