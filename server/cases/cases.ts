import type { HandIn, HandInFields } from '../../shared/collection/handedIn.ts';
import {
  type Case,
  type CaseChange,
  type CaseItem,
  type CaseSummary,
  type CasesQuery,
  MAX_CASE_ITEMS,
  type NewCase,
  type NewCaseItem,
  type StoredCase,
} from '../../shared/findings/case.ts';
import { Problem } from '../../shared/problems.ts';
import type { Slice } from '../../shared/values/list.ts';
import type { HandedIn, ReceivedHandIn } from '../collection/handedIn/handedIn.ts';
import { addFindingNow } from '../findings/findings.ts';
import { archiveReadOnly, isReadOnly } from '../ledger/appendEntry.ts';
import type { ReadDatabase, WriteDatabase } from '../store/sqlite/engine/open.ts';
import {
  change,
  onSnapshot,
  selectAll,
  selectOne,
  selectValue,
  upserts,
} from '../store/sqlite/engine/queries.ts';
import { searchTerms } from '../store/sqlite/engine/search.ts';
import type { Store } from '../store/store.ts';

/** Returns a page of cases, newest first. */
export function listCases(
  { read }: Pick<Store, 'read'>,
  { q = '', ...page }: CasesQuery,
): Slice<CaseSummary> {
  const { words, phrases } = searchTerms(q);
  return selectCases(read, [...words, ...phrases], page);
}

/** Returns a case with the names of its items. @throws Problem `not_found` */
export function readCase({ read }: Pick<Store, 'read'>, id: string): Case {
  return onSnapshot(read, () => described(read, requireCase(read, id)));
}

/** @throws Problem `unknown_target` */
export async function createCase(store: Store, { title, description, items }: NewCase): Promise<Case> {
  const id = `ca_${store.randomHex(20)}`;
  return write(store, (database) => {
    requireItems(database, items);
    const at = store.instant();
    const added = { id, title, description, items, revision: 1, created_at: at, changed_at: at };
    saveCase(database, added);
    return added;
  });
}

/**
 * Changes the title, the description or all items of a case.
 *
 * @throws Problem `not_found`, `unknown_target`; `case_changed` if the change is based on another revision
 */
export async function changeCase(
  store: Store,
  id: string,
  { revision, ...change }: CaseChange,
): Promise<Case> {
  return write(store, (database) => {
    const before = requireCase(database, id);
    if (before.revision !== revision)
      throw new Problem(
        'case_changed',
        'The case has changed since you read it. Read it again, then repeat the change.',
      );
    const known = new Set(before.items.map(keyOf));
    requireItems(
      database,
      (change.items ?? []).filter((item) => !known.has(keyOf(item))),
    );
    return changed(store, database, before, {
      title: change.title ?? before.title,
      description: change.description ?? before.description,
      items: change.items ?? before.items,
    });
  });
}

/** Adds an item to the end of a case, if it is not there. @throws Problem `not_found`, `unknown_target`, `case_full` */
export async function addCaseItem(store: Store, id: string, item: NewCaseItem): Promise<Case> {
  return write(store, (database) => addCaseItemNow(database, store, id, item));
}

/** Like `addCaseItem`, in a transaction that is open. */
function addCaseItemNow(
  database: WriteDatabase,
  store: Pick<Store, 'instant'>,
  id: string,
  item: NewCaseItem,
): StoredCase {
  const before = requireCase(database, id);
  if (before.items.some((each) => keyOf(each) === keyOf(item))) return before;
  if (before.items.length >= MAX_CASE_ITEMS)
    throw new Problem('case_full', `A case has at most ${MAX_CASE_ITEMS} items. Create another case.`);
  requireItems(database, [item]);
  return changed(store, database, before, { items: [...before.items, item] });
}

/** @throws Problem `not_found` */
export async function deleteCase(store: Store, id: string): Promise<void> {
  await store.write((database) => {
    if (isReadOnly(database)) throw archiveReadOnly();
    if (removeCase(database, id) === 0) throw notFound(id);
  });
}

/** @throws Problem `not_found` */
function requireCase(database: ReadDatabase, id: string): StoredCase {
  const found = caseById(database, id);
  if (!found) throw notFound(id);
  return found;
}

/** @throws Problem `archive_read_only`, and what `change` throws */
async function write(store: Store, change: (database: WriteDatabase) => StoredCase): Promise<Case> {
  return store.write((database) => {
    if (isReadOnly(database)) throw archiveReadOnly();
    return described(database, change(database));
  });
}

function changed(
  store: Pick<Store, 'instant'>,
  database: WriteDatabase,
  before: StoredCase,
  change: Partial<StoredCase>,
): StoredCase {
  const after = { ...before, ...change, revision: before.revision + 1, changed_at: store.instant() };
  saveCase(database, after);
  return after;
}

function requireItems(database: ReadDatabase, items: readonly NewCaseItem[]): void {
  const errors = items.flatMap((item, index) =>
    describeItem(database, item)
      ? []
      : [{ path: `/items/${index}/id`, message: `The archive has no ${item.kind} ${item.id}.` }],
  );
  const [first] = errors;
  if (first) throw new Problem('unknown_target', first.message, { errors });
}

function described(database: ReadDatabase, { items, ...rest }: StoredCase): Case {
  const describe = (item: NewCaseItem): CaseItem => {
    const found = describeItem(database, item);
    return { ...item, name: found?.name ?? item.id, at: found?.at ?? rest.created_at };
  };
  return { ...rest, items: items.map(describe) };
}

function keyOf({ kind, id }: NewCaseItem): string {
  return `${kind} ${id}`;
}

