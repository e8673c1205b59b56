import type { Citation, CitationFormat, DescriptorFormat } from '../../shared/archive/citation.ts';
import { Problem } from '../../shared/problems.ts';
import type { DamageContext } from '../fixity/audit.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from '../withholding/withholding.ts';
import { type CitableWork, type CitationContext, readCitedPack, readCitedWork } from './citedWork.ts';
import { dataciteRecord } from './jsonFormats.ts';
import { croissantDescriptor, frictionlessDescriptor } from './tableDescriptors.ts';
import { readTables } from './tables.ts';
import { apaReference, bibtexEntry, cslItem, risRecord } from './textFormats.ts';

export interface CitingContext extends CitationContext {
  /** The origin to print in citations; undefined if the node has none that works on other machines. */
  printedOrigin: string | undefined;
}

/** Returns the citation of a pack or a study in all text formats. @throws Problem `not_found` */
export function cite({ read }: Pick<Store, 'read'>, id: string, from: CitingContext): Citation {
  const work = readCitableWork(read, id, from);
  return {
    id: work.id,
    url: `${from.origin}${work.path}`,
    digest: work.digest,
    csl: cslItem(work),
    apa: apaReference(work),
    bibtex: bibtexEntry(work),
    ris: risRecord(work),
  };
}

/**
 * Returns a work as it is printed. URLs of this node are left out if they work only on this machine: a citation is read
 * elsewhere, and later.
 */
function readCitableWork(
  database: Store['read'],
  id: string,
  { origin, publisher, printedOrigin }: CitingContext,
): CitableWork & { path: string } {
  const printed = printedOrigin ?? origin;
  const work = readCitedWork(database, id, { origin: printed, publisher });
  const path = work.url.slice(printed.length);
  if (printedOrigin !== undefined) return { ...work, path };
  const relations = work.relations.filter(({ identifier }) => !identifier.startsWith(`${origin}/`));
  return { ...work, path, url: undefined, relations };
}

const FORMS: Record<CitationFormat, (work: CitableWork) => string> = {
  bibtex: bibtexEntry,
  ris: risRecord,
  'csl-json': (work) => JSON.stringify(cslItem(work)),
  apa: (work) => `${apaReference(work)}\n`,
  datacite: (work) => JSON.stringify(dataciteRecord(work)),
};

/** Returns the citation in one format, as the text of a file. @throws Problem `not_found` */
export function citeAs(
  { read }: Pick<Store, 'read'>,
  id: string,
  from: CitingContext,
  format: CitationFormat,
): string {
  return FORMS[format](readCitableWork(read, id, from));
}

const DESCRIPTORS = { croissant: croissantDescriptor, frictionless: frictionlessDescriptor };

/**
 * A pack of tables as a program reads it that works with its rows: the columns are named and typed by the first 64 KiB
 * of each table. Tables that the reader may not read are described as files.
 *
 * @throws Problem `not_found`, also for a study and for a pack without a table.
 */
export async function describeTables(
  store: DamageContext,
  id: string,
  from: CitationContext,
  { format, reader }: { format: DescriptorFormat; reader: Reader },
): Promise<string> {
  const { work, files } = readCitedPack(store.read, id, from);
  const described = await readTables(store, files, reader);
  if (!described) {
    throw new Problem(
      'not_found',
      `No file of ${id} is a table (CSV or TSV), so it is not available as ${format}.`,
    );
  }
  const descriptor = DESCRIPTORS[format](work, described, (sha256) => `${from.origin}/api/blobs/${sha256}`);
  return JSON.stringify(descriptor);
}
