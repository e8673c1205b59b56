import { UnknownAlgorithmError } from '../../../shared/proof/algorithms.ts';
import {
  TimestampError,
  type VerifiedTimestamp,
  verifyTimestamp,
} from '../../../shared/proof/verifyTimestamp.ts';
import { nodeCrypto } from '../nodeCrypto.ts';
import { OutgoingError, type Post } from '../outgoing.ts';
import { AuthorityError } from './authorityError.ts';
import { timestampRequest } from './timestampRequest.ts';

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
