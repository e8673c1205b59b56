import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import mime from 'mime-types';
import pLimit from 'p-limit';
import { newPathConflicts, newPathFault, shownPath } from '../../../shared/archive/filePath.ts';
import type { Pack, PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import type { SetFile } from '../../../shared/archive/set.ts';
import { PART_BYTES, type PlannedFile, planSet, SET_FILE } from '../../../shared/archive/setManifest.ts';
import { GIGABYTE, MAX_PACK_BYTES, MAX_PACK_FILES, MAX_SET_FILES } from '../../../shared/limits.ts';
import { checkRecord } from '../../archive/packs/checkRecord.ts';
import { listFolder } from '../../archive/packs/file/packFolder.ts';
import { manifestText, partRecord } from '../../archive/sets/setRecords.ts';
import { sha256Of } from '../../ledger/entry.ts';
import { UsageError } from '../command.ts';
import { type NodeClient, RefusedByNodeError } from '../node/nodeClient.ts';
import { type SentFile, SentFiles } from './sentFiles.ts';
import { digestOfRange, FileChangedError, uploadPack } from './uploadPack.ts';

export interface FolderToPublish {
  folder: string;
  /** Paths in the folder that are left out. */
  except: ReadonlySet<string>;
  /** The record without files, as it was read. */
  record: object;
  /** The folder for the notes about what was sent. */
  notes: string;
  partBytes: number;
  /** Called with the bytes to send, and with those that were sent. */
  found: (bytes: number) => void;
  read: (bytes: number) => void;
  /** Called before the first part of a set is sent. */
  isSet: () => void;
  /** Called with the paths of files that changed since an earlier run has sent them. */
  changed: (paths: readonly string[]) => void;
}

export interface PublishedFolder {
  pack: string;
  files: number;
  bytes: number;
  /** The parts of the set; 0 for a single pack. */
  parts: number;
  /** The parts that this run has sent. */
  sent: number;
}

/** A file of the folder as it was found. */
interface FoundFile {
  path: string;
  size: number;
  modified: string;
}

/** The parts that are sent at once, so that the disk of the node is busy while the next one is read. */
const AT_ONCE = 2;

/**
 * Publishes a folder at a node: as a pack if it can be one, else as a set. A part that the node has is never
 * sent again: what was acknowledged is noted, and the node is asked for the first parts that are not.
 *
 * @throws UsageError, Problem for a folder or a record that cannot be published; RefusedByNodeError; FileChangedError
 */
export async function publishFolder(node: NodeClient, input: FolderToPublish): Promise<PublishedFolder> {
  const { record } = checkRecord({ ...input.record, files: [] });
  await requireReferences(node, record);
  const files = await findFiles(input);
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  // Whoever asks for smaller parts wants a set of them.
  const packBytes = input.partBytes < PART_BYTES ? input.partBytes : MAX_PACK_BYTES;
  if (bytes <= packBytes && files.length <= MAX_PACK_FILES) return publishPack(node, input, files, bytes);
  await requireAllowed(node, bytes);
  input.isSet();
  const publishing = new Publishing(node, input, record, files);
  const notes = await SentFiles.open(join(input.notes, `${keyOf(input.folder, record)}.jsonl`), (sent) =>
    publishing.known(sent),
  );
  try {
    const sent = await publishing.sendParts(notes);
    const set = await publishing.setFiles();
    await requireUnchanged(input.folder, files);
    const pack = await uploadPack(
      node,
      { record: withoutFiles(record) },
      [{ path: SET_FILE, content: manifestText(set) }],
      () => undefined,
    );
    await notes.remove();
    return { pack: pack.id, files: files.length, bytes, parts: publishing.parts, sent };
  } finally {
    await notes.close();
  }
}

/** The node adds the files to a record that omits them. */
function withoutFiles({ files: _, ...record }: PackRecord): object {
  return record;
}

/** The name of the notes: the same folder with the same record goes on. */
function keyOf(folder: string, record: PackRecord): string {
  return sha256Of(JSON.stringify([folder, record])).slice(0, 20);
}

function sizesOf(files: readonly FoundFile[]): { path: string; bytes: number }[] {
  return files.map(({ path, size }) => ({ path, bytes: size }));
}

/** Requires what the record refers to, before anything is sent. @throws RefusedByNodeError */
async function requireReferences(
  node: NodeClient,
  { node: subject, study, replicates, supersedes }: PackRecord,
): Promise<void> {
  if (subject !== null) await node.call('readNode', { params: { path: subject } });
  if (study !== null) await node.call('readStudy', { params: { id: study } });
  for (const id of [replicates?.pack, supersedes]) if (id) await node.call('readPack', { params: { id } });
}

async function requireAllowed(node: NodeClient, bytes: number): Promise<void> {
  const { max_set_gb } = await node.call('readSettings');
  if (bytes <= max_set_gb * GIGABYTE) return;
  throw new UsageError(
    `The files have ${bytes} bytes, and a set can have ${max_set_gb} GB. The setting max_set_gb can allow more.`,
  );
}

async function findFiles({ folder, except, found }: FolderToPublish): Promise<FoundFile[]> {
  const paths = (await listFolder(folder)).filter((path) => !except.has(path));
  if (paths.length === 0) throw new UsageError('The folder has no files.');
  if (paths.length > MAX_SET_FILES)
    throw new UsageError(`The folder has ${paths.length} files, and a set can have ${MAX_SET_FILES}.`);
  for (const path of paths) {
    const fault = newPathFault(path);
    if (fault) throw new UsageError(`${shownPath(path)}: ${fault}`);
  }
  for (const { index, other } of newPathConflicts(paths))
    throw new UsageError(
      `${shownPath(paths[index] ?? '')} and ${shownPath(paths[other] ?? '')} cannot both be files everywhere. Rename one of them.`,
    );
  const files: FoundFile[] = [];
  for (const path of paths) files.push({ path, ...(await stateOf(join(folder, path))) });
  found(files.reduce((sum, { size }) => sum + size, 0));
  return files;
}

async function stateOf(file: string): Promise<{ size: number; modified: string }> {
  const { size, mtimeNs } = await stat(file, { bigint: true });
  return { size: Number(size), modified: String(mtimeNs) };
}

/** @throws FileChangedError */
async function requireUnchanged(folder: string, files: readonly FoundFile[]): Promise<void> {
  for (const { path, size, modified } of files) {
    const now = await stateOf(join(folder, path)).catch((cause: unknown) => {
      throw new FileChangedError(path, { cause });
    });
    if (now.size !== size || now.modified !== modified) throw new FileChangedError(path);
  }
}

async function publishPack(
  node: NodeClient,
  { folder, record, read }: FolderToPublish,
  files: readonly FoundFile[],
  bytes: number,
): Promise<PublishedFolder> {
  const uploaded = files.map(({ path, size }) => ({
    path,
    source: join(folder, path),
    start: 0,
    bytes: size,
  }));
  const { id } = await uploadPack(node, { record }, uploaded, read);
  return { pack: id, files: files.length, bytes, parts: 0, sent: 0 };
}

/** A file of the set, or a piece of one, and what the node has of it. A set has a hundred thousand of them. */
interface Piece extends PlannedFile {
  found: FoundFile;
  /** The part that has it; undefined until the node has it. */
  pack: string | undefined;
  /** Its path in that part. */
  name: string;
  sha256: string;
}

/** The publishing of a folder as a set. */
class Publishing {
  readonly #node: NodeClient;
  readonly #input: FolderToPublish;
  readonly #record: PackRecord;
  readonly #files: readonly FoundFile[];
  /** The pieces of each planned part. */
  readonly #plan: readonly (readonly Piece[])[];
  /** The pieces of each file, in their order. */
  readonly #pieces = new Map<string, Piece[]>();
  readonly #changed = new Set<string>();
  /** The digests of files that are sent in pieces, computed when they are first needed. */
  readonly #whole = new Map<string, Promise<string>>();
  /** How many parts in a row the node did not have. */
  #misses = 0;

  constructor(node: NodeClient, input: FolderToPublish, record: PackRecord, files: readonly FoundFile[]) {
    this.#node = node;
    this.#input = input;
    this.#record = record;
    this.#files = files;
    this.#plan = planSet(sizesOf(files), input.partBytes).map((part) =>
      part.flatMap((planned) => {
        const found = files[planned.file];
        return found ? [{ ...planned, found, pack: undefined, name: '', sha256: '' }] : [];
      }),
    );
    for (const piece of this.#plan.flat()) {
      const others = this.#pieces.get(piece.found.path);
      if (others) others.push(piece);
      else this.#pieces.set(piece.found.path, [piece]);
    }
  }

  /** The number of parts that the set has. */
  get parts(): number {
    return new Set(this.#plan.flatMap((part) => part.map(({ pack }) => pack))).size;
  }

  /** Takes what an earlier run has noted of a part, as far as its files did not change since. */
  known(files: readonly SentFile[]): void {
    const [first] = files;
    for (const { path, size, modified, start, bytes, name, sha256 } of files) {
      const pieces = this.#pieces.get(path);
      const found = pieces?.[0]?.found;
      if (!pieces || !found) continue;
      if (found.size !== size || found.modified !== modified) {
        this.#changed.add(path);
        continue;
      }
      const piece = pieces.find((each) => each.start === start && each.bytes === bytes);
      // The names of most pieces are their planned paths, which are in memory already.
      if (piece)
        Object.assign(piece, { pack: first?.pack, name: name === piece.path ? piece.path : name, sha256 });
    }
  }

  /** Sends the parts that the node does not have, and returns their number. */
  async sendParts(notes: SentFiles): Promise<number> {
    // A later run may have sent it as it is now.
    const isUnsent = (path: string) => this.#pieces.get(path)?.some(({ pack }) => pack === undefined);
    const changed = [...this.#changed].filter(isUnsent);
    if (changed.length > 0) this.#input.changed(changed);
    // Planned over all files, so that a part which the node has without a note is planned as it was.
    const planned = this.#plan
      .map((part) => part.filter(({ pack }) => pack === undefined))
      .filter((part) => part.length > 0);
    for (const { pack, bytes } of this.#plan.flat()) if (pack !== undefined) this.#input.read(bytes);
    const atOnce = pLimit(AT_ONCE);
    let sent = 0;
    let failure: { error: unknown } | undefined;
    const send = async (part: readonly Piece[]) => {
      // The parts that are on their way are waited for, so that they are noted.
      if (failure) return;
      try {
        if (await this.#sendPart(part, notes)) sent += 1;
      } catch (error) {
        failure ??= { error };
      }
    };
    await Promise.all(planned.map((part) => atOnce(() => send(part))));
    if (failure) throw failure.error;
    return sent;
  }

  /** Returns whether the part had to be sent. */
  async #sendPart(pieces: readonly Piece[], notes: SentFiles): Promise<boolean> {
    const pieceOf = await this.#wholeOf(pieces);
    const held = await this.#heldPart(pieces, pieceOf);
    if (held) for (const { bytes } of pieces) this.#input.read(bytes);
    const uploaded = pieces.map(({ found, path, start, bytes }) => ({
      path,
      source: join(this.#input.folder, found.path),
      start,
      bytes,
    }));
    const pack =
      held ??
      (await uploadPack(this.#node, { record: this.#partRecord(), pieceOf }, uploaded, (bytes) =>
        this.#input.read(bytes),
      ));
    await requireUnchanged(
      this.#input.folder,
      pieces.map(({ found }) => found),
    );
    const digests = new Map(pack.files.map(({ path, sha256 }) => [path, sha256]));
    for (const piece of pieces)
      Object.assign(piece, {
        pack: pack.id,
        name: piece.path,
        sha256: digests.get(piece.path) ?? '',
      });
    await notes.add(
      pieces.map(({ found: { path, size, modified }, start, bytes, name, sha256 }) => {
        return { path, size, modified, start, bytes, pack: pack.id, name, sha256 };
      }),
    );
    return held === undefined;
  }

  /**
   * Returns the part if the node has it. A part can be there without a note only if a run ended between the answer and
   * the note, so only the first parts of a run are looked for, and those after one that was found.
   */
  async #heldPart(
    pieces: readonly Piece[],
    pieceOf: string | undefined,
  ): Promise<Pick<Pack, 'id' | 'files'> | undefined> {
    if (this.#misses >= AT_ONCE) return undefined;
    const files: PackFile[] = [];
    for (const { found, path, start, bytes } of pieces) {
      const sha256 = await digestOfRange(join(this.#input.folder, found.path), { start, bytes });
      files.push({ path, sha256, bytes, media_type: mime.lookup(path) || 'application/octet-stream' });
    }
    const { id, text } = checkRecord(partRecord(this.#record, files));
    const held = await this.#packOnNode(id);
    this.#misses = held ? 0 : this.#misses + 1;
    // The pack may have been uploaded by somebody else, without the digest of the whole file.
    if (held && pieceOf !== undefined)
      await this.#node.send('addPack', {
        type: 'application/json',
        chunks: [Buffer.from(text)],
        query: { piece_of: pieceOf },
      });
    return held;
  }

  /**
   * Returns the digest of the whole file of a piece; undefined for a part with whole files. It is sent with the piece, so that
   * the node withholds the piece at once if the file is withheld.
   */
  async #wholeOf([piece]: readonly Piece[]): Promise<string | undefined> {
    if (!piece?.isPiece) return undefined;
    const { path, size } = piece.found;
    let whole = this.#whole.get(path);
    if (!whole) {
      whole = digestOfRange(join(this.#input.folder, path), { start: 0, bytes: size });
      this.#whole.set(path, whole);
    }
    return whole;
  }

  async #packOnNode(id: string): Promise<Pack | undefined> {
    try {
      return await this.#node.call('readPack', { params: { id } });
    } catch (error) {
      if (error instanceof RefusedByNodeError && error.code === 'not_found') return undefined;
      throw error;
    }
  }

  /** The record of the parts. */
  #partRecord(): object {
    return withoutFiles(partRecord(this.#record, []));
  }

  /** Returns the files of the set with their parts, once the node has them. Files that were cut are hashed as a whole. */
  async setFiles(): Promise<Iterable<SetFile>> {
    const whole = new Map<string, string>();
    for (const [path, pieces] of this.#pieces) {
      const sha256 = await this.#wholeOf(pieces);
      if (sha256 !== undefined) whole.set(path, sha256);
    }
    return this.#listFiles(whole);
  }

  /** One after the other: together with their text, they would take the memory of all notes once more. */
  *#listFiles(whole: ReadonlyMap<string, string>): Generator<SetFile> {
    for (const { path, size } of this.#files) {
      const pieces = this.#pieces.get(path) ?? [];
      const parts = pieces.map(({ pack = '', name, bytes, sha256 }) => ({ pack, path: name, bytes, sha256 }));
      yield { path, bytes: size, sha256: whole.get(path) ?? parts[0]?.sha256 ?? '', parts };
    }
  }
}
