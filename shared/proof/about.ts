import { type Evidence, recordIn } from './evidence.ts';
import { ProofError } from './signedNote.ts';

/** What a file that proves itself is of, so that a reader sees whether it is what they were told. */
export interface About {
  /** `event 2`, `pack pk_…`, or the finding and what it quotes. */
  subject: string;
  /** The title or the address. */
  name: string;
  /** When it was observed, or recorded. */
  at: string;
  /** The digest of the object, of the quoted object, or of the record of a pack; null if nothing was there. */
  sha256: string | null;
  /** The verifier key. */
  key: string;
}

/** Says what evidence is of, according to its records. */
export function aboutOf({ kind, recorded, finding, key }: Evidence): About {
  const record = fieldsOf(recorded.record);
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const origin =
    kind === 'event'
      ? {
          subject: `event ${recorded.entry.subject}`,
          name: text(record.url),
          at: text(record.observed_at),
          sha256: text(record.sha256) || null,
        }
      : {
          subject: `pack ${recorded.entry.subject}`,
          name: text(record.title),
          at: recorded.entry.at,
          sha256: recorded.entry.digest,
        };
  if (!finding) return { ...origin, key };
  const { id, at, passage } = fieldsOf(finding.record);
  const quoted = typeof passage === 'object' && passage !== null && 'sha256' in passage ? passage.sha256 : '';
  const subject = `finding ${text(id)} of ${origin.subject}`;
  return { subject, name: origin.name, at: text(at), sha256: text(quoted) || null, key };
}

/** A record that cannot be read is among the claims that fail. */
function fieldsOf(record: string): Readonly<Record<string, unknown>> {
  try {
    return recordIn(record);
  } catch (error) {
    if (error instanceof ProofError) return {};
    throw error;
  }
}

/** The forms that a node gives to these parts. */
const SUBJECT = /^(?:finding \w+ of )?(?:event \d+|pack \w+)$/;
const INSTANT = /^[\d:.TZ-]+$/;
const DIGEST = /^[0-9a-f]{64}$/;
const KEY = /^[^\s+",]+\+\w+\+[A-Za-z0-9+/]+=*$/;

/**
 * Names it in one line, in which no part can be taken for another one: whoever has a key of their own can record anything, so a
 * part that has not its form is in quotation marks, as the name is.
 */
export function aboutWords({ subject, name, at, sha256, key }: About): string {
  const part = (text: string, form: RegExp) => visible(form.test(text) ? text : JSON.stringify(text));
  const object = sha256 === null ? 'no object' : `SHA-256 ${part(sha256, DIGEST)}`;
  return `${part(subject, SUBJECT)}, ${visible(JSON.stringify(name))}, ${part(at, INSTANT)}, ${object}, key ${part(key, KEY)}`;
}

/** Writes out the characters that are not seen and may change how the others are shown. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
