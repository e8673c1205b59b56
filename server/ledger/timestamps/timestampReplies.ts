import { Boolean as Asn1Boolean, Integer, Null, ObjectIdentifier, OctetString, Sequence } from 'asn1js';
import type { LedgerProblem } from '../../../shared/ledger/ledger.ts';
import { UnknownAlgorithmError } from '../../../shared/proof/crypto/algorithms.ts';
import {
  TimestampError,
  type VerifiedTimestamp,
  verifyTimestamp,
} from '../../../shared/proof/ledger/timestamp.ts';
import { countOf } from '../../../shared/values/counts.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import { iterateTimestamps, lastEntry, type StoredTimestamp } from '../../store/sqlite/node/ledger.ts';
import { nodeCrypto } from '../checkpoint.ts';
import { AuthorityError, OutgoingError, type Post } from '../outgoing.ts';
import { rootAt } from '../tree.ts';

/** A reply with its certificates has a few kilobytes. */
const MAX_REPLY_BYTES = 262_144;

export interface Stamped extends VerifiedTimestamp {
  reply: Buffer;
}

/**
 * Asks an authority for a timestamp of a text (RFC 3161, section 3.4) and verifies its answer.
 *
 * @param nonce 16 hex digits, chosen at random
 * @throws AuthorityError; the signal's reason
 */
export async function askAuthority(
  post: Post,
  { authority, text, nonce, signal }: { authority: string; text: string; nonce: string; signal: AbortSignal },
): Promise<Stamped> {
  const bytes = Buffer.from(text);
  const request = timestampRequest(nodeCrypto.digest('sha256', bytes), nonce);
  try {
    const { status, contentType, body } = await post({
      url: authority,
      contentType: 'application/timestamp-query',
      accept: 'application/timestamp-reply',
      body: request.bytes,
      maxBytes: MAX_REPLY_BYTES,
      signal,
    });
    if (status !== 200) throw new AuthorityError(`It answered with status ${status}.`);
    if (contentType !== 'application/timestamp-reply')
      throw new AuthorityError(`It answered with ${contentType || 'no media type'}, not with a timestamp.`);
    return { ...verifyTimestamp(body, bytes, nodeCrypto, request.nonce), reply: body };
  } catch (error) {
    const isKnown =
      error instanceof OutgoingError ||
      error instanceof TimestampError ||
      error instanceof UnknownAlgorithmError;
    throw isKnown ? new AuthorityError(error.message, { cause: error }) : error;
  }
}

const SHA256 = '2.16.840.1.101.3.4.2.1';

/**
 * Encodes a request for a timestamp (TimeStampReq, RFC 3161, section 2.4.1). It asks for the certificate.
 *
 * @param nonce 16 hex digits, chosen at random
 * @returns the request, and its nonce in hex with no leading zeros, as the answer is read
 */
export function timestampRequest(imprint: Uint8Array, nonce: string): { bytes: Buffer; nonce: string } {
  // Positive and with no leading zero byte, so that it has one encoding.
  const positive = `4${nonce.slice(1)}`;
  const algorithm = new Sequence({ value: [new ObjectIdentifier({ value: SHA256 }), new Null()] });
  const request = new Sequence({
    value: [
      new Integer({ value: 1 }),
      new Sequence({ value: [algorithm, new OctetString({ valueHex: new Uint8Array(imprint) })] }),
      new Integer({ valueHex: new Uint8Array(Buffer.from(positive, 'hex')) }),
      new Asn1Boolean({ value: true }),
    ],
  });
  return { bytes: Buffer.from(request.toBER()), nonce: positive };
}

/** Verifies every stored timestamp against its text and the ledger. Yields a problem for each that does not hold. */
export function* verifyTimestamps(database: ReadDatabase): Generator<LedgerProblem> {
  const newest = lastEntry(database)?.seq ?? 0;
  for (const timestamp of iterateTimestamps(database)) {
    const { size, id } = timestamp;
    const root = size <= newest ? rootAt(database, size) : undefined;
    const actual = describeFault(timestamp, root);
    const expected = root?.toString('hex') ?? null;
    if (actual !== undefined)
      yield { seq: size, problem: 'wrong_timestamp', subject: `timestamp ${id}`, expected, actual };
  }
}

/** Returns why a timestamp does not hold, as a sentence; undefined if it holds. */
function describeFault(timestamp: StoredTimestamp, root: Buffer | undefined): string | undefined {
  const { text, reply, size, at, serial } = timestamp;
  if (!root) return `It covers ${countOf(size, 'entry', 'entries')}, and the ledger has fewer.`;
  const [, statedSize, statedRoot] = text.split('\n');
  if (
    statedSize !== String(size) ||
    statedRoot !== root.toString('base64') ||
    timestamp.root !== root.toString('hex')
  )
    return 'It covers entries other than those in the ledger.';
  try {
    const verified = verifyTimestamp(reply, Buffer.from(text), nodeCrypto);
    return verified.at === Date.parse(at) && verified.serial === serial
      ? undefined
      : 'Its time or number was changed.';
  } catch (error) {
    if (error instanceof TimestampError || error instanceof UnknownAlgorithmError) return error.message;
    throw error;
  }
}
