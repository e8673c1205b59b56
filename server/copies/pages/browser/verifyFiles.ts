import { sha256 } from '@noble/hashes/sha2.js';
import { hexOf } from '../../../../shared/proof/crypto/bytes.ts';
import type { ListedFile } from '../../../../shared/proof/ledger/fileList.ts';
import { LEFT_OUT, objectPath } from '../../copyPaths.ts';
import { type ReadFile, SignedFiles } from './signedFiles.ts';

/** Hashes a stream. `onChunk` is called with each chunk. */
export async function digestOf(
  stream: ReadableStream<Uint8Array> | null,
  onChunk: (chunk: Uint8Array) => void = () => {},
): Promise<string> {
  const hash = sha256.create();
  const reader = stream?.getReader();
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
    hash.update(next.value);
    onChunk(next.value);
  }
  return hexOf(hash.digest());
}

interface FilesRun {
  read: ReadFile;
  /** The verifier key of the archive. */
  key: string;
  onFault: (path: string, fault: 'changed' | 'missing') => void;
  onFile: (done: number, total: number) => void;
}

/** What was verified of a copy. */
export interface VerifiedFiles {
  files: number;
  /** Objects that the signed list says are not there, because they are withheld. */
  withheld: number;
}

/**
 * Verifies every file of a copy by the signed list of them (`docs/static-archive.md`), and every object that the records
 * name. Files that neither names are not looked for, and the records are not compared with the ledger.
 *
 * @throws Error if there is no list, or it was altered
 */
export async function verifyFiles({ read, key, onFault, onFile }: FilesRun): Promise<VerifiedFiles> {
  const signed = await SignedFiles.open(read, key, onFault);
  const objects = new NamedObjects();
  let done = 0;
  const verify = async ({ path, sha256: expected }: ListedFile, all: number) => {
    const facts: string[] = [];
    const lines = SAYS_SOMETHING.test(path) ? new Lines((line) => facts.push(line)) : undefined;
    const answer = await read(path);
    const found = answer && (await digestOf(answer.body, (chunk) => lines?.push(chunk)));
    if (found !== expected) onFault(path, found === undefined ? 'missing' : 'changed');
    // What was altered excuses nothing.
    else if (path === LEFT_OUT) facts.forEach((sha256) => objects.leaveOut(sha256));
    else facts.forEach((line) => objects.add(line));
    done += 1;
    onFile(done, Math.max(done, all));
  };
  for await (const file of signed.all(onFault)) await verify(file, signed.count);
  const required = objects.required();
  const all = done + required.length;
  for (const digest of required) await verify({ path: objectPath(digest), sha256: digest }, all);
  return { files: done, withheld: objects.withheld };
}

const SAYS_SOMETHING = /^(records|state)\/|^withheld\.txt$/;

/** Splits chunks of text into lines. */
class Lines {
  readonly #onLine: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line);
  }
}

/** Returns the digests of the stored objects that a line of a file of records names. */
export function objectsNamedBy(line: string): Set<string> {
  const named = new Set<string>();
  if (line.startsWith('{"kind":"pack"')) {
    const { record } = JSON.parse(line) as { record: { files: { sha256: string }[] } };
    for (const { sha256 } of record.files) named.add(sha256);
  } else if (line.startsWith('{"kind":"retrieval"')) {
    // Certificates are members of its connections; every digest of stored bytes is a member `sha256`.
    JSON.parse(line, (name, value: unknown) => {
      if (name === 'sha256' && typeof value === 'string') named.add(value);
      return value;
    });
  }
  return named;
}

/** The objects that the lines of files of records name, and those that need not be there. */
class NamedObjects {
  readonly #absent = new Set<string>();
  readonly #leftOut = new Set<string>();
  readonly #named = new Set<string>();
  readonly #damages = new Map<number, string>();

  add(line: string): void {
    for (const sha256 of objectsNamedBy(line)) this.#named.add(sha256);
    if (line.startsWith('{"kind":"object_damage"')) {
      const damage = JSON.parse(line) as { ledger_entry: number; sha256: string };
      this.#damages.set(damage.ledger_entry, damage.sha256);
    } else if (line.startsWith('{"kind":"object_restoration"')) {
      this.#damages.delete((JSON.parse(line) as { damage: number }).damage);
    } else if (/^\{"kind":"object_(released|absent)"/.test(line)) {
      this.#absent.add((JSON.parse(line) as { sha256: string }).sha256);
    }
  }

  /** The archive signed that the copy does not have an object, because it is withheld. */
  leaveOut(sha256: string): void {
    this.#leftOut.add(sha256);
  }

  /** The number of withheld objects that the records name. */
  get withheld(): number {
    return [...this.#leftOut].filter((sha256) => this.#named.has(sha256)).length;
  }

  /** Objects that are recorded as damaged, released or never received may be missing, and those that are left out. */
  required(): string[] {
    const absent = new Set([...this.#damages.values(), ...this.#absent]);
    return [...this.#named].filter((sha256) => !absent.has(sha256) && !this.#leftOut.has(sha256));
  }
}
