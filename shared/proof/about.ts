import { isOwnObserver, SELF } from '../collection/observers.ts';
import type { LedgerEntry } from '../ledger/ledger.ts';
import { type Evidence, recordIn } from './evidence/evidence.ts';
import { ProofError } from './ledger/signedNote.ts';

/** What a file that proves itself is of, so that a reader sees whether it is what they were told. */
export interface About {
  /** `event 2`, `pack pk_…`, `entry 3` of a ledger, `case ca_… revision 4`, or the finding and what it quotes. */
  subject: string;
  /** The title or the address; of an entry its type and subject. */
  name: string;
  /** When it was observed, or recorded; when a case was changed. */
  at: string;
  /** The observer of an event that the node did not fetch itself. */
  observer?: string;
  /** The digest of the object, of the quoted object, or of the record of a pack, an entry or a case; null if nothing was there. */
  sha256: string | null;
  /** The verifier key. */
  key: string;
}

/** Says what evidence is of, according to its records. */
export function aboutOf({ kind, recorded, finding, sealed, key }: Evidence): About {
  const record = fieldsOf(recorded.record);
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const origin =
    kind === 'event'
      ? {
          subject: `event ${recorded.entry.subject}`,
          name: text(record.url),
          at: text(record.observed_at),
          sha256: text(record.sha256) || null,
          ...(isOwnObserver(text(record.observer) || SELF) ? {} : { observer: text(record.observer) }),
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
  // The entry proves when it was sealed. Only its owner states when it was written.
  const made = sealed?.entry.at ?? text(at);
  return { ...origin, subject, at: made, sha256: text(quoted) || null, key };
}

/** Says what a proven entry of a ledger is. */
export function aboutEntry({ seq, type, subject, at, digest }: LedgerEntry, key: string): About {
  return { subject: `entry ${seq}`, name: `${type} ${subject}`, at, sha256: digest, key };
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
