import { createHash } from 'node:crypto';
import { z } from 'zod';
import { objectsOf, type RecordedRetrieval } from '../../shared/collection/retrieval.ts';
import { Problem } from '../../shared/problems.ts';
import { isSignedNote, noteBody, signatureState } from '../../shared/proof/ledger/signedNote.ts';
import { parseStrictJson } from '../../shared/values/canonicalJson.ts';
import { checkBody } from '../../shared/values/checkBody.ts';
import { digestSchema } from '../../shared/values/digest.ts';
import { instantSchema } from '../../shared/values/text.ts';
import { type Checkpoint, nodeCrypto } from '../ledger/checkpoint.ts';
import type { WriteDatabase } from '../store/sqlite/engine/open.ts';
import { count, DumpedArchive, type DumpKind, line } from './dumpedArchive.ts';
import { DumpError, dumpStatement, openCheckpointIn, splitLines } from './dumpFile.ts';
import { DUMP_FORMAT, DUMP_KINDS, KINDS } from './kinds/kinds.ts';

const headerLine = line('header', {
  format: z.int(),
  node: z.string(),
  key: z.string(),
  made_at: instantSchema,
  checkpoint: z.string(),
});

const trailerLine = line('trailer', {
  counts: z.record(z.string(), count),
  sha256: digestSchema,
  /** A signed note. Dumps of earlier releases, and of archives without their private key, have none. */
  signed: z.string().max(10_000).optional(),
});

/** The header and the trailer of a dump, checked. */
export interface DumpHead {
  format: number;
  node: string;
  verifierKey: string;
  checkpoint: Checkpoint;
  counts: Record<string, number>;
  /** How many findings are sealed: of those the dump has only the commitment, and the record encrypted. */
  sealed: number;
  /** The digest of all bytes before the trailer. */
  sha256: string;
  /** Whether the key signed that digest. Otherwise nothing covers the lines that no ledger entry records. */
  isSigned: boolean;
}

/** A line of a dump that passed the checks. */
export interface DumpLine {
  kind: string;
  value: Record<string, unknown>;
  number: number;
  /** The size of the line. */
  bytes: number;
  /** Writes what the line says to an archive that has the earlier lines. */
  restore: (database: WriteDatabase) => void;
}

/**
 * Reads a dump and checks all of it. Each line must match the schema of its kind, must be what its ledger entry
 * recorded, and may only refer to earlier lines. The entries must be those that the checkpoint was signed over, each with
 * its record, and the trailer must have the digest of all bytes. Memory grows by a few bytes per record.
 *
 * Yields each line after it was checked on its own. The dump as a whole is valid only once the generator returns.
 *
 * @throws DumpError with the number of the line, if the fault is in one
 */
