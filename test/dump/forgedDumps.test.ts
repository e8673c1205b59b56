import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ZipFile } from 'yazl';
import { retrievalLeaf } from '../../server/collection/record/retrievalLeaf.ts';
import { DumpError } from '../../server/dump/dumpFile.ts';
import { importDump } from '../../server/dump/importArchive.ts';
import { fingerprintOf, hashOf } from '../../server/ledger/entry.ts';
import type { Finding } from '../../server/verification/report.ts';
import { verifyPaths } from '../../server/verification/verifyPaths.ts';
import { systemClock } from '../../shared/clock.ts';
import { type LedgerEntry, NO_HASH } from '../../shared/ledger.ts';
import type { RecordedRetrieval } from '../../shared/source.ts';
import { runCommand } from '../support/cli.ts';
import { extract } from '../support/extract.ts';
import { closeTestNodes, openTestNode } from '../support/node.ts';
import { olderDump } from '../support/olderArchive.ts';
import { sha256Of } from '../support/packs.ts';
import { closeScriptedWebs } from '../support/scriptedWeb.ts';
import { filledArchive } from './filledArchive.ts';

type Line = Record<string, unknown> & { kind: string };

let folder: string;
/** The lines of an honest dump that has every kind, and the archive that it is of. */
let honest: Line[];
let archive: { data: string; head: unknown };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  const data = join(folder, 'data');
  const node = await filledArchive(data);
  honest = linesOf(await (await node.node.fetch('/api/dump.jsonl')).text());
  archive = { data, head: ((await (await node.node.fetch('/api/ledger')).json()) as { head: unknown }).head };
  await node.node.close();
}, 60_000);
afterAll(async () => {
  await closeTestNodes();
  await closeScriptedWebs();
  await rm(folder, { recursive: true });
});

