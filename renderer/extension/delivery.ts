import {
  greet,
  handIn,
  NodeError,
  type Pairing,
  readConnection,
  readPairing,
  saveConnection,
  watch,
} from './node.ts';
import { changeEntry, type Entry, listEntries, readEntry, removeEntry } from './queue.ts';

const RETRY = 'deliver';
const RETRY_MINUTES = 0.5;

/** The node knows no such case, or it is full: the page is more important than its case. */
const NO_CASE: ReadonlySet<string> = new Set(['unknown_target', 'case_full']);

/** Entries that the person may still change. */
const held = new Set<number>();
let running: Promise<void> | undefined;
let isAskedAgain = false;

/** Keeps an entry from being sent until `release`. A worker that was stopped in between has forgotten it, and sends. */
export function hold(id: number): void {
  held.add(id);
}

export function release(id: number): void {
  held.delete(id);
}

/** Sends what waits, one after the other. What the node did not acknowledge stays, and is tried again later. */
export function deliver(): Promise<void> {
  isAskedAgain = true;
  running ??= (async () => {
    try {
      while (isAskedAgain) {
        isAskedAgain = false;
        await deliverAll();
      }
    } finally {
      running = undefined;
    }
  })();
  return running;
}

async function deliverAll(): Promise<void> {
  try {
    const pairing = await readPairing();
    if (pairing) await deliverTo(pairing);
  } finally {
    // Whatever happened, the browser is asked to wake the worker while something waits.
    await showState();
  }
}

async function deliverTo(pairing: Pairing): Promise<void> {
  try {
    const cases = await greet(pairing);
    await saveConnection({ state: 'on', cases });
    // What failed at the last try comes last: it holds up nothing else.
    const waiting = (await listEntries()).toSorted(
      (one, other) => Number(one.error !== '') - Number(other.error !== ''),
    );
    for (const { id } of waiting) {
      // Meanwhile the person may have changed or discarded it, or forgotten the node.
      const [entry, current] = await Promise.all([readEntry(id), readPairing()]);
      if (current?.token !== pairing.token) return;
      if (entry && !entry.isRefused && !held.has(id)) await send(pairing, entry);
    }
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (error.kind === 'later' || error.kind === 'refused') return;
    await saveConnection({ state: error.kind });
  }
}

/** Sends one entry. @throws NodeError if the others need not be tried */
async function send(pairing: Pairing, entry: Entry): Promise<void> {
  try {
    if (entry.kind === 'watch') await watch(pairing, entry.url);
    else await sendPage(pairing, entry);
    await removeEntry(entry.id);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    await changeEntry(entry.id, { error: error.message, isRefused: error.kind === 'refused' });
    if (error.kind !== 'refused' && error.kind !== 'later') throw error;
  }
}

async function sendPage(pairing: Pairing, entry: Entry & { kind: 'page' }): Promise<void> {
  const files = { file: entry.file, name: entry.fileName, picture: entry.picture };
  const said = {
    url: entry.url,
    seen_at: entry.seenAt,
    note: entry.note,
    ...(entry.isQuoted && {
      quote: entry.quote?.exact,
      quote_prefix: entry.quote?.prefix,
      quote_suffix: entry.quote?.suffix,
    }),
    case: entry.case,
  };
  try {
    await handIn(pairing, files, said);
  } catch (error) {
    if (!(error instanceof NodeError) || !entry.case || !NO_CASE.has(error.code)) throw error;
    await handIn(pairing, files, { ...said, case: undefined });
  }
}

/** Says at the button how much waits and whether somebody must act, and asks to be woken while something waits. */
async function showState(): Promise<void> {
  const [pairing, connection, entries] = await Promise.all([readPairing(), readConnection(), listEntries()]);
  const waits = entries.some(({ isRefused }) => !isRefused);
  if (waits && pairing) await chrome.alarms.create(RETRY, { periodInMinutes: RETRY_MINUTES });
  else await chrome.alarms.clear(RETRY);
  const isBlocked = /revoked|stranger/.test(connection.state) || entries.some(({ isRefused }) => isRefused);
  await chrome.action.setBadgeBackgroundColor({ color: isBlocked ? '#98271f' : '#1f3f77' });
  await chrome.action.setBadgeText({ text: entries.length > 0 ? String(entries.length) : '' });
  const title = entries.length > 0 ? `Archive this page (waiting: ${entries.length})` : 'Archive this page';
  await chrome.action.setTitle({ title });
}
