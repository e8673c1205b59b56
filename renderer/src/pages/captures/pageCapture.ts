import type {
  ArchivedDraw,
  CutReason,
  PageCapture,
  PageRequest,
} from '../../../../shared/collection/page.ts';
import { failureWords } from '../../../../shared/collection/retrievalWords.ts';
import { EMPTY_DIGEST } from '../../../../shared/values/digestPattern.ts';
import { useCall } from '../../api/useCall.ts';
import { countOf, formatCount, formatDuration } from '../../format.ts';

/** A page capture, or a page that was drawn from the archive. */
export type AnyPage = PageCapture | ArchivedDraw;

/** Why a capture is not the whole page, and what that means for it. */
export const CUT_SENTENCES: Record<CutReason, string> = {
  time: 'The page was still loading when it reached the time limit. The capture shows what had loaded by then.',
  requests: 'The page made more requests than the limit allows. Later requests were refused.',
  bytes: 'The page loaded more bytes than the limit allows. Later requests were refused.',
  height:
    'The page is longer than a capture can be: it is scrolled at most 20 screens, and its picture is at most 20,000 pixels high.',
};

/** Where the limits are set, except the height, which is the same on every node. */
export const LIMITS_HINT = 'You can change the page limits in the settings.';

/** The digests of a text without characters, and of one with an empty line. */
const EMPTY_TEXTS: ReadonlySet<string> = new Set([
  EMPTY_DIGEST,
  '01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b',
]);

/** Whether nothing of a page can be read. */
export function hasNoText({ text }: AnyPage): boolean {
  return EMPTY_TEXTS.has(text);
}

const REASONS: Record<string, string> = {
  method: 'would send data to another site, which is never allowed',
  scheme: 'is not an HTTP request, for example a WebSocket',
  limit: 'exceeds a page limit',
  navigation: 'the page tried to go to another address',
  private_address: 'goes to a private address',
  not_held: 'not in the archive',
};

/** Why a request has no answer, in words; null if it has one. */
export function reasonWords({ reason, status }: PageRequest): string | null {
  if (reason === null) return null;
  return REASONS[reason] ?? failureWords(reason, status);
}

/** Where the answer to a request came from. */
export function originWords({ from, seconds_off: off, reason }: PageRequest): string {
  if (from === 'refused') return reason === 'not_held' ? 'missing' : 'refused';
  if (from === 'web') return 'web';
  return off ? `archive, ${formatDuration(off)} off` : 'archive';
}

export function isMissing({ from, reason }: PageRequest): boolean {
  return from === 'refused' && reason === 'not_held';
}

/** `12 answers, 2 without`: from how many answers a page was drawn. */
export function answersOf(requests: readonly PageRequest[]): string {
  const without = requests.filter(({ reason }) => reason !== null).length;
  const answers = countOf(requests.length - without, 'answer');
  return without === 0 ? answers : `${answers}, ${formatCount(without)} without one`;
}

/** A share as a percentage with two digits; a change is never shown as none. */
export function shareText(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.01) return 'under 0.01 %';
  return `${percent >= 10 ? Math.round(percent) : Number(percent.toPrecision(2))} %`;
}

/** How the picture of a capture differs from that of the capture before it. */
export function pictureChangeWords({
  picture_changed,
  changed_pixels,
}: Pick<PageCapture, 'picture_changed' | 'changed_pixels'>): string | null {
  if (picture_changed === null) return 'first capture';
  if (!picture_changed) return 'same picture as before';
  return changed_pixels === null ? 'picture changed' : `${shareText(changed_pixels)} of the picture changed`;
}

/** The captures of a source that are looked through for the next newer one. */
const LOOKED_AT = 100;

/** Returns the page that compares two captures. */
export function comparePath(before: string, after: string): string {
  return `/pages/${before}/compare/${after}`;
}

/** Returns the id of the capture of a source before one of its captures; undefined if there is none. */
export function useCaptureBefore(source: string, page: string | null): string | undefined {
  const query = { source, before: page ?? undefined, limit: 1 };
  return useCall('listPages', { query }, { enabled: page !== null }).data?.items[0]?.id;
}

/** Returns the captures of the same source next to a capture. */
export function useNeighbours({ id, source }: Pick<PageCapture, 'id' | 'source'>): {
  older: string | undefined;
  newer: string | undefined;
} {
  const older = useCaptureBefore(source, id);
  // Captures are listed newest first only.
  const { data } = useCall('listPages', { query: { source, limit: LOOKED_AT } });
  const at = data?.items.findIndex((page) => page.id === id) ?? -1;
  return { older, newer: at > 0 ? data?.items[at - 1]?.id : undefined };
}
