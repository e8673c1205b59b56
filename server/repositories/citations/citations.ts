import type { DraftRecord, StoredDraft } from '../../../shared/archive/draft.ts';
import {
  type CitationEntries,
  type CitationFormat,
  MAX_CITATION_ENTRIES,
} from '../../../shared/archive/recordImport.ts';
import { Problem } from '../../../shared/problems.ts';
import { doiOf } from '../../../shared/values/doi.ts';
import type { Drafts } from '../../archive/drafts/drafts.ts';
import { decodeTextFile } from '../../charset.ts';
import { runInThread } from '../../runtime/threads.ts';
import { bounded, filledFields } from '../recordFields.ts';
import {
  type Citation,
  InvalidCitationsError,
  type ReadCitations,
  readCslJson,
  readRis,
  readZoteroRdf,
} from './citationFormats.ts';
import { readBibtex } from './readBibtex.ts';

interface CitationFile {
  format: CitationFormat;
  bytes: Uint8Array;
}

/** Less is read in a few milliseconds. Starting a thread takes longer. */
const SMALL_BYTES = 65_536;
/** Reading the largest file takes a second. */
const MAX_READING_MS = 20_000;
const MAX_TITLE = 300;

/** Lists the entries of a file. @throws Problem `invalid_citations` */
export async function listCitationEntries(file: CitationFile): Promise<CitationEntries> {
  const { citations, warnings } = await read(file);
  return {
    entries: citations.map(({ title, authors, year, doi }, entry) => ({
      entry,
      title: title.slice(0, MAX_TITLE),
      authors: authors
        .slice(0, 3)
        .map(({ name }) => name.slice(0, MAX_TITLE))
        .join('; '),
      year,
      doi,
    })),
    warnings,
  };
}

/**
 * Fills the record of a draft from an entry of a file.
 *
 * @param entry its number, from 0 on; needed if there are several
 * @throws Problem `invalid_citations`, `several_citations`, `not_found`, `draft_published`
 */
export async function fillDraftRecord(
  drafts: Drafts,
  draft: string,
  file: CitationFile,
  entry: number | undefined,
): Promise<StoredDraft> {
  const { citations } = await read(file);
  if (entry === undefined && citations.length > 1)
    throw new Problem(
      'several_citations',
      `The file has ${citations.length} entries. Name one with “entry”.`,
    );
  const citation = citations[entry ?? 0];
  if (!citation)
    throw new Problem(
      'invalid_citations',
      `The file has ${citations.length} entries, and no entry ${entry}.`,
    );
  return drafts.fill(draft, (record) => ({
    ...record,
    ...filledFields(citation).fields,
    ...withDoi(record, citation),
  }));
}

/** Adds the DOI to the related works, unless it is among them. A text has data; data are derived from. */
function withDoi({ related }: DraftRecord, { doi, kind }: Citation): Pick<DraftRecord, 'related'> {
  if (doi === null) return {};
  const list = Array.isArray(related) ? (related as { identifier?: unknown }[]) : [];
  const isThere = list.some(
    ({ identifier }) => typeof identifier === 'string' && doiOf(identifier) === doiOf(doi),
  );
  if (isThere) return {};
  return {
    related: [
      ...list,
      { relation: kind === 'dataset' ? 'IsDerivedFrom' : 'IsSupplementTo', identifier: doi },
    ],
  };
}

async function read({
  format,
  bytes,
}: CitationFile): Promise<Extract<CitationsOutcome, { citations: unknown }>> {
  const input = { format, bytes };
  const outcome = bytes.length < SMALL_BYTES ? readCitations(input) : await readInThread(input);
  if ('refused' in outcome) throw new Problem('invalid_citations', outcome.refused);
  return outcome;
}

async function readInThread(input: CitationFile): Promise<CitationsOutcome> {
  const signal = AbortSignal.timeout(MAX_READING_MS);
  try {
    return await runInThread<CitationsOutcome>('readCitations', input, { signal });
  } catch (error) {
    if (signal.aborted) return { refused: 'The file takes too long to read.' };
    throw error;
  }
}

type CitationsOutcome = ReadCitations | { refused: string };

/** Reads a file of citations, in the thread that calls it. */
export function readCitations({
  format,
  bytes,
}: {
  format: CitationFormat;
  bytes: Uint8Array;
}): CitationsOutcome {
  try {
    const { text, warnings: odd } = decode(bytes, format);
    const { citations: found, warnings: remarks } = readFormat(format, text);
    const warnings = [...odd, ...remarks];
    const citations = found.map((citation) => ({ ...citation, ...bounded(citation) }));
    if (citations.length === 0) return { refused: warnings[0] ?? 'The file has no entries.' };
    const left = citations.length - MAX_CITATION_ENTRIES;
    if (left <= 0) return { citations, warnings };
    return {
      citations: citations.slice(0, MAX_CITATION_ENTRIES),
      warnings: [
        ...warnings,
        `The file has more than ${MAX_CITATION_ENTRIES} entries: ${left} were left out.`,
      ],
    };
  } catch (error) {
    if (error instanceof InvalidCitationsError)
      return { refused: `The file cannot be read. ${error.message}` };
    throw error;
  }
}

function readFormat(format: CitationFormat, text: string): ReadCitations {
  switch (format) {
    case 'ris':
      return { citations: readRis(text), warnings: [] };
    case 'bibtex':
      return readBibtex(text);
    case 'csl':
      return readCslJson(text);
    case 'zotero':
      return readZoteroRdf(text);
  }
}

/** Decodes a file, and says if its encoding was guessed. */
function decode(bytes: Uint8Array, format: CitationFormat): { text: string; warnings: string[] } {
  const found = decodeTextFile(bytes, declaredEncoding(bytes, format));
  if (found) return { text: found.text, warnings: [] };
  // Old programs write Windows-1252, which is hardly ever valid UTF-8.
  const text = new TextDecoder('windows-1252').decode(bytes);
  return {
    text,
    warnings: ['The file is not UTF-8 and names no other encoding: it was read as windows-1252.'],
  };
}

/** What Java and Emacs call encodings, as far as `TextDecoder` calls them otherwise. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^iso_?8859_?(\d+)$/, 'iso-8859-$1'],
  [/^latin-(\d)$/, 'latin$1'],
  [/^cp-?(125\d)$/, 'windows-$1'],
  [/^x?-?mac_?roman$/, 'macintosh'],
  [/^(koi8|euc)_(\w+)$/, '$1-$2'],
  [/^utf8.*$/, 'utf-8'],
];

/** Returns the encoding that a file names: JabRef writes “% Encoding: …”, Emacs reads “-*- coding: … -*-”, XML has its own. */
function declaredEncoding(bytes: Uint8Array, format: CitationFormat): string | undefined {
  const beginning = Buffer.from(bytes.subarray(0, 1_000)).toString('latin1');
  const found =
    format === 'zotero'
      ? /^<\?xml[^>]*encoding\s*=\s*["']([^"']+)/.exec(beginning)
      : /coding\s*[:=]\s*"?([\w.-]+)/i.exec(beginning);
  const name = found?.[1]?.toLowerCase();
  return NAMES.reduce((label, [pattern, standard]) => label?.replace(pattern, standard), name);
}
