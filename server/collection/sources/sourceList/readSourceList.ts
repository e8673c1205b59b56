import { type NewSource, newSourceSchema } from '../../../../shared/collection/source.ts';
import { type ListFormat, MAX_LIST_ENTRIES } from '../../../../shared/collection/sourceList.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';
import { readCsv } from './readCsv.ts';
import { readOpml } from './readOpml.ts';
import { readText } from './readText.ts';

/** A valid entry, or the reason why an entry is invalid. */
export type CheckedEntry = { line: number; url: string } & ({ source: NewSource } | { detail: string });

export interface ParsedSourceList {
  entries: CheckedEntry[];
  ignoredColumns: string[];
}

/**
 * Reads a list of sources and validates each entry.
 *
 * @throws SourceListError if the list is not UTF-8, not in the given format, or too long.
 */
export function readSourceList(form: ListFormat, bytes: Uint8Array): ParsedSourceList {
  const text = decoded(bytes);
  const { entries, ignoredColumns = [] } = READERS[form](text);
  const checked: CheckedEntry[] = [];
  for (const entry of entries) {
    if (checked.length === MAX_LIST_ENTRIES)
      throw new SourceListError(`The list has more than ${MAX_LIST_ENTRIES} entries. Send it in parts.`);
    checked.push(checkEntry(entry));
  }
  return { entries: checked, ignoredColumns: ignoredColumns.slice(0, MAX_REPORTED_COLUMNS) };
}

/** Refused URLs are truncated to this length in the result. */
const MAX_REPORTED_CHARACTERS = 300;
const MAX_REPORTED_COLUMNS = 50;

type Read = { entries: Iterable<ListedEntry>; ignoredColumns?: string[] };

const READERS: Record<ListFormat, (text: string) => Read> = {
  text: (text) => ({ entries: readText(text) }),
  csv: readCsv,
  opml: readOpml,
};

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new SourceListError('The list is not UTF-8. Save it as UTF-8 and send it again.');
  }
}

function checkEntry({ line, url, fields }: ListedEntry): CheckedEntry {
  const result = newSourceSchema.safeParse({ ...fields, url });
  if (result.success) return { line, url, source: result.data };
  const [issue] = result.error.issues;
  return {
    line,
    url: url.length > MAX_REPORTED_CHARACTERS ? `${url.slice(0, MAX_REPORTED_CHARACTERS)}…` : url,
    detail: `${issue?.path.join('.') ?? 'url'}: ${issue?.message ?? 'It cannot be read.'}`,
  };
}
