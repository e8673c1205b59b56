import { describe, expect, test } from 'vitest';
import type { Draft } from '../../renderer/src/pages/assemble/draft.ts';
import { checkDraft, isSet, issueAt } from '../../renderer/src/pages/assemble/draftRecord.ts';
import type { DraftFile } from '../../renderer/src/pages/assemble/files/draftFile.ts';

function aDraft(changes: Partial<Draft> = {}): Draft {
  return {
    title: 'Sea level',
    summary: '',
    authors: [{ key: 'a', name: 'Ada Lovelace', orcid: '', affiliation: '' }],
    license: 'CC0-1.0',
    outcome: 'null',
    hasMethod: false,
    method: { text: '', link: '', complete: null },
    results: [],
    keywords: [],
    node: null,
    study: null,
    replicates: null,
    supersedes: null,
    related: [],
    ...changes,
  };
}

function aFile(id: string, path: string, changes: Partial<DraftFile> = {}): DraftFile {
  const sha256 = id.repeat(64).slice(0, 64);
  const file = new File(['x'], path);
  return {
    id,
    path,
    mediaType: 'text/plain',
    bytes: 1,
    file,
    isStored: false,
    savedPath: undefined,
    sha256,
    hashed: 1,
    error: undefined,
    isRefused: false,
    ...changes,
  };
}

const fieldsOf = (draft: Draft, files: DraftFile[] = []) =>
  checkDraft(draft, files).issues.map(({ field }) => field);

describe('the faults of a draft', () => {
  test('a complete draft has none and becomes the published record with sorted files', () => {
    const { record, issues } = checkDraft(aDraft({ title: '  Sea level ' }), [
      aFile('b', 'z.txt'),
      aFile('a', 'a.txt'),
    ]);
    expect(issues).toEqual([]);
    expect(record).toMatchObject({ title: 'Sea level', pack_format: 1, method: null });
    expect(record?.files.map(({ path }) => path)).toEqual(['a.txt', 'z.txt']);
  });

  test('are listed in page order, each with its field', () => {
    const empty = aDraft({ title: '', outcome: null, license: null });
    expect(fieldsOf(empty)).toEqual(['field/title', 'field/license', 'field/outcome']);
  });

  test('an ORCID iD may be pasted as a URL, and its check digit is verified', () => {
    const author = { key: 'a', name: 'Ada', orcid: 'https://orcid.org/0000-0002-1825-0097', affiliation: '' };
    expect(checkDraft(aDraft({ authors: [author] }), []).record?.authors[0]?.orcid).toBe(
      '0000-0002-1825-0097',
    );
    const wrong = { ...author, orcid: '0000-0002-1825-0098' };
    expect(fieldsOf(aDraft({ authors: [wrong] }))).toEqual(['field/authors/0/orcid']);
  });

  test('a result needs a unique name, and a number must be exact as a double', () => {
    const result = (key: string, name: string, value: string) => ({
      key,
      name,
      type: 'number' as const,
      value,
    });
    const rows = [
      result('1', 'p', '0.032'),
      result('2', 'p', '1'),
      result('3', '', '1'),
      result('4', 'n', '9007199254740993'),
      result('5', 'x', 'a lot'),
    ];
    const found = fieldsOf(aDraft({ results: rows }));
    expect(found.toSorted()).toEqual([
      'field/results/2/name',
      'field/results/3/name',
      'field/results/4/value',
      'field/results/5/value',
    ]);
    expect(checkDraft(aDraft({ results: [result('1', '__proto__', '1e-7')] }), []).record?.results).toEqual(
      JSON.parse('{"__proto__":1e-7}'),
    );
  });

  test('a file without a hash, a lost file, and a path that Windows forbids are faults', () => {
    const files = [
      aFile('a', 'a.txt', { sha256: undefined }),
      aFile('b', 'con.txt'),
      aFile('c', 'lost.txt', { file: undefined }),
    ];
    const { record, issues } = checkDraft(aDraft(), files);
    expect(record).toBeUndefined();
    expect(issues.map(({ field }) => field).toSorted()).toEqual([
      'field/files',
      'field/files/b',
      'field/files/c',
    ]);
  });

  test('a stored file of the previous version needs no contents', () => {
    const stored = aFile('a', 'a.txt', { file: undefined, isStored: true });
    expect(checkDraft(aDraft(), [stored]).record?.files).toHaveLength(1);
  });

  test('a method must be stated to be complete or not', () => {
    const method = { text: 'How', link: '', complete: null };
    expect(fieldsOf(aDraft({ hasMethod: true, method }))).toEqual(['field/method/complete']);
    expect(fieldsOf(aDraft({ hasMethod: true, method: { ...method, complete: false } }))).toEqual([]);
  });

  test('files of more than 52,428,800 bytes are a fault', () => {
    const { issues } = checkDraft(aDraft(), [
      aFile('a', 'a.bin', { bytes: 52_428_800 }),
      aFile('b', 'b.bin'),
    ]);
    expect(issues).toEqual([expect.objectContaining({ field: 'field/files' })]);
    expect(fieldsOf(aDraft(), [aFile('a', 'a.bin', { bytes: 52_428_800 })])).toEqual([]);
  });

  test('the owner publishes more as a set, up to the setting and with the same rules for paths', () => {
    const large = [aFile('a', 'a.bin', { bytes: 52_428_800 }), aFile('b', 'b.bin')];
    const setBytes = 60_000_000;
    expect(isSet(large, setBytes)).toBe(true);
    expect(isSet(large, 0)).toBe(false);
    expect(checkDraft(aDraft(), large, setBytes)).toMatchObject({ issues: [], record: { files: [] } });
    const many = Array.from({ length: 5_001 }, (_, n) => aFile('a', `${n}.txt`));
    expect(checkDraft(aDraft(), many, setBytes).issues).toEqual([]);
    expect(checkDraft(aDraft(), many).issues).not.toEqual([]);
    const over = [...large, aFile('c', 'B.bin', { bytes: 10_000_000 })];
    expect(checkDraft(aDraft(), over, setBytes).issues.map(({ field, message }) => [field, message])).toEqual(
      [
        ['field/files', expect.stringContaining('60.0 MB')],
        ['field/files/c', expect.stringContaining('differs only in case')],
      ],
    );
  });
});

test('an error from the node is shown at the field of the record it refers to', () => {
  const draft = aDraft({ results: [{ key: 'r7', name: 'a/b', type: 'text', value: '' }] });
  const files = [aFile('second', 'z.txt'), aFile('first', 'a.txt')];
  const at = (path: string) => issueAt({ path, message: 'No.' }, draft, files)[0]?.field;
  expect(at('/results/a~1b')).toBe('field/results/r7/value');
  expect(at('/files/1/path')).toBe('field/files/second');
  expect(at('/keywords/3')).toBe('field/keywords');
  expect(at('/replicates/pack')).toBe('field/replicates/pack');
});
