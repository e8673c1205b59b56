import type { Finding, FindingsFilter, FindingTarget, Passage } from '../../shared/findings/finding.ts';
import { type CsvCell, csvLines } from '../csv.ts';
import { databaseFile } from '../store/files.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import type { Store } from '../store/store.ts';
import type { Reader } from '../withholding/withholding.ts';
import { countFindings, type FindingSelection, iterateSelected } from './findingRows.ts';
import { selectionOf, withReadableQuote } from './findings.ts';

/** The addresses with which annotations name findings and their targets. */
export interface AnnotationAddresses {
  /** The origin of the node, or a URN that names it, without a slash at its end. */
  origin: string;
  nodeName: string;
}

const CONTEXT = 'http://www.w3.org/ns/anno.jsonld';
/** The specification of the fragments of PDF. */
const PDF_FRAGMENTS = 'http://tools.ietf.org/rfc/rfc3778';

/**
 * Yields findings as a W3C Web Annotation collection with all its annotations in one page. `total` is the number of
 * findings.
 */
export function* annotationCollection(
  findings: Iterable<Finding>,
  total: number,
  addresses: AnnotationAddresses,
): Generator<string> {
  const id = `${addresses.origin}/api/findings?format=jsonld`;
  const collection = {
    '@context': CONTEXT,
    id,
    type: 'AnnotationCollection',
    label: `Findings of ${addresses.nodeName}`,
    total,
  };
  yield JSON.stringify(collection).slice(0, -1);
  if (total > 0) {
    const page = { id: `${id}#page`, type: 'AnnotationPage', partOf: id, startIndex: 0 };
    yield `,"first":${JSON.stringify(page).slice(0, -1)},"items":[\n`;
    let separator = '';
    for (const finding of findings) {
      yield separator + JSON.stringify(annotationOf(finding, addresses));
      separator = ',\n';
    }
    yield '\n]}';
  }
  yield '}\n';
}

/** Returns a finding as a Web Annotation. A withdrawal is an annotation that replaces another and states the reason. */
function annotationOf(finding: Finding, addresses: AnnotationAddresses): object {
  const { id, at, text, tags, supersedes, withdrawal } = finding;
  const { origin, nodeName } = addresses;
  const comment = withdrawal === null ? text : `Withdrawn: ${withdrawal}`;
  return {
    id: findingAddress(id, addresses),
    type: 'Annotation',
    motivation: withdrawal === null ? 'commenting' : 'moderating',
    created: at,
    generator: { id: origin, type: 'Software', name: nodeName },
    body: [
      { type: 'TextualBody', value: comment, format: 'text/plain', purpose: 'commenting' },
      ...tags.map((value) => ({ type: 'TextualBody', value, purpose: 'tagging' })),
    ],
    target: targetOf(finding, addresses),
    ...(supersedes === null ? {} : { 'dcterms:replaces': { id: findingAddress(supersedes, addresses) } }),
  };
}

function findingAddress(id: string, { origin }: AnnotationAddresses): string {
  return `${origin}/api/findings/${id}`;
}

function targetAddress({ kind, id }: FindingTarget, { origin }: AnnotationAddresses): string {
  if (kind === 'object') return objectAddress(id, origin);
  return `${origin}/api/${kind === 'event' ? 'events' : 'packs'}/${id}`;
}

function objectAddress(sha256: string, origin: string): string {
  return `${origin}/archive/${sha256}`;
}

function targetOf({ target, passage }: Finding, addresses: AnnotationAddresses): string | object {
  const address = targetAddress(target, addresses);
  if (passage === null) return address;
  const source = passage.sha256 === null ? address : objectAddress(passage.sha256, addresses.origin);
  return {
    type: 'SpecificResource',
    source,
    ...(source === address ? {} : { scope: address }),
    selector: selectorsOf(passage),
  };
}

function selectorsOf({ exact, prefix, suffix, start, end, page, derived }: Passage): object[] {
  const quote = {
    type: 'TextQuoteSelector',
    exact,
    ...(prefix === '' ? {} : { prefix }),
    ...(suffix === '' ? {} : { suffix }),
  };
  const selectors: object[] = [quote];
  if (start !== null && end !== null) selectors.push({ type: 'TextPositionSelector', start, end });
  if (page !== null) {
    selectors.push({
      type: 'FragmentSelector',
      conformsTo: PDF_FRAGMENTS,
      value: `page=${page}`,
      refinedBy: quote,
    });
  }
  const { dom_path, document } = derived ?? {};
  // The path in a drawn document is none in the text that is quoted.
  if (dom_path !== undefined && document === undefined)
    selectors.push({ type: 'XPathSelector', value: dom_path, refinedBy: quote });
  return selectors;
}

const COLUMNS: Readonly<Record<string, (finding: Finding) => CsvCell>> = {
  id: ({ id }) => id,
  at: ({ at }) => at,
  target_kind: ({ target }) => target.kind,
  target_id: ({ target }) => target.id,
  target_name: ({ target_name }) => target_name,
  text: ({ text }) => text,
  tags: ({ tags }) => tags.join('; '),
  quote: ({ passage }) => passage?.exact ?? null,
  quote_prefix: ({ passage }) => passage?.prefix ?? null,
  quote_suffix: ({ passage }) => passage?.suffix ?? null,
  quote_object: ({ passage }) => passage?.sha256 ?? null,
  quote_start: ({ passage }) => passage?.start ?? null,
  quote_end: ({ passage }) => passage?.end ?? null,
  quote_page: ({ passage }) => passage?.page ?? null,
  supersedes: ({ supersedes }) => supersedes,
  superseded_by: ({ superseded_by }) => superseded_by,
  withdrawal: ({ withdrawal }) => withdrawal,
  ledger_entry: ({ ledger_entry }) => ledger_entry,
};

/** The archive, and who gets its findings. */
interface Reading {
  store: Pick<Store, 'folder' | 'read'>;
  reader: Reader;
}

/** Yields the findings that match the filters as CSV with a header, oldest first, from one snapshot. */
export function findingsCsv(reading: Reading, filter: FindingsFilter): AsyncGenerator<string> {
  return fromSnapshot(reading, filter, function* (findings) {
    yield csvLines([Object.keys(COLUMNS)]);
    for (const finding of findings) yield csvLines([Object.values(COLUMNS).map((cellOf) => cellOf(finding))]);
  });
}

/** Yields the findings that match the filters as a Web Annotation collection, oldest first, from one snapshot. */
export function findingsJsonLd(
  reading: Reading,
  filter: FindingsFilter,
  addresses: AnnotationAddresses,
): AsyncGenerator<string> {
  return fromSnapshot(reading, filter, (findings, total) => annotationCollection(findings, total, addresses));
}

async function* fromSnapshot(
  { store: { folder, read }, reader }: Reading,
  filter: FindingsFilter,
  write: (findings: Iterable<Finding>, total: number) => Generator<string>,
): AsyncGenerator<string> {
  const selection: FindingSelection = selectionOf(filter, reader);
  const database = await openSnapshot(databaseFile(folder));
  const findings = function* () {
    for (const finding of iterateSelected(database, selection))
      yield withReadableQuote(read, finding, reader);
  };
  try {
    yield* write(findings(), countFindings(database, selection));
  } finally {
    database.close();
  }
}
