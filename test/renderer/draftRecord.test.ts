import { describe, expect, test } from 'vitest';
import type { Draft } from '../../renderer/src/pages/assemble/draft.ts';
import { checkDraft, issueAt } from '../../renderer/src/pages/assemble/draftRecord.ts';
import type { DraftFile } from '../../renderer/src/pages/assemble/files/draftFile.ts';

function aDraft(changes: Partial<Draft> = {}): Draft {
  return {
    title: 'Sea level',
    summary: '',
    authors: [{ key: 'a', name: 'Ada Lovelace', orcid: '', affiliation: '' }],
    license: 'CC0-1.0',
    outcome: 'null',
    hasMethod: false,
    method: { text: '', link: '', complete: false },
    results: [],
    keywords: [],
    node: null,
    study: null,
    replicates: null,
    supersedes: null,
    related: [],
    acceptsTerms: true,
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
    sha256,
    hashed: 1,
    error: undefined,
    ...changes,
  };
}

const fieldsOf = (draft: Draft, files: DraftFile[] = []) =>
  checkDraft(draft, files).issues.map(({ field }) => field);

describe('what is missing in a draft', () => {
  test('nothing, and the record is the one that will be published, files in its order', () => {
    const { record, issues } = checkDraft(aDraft({ title: '  Sea level ' }), [
      aFile('b', 'z.txt'),
      aFile('a', 'a.txt'),
    ]);
    expect(issues).toEqual([]);
    expect(record).toMatchObject({ title: 'Sea level', pack_format: 1, method: null });
    expect(record?.files.map(({ path }) => path)).toEqual(['a.txt', 'z.txt']);
  });

  test('is told in the order of the page, each point with its field', () => {
    const empty = aDraft({ title: '', outcome: null, license: null, acceptsTerms: false });
    expect(fieldsOf(empty)).toEqual(['field/title', 'field/outcome', 'field/license', 'field/terms_version']);
  });

  test('an ORCID iD may be pasted as an address, and its check digit is checked', () => {
    const author = { key: 'a', name: 'Ada', orcid: 'https://orcid.org/0000-0002-1825-0097', affiliation: '' };
    expect(checkDraft(aDraft({ authors: [author] }), []).record?.authors[0]?.orcid).toBe(
      '0000-0002-1825-0097',
    );
    const wrong = { ...author, orcid: '0000-0002-1825-0098' };
    expect(fieldsOf(aDraft({ authors: [wrong] }))).toEqual(['field/authors/0/orcid']);
  });

  test('a result needs a name of its own and, where it is a number, one that a double holds exactly', () => {
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
    expect(found).toEqual(expect.arrayContaining(['2', '3', '4', '5'].map((key) => `field/results/${key}`)));
    expect(found).not.toContain('field/results/1');
    expect(checkDraft(aDraft({ results: [result('1', '__proto__', '1e-7')] }), []).record?.results).toEqual(
      JSON.parse('{"__proto__":1e-7}'),
    );
  });

  test('a file that waits for its hash, was lost, or has a path that Windows forbids', () => {
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

  test('files beyond 52,428,800 bytes', () => {
    const { issues } = checkDraft(aDraft(), [
      aFile('a', 'a.bin', { bytes: 52_428_800 }),
      aFile('b', 'b.bin'),
    ]);
    expect(issues).toEqual([expect.objectContaining({ field: 'field/files' })]);
    expect(fieldsOf(aDraft(), [aFile('a', 'a.bin', { bytes: 52_428_800 })])).toEqual([]);
  });
});

test('what the node says of a place in the record is told at the field that it came from', () => {
  const draft = aDraft({ results: [{ key: 'r7', name: 'a/b', type: 'text', value: '' }] });
  const files = [aFile('second', 'z.txt'), aFile('first', 'a.txt')];
  const at = (path: string) => issueAt({ path, message: 'No.' }, draft, files)[0]?.field;
  expect(at('/results/a~1b')).toBe('field/results/r7');
  expect(at('/files/1/path')).toBe('field/files/second');
  expect(at('/keywords/3')).toBe('field/keywords');
  expect(at('/replicates/pack')).toBe('field/replicates/pack');
});
