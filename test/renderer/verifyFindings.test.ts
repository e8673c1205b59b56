import { expect, test } from 'vitest';
import { parseCheckpointNote } from '../../renderer/src/pages/verify/checkpointNote.ts';
import { type Finding, judge, ListIndex } from '../../renderer/src/pages/verify/findings.ts';
import { reportText } from '../../renderer/src/pages/verify/report.ts';
import { zipEntries } from '../../renderer/src/pages/verify/zipEntries.ts';
import { parseChecksums } from '../../shared/values/checksums.ts';
import { SAMPLE_FILES, VALID_PACK_FILE } from '../support/archive/packFiles.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

test('a list names files relative to its own folder, to the dropped folder, or by name alone', () => {
  const index = new ListIndex([
    { path: 'bag/manifest-sha256.txt', ...parseChecksums(`${A}  data/x.csv\n${B}  ./y.csv`) },
  ]);
  expect(index.lineFor('bag/data/x.csv')?.entry.sha256).toBe(A);
  expect(index.lineFor('data/x.csv')?.entry.sha256).toBe(A);
  expect(index.lineFor('elsewhere/y.csv')?.entry.sha256).toBe(B);
  expect(index.lineFor('z.csv')).toBeUndefined();
  expect(index.missing(['bag/data/x.csv']).map(({ entry }) => entry.name)).toEqual(['./y.csv']);
});

test('a name that two lines have does not say which file is meant', () => {
  const index = new ListIndex([
    { path: 'SHA256SUMS', ...parseChecksums(`${A}  one/x.csv\n${B}  two/x.csv`) },
  ]);
  expect(index.lineFor('x.csv')).toBeUndefined();
  expect(index.lineFor('one/x.csv')?.entry.sha256).toBe(A);
});

test('a file is judged by its list, else by the archive, else not yet', () => {
  expect(judge(A, A, undefined)).toBe('intact');
  expect(judge(A, B, null)).toBe('changed');
  expect(judge(A, null, { sha256: A, bytes: 1, pack: null, source: null })).toBe('in_archive');
  expect(judge(A, null, null)).toBe('unknown');
  expect(judge(A, null, undefined)).toBe('pending');
});

test('the report is text, CSV without formulas, or JSON', () => {
  const finding: Finding = {
    path: '=cmd,"x"',
    bytes: 3,
    sha256: A,
    expected: B,
    list: 'SHA256SUMS',
    verdict: 'changed',
    found: null,
    error: null,
  };
  const about = { node: 'n', at: '2026-11-22T10:00:00.000Z' };
  expect(reportText('csv', [finding], about)).toBe(
    `path,verdict,bytes,sha256,expected,list,pack,source,error\r\n"'=cmd,""x""",changed,3,${A},${B},SHA256SUMS,,,\r\n`,
  );
  expect(reportText('txt', [finding], about)).toContain('Changed: 1');
  expect(JSON.parse(reportText('json', [finding], about))).toMatchObject({
    counts: { changed: 1 },
    files: [finding],
  });
});

test('a checkpoint and a proof file are recognised', () => {
  const note = `node.example\n12\n${Buffer.alloc(32, 1).toString('base64')}\n\n— node.example AAAA\n`;
  expect(parseCheckpointNote('c', note)).toEqual({
    path: 'c',
    origin: 'node.example',
    size: 12,
    root: '01'.repeat(32),
    index: null,
  });
  expect(parseCheckpointNote('p', `c2sp.org/tlog-proof@v1\nindex 3\nAAAA\n\n${note}`)).toMatchObject({
    index: 3,
    size: 12,
  });
  expect(parseCheckpointNote('x', 'a text\n12\n')).toBeUndefined();
});

test('the files in a pack file are read by its directory', async () => {
  const entries = await zipEntries(new File([new Uint8Array(VALID_PACK_FILE)], 'x.pack.zip'));
  const [path, content] = Object.entries(SAMPLE_FILES)[0] ?? [];
  const entry = entries?.find((one) => one.path.endsWith(`/data/${path}`));
  expect(await new Response(entry?.open()).text()).toBe(Buffer.from(content ?? '').toString());
});

test('a file that is not a ZIP file is not read as one', async () => {
  expect(await zipEntries(new File(['PK but no directory'], 'x.zip'))).toBeUndefined();
});