function notFound(id: string): Problem {
  return new Problem('not_found', `There is no case ${id}.`);
}

type Row = Omit<StoredCase, 'items'> & { items: string };

const COLUMNS = 'title, description, items, revision, created_at, changed_at';

/** Inserts a case, or replaces the one with its id. */
function saveCase(database: WriteDatabase, saved: StoredCase): void {
  const row: Row = { ...saved, items: JSON.stringify(saved.items) };
  putRow(database, row);
}

const putRow = upserts<Row>('cases', { key: 'id', columns: COLUMNS });

const removeCase = change<[id: string]>('DELETE FROM cases WHERE id = ?');

const caseById = selectOne<Row, [id: string], StoredCase>(
  `SELECT id, ${COLUMNS} FROM cases WHERE id = ?`,
  (row) => ({ ...row, items: JSON.parse(row.items) as NewCaseItem[] }),
);

const allCases = selectAll<CaseSummary>(`
  SELECT id, title, description, json_array_length(items) AS items, revision, created_at, changed_at FROM cases
  ORDER BY key DESC`);

/** Returns a page of cases, newest first, whose title or description has all these words. */
function selectCases(
  database: ReadDatabase,
  words: readonly string[],
  { limit, offset }: { limit: number; offset: number },
): Slice<CaseSummary> {
  const summaries = allCases(database);
  // An owner has few cases, so no index is needed.
  const matching = summaries.filter(({ title, description }) => {
    const text = folded(`${title} ${description}`);
    return words.every((word) => text.includes(folded(word)));
  });
  return { items: matching.slice(offset, offset + limit), total: matching.length };
}

function folded(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

/** Returns the name and time of what an item refers to; undefined if the archive does not hold it. */
function describeItem(
  database: ReadDatabase,
  { kind, id }: Pick<NewCaseItem, 'kind' | 'id'>,
): Described | undefined {
  return ITEMS[kind](database, id);
}

type Described = Pick<CaseItem, 'name' | 'at'>;

const ITEMS = {
  event: selectOne<
    Described,
    [id: string]
  >(`SELECT coalesce(nullif(s.name, ''), s.url) AS name, e.observed_at AS at
    FROM events e JOIN sources s ON s.key = e.source_key WHERE e.id = CAST(? AS INTEGER)`),
  pack: selectOne<Described, [id: string]>(`SELECT r.record ->> 'title' AS name, l.at
    FROM packs p JOIN pack_records r USING (ledger_entry) JOIN ledger l ON l.seq = p.ledger_entry WHERE p.id = ?`),
  finding: selectOne<Described, [id: string]>(
    'SELECT coalesce(withdrawal, text) AS name, at FROM findings WHERE id = ?',
  ),
};

/** The text of a finding if the person wrote none. */
const NO_NOTE = 'Selected in the browser.';

/**
 * Hands in what a person's browser showed. The passage that they had selected becomes a finding, and the finding, or else
 * the event, is put into the case that they chose. Either all of it is recorded or nothing.
 *
 * @param by who hands it in: a paired browser may say less than the owner
 * @throws Problem `owner_required`, `unknown_target` if there is no such case, `case_full`, and like `HandedIn.handIn`
 */
export async function handInToCase(
  { store, handedIn }: { store: Store; handedIn: HandedIn },
  received: ReceivedHandIn,
  fields: HandInFields,
  by: { name: string; isOwner: boolean },
): Promise<{ handIn: HandIn; isNew: boolean }> {
  const { quote, quote_prefix = '', quote_suffix = '', case: chosen } = fields;
  try {
    // Before any byte is kept.
    if (!by.isOwner) refuseOwnersFields(fields);
    requireChosen(store.read, chosen);
  } catch (error) {
    await received.staged.discard();
    await received.picture?.staged.discard();
    throw error;
  }
  return handedIn.handIn(received, fields, by.name, (database, { source, observer, document }) => {
    requireChosen(database, chosen);
    const event = String(eventOf(database, { source, observer, document }));
    const target = { kind: 'event' as const, id: event };
    const passage = {
      sha256: document,
      prefix: quote_prefix,
      suffix: quote_suffix,
      start: null,
      end: null,
      page: null,
    };
    const finding =
      quote === undefined
        ? undefined
        : addFindingNow(database, store, {
            target,
            text: fields.note?.trim() || NO_NOTE,
            tags: [],
            passage: { ...passage, exact: quote },
            supersedes: null,
          });
    if (chosen === undefined) return;
    const item = finding ? { kind: 'finding' as const, id: finding.id } : target;
    addCaseItemNow(database, store, chosen, { ...item, note: '' });
  });
}

/** The event of the version that was handed in: a new one, or the last if the page has not changed since. */
const eventOf = selectValue<number, [version: { source: string; observer: string; document: string }]>(`
  SELECT max(id) AS id FROM events WHERE source_key = (SELECT key FROM sources WHERE id = $source)
  AND observer = $observer AND sha256 = $document`);

/** The token of a browser shows nothing to visitors, has nothing fetched, and speaks in nobody else's name. */
function refuseOwnersFields({ withheld, fetch, name }: HandInFields): void {
  if (withheld !== false && fetch !== true && name === undefined) return;
  throw new Problem('owner_required', 'A paired browser cannot give “withheld”, “fetch” and “name”.');
}

function requireChosen(database: ReadDatabase, id: string | undefined): void {
  if (id === undefined || caseById(database, id)) return;
  const message = 'There is no such case; it may have been deleted.';
  throw new Problem('unknown_target', message, { errors: [{ path: '/case', message }] });
}
