import { type ProofCrypto, UnknownAlgorithmError } from './algorithms.ts';
import { hexOf, utf8 } from './bytes.ts';
import { DerError } from './der.ts';
import type { Claim } from './evidence.ts';
import { ProofError } from './signedNote.ts';
import { TimestampError } from './verifyTimestamp.ts';

/** Runs a check. What it throws because of the data is a failure; anything else is an error of the program. */
export function judge(claim: string, detail: string, check: () => void): Claim {
  try {
    check();
    return { verdict: 'holds', claim, detail };
  } catch (error) {
    if (error instanceof UnknownAlgorithmError)
      return { verdict: 'claimed', claim, detail: `${error.message} Check it with openssl ts -verify.` };
    const isOfData = [ProofError, TimestampError, DerError, RangeError, SyntaxError].some(
      (type) => error instanceof type,
    );
    if (!isOfData) throw error;
    return { verdict: 'fails', claim, detail: (error as Error).message };
  }
}

export function sha256(text: string | Uint8Array, crypto: ProofCrypto): string {
  return hexOf(crypto.digest('sha256', typeof text === 'string' ? utf8(text) : text));
}

export function requireThat(isMet: boolean, sentence: string): void {
  if (!isMet) throw new ProofError(sentence);
}
