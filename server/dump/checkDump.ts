import { createHash } from 'node:crypto';
import { parseStrictJson } from '../../shared/canonicalJson.ts';
import { checkBody } from '../../shared/checkBody.ts';
import { DUMP_FORMAT, FORMAT_WITHOUT_BATCHES } from '../../shared/dump.ts';
import { Problem } from '../../shared/problems.ts';
import { type Checkpoint, CheckpointError, openCheckpoint } from '../ledger/checkpoint.ts';
import { DumpedArchive } from './dumpedArchive.ts';
import { DumpError, linesOf } from './dumpFile.ts';
import { LINE_KINDS } from './lineKinds.ts';
import { headerLine, trailerLine } from './lineSchemas.ts';

/** What a dump says of itself, checked. */
export interface DumpHead {
  format: number;
  node: string;
  verifierKey: string;
  checkpoint: Checkpoint;
  counts: Record<string, number>;
  /** Of all bytes before the trailer. */
  sha256: string;
}

/** A line that was checked, as it stands. */
export interface DumpLine {
  kind: string;
  value: Record<string, unknown>;
  number: number;
}

/**
 * Reads a dump and believes none of it: each line is of its kind, keeps the rules of what comes by HTTP, is what its
 * ledger entry recorded, and names nothing that is not before it. The entries are those that the checkpoint was signed
 * over, each has its record, and the trailer has the digest of every byte. Memory grows by some bytes a record.
 *
 * It gives each line as soon as it was checked by itself; only what is returned in the end says that the dump holds.
 *
 * @throws DumpError with a sentence, and the line where it is one.
 */
export async function* checkDump(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<DumpLine, DumpHead> {
  const sha256 = createHash('sha256');
  let number = 0;
  let check: DumpCheck | undefined;
  let head: DumpHead | undefined;
  for await (const bytes of linesOf(chunks)) {
    number += 1;
    if (head) throw new DumpError('there is a line after the trailer.', number);
    const value = parseLine(bytes, number);
    if (value.kind === 'trailer' && check) {
      head = at(number, () => (check as DumpCheck).end(value, sha256.digest('hex')));
      continue;
    }
    sha256.update(bytes).update('\n');
    if (check) yield { kind: check.line(value, number), value, number };
    else check = new DumpCheck(value);
  }
  if (!check) throw new DumpError('This is no dump: it does not begin with a header.');
  if (!head) throw new DumpError('The dump is cut short: it has no trailer.');
  return head;
}

class DumpCheck {
  readonly #archive = new DumpedArchive();
  readonly #header: Pick<DumpHead, 'format' | 'node' | 'verifierKey' | 'checkpoint'>;
  readonly #kinds: string[];
  readonly #counts = new Map<string, number>();
  /** The kind of the line before, by its place in the order, and what grows from line to line of it. */
  #kind = 0;
  #order = Number.NEGATIVE_INFINITY;

  constructor(value: Record<string, unknown>) {
    if (value.kind !== 'header') throw new DumpError('This is no dump: it does not begin with a header.');
    const { format } = value;
    if (format !== DUMP_FORMAT && format !== FORMAT_WITHOUT_BATCHES) {
      throw new DumpError(
        `This dump has format ${String(format)}; this Strongroom reads ${FORMAT_WITHOUT_BATCHES} and ${DUMP_FORMAT}.`,
      );
    }
    const { node, key, checkpoint } = at(1, () => checkBody(headerLine, value));
    this.#header = { format, node, verifierKey: key, checkpoint: checkpointOf(checkpoint, key) };
    if (this.#header.checkpoint.origin !== node)
      throw new DumpError('the node is not the one that signed the checkpoint.', 1);
    this.#kinds = Object.keys(LINE_KINDS[format] ?? {});
  }

  /** Checks a line and answers with its kind. */
  line(value: Record<string, unknown>, number: number): string {
    const name = String(value.kind);
    const place = this.#kinds.indexOf(name);
    const kind = LINE_KINDS[this.#header.format]?.[name];
    if (place < 0 || !kind)
      throw new DumpError(`a dump of this format has no line of the kind ${JSON.stringify(name)}.`, number);
    if (place < this.#kind) throw new DumpError(`lines of the kind ${name} do not stand here.`, number);
    if (this.#kind === 0 && place > 0) this.#archive.ledger.requireSigned(this.#header.checkpoint);
    at(number, () => {
      const checked = checkBody(kind.schema, value) as never;
      const order = kind.order(checked);
      if (place === this.#kind && order <= this.#order)
        throw new DumpError('it stands twice, or not in its order.', number);
      [this.#kind, this.#order] = [place, order];
      kind.check(this.#archive, checked, number);
    });
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return name;
  }

  /** Checks the trailer, and all that can be said only in the end. */
  end(value: Record<string, unknown>, sha256: string): DumpHead {
    const trailer = checkBody(trailerLine, value);
    if (trailer.sha256 !== sha256)
      throw new DumpError('The dump was altered: its bytes do not have the digest in its trailer.');
    if (this.#kind === 0) this.#archive.ledger.requireSigned(this.#header.checkpoint);
    this.#archive.ledger.requireAllRecords();
    this.#archive.batches.requireComplete();
    this.#archive.requireSourceStates();
    for (const name of new Set([...this.#counts.keys(), ...Object.keys(trailer.counts)])) {
      const counted = this.#counts.get(name) ?? 0;
      if (trailer.counts[name] !== counted)
        throw new DumpError(`The trailer does not count the ${counted} lines of the kind ${name}.`);
    }
    return { ...this.#header, counts: trailer.counts, sha256 };
  }
}

/** A rule that is broken within a line is told of that line. */
function at<Result>(line: number, check: () => Result): Result {
  try {
    return check();
  } catch (error) {
    if (error instanceof Problem) throw new DumpError(error.message.replace(/\.?$/, '.'), line);
    throw error;
  }
}

function checkpointOf(note: string, key: string): Checkpoint {
  try {
    return openCheckpoint(note, key);
  } catch (error) {
    if (error instanceof CheckpointError)
      throw new DumpError(`the checkpoint does not hold: ${error.message}`, 1);
    throw error;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** How half of a pair of surrogates is written in JSON; such text has no canonical form. */
const SURROGATE = /\\ud[89a-f]/i;

/** @throws DumpError where the line is no JSON object, or one that could be read in two ways. */
function parseLine(bytes: Buffer, number: number): Record<string, unknown> {
  let value: unknown;
  let text: string;
  try {
    text = UTF8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new DumpError('this is no JSON object.', number);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DumpError('this is no JSON object.', number);
  // What is written back as it was read has no key twice and no number that lost digits; the rest is looked at closely.
  const isPlain = JSON.stringify(value) === text && !SURROGATE.test(text);
  if (!isPlain || 'record' in value) at(number, () => parseStrictJson(text));
  return value as Record<string, unknown>;
}
