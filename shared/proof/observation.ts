import canonicalize from 'canonicalize';
import type { ProofCrypto } from './algorithms.ts';
import { hexOf, utf8 } from './bytes.ts';
import { countLines, noteBody, ProofError, signatureState } from './signedNote.ts';

/** How far the clocks and the fetches of both nodes may be apart. */
export const OBSERVATION_WINDOW_MS = 60_000;

/**
 * The first lines of the two signed notes with which an address is seen by two nodes at one moment. No checkpoint begins so,
 * because the origin of a log is the name of its node.
 */
export const REQUEST_HEADER = 'strongroom.observation-request@1';
export const STATEMENT_HEADER = 'strongroom.observation@1';
type Header = typeof REQUEST_HEADER | typeof STATEMENT_HEADER;

type Json = Readonly<Record<string, unknown>>;

/** The text that a node signs: a header, and canonical JSON. */
export function observationText(header: Header, value: unknown): `strongroom.${string}` {
  return `${header}\n${canonicalize(value)}\n`;
}

/** The SHA-256, in hex, that names a request in the statement which answers it. */
export function requestDigest(note: string, crypto: ProofCrypto): string {
  return hexOf(crypto.digest('sha256', utf8(noteBody(note))));
}

/** What a node fixes its result with before it asks: without the salt, it says nothing. */
export function commitmentOf(salt: string, sha256: string, crypto: ProofCrypto): string {
  return hexOf(crypto.digest('sha256', utf8(`${salt}\n${sha256}\n`)));
}

/** Reads a note without verifying its signature. @throws ProofError */
export function readObservation(note: string, header: Header): Json {
  const body = noteBody(note);
  const value = valueIn(body, header);
  if (typeof value !== 'object' || value === null) throw new ProofError('This is not a signed observation.');
  return { ...value };
}

/** Returns the value that is written in this text in the only way that there is; undefined if there is none. */
function valueIn(body: string, header: Header): unknown {
  try {
    const value: unknown = JSON.parse(body.split('\n', 2)[1] ?? '');
    return observationText(header, value) === body ? value : undefined;
  } catch {
    // Not JSON, or nested so deeply that it cannot be written: no observation.
    return undefined;
  }
}

/** Verifies and reads a note with one signature, so that nothing unsigned is kept with it. @throws ProofError */
export function openObservation(note: string, header: Header, key: string, crypto: ProofCrypto): Json {
  if (signatureState(note, key, crypto) !== 'valid' || countLines(note) !== 1)
    throw new ProofError(`${key.split('+', 1)[0]} has not signed this.`);
  return readObservation(note, header);
}

/**
 * Verifies that a statement is signed with this key and answers this request. Its time is not checked here.
 *
 * @throws ProofError
 */
export function openStatement(
  note: string,
  { request: asked, key }: { request: string; key: string },
  crypto: ProofCrypto,
): Json {
  const statement = openObservation(note, STATEMENT_HEADER, key, crypto);
  const request = readObservation(asked, REQUEST_HEADER);
  if (statement.request !== requestDigest(asked, crypto) || statement.nonce !== request.nonce)
    throw new ProofError('The statement answers another request.');
  if (statement.url !== request.url || statement.requested_at !== request.requested_at)
    throw new ProofError('The statement is about another address.');
  if (statement.by !== key || request.to !== key)
    throw new ProofError('The statement is by another node than the one that was asked.');
  if ((statement.error === null) === (statement.sha256 === null))
    throw new ProofError('The statement says neither what was got nor why nothing was.');
  return statement;
}
