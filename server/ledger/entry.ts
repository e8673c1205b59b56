import { hash } from 'node:crypto';
import type { LedgerEntry } from '../../shared/ledger/ledger.ts';
import { canonicalText } from '../../shared/values/canonicalJson.ts';

/** The SHA-256 of text in UTF-8, in hex. */
export function sha256Of(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The fingerprint of a JSON value: the SHA-256 of its canonical form (RFC 8785), in hex. */
export function fingerprintOf(value: unknown): string {
  return sha256Of(canonicalText(value));
}

/**
 * Returns a function that computes the fingerprint over these members of a value. The result equals that of
 * `fingerprintOf`, as a test verifies, but the names are sorted only once: verification computes it for every row.
 */
export function fingerprintOver<Name extends string>(
  names: readonly Name[],
): (value: Readonly<Record<Name, unknown>>) => string {
  const members = names
    .toSorted()
    .map((name, index) => [name, `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`] as const);
  return (value) => {
    let text = '';
    for (const [name, opening] of members) text += opening + memberText(value[name]);
    return sha256Of(`${text}}`);
  };
}

function memberText(value: unknown): string {
  if (typeof value === 'string' && value.isWellFormed()) return JSON.stringify(value);
  return value === null ? 'null' : canonicalText(value);
}

/**
 * The canonical text of an entry without its `hash`, which is the SHA-256 of this text. It is written by hand because
 * one verification needs a million of them; a test compares it with `canonicalText`.
 */
export function unsealedText(entry: Omit<LedgerEntry, 'hash'>): string {
  return (
    `{"at":"${entry.at}","digest":"${entry.digest}","prev":"${entry.prev}","seq":${entry.seq},` +
    `"subject":${JSON.stringify(entry.subject)},"type":"${entry.type}"}`
  );
}

/** The canonical text of an entry with its `hash`: its leaf in the Merkle tree. */
export function entryText(entry: LedgerEntry): string {
  return (
    `{"at":"${entry.at}","digest":"${entry.digest}","hash":"${entry.hash}","prev":"${entry.prev}","seq":${entry.seq},` +
    `"subject":${JSON.stringify(entry.subject)},"type":"${entry.type}"}`
  );
}

/** Computes the hash of an entry. */
export function hashOf(entry: Omit<LedgerEntry, 'hash'>): string {
  return sha256Of(unsealedText(entry));
}
