import type { PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import { PART_KEYWORD, type SetFile } from '../../../shared/archive/set.ts';
import { SET_FILE, SET_FORMAT } from '../../../shared/archive/setManifest.ts';
import { canonicalText } from '../../../shared/values/canonicalJson.ts';
import { sha256Of } from '../../ledger/entry.ts';

/**
 * Returns the record of a part. It follows from the record of the set and the files alone, so that a part that was
 * published already is known by its id.
 *
 * @param record the record of the set, without its file
 */
export function partRecord(
  record: PackRecord,
  files: readonly PackFile[],
): Omit<PackRecord, 'files'> & { files: PackFile[] } {
  const { pack_format, terms_version, authors, license, outcome } = record;
  const title = `${Array.from(record.title).slice(0, 280).join('')} (part of a set)`;
  return {
    pack_format,
    terms_version,
    title,
    summary: '',
    authors,
    license,
    outcome,
    method: null,
    results: {},
    keywords: [PART_KEYWORD],
    node: null,
    study: null,
    replicates: null,
    supersedes: null,
    related: [{ relation: 'IsPartOf', identifier: `sha256:${setIdOf(record)}` }],
    files: [...files],
  };
}

/** The id of a set, known before its manifest is there: the digest of the manifest's record without files. */
export function setIdOf(record: PackRecord): string {
  return sha256Of(canonicalText({ ...record, files: [] }));
}

/** Returns the record of the manifest. */
export function manifestRecord(record: PackRecord, file: { sha256: string; bytes: number }): PackRecord {
  return { ...record, files: [{ path: SET_FILE, media_type: 'application/json', ...file }] };
}

/** The files that are written before other work has its turn. */
const FILES_AT_ONCE = 1_000;

/** Yields `set.json`, with one file on each line. The same files give the same bytes. */
export function* manifestText(files: Iterable<SetFile>): Generator<Buffer> {
  let text = `{"format":${JSON.stringify(SET_FORMAT)},"files":[`;
  let separator = '\n';
  let waiting = 0;
  for (const file of files) {
    text += separator + JSON.stringify(file);
    separator = ',\n';
    waiting += 1;
    if (waiting < FILES_AT_ONCE) continue;
    yield Buffer.from(text);
    [text, waiting] = ['', 0];
  }
  yield Buffer.from(`${text}\n]}\n`);
}
