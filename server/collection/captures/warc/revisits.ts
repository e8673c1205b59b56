import {
  type CaptureSpool,
  captureByMoment,
  captureByPayload,
  captureByRecord,
  captureOfObject,
  type ReferredCapture,
  type SpooledCapture,
} from '../../../store/sqlite/collection/captures.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import { normalizeUrl, sourceIdOf } from '../../sources/sources.ts';
import type { CapturedAnswer } from '../capture.ts';

/** The capture that a revisit refers to. */
export interface RevisitReference {
  record: string | null;
  url: string | null;
  at: string | null;
}

/** The part of a record that is spooled between reading and recording it. */
export interface SpooledRecord {
  url: string;
  /** Null for a revisit, and for a redirect without its body. */
  bytes: number | null;
  answer: CapturedAnswer | null;
  refersTo: RevisitReference | null;
  concurrent: string[];
}

/** Limit on following revisits that refer to revisits. */
const MAX_HOPS = 8;

/**
 * Finds the capture that a revisit refers to: by record id, by address and time, or by payload digest, preferably at the
 * same address; first in the same file, then among all captures imported before. Many tools record a page under `http`
 * and refer to it under `https`, so both are tried. If the revisit states a digest and that of a capture is known, they
 * must match.
 *
 * @returns undefined if no capture is found; 'digest_mismatch' if the digests of all that were found differ.
 */
export function resolveRevisit(
  spool: CaptureSpool,
  archive: ReadDatabase,
  revisit: SpooledCapture,
  hops = 0,
): ReferredCapture | 'digest_mismatch' | undefined {
  const { refersTo, url } = JSON.parse(revisit.record) as SpooledRecord;
  if (!refersTo || hops > MAX_HOPS) return undefined;
  let isMismatch = false;
  let hasFollowed = false;
  const matching = (found: ReferredCapture | 'digest_mismatch' | undefined) => {
    const isWrong = found === 'digest_mismatch' || (found && contradicts(revisit.payload_digest, found));
    if (isWrong) isMismatch = true;
    return isWrong ? undefined : (found as ReferredCapture | undefined);
  };
  for (const spooled of candidatesInFile(spool, revisit, refersTo, url)) {
    if (spooled === undefined || spooled.n === revisit.n) continue;
    const isRevisit = spooled.sha256 === null;
    // One revisit is followed, not each: the number of ways would grow exponentially.
    if (isRevisit && hasFollowed) continue;
    hasFollowed ||= isRevisit;
    const found = matching(
      isRevisit ? resolveRevisit(spool, archive, spooled, hops + 1) : referredOf(spooled),
    );
    if (found) return found;
  }
  for (const candidate of candidatesInArchive(archive, revisit, refersTo, url)) {
    const found = matching(candidate);
    if (found) return found;
  }
  return isMismatch ? 'digest_mismatch' : undefined;
}

function* candidatesInFile(
  spool: CaptureSpool,
  { source, payload_digest }: SpooledCapture,
  { record, url, at }: RevisitReference,
  own: string,
): Generator<SpooledCapture | undefined> {
  if (record !== null) yield spool.byRecord(record);
  if (at !== null) for (const address of inBothSchemes(url ?? own)) yield spool.byMoment(address, at);
  if (payload_digest === null) return;
  yield spool.byPayload(payload_digest, source);
  yield spool.byPayload(payload_digest);
}

function* candidatesInArchive(
  archive: ReadDatabase,
  { source, payload_digest }: SpooledCapture,
  { record, url, at }: RevisitReference,
  own: string,
): Generator<ReferredCapture | undefined> {
  if (record !== null) yield captureByRecord(archive, record);
  if (at !== null)
    for (const address of inBothSchemes(url ?? own)) yield captureByMoment(archive, address, at);
  if (payload_digest === null) return;
  yield captureByPayload(archive, payload_digest, source);
  yield captureByPayload(archive, payload_digest);
  const [algorithm, hex = ''] = payload_digest.split(':');
  if (algorithm === 'sha256') yield captureOfObject(archive, hex);
}

/** Returns the source ids of an address and of the same address under the other scheme. */
function inBothSchemes(url: string): [string, string] {
  const other = url.startsWith('https:') ? `http:${url.slice(6)}` : `https:${url.slice(5)}`;
  return [sourceIdOf(url), sourceIdOf(normalizeUrl(other))];
}

function referredOf({ sha256, payload_digest, record }: SpooledCapture): ReferredCapture | undefined {
  const { answer, bytes } = JSON.parse(record) as SpooledRecord;
  return sha256 === null || answer === null || bytes === null
    ? undefined
    : { ...answer, sha256, bytes, payload_digest };
}

function contradicts(stated: string | null, { sha256, payload_digest }: ReferredCapture): boolean {
  if (stated === null) return false;
  const known = [payload_digest, `sha256:${sha256}`].filter((digest) => digest !== null);
  const [algorithm] = stated.split(':');
  const comparable = known.filter((digest) => digest.split(':')[0] === algorithm);
  return comparable.length > 0 && !comparable.includes(stated);
}
