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
import type { Reference } from './readRecord.ts';

/** What is kept of a record between reading and recording it. */
export interface SpooledRecord {
  url: string;
  /** Null for a revisit, whose bytes are those of what it refers to. */
  bytes: number | null;
  answer: CapturedAnswer | null;
  refersTo: Reference | null;
  concurrent: string[];
}

/** A revisit that refers to a revisit is followed so far. */
const MAX_HOPS = 8;

/**
 * Finds the capture that a revisit is the same as: by the id of its record, by address and time, by the digest of the
 * payload; in the same file first, then among all that were imported before. A digest that the revisit states must be
 * that of the capture found, where that is known.
 *
 * @returns undefined where nothing is found; 'digest_mismatch' where what is found is something else.
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
  { record, url, at }: Reference,
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
  { record, url, at }: Reference,
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
