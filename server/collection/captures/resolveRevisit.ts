import type { CaptureSpool, SpooledCapture } from '../../store/sqlite/collection/captureSpool.ts';
import {
  captureByMoment,
  captureByPayload,
  captureByRecord,
  type ReferredCapture,
} from '../../store/sqlite/collection/captures.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { sourceIdOf } from '../sources/sources.ts';
import type { CapturedAnswer } from './capture.ts';
import type { RevisitReference } from './readRecord.ts';

/** The part of a record that is spooled between reading and recording it. */
export interface SpooledRecord {
  url: string;
  /** Null for a revisit, which has no bytes of its own. */
  bytes: number | null;
  answer: CapturedAnswer | null;
  refersTo: RevisitReference | null;
  concurrent: string[];
}

/** Limit on following revisits that refer to revisits. */
const MAX_HOPS = 8;

/**
 * Finds the capture that a revisit refers to: by record id, by address and time, or by payload digest; first in the same
 * file, then among all captures imported before. If the revisit states a digest and the capture's is known, they must
 * match.
 *
 * @returns undefined if no capture is found; 'digest_mismatch' if the digests differ.
 */
export function resolveRevisit(
  spool: CaptureSpool,
  archive: ReadDatabase,
  revisit: SpooledCapture,
  hops = 0,
): ReferredCapture | 'digest_mismatch' | undefined {
  const { refersTo, url } = JSON.parse(revisit.record) as SpooledRecord;
  if (!refersTo || hops > MAX_HOPS) return undefined;
  const spooled = findInFile(spool, revisit, refersTo, url);
  if (spooled?.sha256 === null) return resolveRevisit(spool, archive, spooled, hops + 1);
  const found = spooled ? referredOf(spooled) : findInArchive(archive, revisit, refersTo, url);
  return found && contradicts(revisit.payload_digest, found) ? 'digest_mismatch' : found;
}

function findInFile(
  spool: CaptureSpool,
  { n, source, payload_digest }: SpooledCapture,
  { record, url, at }: RevisitReference,
  own: string,
): SpooledCapture | undefined {
  const found =
    (record === null ? undefined : spool.byRecord(record)) ??
    (at === null ? undefined : spool.byMoment(sourceIdOf(url ?? own), at)) ??
    (payload_digest === null ? undefined : spool.byPayload(source, payload_digest));
  return found?.n === n ? undefined : found;
}

function findInArchive(
  archive: ReadDatabase,
  { source, payload_digest }: SpooledCapture,
  { record, url, at }: RevisitReference,
  own: string,
): ReferredCapture | undefined {
  return (
    (record === null ? undefined : captureByRecord(archive, record)) ??
    (at === null ? undefined : captureByMoment(archive, sourceIdOf(url ?? own), at)) ??
    (payload_digest === null ? undefined : captureByPayload(archive, source, payload_digest))
  );
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