function linesOf(dump: string): Line[] {
  return dump
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** A dump of these lines, whose trailer counts and hashes them. */
function withTrailer(lines: readonly Line[]): string {
  const body = lines
    .filter(({ kind }) => kind !== 'trailer')
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
  const counts: Record<string, number> = {};
  for (const { kind } of lines.slice(1, -1)) counts[kind] = (counts[kind] ?? 0) + 1;
  const sha256 = createHash('sha256').update(body).digest('hex');
  return `${body}${JSON.stringify({ kind: 'trailer', counts, sha256 })}\n`;
}

/** A copy of the lines with one of them altered; the one is named by its kind and its place among that kind. */
function altered(lines: readonly Line[], kind: string, at: number, change: (line: Line) => Line): Line[] {
  const copy = structuredClone(lines) as Line[];
  const index = indexOf(copy, kind, at);
  copy[index] = change(copy[index] as Line);
  return copy;
}

function indexOf(lines: readonly Line[], kind: string, at: number): number {
  const places = lines.flatMap((line, index) => (line.kind === kind ? [index] : []));
  const index = places.at(at);
  if (index === undefined) throw new Error(`There is no line ${at} of the kind ${kind}.`);
  return index;
}

/** What `verify` and `import` say of a dump: both refuse it, name the same line, and keep nothing. */
async function refusal(dump: string): Promise<{ line: number | undefined; sentence: string }> {
  const own = await mkdtemp(join(folder, 'forged-'));
  const file = join(own, 'dump.jsonl');
  await writeFile(file, dump);
  const { value: found } = await verifyPaths({ paths: [file] }).next();
  const error: unknown = await importDump(join(own, 'new'), file, systemClock).catch(
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(DumpError);
  const { line, message: sentence } = error as DumpError;
  expect(found).toMatchObject({ state: 'changed', detail: sentence });
  expect((found as Finding).line).toBe(line);
  expect(await readdir(own)).toEqual(['dump.jsonl']);
  return { line, sentence };
}

const member = (name: string, value: unknown) => (line: Line) => ({ ...line, [name]: value });
const inRecord = (name: string, value: unknown) => (line: Line) => ({
  ...line,
  record: { ...(line.record as object), [name]: value },
});
const DIGEST = 'f'.repeat(64);
const AT = '2020-01-01T00:00:00.000Z';

/** One changed line of each kind, and of each kind of change; what must be said of it. */
const CHANGES: [kind: string, at: number, what: string, change: (line: Line) => Line, said: string][] = [
  ['header', 0, 'of another node', member('node', 'node-f.local/strongroom'), 'not the one that signed'],
  [
    'header',
    0,
    'with a checkpoint of another size',
    (line) => member('checkpoint', String(line.checkpoint).replace(/\n\d+\n/, '\n2\n'))(line),
    'altered',
  ],
  ['header', 0, 'with a member beside', member('extra', 1), '/extra'],
  ['entry', 3, 'with another digest', member('digest', DIGEST), 'entry 4 was altered'],
  ['entry', 3, 'of another type', member('type', 'comment.added'), 'entry 4 was altered'],
  ['entry', 3, 'of an unknown type', member('type', 'made.up'), '/type'],
  ['node', 1, 'with another title', member('title', 'Above'), 'altered'],
  ['node', 1, 'at no path', member('path', 'A b'), '/path'],
  ['study', 0, 'with another question', member('question', 'Why?'), 'altered'],
  ['study', 0, 'with a member beside', member('extra', 1), '/extra'],
  ['study_status', 0, 'with another note', member('note', 'forged'), 'altered'],
  ['study_status', 0, 'at no instant', member('at', 'yesterday'), '/at'],
  ['pack', 0, 'with another title', inRecord('title', 'Forged'), 'altered'],
  ['pack', 0, 'received at another time', member('received_at', AT), 'received_at'],
  ['pack', 0, 'of another entry', member('ledger_entry', 1), 'recorded nothing of this kind'],
  ['pack', 0, 'whose record has a member beside', inRecord('extra', 1), 'altered'],
  ['flag', 0, 'for another reason', member('reason', 'duplicate'), ''],
  ['flag', 0, 'with another note', member('note', 'Forged'), 'altered'],
  ['comment', 0, 'with another body', member('body', 'Forged'), 'altered'],
  ['comment', 1, 'that answers nothing', member('reply_to', null), 'altered'],
  ['comment', 0, 'without an author', member('author', ''), '/author'],
  ['source', 0, 'with a script for an address', member('url', 'javascript:alert(1)'), '/url'],
  [
    'source',
    0,
    'with another address',
    member('url', 'http://forged.example/'),
    'its id is not that of its address',
  ],
  ['source', 0, 'with another name', member('name', 'Forged'), 'altered'],
  ['source', 0, 'of another revision', member('revision', 1), 'altered'],
  ['source', 3, 'that was not removed', member('removed', 0), 'altered'],
  ['source', 0, 'of a state that does not exist', member('state', 'lost'), '/state'],
  ['source', 0, 'in another state', member('state', 'gone'), 'its state'],
  ['source', 0, 'with another version', member('last_sha256', DIGEST), 'last_sha256'],
  ['source', 0, 'with another last event', member('last_event_type', 'first_seen'), 'last_event_type'],
  ['source', 0, 'checked every no minutes', member('every_minutes', -1), '/every_minutes'],
  ['source', 0, 'last checked at no instant', member('last_checked_at', '2020'), '/last_checked_at'],
  ['source', 0, 'due at no instant', member('next_check_at', 'soon'), '/next_check_at'],
  ['source', 0, 'failing for no reason', member('consecutive', 1), 'failures'],
  ['source', 0, 'with other rules', member('rules_digest', 'f'.repeat(20)), 'rules_digest'],
  ['source', 0, 'with a header that none may have', member('header_names', ['Host']), '/header_names'],
  ['source', 0, 'with another header', member('header_names', ['X-Other']), 'altered'],
  ['source_revision', 0, 'with another name', inRecord('name', 'Forged'), 'altered'],
  [
    'source_revision',
    0,
    'with a script for an address',
    inRecord('url', 'javascript:alert(1)'),
    '/record/url',
  ],
  ['round', 0, 'begun by nobody', member('started_by', 'nobody'), '/started_by'],
  ['round', 0, 'with fewer than no checks', member('checked', -1), '/checked'],
  ['round', 0, 'of another number', member('id', 0), '/id'],
  ['retrieval_batch', 0, 'with another root', member('root', DIGEST), 'altered'],
  ['retrieval_batch', 0, 'of fewer', member('first', 2), 'altered'],
  ['retrieval', 2, 'with another status', member('status', 404), 'retrieval 3 was altered'],
  ['retrieval', 2, 'with other bytes', member('sha256', DIGEST), 'retrieval 3 was altered'],
  ['retrieval', 2, 'observed at another time', member('observed_at', AT), 'retrieval 3 was altered'],
  ['retrieval', 2, 'with other headers', member('headers', [['a', 'b']]), 'retrieval 3 was altered'],
  ['retrieval', 2, 'that led to a script', member('final_url', 'javascript:alert(1)'), '/final_url'],
  ['retrieval', 2, 'with an error that does not exist', member('error', 'bad_luck'), '/error'],
  ['retrieval', 2, 'with another leaf', member('leaf', DIGEST), 'retrieval 3 was altered'],
  [
    'retrieval',
    -1,
    'whose capture was another',
    member('capture', { record_id: 'urn:forged', payload_digest: null }),
    'was altered',
  ],
  [
    'retrieval',
    -1,
    'whose capture has no digest',
    member('capture', { record_id: null, payload_digest: 'none' }),
    '/capture/payload_digest',
  ],
  ['retrieval', -1, 'altered together with its leaf', forgedLeaf, 'were altered: they are not what entry'],
  ['event', 4, 'with another digest', member('sha256', DIGEST), 'altered'],
  ['event', 4, 'of another type', member('event_type', 'recovered'), 'altered'],
  ['event', 4, 'backdated', member('observed_at', AT), 'altered'],
  ['event', 4, 'of another source', member('source_key', 5), 'altered'],
  ['event_noise', 0, 'of no event', member('event', 99), 'its event'],
  ['event_noise', 0, 'neither noise nor news', member('is_noise', 2), '/is_noise'],
  ['object_damage', 0, 'of another object', member('sha256', DIGEST), 'altered'],
  ['object_restoration', 0, 'at another time', member('at', AT), 'altered'],
  ['trailer', 0, 'that counts otherwise', member('counts', {}), 'The trailer does not count'],
];

function forgedLeaf(line: Line): Line {
  const { kind: _kind, leaf: _leaf, ...retrieval }: Line = { ...line, status: 500 };
  return {
    ...line,
    status: 500,
    leaf: retrievalLeaf(retrieval as unknown as RecordedRetrieval).toString('hex'),
  };
}

describe('a dump with one changed line is refused by verify and import, and the line is named', () => {
  test.each(CHANGES)('a %s (%i) %s', async (kind, at, _what, change, said) => {
    const forged = altered(honest, kind, at, change);
    const [dump, trailer] = [withTrailer(forged), forged.at(-1) as Line];
    const whole = JSON.parse(dump.trimEnd().split('\n').at(-1) ?? '') as Line;
    const { line, sentence } = await refusal(
      kind === 'trailer'
        ? dump.replace(JSON.stringify(whole), JSON.stringify({ ...whole, counts: trailer.counts }))
        : dump,
    );
    expect(sentence).toContain(said);
    if (kind !== 'trailer') {
      expect(sentence).toMatch(/^line \d+: [^\n]*\.$/);
      expect(line).toBe(indexOf(honest, kind, at) + 1);
    }
  });

  test('the table has every kind', () => {
    expect(new Set(CHANGES.map(([kind]) => kind))).toEqual(new Set(honest.map(({ kind }) => kind)));
  });

  test.each(['node', 'comment', 'event', 'source_revision', 'retrieval_batch', 'object_damage'])(
    'a %s, whose entry and all after it were sealed anew, is not what was signed',
    async (kind) => {
      const at = indexOf(honest, kind, 0);
      const seq = Number(honest[at]?.ledger_entry);
      let prev = NO_HASH;
      const forged = honest.map((line) => {
        if (line.kind !== 'entry') return line;
        const { kind: _kind, hash: _hash, ...entry } = line as unknown as LedgerEntry & { kind: string };
        const unsealed = { ...entry, prev, digest: entry.seq === seq ? fingerprintOf({}) : entry.digest };
        prev = hashOf(unsealed);
        return { kind: 'entry', ...unsealed, hash: prev };
      });
      expect((await refusal(withTrailer(forged))).sentence).toContain(
        'not those that its checkpoint was signed over',
      );
    },
  );
});

const KINDS = [
  'entry',
  'node',
  'study',
  'study_status',
  'pack',
  'flag',
  'comment',
  'source',
  'source_revision',
  'round',
  'retrieval_batch',
  'retrieval',
  'event',
  'object_damage',
  'object_restoration',
];

describe('and so is one in which', () => {
  test.each(KINDS)('a %s was taken away', async (kind) => {
    const at = indexOf(honest, kind, 0);
    const { sentence } = await refusal(withTrailer(honest.filter((_line, index) => index !== at)));
    expect(sentence).toMatch(/before it|missing|covered by no entry/);
  });

  test.each([...KINDS, 'event_noise'])('a %s stands twice', async (kind) => {
    const at = indexOf(honest, kind, 0);
    const twice = [...honest.slice(0, at + 1), honest[at] as Line, ...honest.slice(at + 1)];
    const { line, sentence } = await refusal(withTrailer(twice));
    expect([line, sentence]).toEqual([at + 2, expect.stringContaining('stands twice')]);
  });

  test.each(['node', 'pack', 'comment', 'source', 'round', 'retrieval', 'event'])(
    'two of the kind %s changed places',
    async (kind) => {
      const at = indexOf(honest, kind, 0);
      const swapped = [...honest];
      [swapped[at], swapped[at + 1]] = [honest[at + 1] as Line, honest[at] as Line];
      expect((await refusal(withTrailer(swapped))).line).toBeGreaterThan(at);
    },
  );

  test.each([
    ['a line of a kind that does not exist', { kind: 'secret' }, 'no line of the kind "secret"'],
    ['another header', { kind: 'header' }, 'no line of the kind "header"'],
  ])('%s was put in', async (_what, extra, said) => {
    const { line, sentence } = await refusal(withTrailer([...honest.slice(0, 3), extra, ...honest.slice(3)]));
    expect([line, sentence]).toEqual([4, expect.stringContaining(said)]);
  });

  test('a key stands twice in one object, or half a pair of surrogates', async () => {
    const at = indexOf(honest, 'comment', 0);
    const forge = (replace: (line: string) => string) => {
      const lines = honest.slice(0, -1).map((line) => JSON.stringify(line));
      lines[at] = replace(lines[at] ?? '');
      const body = `${lines.join('\n')}\n`;
      return `${body}${JSON.stringify({ ...honest.at(-1), sha256: createHash('sha256').update(body).digest('hex') })}\n`;
    };
    const twice = await refusal(forge((line) => line.replace('"author"', '"author":"Eve","author"')));
    expect(twice).toEqual({ line: at + 1, sentence: expect.stringContaining('twice in one object') });
    const half = await refusal(forge((line) => line.replace('"Ada"', '"\\ud800"')));
    expect(half).toEqual({ line: at + 1, sentence: expect.stringContaining('surrogate') });
  });

  test('its batches were lost, and it says that it is of the format before there were any', async () => {
    const sources = new Map(honest.filter(({ kind }) => kind === 'source').map(({ id, key }) => [id, key]));
    const older = honest.flatMap((line): Line[] => {
      if (line.kind === 'header') return [{ ...line, format: 1 }];
      if (line.kind === 'retrieval_batch') return [];
      if (line.kind !== 'retrieval') return [line];
      const { source, leaf: _leaf, capture: _capture, ...rest } = line;
      return [{ ...rest, source_key: sources.get(source) } as Line];
    });
    expect((await refusal(withTrailer(older))).sentence).toContain(
      '(retrievals.recorded) recorded is missing',
    );
  });
});

/** Rewrites the dump in an exported archive, with every digest that speaks of it. */
async function rewriteDump(file: string, forged: string, change: (dump: string) => string): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  await extract(file, own);
  const bag = join(own, 'strongroom-archive');
  const rewrite = async (name: string, text: string) => {
    const before = sha256Of(await readFile(join(bag, name)));
    await writeFile(join(bag, name), text);
    return [before, sha256Of(text)] as const;
  };
  const [dump, manifest] = ['data/dump.jsonl', 'manifest-sha256.txt'];
  const digests = await rewrite(dump, change(await readFile(join(bag, dump), 'utf8')));
  const text = (await readFile(join(bag, manifest), 'utf8')).replace(...digests);
  const ofManifest = await rewrite(manifest, text);
  const tags = 'tagmanifest-sha256.txt';
  await rewrite(tags, (await readFile(join(bag, tags), 'utf8')).replace(...ofManifest));
  const zip = new ZipFile();
  for (const entry of await readdir(own, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) zip.addFile(path, relative(own, path));
  }
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(forged));
  await rm(own, { recursive: true });
}

