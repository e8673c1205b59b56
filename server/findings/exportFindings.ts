import type { Finding, FindingsFilter } from '../../shared/findings/finding.ts';
import { type CsvCell, csvLines } from '../csv.ts';
import { databaseFile } from '../store/blobs/paths.ts';
import { openSnapshot } from '../store/sqlite/engine/writeAheadLog.ts';
import { countFindings, type FindingSelection, iterateSelected } from '../store/sqlite/findings/findings.ts';
import type { Store } from '../store/store.ts';
import { type AnnotationAddresses, annotationCollection } from './annotations.ts';
import { selectionOf } from './readFindings.ts';

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

type Reader = Pick<Store, 'folder'>;

/** Yields the findings that match the filters as CSV with a header, oldest first, from one snapshot. */
export function findingsCsv(store: Reader, filter: FindingsFilter): AsyncGenerator<string> {
  return fromSnapshot(store, filter, function* (findings) {
    yield csvLines([Object.keys(COLUMNS)]);
    for (const finding of findings) yield csvLines([Object.values(COLUMNS).map((cellOf) => cellOf(finding))]);
  });
}

/** Yields the findings that match the filters as a Web Annotation collection, oldest first, from one snapshot. */
export function findingsJsonLd(
  store: Reader,
  filter: FindingsFilter,
  addresses: AnnotationAddresses,
): AsyncGenerator<string> {
  return fromSnapshot(store, filter, (findings, total) => annotationCollection(findings, total, addresses));
}

async function* fromSnapshot(
  { folder }: Reader,
  filter: FindingsFilter,
  write: (findings: Iterable<Finding>, total: number) => Generator<string>,
): AsyncGenerator<string> {
  const selection: FindingSelection = selectionOf(filter);
  const database = await openSnapshot(databaseFile(folder), { isMapped: false });
  try {
    yield* write(iterateSelected(database, selection), countFindings(database, selection));
  } finally {
    database.close();
  }
}
