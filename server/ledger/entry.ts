import { hash } from 'node:crypto';
import { canonicalText } from '../../shared/canonicalJson.ts';
import type { LedgerEntry } from '../../shared/ledger.ts';

/** SHA-256 of text in UTF-8, as hex. */
export function sha256Of(text: string): string {
  return hash('sha256', text, 'hex');
}

/** The fingerprint of any JSON value: the SHA-256 of its canonical form (RFC 8785), as hex. */
export function fingerprintOf(value: unknown): string {
  return sha256Of(canonicalText(value));
}

/**
 * The fingerprint over the members of these names and no others. It is what `fingerprintOf` gives of them, which a test
 * holds it to, without sorting their names each time: verification makes one for every row that was recorded.
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
 * Canonical text of an entry without its `hash`: what `hash` is the SHA-256 of. Written out by hand because a million
 * of these are made in one verification; a test holds it to be what `canonicalText` writes.
 */
export function unsealedText(entry: Omit<LedgerEntry, 'hash'>): string {
  return (
    `{"at":"${entry.at}","digest":"${entry.digest}","prev":"${entry.prev}","seq":${entry.seq},` +
    `"subject":${JSON.stringify(entry.subject)},"type":"${entry.type}"}`
  );
}

/** Canonical text of a whole entry: its leaf in the Merkle tree. */
export function entryText(entry: LedgerEntry): string {
  return (
    `{"at":"${entry.at}","digest":"${entry.digest}","hash":"${entry.hash}","prev":"${entry.prev}","seq":${entry.seq},` +
    `"subject":${JSON.stringify(entry.subject)},"type":"${entry.type}"}`
  );
}

/** The hash that an entry must bear. */
export function hashOf(entry: Omit<LedgerEntry, 'hash'>): string {
  return sha256Of(unsealedText(entry));
}
