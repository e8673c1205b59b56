import { type NewSource, newSourceSchema } from '../../../../shared/source.ts';
import { type ListFormat, MAX_LIST_ENTRIES } from '../../../../shared/sourceList.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';
import { readCsv } from './readCsv.ts';
import { readOpml } from './readOpml.ts';
import { readText } from './readText.ts';

/** An entry that may be watched, or why it may not. */
export type CheckedEntry = { line: number; url: string } & ({ source: NewSource } | { detail: string });

export interface ParsedSourceList {
  entries: CheckedEntry[];
  ignoredColumns: string[];
}

/**
 * Reads a list of sources and checks each entry by the rules of a source.
 *
 * @throws SourceListError where it is not UTF-8, not of its form, or longer than a list may be.
 */
export function readSourceList(form: ListFormat, bytes: Uint8Array): ParsedSourceList {
  const text = decoded(bytes);
  const { entries, ignoredColumns = [] } = READERS[form](text);
  const taken: CheckedEntry[] = [];
  for (const entry of entries) {
    if (taken.length === MAX_LIST_ENTRIES)
      throw new SourceListError(
        `The list has more than ${MAX_LIST_ENTRIES} entries, which is as many as are taken at once. Send it in parts.`,
      );
    taken.push(checked(entry));
  }
  return { entries: taken, ignoredColumns: ignoredColumns.slice(0, MOST_TOLD_COLUMNS) };
}

/** A refused address is told as far as it tells which it is. */
const MOST_TOLD_CHARACTERS = 300;
const MOST_TOLD_COLUMNS = 50;

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
    throw new SourceListError('The list is not UTF-8. Save it in that encoding and send it again.');
  }
}

function checked({ line, url, said }: ListedEntry): CheckedEntry {
  const result = newSourceSchema.safeParse({ ...said, url });
  if (result.success) return { line, url, source: result.data };
  const [issue] = result.error.issues;
  return {
    line,
    url: url.length > MOST_TOLD_CHARACTERS ? `${url.slice(0, MOST_TOLD_CHARACTERS)}…` : url,
    detail: `${issue?.path.join('.') ?? 'url'}: ${issue?.message ?? 'It cannot be read.'}`,
  };
}
