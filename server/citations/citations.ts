import type { Citation, CitationFormat, DescriptorFormat, WebFormat } from '../../shared/archive/citation.ts';
import type { ViewQuery } from '../../shared/collection/view.ts';
import type { Finding } from '../../shared/findings/finding.ts';
import { Problem } from '../../shared/problems.ts';
import { isDigest } from '../../shared/values/digest.ts';
import { readEvent } from '../collection/timeline/events.ts';
import { findingById } from '../findings/findingRows.ts';
import { readFinding } from '../findings/findings.ts';
import type { DamageContext } from '../fixity/audit.ts';
import type { Reader } from '../withholding/withholding.ts';
import { citedEvent, citedObject, citedPage, type ObservationServices } from './citedObservations.ts';
import {
  type CitableWork,
  type CitationContext,
  type CitedWork,
  oneLine,
  readCitedPack,
  readCitedWork,
} from './citedWork.ts';
import { dataciteRecord } from './jsonFormats.ts';
import { croissantDescriptor, frictionlessDescriptor } from './tableDescriptors.ts';
import { readTables } from './tables.ts';
import { apaReference, bibtexEntry, cslItem, pwidOf, risRecord, robustLink } from './textFormats.ts';

export interface CitingContext extends CitationContext {
  /** The origin to print in citations; undefined if the node has none that works on other machines. */
  printedOrigin: string | undefined;
}

/** What is cited, for whom. */
interface AskedCitation {
  /** The id of a pack, a study, an event, a page capture or a finding, or the digest of an object. */
  id: string;
  /** Of an object: as which of its retrievals. */
  query: ViewQuery;
  reader: Reader;
}

/** Returns the citation of an item in all text formats. @throws Problem `not_found`, `derivation_busy` */
export async function cite(
  services: ObservationServices,
  asked: AskedCitation,
  from: CitingContext,
): Promise<Citation> {
  const work = await readCitableWork(services, asked, from);
  const [pwid, robust_link] = [pwidOf(work), robustLink(work)];
  return {
    id: asked.id,
    url: `${from.origin}${work.path}`,
    digest: work.digest,
    csl: cslItem(work),
    apa: apaReference(work),
    bibtex: bibtexEntry(work),
    ris: risRecord(work),
    ...(pwid === undefined ? {} : { pwid }),
    ...(robust_link === undefined ? {} : { robust_link }),
  };
}

/**
 * Returns a work as it is printed. URLs of this node are left out if they work only on this machine: a citation is read
 * elsewhere, and later.
 */
async function readCitableWork(
  services: ObservationServices,
  asked: AskedCitation,
  { origin, publisher, printedOrigin }: CitingContext,
): Promise<CitableWork & { path: string }> {
  const printed = printedOrigin ?? origin;
  const work = await readWork(services, asked, { origin: printed, publisher });
  const path = work.url.slice(printed.length);
  if (printedOrigin !== undefined) return { ...work, path };
  const relations = work.relations.filter(({ identifier }) => !identifier.startsWith(`${origin}/`));
  return { ...work, path, url: undefined, relations };
}

function readWork(
  services: ObservationServices,
  { id, query, reader }: AskedCitation,
  from: CitationContext,
): CitedWork | Promise<CitedWork> {
  if (id.startsWith('fi_')) return citedFinding(services, id, from, reader);
  if (id.startsWith('pg_')) return citedPage(services, id, from, reader);
  if (isDigest(id)) return citedObject(services, { sha256: id, query }, from, reader);
  if (/^\d+$/.test(id)) return citedEvent(services, id, from, reader);
  return readCitedWork(services.store.read, id, from);
}

/** Returns a finding as it is cited: what it is about, at the address of the finding, with the quotation and the text. */
async function citedFinding(
  services: ObservationServices,
  id: string,
  from: CitationContext,
  reader: Reader,
): Promise<CitedWork> {
  const finding = readFinding(services.store, id, reader);
  const { passage, text, withdrawal, tags } = finding;
  const work = await citedTarget(services, finding, from, reader);
  const page = passage === null || passage.page === null ? '' : ` (page ${passage.page})`;
  const quotation = passage === null ? '' : `“${passage.exact}”${page} `;
  return {
    ...work,
    id,
    url: `${from.origin}/findings?state=all&q=${id}`,
    abstract: oneLine(quotation + (withdrawal ?? text)),
    keywords: tags.map(oneLine).filter((tag) => tag !== ''),
  };
}

/** What a finding is about. Of the two versions of an event it is the one that is quoted, whether a reader may read it or not. */
function citedTarget(
  services: ObservationServices,
  { id, target }: Pick<Finding, 'id' | 'target'>,
  from: CitationContext,
  reader: Reader,
): CitedWork | Promise<CitedWork> {
  const { store } = services;
  if (target.kind === 'event') {
    const { sha256, source } = readEvent(store, target.id);
    const quoted = findingById(store.read, id)?.passage?.sha256 ?? sha256;
    if (quoted !== null && quoted !== sha256)
      return citedObject(services, { sha256: quoted, query: { source: source.id } }, from, reader);
  }
  return readWork(services, { id: target.id, query: {}, reader }, from);
}

/** A format has no text for some works: what was never on the web has no PWID. */
const FORMS: Record<CitationFormat | WebFormat, (work: CitableWork) => string | undefined> = {
  bibtex: bibtexEntry,
  ris: risRecord,
  'csl-json': (work) => JSON.stringify(cslItem(work)),
  apa: (work) => `${apaReference(work)}\n`,
  datacite: (work) => JSON.stringify(dataciteRecord(work)),
  pwid: pwidOf,
  robust_link: robustLink,
};

/** Returns the citation in one format, as the text of a file. @throws Problem `not_found`, `derivation_busy` */
export async function citeAs(
  services: ObservationServices,
  asked: AskedCitation,
  from: CitingContext,
  format: CitationFormat | WebFormat,
): Promise<string> {
  const text = FORMS[format](await readCitableWork(services, asked, from));
  if (text !== undefined) return text;
  throw new Problem(
    'not_found',
    `${asked.id} is no archived version of something on the web, so it is not available as ${format}.`,
  );
}

const DESCRIPTORS = { croissant: croissantDescriptor, frictionless: frictionlessDescriptor };

/**
 * A pack of tables as a program reads it that works with its rows: the columns are named and typed by the first 64 KiB
 * of each table. Tables that the reader may not read are described as files.
 *
 * @throws Problem `not_found`, also for anything but a pack with a table.
 */
export async function describeTables(
  store: DamageContext,
  { id, reader }: AskedCitation,
  from: CitationContext,
  format: DescriptorFormat,
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
