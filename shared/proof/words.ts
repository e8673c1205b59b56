import { foreignWords } from '../collection/observers.ts';
import { countOf } from '../values/counts.ts';
import { visible, withoutMarks } from '../values/quotes.ts';
import type { About } from './about.ts';
import { toBase64 } from './crypto/bytes.ts';
import type { OpenedCheckpoint } from './ledger/signedNote.ts';

/*
 * How a verdict names what it is of, in one line. It loads none of what proofs need: a command that hashes plain files says paths
 * too.
 */

/** The forms that a node gives to these parts. */
const SUBJECT = /^(?:finding \w+ of )?(?:event \d+|pack \w+|entry \d+|case \w+ revision \d+)$/;
const INSTANT = /^[\d:.TZ-]+$/;
const DIGEST = /^[0-9a-f]{64}$/;
const ORIGIN = /^[\w.~:/@%-]+$/;
const KEY = /^[\w.~:/@%-]+\+\w+\+[A-Za-z0-9+/]+=*$/;

/**
 * Describes it in one line. A ledger can record any text, so a part without the expected form is quoted, like the name. No part
 * can then be mistaken for another one.
 */
export function aboutWords({ subject, name, at, observer, sha256, key }: About): string {
  const object = sha256 === null ? 'no object' : `SHA-256 ${part(sha256, DIGEST)}`;
  const by = observer === undefined ? '' : `, ${foreignWords(observer)}`;
  return `${part(subject, SUBJECT)}, ${quoted(name)}, ${part(at, INSTANT)}${by}, ${object}, key ${part(key, KEY)}`;
}

/** Names in one line what a key signed: how much of which ledger. */
export function headWords(
  { origin, size, root }: Pick<OpenedCheckpoint, 'origin' | 'size' | 'root'>,
  key: string,
): string {
  const entries = countOf(size, 'entry', 'entries');
  return `${entries} of ${part(origin, ORIGIN)} with the root ${toBase64(root)}, signed by the key ${part(key, KEY)}`;
}

/** A verifier key in a sentence. One with other signs than those of addresses and of base64 is quoted. */
export function shownKey(key: string): string {
  return part(key, KEY);
}

/** The name in a verifier key, in a sentence. */
export function shownKeyName(key: string): string {
  return part(key.split('+', 1)[0] ?? '', ORIGIN);
}

/** A time in a sentence. What a record has in the place of one is quoted. */
export function shownInstant(text: string): string {
  return part(text, INSTANT);
}

function part(text: string, form: RegExp): string {
  return form.test(text) ? text : quoted(text);
}

function quoted(text: string): string {
  return visible(JSON.stringify(withoutMarks(text)));
}

/** Letters, digits and signs: nothing that separates the parts of a line, and nothing that is not seen. */
const PLAIN_PATH = /^(?!.*\p{DI})(?:[A-Za-z]:)?[\p{L}\p{M}\p{N}._\-/\\+@~=()[\]{}#%&!$^']+$/u;

/** Writes a path so that nothing in it can be taken for what is said of the file: other than plain paths are in quotation marks. */
export function shownPath(path: string): string {
  if (PLAIN_PATH.test(path)) return path;
  // Paths of Windows have no quotation marks, and stay as they are.
  return visible(path.includes('"') ? JSON.stringify(path) : `"${path}"`);
}
