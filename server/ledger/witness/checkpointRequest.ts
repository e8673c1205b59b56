import { Problem } from '../../../shared/problems.ts';

/** A request to a witness (C2SP tlog-witness, add-checkpoint), parsed and not yet verified. */
export interface CheckpointRequest {
  oldSize: number;
  proof: Buffer[];
  /** The checkpoint as it was signed. */
  note: string;
  origin: string;
}

const MAX_PROOF_LINES = 63;
const OLD_SIZE = /^old (0|[1-9]\d{0,14})$/;
/** A SHA-256 hash in base64: 43 characters that say something, the last of which ends with two zero bits, and one `=`. */
const HASH = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/** @throws Problem `invalid_checkpoint` */
export function parseCheckpointRequest(text: string): CheckpointRequest {
  const end = text.indexOf('\n\n');
  const [first = '', ...lines] = text.slice(0, Math.max(0, end)).split('\n');
  const oldSize = OLD_SIZE.exec(first)?.[1];
  const note = text.slice(end + 2);
  const origin = note.slice(0, note.indexOf('\n'));
  if (end < 0 || oldSize === undefined || origin === '')
    throw invalidRequest(
      'It must begin with “old” and a size, and end with a checkpoint after an empty line.',
    );
  if (lines.length > MAX_PROOF_LINES || !lines.every((line) => HASH.test(line)))
    throw invalidRequest(`The proof must be at most ${MAX_PROOF_LINES} hashes in base64, on a line each.`);
  return { oldSize: Number(oldSize), proof: lines.map((line) => Buffer.from(line, 'base64')), note, origin };
}

export function invalidRequest(detail: string): Problem {
  return new Problem('invalid_checkpoint', detail);
}
