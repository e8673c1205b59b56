import { type NewSource, newSourceSchema } from '../../../shared/source.ts';
import { type ListForm, MAX_LIST_ENTRIES } from '../../../shared/sourceList.ts';
import { type ListedEntry, SourceListError } from './listedEntry.ts';
import { readCsv } from './readCsv.ts';
import { readOpml } from './readOpml.ts';
import { readText } from './readText.ts';

/** An entry that may be watched, or why it may not. */
export type CheckedEntry = { line: number; url: string } & ({ source: NewSource } | { detail: string });

export interface ReadList {
  entries: CheckedEntry[];
  ignoredColumns: string[];
}

/**
 * Reads a list of sources and checks each entry by the rules of a source.
 *
 * @throws SourceListError where it is not UTF-8, not of its form, or longer than a list may be.
 */
export function readSourceList(form: ListForm, bytes: Uint8Array): ReadList {
  const text = decoded(bytes);
  const { entries, ignoredColumns = [] } = READERS[form](text);
  if (entries.length > MAX_LIST_ENTRIES) {
    throw new SourceListError(
      `The list has ${entries.length} entries; at most ${MAX_LIST_ENTRIES} are taken at once. Send it in parts.`,
    );
  }
  return { entries: entries.map(checked), ignoredColumns };
}

const READERS: Record<ListForm, (text: string) => { entries: ListedEntry[]; ignoredColumns?: string[] }> = {
  text: readText,
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
    url,
    detail: `${issue?.path.join('.') ?? 'url'}: ${issue?.message ?? 'It cannot be read.'}`,
  };
}