describe('an honest dump', () => {
  test('holds, and is read back into an archive of the same head that verifies', async () => {
    const own = await mkdtemp(join(folder, 'honest-'));
    const file = join(own, 'dump.jsonl');
    await writeFile(file, withTrailer(honest));
    expect(await runCommand(['verify', file])).toMatchObject({ code: 0, stderr: '' });
    expect(await runCommand(['import', file, '--data', join(own, 'new')])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const node = await openTestNode({ dataFolder: join(own, 'new') });
    const ledger = (await (await node.fetch('/api/ledger')).json()) as { head: unknown };
    expect(ledger.head).toEqual(archive.head);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
    const again = linesOf(await (await node.fetch('/api/dump.jsonl')).text());
    expect(again.slice(1, -1)).toEqual(honest.slice(1, -1));
  });

  test('of an earlier version is read back too, and its retrievals are covered at the first opening', async () => {
    const own = await mkdtemp(join(folder, 'older-'));
    const file = join(own, 'dump.jsonl');
    await writeFile(file, await olderDump());
    expect(await runCommand(['verify', file])).toMatchObject({ code: 0, stderr: '' });
    expect(await runCommand(['import', file, '--data', join(own, 'new')])).toMatchObject({
      code: 0,
      stderr: '',
    });
    const before = await runCommand(['ledger', 'verify', '--data', join(own, 'new')]);
    expect(before).toMatchObject({ code: 0, stderr: '' });
    const node = await openTestNode({ dataFolder: join(own, 'new') });
    const { items } = (await (await node.fetch('/api/ledger?from=31')).json()) as { items: LedgerEntry[] };
    expect(items.map(({ type, subject }) => [type, subject])).toEqual([
      ['object.damaged', expect.any(String)],
      ['retrievals.recorded', '1-16'],
    ]);
    expect(await (await node.fetch('/api/ledger/verify')).json()).toMatchObject({ ok: true, problems: [] });
  });

  test('of an earlier version, with a changed line, is refused', async () => {
    const older = linesOf(await olderDump());
    const scripted = altered(older, 'source', 0, member('url', 'javascript:alert(1)'));
    expect(await refusal(withTrailer(scripted))).toMatchObject({
      line: indexOf(older, 'source', 0) + 1,
      sentence: expect.stringContaining('/url'),
    });
    const commented = altered(older, 'comment', 0, member('body', 'Forged'));
    expect((await refusal(withTrailer(commented))).line).toBe(indexOf(older, 'comment', 0) + 1);
  });
});

test('a source whose address is longer than it was said, by its percent signs, is read back', async () => {
  const own = await mkdtemp(join(folder, 'long-'));
  const node = await openTestNode({ dataFolder: join(own, 'data') });
  const url = `http://long.example/${'ü'.repeat(4_000)}`;
  expect((await node.sendJson('POST', '/manage/sources', { url })).status).toBe(201);
  await writeFile(join(own, 'dump.jsonl'), await (await node.fetch('/api/dump.jsonl')).text());
  const read = await runCommand(['import', join(own, 'dump.jsonl'), '--data', join(own, 'new')]);
  expect(read).toMatchObject({ code: 0, stderr: '' });
});

describe('the commands say it', () => {
  test('verify and import with the line, in words and as JSON, and end with 1', async () => {
    const own = await mkdtemp(join(folder, 'said-'));
    const file = join(own, 'dump.jsonl');
    await writeFile(file, withTrailer(altered(honest, 'comment', 0, member('body', 'Forged'))));
    const at = indexOf(honest, 'comment', 0) + 1;
    const said = new RegExp(`line ${at}: .*altered`);
    const verified = await runCommand(['verify', file]);
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringMatching(said)]);
    const asJson = await runCommand(['verify', '--json', file]);
    expect(JSON.parse(asJson.stdout.split('\n')[0] ?? '')).toMatchObject({ state: 'changed', line: at });
    const read = await runCommand(['import', file, '--data', join(own, 'new')]);
    expect([read.code, read.stderr]).toEqual([1, expect.stringMatching(said)]);
    const readAsJson = await runCommand(['import', '--json', file, '--data', join(own, 'new')]);
    expect(JSON.parse(readAsJson.stdout)).toMatchObject({ ok: false, line: at });
    expect(await readdir(own)).toEqual(['dump.jsonl']);
  });

  test('of a whole archive whose dump, manifests and tag manifest were rewritten together', async () => {
    const own = await mkdtemp(join(folder, 'export-'));
    const file = join(own, 'archive.zip');
    await runCommand(['export', '--data', archive.data, '--out', file]);
    const forged = join(own, 'forged.zip');
    await rewriteDump(file, forged, (dump) =>
      withTrailer(altered(linesOf(dump), 'comment', 0, member('body', 'Forged'))),
    );
    const said = new RegExp(`line ${indexOf(honest, 'comment', 0) + 1}: .*altered`);
    const verified = await runCommand(['verify', forged]);
    expect([verified.code, verified.stdout]).toEqual([1, expect.stringMatching(said)]);
    const read = await runCommand(['import', forged, '--data', join(own, 'new')]);
    expect([read.code, read.stderr]).toEqual([1, expect.stringMatching(said)]);
    expect((await readdir(own)).sort()).toEqual(['archive.zip', 'forged.zip']);
  });
});
