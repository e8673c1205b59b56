import { sha256 } from '@noble/hashes/sha2.js';
import { hexOf, utf8 } from '../../../../shared/proof/crypto/bytes.ts';
import { noteCrypto } from '../../../../shared/proof/crypto/noteCrypto.ts';
import {
  isOlder,
  LIST,
  type ListedFile,
  openList,
  parseLines,
} from '../../../../shared/proof/ledger/fileList.ts';
import { ifValid, openCheckpoint } from '../../../../shared/proof/ledger/signedNote.ts';
import { CHECKPOINT, LEFT_OUT, objectPath } from '../../copyPaths.ts';

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
  /** Reads a file of the copy; undefined if there is none. */
  read: (path: string) => Promise<Response | undefined>;
  /** The verifier key of the archive. */
  key: string;
  onFault: (path: string, fault: 'changed' | 'missing') => void;
  onFile: (done: number, total: number) => void;
}

/**
 * Verifies every file of a copy by the signed list of them (`docs/static-archive.md`), and every object that the records
 * name. Returns the number of files verified.
 *
 * @throws Error if there is no list, or it was altered
 */
export async function verifyFiles({ read, key, onFault, onFile }: FilesRun): Promise<number> {
  const textOf = async (path: string): Promise<string> => {
    const answer = await read(path);
    if (answer) return answer.text();
    onFault(path, 'missing');
    throw new Error(`${path} is missing, so the files of this copy cannot be verified.`);
  };
  const note = await textOf(CHECKPOINT);
  const checkpoint = ifValid(() => openCheckpoint(note, key, noteCrypto));
  if (!checkpoint) onFault(CHECKPOINT, 'changed');
  const listNote = await textOf(LIST);
  const list = ifValid(() => openList(listNote, key, noteCrypto));
  if (!list || (checkpoint && isOlder(list, checkpoint))) {
    onFault(LIST, 'changed');
    throw new Error('The list of the files was altered, or is older than the checkpoint.');
  }
  const objects = new NamedObjects();
  let done = 0;
  const verify = async ({ path, sha256: expected }: ListedFile, all: number) => {
    const answer = await read(path);
    const leftOut: string[] = [];
    const onLine = (line: string) => void (path === LEFT_OUT ? leftOut.push(line) : objects.add(line));
    const lines = /^(records|state)\/|^withheld\.txt$/.test(path) ? new Lines(onLine) : undefined;
    const found = answer && (await digestOf(answer.body, (chunk) => lines?.push(chunk)));
    if (found !== expected) onFault(path, found === undefined ? 'missing' : 'changed');
    else for (const sha256 of leftOut) objects.leaveOut(sha256);
    done += 1;
    onFile(done, Math.max(done, all));
  };
  for (const part of list.parts) {
    const text = await (await read(part.path))?.text();
    if (text === undefined || hexOf(sha256(utf8(text))) !== part.sha256)
      onFault(part.path, text === undefined ? 'missing' : 'changed');
    else for (const file of parseLines(text)) await verify(file, list.files);
  }
  const required = objects.required();
  const all = done + required.length;
  for (const digest of required) await verify({ path: objectPath(digest), sha256: digest }, all);
  return done;
}

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

/** The objects that the lines of a file of records name, and those that need not be there. */
class NamedObjects {
  readonly #elsewhere = new Set<string>();
  readonly #named = new Set<string>();
  readonly #damages = new Map<number, string>();

  add(line: string): void {
    try {
      this.#parse(line);
    } catch {
      // A line that was altered. The digest of its file tells.
    }
  }

  #parse(line: string): void {
    if (line.startsWith('{"kind":"pack"')) {
      const { record } = JSON.parse(line) as { record: { files: { sha256: string }[] } };
      for (const { sha256 } of record.files) this.#named.add(sha256);
    } else if (line.startsWith('{"kind":"retrieval"')) {
      // Certificates are members of its connections; every digest of stored bytes is a member `sha256`.
      JSON.parse(line, (name, value: unknown) => {
        if (name === 'sha256' && typeof value === 'string') this.#named.add(value);
        return value;
      });
    } else if (line.startsWith('{"kind":"object_damage"')) {
      const damage = JSON.parse(line) as { ledger_entry: number; sha256: string };
      this.#damages.set(damage.ledger_entry, damage.sha256);
    } else if (line.startsWith('{"kind":"object_restoration"')) {
      this.#damages.delete((JSON.parse(line) as { damage: number }).damage);
    } else if (/^\{"kind":"object_(released|absent)"/.test(line)) {
      this.#elsewhere.add((JSON.parse(line) as { sha256: string }).sha256);
    }
  }

  /** The archive signed that the copy does not have an object, because it is withheld. */
  leaveOut(sha256: string): void {
    this.#elsewhere.add(sha256);
  }

  /** Objects that are recorded as damaged, released or never received may be missing, and those that are left out. */
  required(): string[] {
    const absent = new Set([...this.#damages.values(), ...this.#elsewhere]);
    return [...this.#named].filter((sha256) => !absent.has(sha256));
  }
}
