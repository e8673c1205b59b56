import type { AlertItem, AlertMessage } from '../../../shared/alerts/alert.ts';
import type { Comparison, Hunk } from '../../../shared/collection/diff.ts';
import type { Event } from '../../../shared/collection/event.ts';
import { EVENT_TEXT } from '../../../shared/collection/eventText.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { plainLine, summarize } from '../../collection/diff/summarize.ts';
import { findingById } from '../../findings/findingRows.ts';
import { unreadableQuote } from '../../findings/findings.ts';
import { versionsOfPassage } from '../../findings/passageAnchors.ts';
import { quotedDigests } from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { eventById } from '../../store/sqlite/collection/timeline/events.ts';
import type { DeliveryRow, Notice } from '../../store/sqlite/node/alerts.ts';
import type { Store } from '../../store/store.ts';
import { areReadable, VISITOR } from '../../withholding/withholding.ts';
import type { ChangeReader } from '../changeReader.ts';

interface ComposeServices {
  store: Pick<Store, 'read' | 'clock'>;
  reader: ChangeReader;
  /** The address that links begin with. */
  origin: () => string;
}

const MAX_TITLE = 150;
const MAX_TEXT = 600;
const MAX_NAME = 80;

/** A message, and of which of its alerts visitors could read the bytes when it was composed. */
interface ComposedMessage {
  message: AlertMessage;
  readable: readonly boolean[];
}

/** Describes a delivery in words. Text from strangers becomes plain text in bounded lines. */
export async function composeMessage(
  { notices, count, rule_name }: DeliveryRow,
  services: ComposeServices,
  signal: AbortSignal,
): Promise<ComposedMessage> {
  const alerts: AlertItem[] = [];
  const readable: boolean[] = [];
  for (const notice of notices) {
    const item = await itemOf(notice, services, signal);
    alerts.push(item);
    readable.push(isReadableAlert(services.store.read, item));
  }
  const [first] = alerts;
  const title = count === 1 && first ? first.title : plainLine(`${count} alerts: ${rule_name}`, MAX_TITLE);
  const message = { title, at: instantOf(services.store.clock.now()), alerts, more: count - alerts.length };
  return { message, readable };
}

/** Whether nothing that a message describes was withheld or released since it was composed, which takes a while. */
export function isCurrent(read: Store['read'], { message, readable }: ComposedMessage): boolean {
  return message.alerts.every((alert, place) => !readable[place] || isReadableAlert(read, alert));
}

async function itemOf(
  { kind, at, event, title, text, path, finding, source }: Notice,
  services: ComposeServices,
  signal: AbortSignal,
): Promise<AlertItem> {
  const found = event === null ? undefined : eventById(services.store.read, event);
  const describe = finding === undefined ? describeEvent : describePassage(finding);
  const described = found ? await describe(found, services, signal) : undefined;
  return {
    kind,
    at,
    title: plainLine(title ?? described?.title ?? '', MAX_TITLE),
    text: plainLine([text, described?.text].filter(Boolean).join(' '), MAX_TEXT),
    diff: described?.diff ?? [],
    link: services.origin() + path,
    event,
    ...(described?.passage && { passage: described.passage }),
    source: source && { ...source, name: plainLine(source.name, MAX_NAME) },
  };
}

/** A message leaves the node, so it says only what visitors may read. */
function mayDescribe(read: Store['read'], event: Event): boolean {
  return areReadable(read, quotedDigests(read, event), VISITOR);
}

/** Whether a message that was composed earlier may still be sent: visitors may read all that it describes. */
export function isStillReadable(read: Store['read'], { alerts }: Pick<AlertMessage, 'alerts'>): boolean {
  return alerts.every((alert) => isReadableAlert(read, alert));
}

function isReadableAlert(read: Store['read'], { event, passage }: AlertItem): boolean {
  const found = event === null ? undefined : eventById(read, event);
  return (!found || mayDescribe(read, found)) && (!passage || mayQuote(read, passage.finding, found));
}

/** Whether visitors may read what a finding quotes, and the versions of an event in which that is looked for. */
function mayQuote(read: Store['read'], finding: string, event: Event | undefined): boolean {
  const found = findingById(read, finding);
  if (!found || unreadableQuote(read, found, VISITOR)) return false;
  if (!found.passage || !event) return true;
  const { sha256, previous_sha256 } = versionsOfPassage(read, found.passage, event);
  return areReadable(
    read,
    [sha256, previous_sha256].filter((version) => version !== null),
    VISITOR,
  );
}

type Description = Pick<AlertItem, 'title' | 'text' | 'diff' | 'passage'>;

const MAX_WORDING = 2_000;

