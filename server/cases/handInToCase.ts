import type { HandIn, HandInFields } from '../../shared/collection/handedIn.ts';
import { Problem } from '../../shared/problems.ts';
import type { HandedIn, ReceivedHandIn } from '../collection/handedIn/handedIn.ts';
import { addFindingNow } from '../findings/findings.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { selectValue } from '../store/sqlite/engine/queries.ts';
import type { Store } from '../store/store.ts';
import { addCaseItemNow, caseById } from './cases.ts';

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
  SELECT max(id) AS id FROM events WHERE source_key = (SELECT key FROM sources WHERE id = @source)
  AND observer = @observer AND sha256 = @document`);

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