export async function* checkDump(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<DumpLine, DumpHead> {
  const sha256 = createHash('sha256');
  let number = 0;
  let check: DumpCheck | undefined;
  let head: DumpHead | undefined;
  for await (const bytes of splitLines(chunks)) {
    number += 1;
    if (head) throw new DumpError('there is a line after the trailer.', number);
    const value = parseLine(bytes, number);
    if (value.kind === 'trailer' && check) {
      head = at(number, () => (check as DumpCheck).end(value, sha256.digest('hex')));
      continue;
    }
    sha256.update(bytes).update('\n');
    if (!check) {
      check = new DumpCheck(value);
      continue;
    }
    const kind = check.line(value, number);
    const restore = (database: WriteDatabase) => kind.restore(database, value as never);
    yield { kind: String(value.kind), value, number, bytes: bytes.length, restore };
  }
  if (!check) throw new DumpError('This is not a dump: it does not begin with a header.');
  if (!head) throw new DumpError('The dump is truncated: it has no trailer.');
  return head;
}

/** Finds the objects that the lines of a dump name, and which of them the archive had no bytes of. */
export class NamedObjects {
  readonly #name: (sha256: string) => void;
  readonly #damages = new Map<number, string>();
  readonly #absent = new Set<string>();
  readonly #released = new Set<string>();

  /** @param name is called with each digest that a record names, perhaps more than once. They are not kept here. */
  constructor(name: (sha256: string) => void) {
    this.#name = name;
  }

  add({ kind, value }: Pick<DumpLine, 'kind' | 'value'>): void {
    if (kind === 'pack') {
      const { files } = value.record as { files: { sha256: string }[] };
      for (const { sha256 } of files) this.#name(sha256);
    } else if (kind === 'retrieval') {
      for (const sha256 of objectsOf(value as unknown as RecordedRetrieval)) this.#name(sha256);
    } else if (kind === 'object_damage') this.#damages.set(Number(value.ledger_entry), String(value.sha256));
    else if (kind === 'object_restoration') this.#damages.delete(Number(value.damage));
    else if (kind === 'object_released') this.#released.add(String(value.sha256));
    // The bytes of a mirrored record that the peer did not give.
    else if (kind === 'object_absent') this.#absent.add(String(value.sha256));
  }

  get released(): ReadonlySet<string> {
    return this.#released;
  }

  /** Those that the dump records as damaged, as released or as never received. Call after the last line. */
  withoutBytes(): string[] {
    return [...this.#damages.values(), ...this.#released, ...this.#absent];
  }
}

/** The position of the ledger entries among the kinds. What comes after them must be recorded by them. */
const ENTRIES = DUMP_KINDS.indexOf('entry');

class DumpCheck {
  readonly #archive: DumpedArchive;
  readonly #header: Pick<DumpHead, 'format' | 'node' | 'verifierKey' | 'checkpoint'>;
  readonly #counts = new Map<string, number>();
  /** The position of the previous line's kind among the kinds, and the value by which its lines are ordered. */
  #kind = 0;
  #order: number | string = Number.NEGATIVE_INFINITY;
  #isSigned = false;

  constructor(value: Record<string, unknown>) {
    if (value.kind !== 'header') throw new DumpError('This is not a dump: it does not begin with a header.');
    const { format } = value;
    if (format !== DUMP_FORMAT) {
      throw new DumpError(
        `This dump has ${format === undefined ? 'no format' : `format ${JSON.stringify(format)}`}; this Strongroom reads ${DUMP_FORMAT}.`,
      );
    }
    const { node, key, checkpoint } = at(1, () => checkBody(headerLine, value));
    this.#header = { format, node, verifierKey: key, checkpoint: openCheckpointIn(checkpoint, key, 1) };
    if (this.#header.checkpoint.origin !== node)
      throw new DumpError('the node is not the one that signed the checkpoint.', 1);
    this.#archive = new DumpedArchive(key);
  }

  /** Checks a line and returns its kind. */
  line(value: Record<string, unknown>, number: number): DumpKind {
    const name = String(value.kind);
    const position = DUMP_KINDS.indexOf(name);
    const kind = KINDS[name];
    if (position < 0 || !kind)
      throw new DumpError(`a dump of this format has no line of the kind ${JSON.stringify(name)}.`, number);
    if (position < this.#kind) throw new DumpError(`lines of the kind ${name} are not allowed here.`, number);
    if (position > ENTRIES) this.#requireSigned();
    at(number, () => {
      const checked = checkBody(kind.schema, value) as never;
      const order = kind.order(checked);
      if (position === this.#kind && order <= this.#order)
        throw new DumpError('it is a duplicate or out of order.', number);
      [this.#kind, this.#order] = [position, order];
      kind.check(this.#archive, checked, number);
    });
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return kind;
  }

  /** Called after the last entry. */
  #requireSigned(): void {
    if (this.#isSigned) return;
    this.#isSigned = true;
    this.#archive.ledger.requireSigned(this.#header.checkpoint);
  }

  /** Requires that a note says, signed by the key of the dump, that these are its bytes. */
  #requireStatement(signed: string, trailer: { sha256: string; counts: Record<string, number> }): void {
    const { node, verifierKey } = this.#header;
    const isOfKey =
      isSignedNote(signed) &&
      noteBody(signed) === dumpStatement(node, trailer) &&
      signatureState(signed, verifierKey, nodeCrypto) === 'valid';
    if (!isOfKey)
      throw new DumpError('The dump was altered: its trailer is not signed by the key in its header.');
  }

  /** Checks the trailer, and what can be checked only at the end. */
  end(value: Record<string, unknown>, sha256: string): DumpHead {
    const trailer = checkBody(trailerLine, value);
    if (trailer.sha256 !== sha256)
      throw new DumpError('The dump was altered: its bytes do not have the digest in its trailer.');
    this.#requireSigned();
    this.#archive.ledger.requireAllRecords();
    this.#archive.batches.requireComplete();
    this.#archive.requirePages();
    this.#archive.requireSourceStates();
    for (const name of new Set([...this.#counts.keys(), ...Object.keys(trailer.counts)])) {
      const counted = this.#counts.get(name) ?? 0;
      if (trailer.counts[name] !== counted)
        throw new DumpError(`The trailer has a wrong count of the ${counted} lines of the kind ${name}.`);
    }
    const { counts, signed } = trailer;
    if (signed !== undefined) this.#requireStatement(signed, trailer);
    const sealed = (counts.sealed_finding ?? 0) - (counts.revealed_finding ?? 0);
    return { ...this.#header, counts, sealed, sha256, isSigned: signed !== undefined };
  }
}

/** Runs a check; adds the number of the line to a Problem that it throws. */
function at<Result>(line: number, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof Problem) throw new DumpError(error.message.replace(/\.?$/, '.'), line);
    throw error;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** A surrogate escape in JSON. Text with a lone surrogate has no canonical form. */
const SURROGATE = /\\ud[89a-f]/i;

/** Whether a value is written as this text. One that is nested too deep to be written is not. */
function isWrittenAs(value: unknown, text: string): boolean {
  try {
    return JSON.stringify(value) === text;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** @throws DumpError if the line is not a JSON object, or is ambiguous (duplicate keys, imprecise numbers) */
function parseLine(bytes: Buffer, number: number): Record<string, unknown> {
  let value: unknown;
  let text: string;
  try {
    text = UTF8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new DumpError('this is not a JSON object.', number);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DumpError('this is not a JSON object.', number);
  // A line that serializes to the same text has no duplicate keys and no imprecise numbers. Only others are parsed again.
  const isPlain = isWrittenAs(value, text) && !SURROGATE.test(text);
  if (!isPlain || 'record' in value) at(number, () => parseStrictJson(text));
  return value as Record<string, unknown>;
}