/** Describes what became of the passage of a finding: both wordings, if visitors may read them. */
function describePassage(
  finding: string,
): (event: Event, services: ComposeServices, signal: AbortSignal) => Promise<Description> {
  return async (event, { store: { read }, reader }, signal) => {
    const { source, observed_at } = event;
    const isReadable = () => mayDescribe(read, event) && mayQuote(read, finding, event);
    const passage = isReadable() ? findingById(read, finding)?.passage : undefined;
    const compared = passage ? await reader.passageChange(passage, event, signal) : undefined;
    // The bytes may have been withheld while they were compared.
    const isShown = isReadable();
    const change = isShown && typeof compared === 'object' ? compared : null;
    const before = isShown && passage ? cut(passage.exact) : null;
    const after = change?.after ? cut(change.after) : null;
    const isGone = change?.after === null;
    const isUnknown = isShown && !change;
    const happened = isGone ? 'is gone' : isUnknown ? 'may have changed' : 'has changed';
    const sentences = [
      `${source.url} ${EVENT_TEXT.changed.happened} (${observed_at}).`,
      isGone ? 'The quoted words are not in its text any more.' : '',
      isUnknown ? 'Its text cannot be read now, so the new words are not known.' : '',
      isShown ? '' : 'The bytes are withheld from visitors, so this message does not say more.',
    ];
    return {
      title: `A quoted passage ${happened}: ${plainLine(source.name || source.url, MAX_NAME)}`,
      text: sentences.filter(Boolean).join(' '),
      diff: [
        ...(before === null ? [] : [`− ${plainLine(before, MAX_LINE_CHARACTERS)}`]),
        ...(after === null ? [] : [`+ ${plainLine(after, MAX_LINE_CHARACTERS)}`]),
      ],
      passage: { finding, before, after },
    };
  };
}

function cut(words: string): string {
  return words.length > MAX_WORDING ? `${words.slice(0, MAX_WORDING).toWellFormed()}…` : words;
}

async function describeEvent(
  event: Event,
  { store, reader }: ComposeServices,
  signal: AbortSignal,
): Promise<Description> {
  const { id, event_type, source, page_label, observed_at } = event;
  const isReadable = () => mayDescribe(store.read, event);
  const compared =
    event_type === 'changed' && isReadable() ? await reader.comparisonOf(id, signal) : undefined;
  // The versions may have been withheld while they were compared.
  const isShown = isReadable();
  const comparison = isShown ? compared : undefined;
  const summary = comparison && summarize(comparison, null);
  const sentences = [
    `${source.url} ${EVENT_TEXT[event_type].happened} (${observed_at}).`,
    summary ? `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.` : '',
    isShown ? '' : 'The bytes are withheld from visitors, so this message does not say more.',
    page_label && isShown ? `The page may not be what a person would see: ${page_label.reason}.` : '',
  ];
  return {
    title: `${plainLine(source.name || source.url, MAX_NAME)} ${EVENT_TEXT[event_type].happened}`,
    text: sentences.filter(Boolean).join(' '),
    diff: comparison ? diffLines(comparison) : [],
  };
}

/** The first lines of a diff that a message quotes, and their length. */
const MAX_LINES = 12;
const MAX_LINE_CHARACTERS = 200;

/** Returns the first lines that a change removed (`− …`) and added (`+ …`); none for images and other bytes. */
function diffLines(comparison: Comparison): string[] {
  const lines: string[] = [];
  for (const line of allLines(comparison)) {
    const text = plainLine(line.text, MAX_LINE_CHARACTERS);
    if (text !== '') lines.push(`${line.sign} ${text}`);
    if (lines.length === MAX_LINES) break;
  }
  return lines;
}

interface Line {
  sign: '+' | '−';
  text: string;
}

function* allLines(comparison: Comparison): Generator<Line> {
  switch (comparison.kind) {
    case 'text':
    case 'html':
    case 'xml':
    case 'pdf':
      for (const hunk of comparison.hunks) yield* hunkLines(hunk);
      return;
    case 'json':
      for (const { pointer, from_pointer, before, after } of comparison.changes) {
        if (before) yield { sign: '−', text: `${from_pointer ?? pointer}: ${before.json}` };
        if (after) yield { sign: '+', text: `${pointer}: ${after.json}` };
      }
      return;
    case 'csv':
      for (const { op, cells } of comparison.rows) {
        const named = (side: 'before' | 'after') =>
          cells.map((cell) => `${cell.column}: ${cell[side] ?? ''}`).join(' | ');
        if (op !== 'added') yield { sign: '−', text: named('before') };
        if (op !== 'removed') yield { sign: '+', text: named('after') };
      }
      return;
    default:
  }
}

/** The whole lines of a passage that are in one version only, so that a changed word is quoted with its sentence. */
function* hunkLines({ parts }: Hunk): Generator<Line> {
  const linesOf = (without: 'added' | 'removed') =>
    parts
      .filter(({ op }) => op !== without)
      .map(({ text }) => text)
      .join('')
      .split('\n');
  const [before, after] = [linesOf('added'), linesOf('removed')];
  for (const text of before) if (!after.includes(text)) yield { sign: '−', text };
  for (const text of after) if (!before.includes(text)) yield { sign: '+', text };
}
