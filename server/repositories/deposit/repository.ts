import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { PackFile } from '../../../shared/archive/pack.ts';
import { Problem } from '../../../shared/problems.ts';
import { writtenDoi } from '../../../shared/values/doi.ts';
import { requirePack } from '../../archive/packs/readPack.ts';
import { type CitableWork, readCitedPack } from '../../citations/citedWork.ts';
import { dataciteRecord } from '../../citations/jsonFormats.ts';
import { confirmDamage, type DamageContext, isBlobDamageError } from '../../fixity/audit.ts';
import { escapeHtml } from '../../html.ts';
import { filesOfPack, recordTexts } from '../../store/sqlite/archive/packs.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';

/** A deposit as a repository has it. */
export interface RemoteDeposit {
  /** The id by which the repository knows it. */
  id: string;
  /** Its page. */
  url: string;
  /** Reserved until it is published; null if there is none. */
  doi: string | null;
  isPublished: boolean;
  /** Whether a community has to accept it before it is published. */
  isInReview: boolean;
}

/** A file of a deposit as a repository has it. */
export interface RemoteFile {
  /** The name, as `nameOf` made it. */
  name: string;
  /** What it is called in a request that removes it. */
  ref: string;
  /** False if its bytes did not arrive. */
  isComplete: boolean;
  bytes: number | null;
  /** As the repository gave it back; null if it gave none. `algorithm` as Node names it, `value` in lower case hex. */
  checksum: { algorithm: string; value: string } | null;
}

/**
 * A repository, for the deposit of one pack. Every function sends requests.
 *
 * @throws RepositoryError; the signal's reason
 */
export interface Repository {
  /** Requires that the repository can take the deposit: that the token is accepted and the community exists. */
  prepare(): Promise<void>;
  /** Finds the deposit of this pack by its fingerprint, which is among its identifiers there. */
  find(): Promise<RemoteDeposit | undefined>;
  create(): Promise<RemoteDeposit>;
  /** Returns undefined if there is no such deposit any more. */
  read(id: string): Promise<RemoteDeposit | undefined>;
  /** Names the files as the repository allows it, each differently. */
  namesOf(paths: readonly string[]): Map<string, string>;
  files(deposit: Pick<RemoteDeposit, 'id' | 'isPublished'>): Promise<RemoteFile[]>;
  send(id: string, name: string, file: DepositedFile): Promise<void>;
  remove(id: string, file: RemoteFile): Promise<void>;
  /** Asks for the publication. Returns the published deposit; undefined if it takes place later. */
  publish(id: string): Promise<RemoteDeposit | undefined>;
}

/** Why a repository did not do what was asked for. The message is a sentence for the owner, without the token. */
export class RepositoryError extends Error {
  /** The HTTP status; null if no complete answer arrived. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RepositoryError';
    this.status = status;
  }

  /** Whether the request may have taken effect: its answer was lost, or came from something in between. */
  get isLost(): boolean {
    return this.status === null || this.status >= 500;
  }
}

/** Returns what a repository calls a DOI if it is one, because it is published with the pack. */
export function doiFrom(text: string | undefined): string | null {
  return (text === undefined ? undefined : writtenDoi(text)) ?? null;
}

/** Returns undefined if the repository says that something does not exist, or no longer. */
export function orIfGone(answer: Promise<unknown>): Promise<unknown> {
  return orIf([404, 410], answer);
}

/** The status of an error whose answer was too large. */
export const TOO_LARGE = 413;

/** Returns undefined in place of an error with one of these statuses. */
export async function orIf(statuses: readonly number[], answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RepositoryError && statuses.includes(error.status ?? 0)) return undefined;
    throw error;
  }
}

/**
 * Names files as a repository allows it. A name that had to be changed, or that another file has already, gets the first
 * digits of the digest of its path, before its ending.
 *
 * @param allowed returns the path with what is not allowed replaced
 */
export function uniqueNames(
  paths: readonly string[],
  allowed: (path: string) => string,
): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  // Names that can stay as they are come first.
  const inOrder = [...paths].sort(
    (left, right) => Number(allowed(left) !== left) - Number(allowed(right) !== right),
  );
  for (const path of inOrder) {
    const name = allowed(path);
    const isFree = name === path && !taken.has(name.toLowerCase());
    const given = isFree ? name : marked(name, path);
    taken.add(given.toLowerCase());
    names.set(path, given);
  }
  return names;
}

function marked(name: string, path: string): string {
  const mark = createHash('sha256').update(path).digest('hex').slice(0, 8);
  const [, stem = name, ending = ''] = /^(.*?)(\.[A-Za-z0-9]{1,10})?$/su.exec(name) ?? [];
  return `${stem}-${mark}${ending}`;
}

/** The metadata of a deposit, before it is put into the fields of a kind of repository. */
export interface CitedDeposit {
  work: CitableWork;
  datacite: ReturnType<typeof dataciteRecord>;
  /** The URN of the fingerprint. A deposit is found again by it. */
  urn: string;
  /** The summary and what the deposit is, as paragraphs of HTML. */
  description: string;
}

/** Works are read with the address of the node, which is only printed if it is public. */
const NOWHERE = 'strongroom:';

/**
 * Reads what is said of a pack.
 *
 * @param origin the public address of the node; undefined if it has none, and then the metadata has no address
 * @throws Problem `not_found`
 */
export function citedDeposit(
  database: ReadDatabase,
  pack: string,
  { origin, node }: { origin: string | undefined; node: string },
): CitedDeposit {
  const { work: cited } = readCitedPack(database, pack, { origin: origin ?? NOWHERE, publisher: node });
  const relations = cited.relations.filter(({ identifier }) => !identifier.startsWith(`${NOWHERE}/`));
  const work: CitableWork = { ...cited, relations, url: origin === undefined ? undefined : cited.url };
  return {
    work,
    datacite: dataciteRecord(work),
    urn: `urn:sha256:${cited.digest ?? ''}`,
    description: descriptionOf(work),
  };
}

function descriptionOf({ id, abstract, digest, url }: CitableWork): string {
  const where = url === undefined ? '' : ` It was first published at ${url}.`;
  const about = `This is a copy of the data pack ${id}.${where} The file pack.json is its record; its SHA-256 is the fingerprint of the pack, ${digest ?? ''}, and it names the SHA-256 of every other file.`;
  return [abstract, about]
    .filter((text) => text !== '')
    .map((text) => `<p>${escapeHtml(text)}</p>`)
    .join('\n');
}

/** A file that is deposited. Its bytes were read once and are those of the record. */
export interface DepositedFile {
  path: string;
  bytes: number;
  mediaType: string;
  /** In lower case hex, by the algorithm as Node names it. */
  digests: ReadonlyMap<string, string>;
  crc: number;
  read: () => AsyncIterable<Uint8Array>;
}

/** The algorithms that InvenioRDM and Dataverse use. */
const ALGORITHMS = ['md5', 'sha1', 'sha256', 'sha512'] as const;
const RECORD_FILE = 'pack.json';

/**
 * Returns what is deposited of a pack: its record, whose SHA-256 is the fingerprint, and its files. Reads every file once.
 *
 * @throws Problem `not_found`; `blob_damaged`, also later from `read`
 */
export async function depositedFiles(
  store: DamageContext,
  pack: string,
  signal: AbortSignal,
): Promise<DepositedFile[]> {
  const row = requirePack(store.read, pack);
  const packFiles = filesOfPack(store.read, row.ledger_entry);
  // It is stored as canonical JSON, whose SHA-256 is the fingerprint.
  const recordBytes = Buffer.from(recordTexts(store.read, [row.ledger_entry])[0]?.record ?? '');
  const readRecord = async function* () {
    yield recordBytes;
  };
  const recordDigests = await digestsOf(readRecord());
  if (recordDigests.digests.get('sha256') !== row.digest)
    throw new Problem('blob_damaged', 'The stored record is damaged. Verify the pack for details.');
  const isTaken = packFiles.some(({ path }) => path.toLowerCase() === RECORD_FILE);
  const files: DepositedFile[] = [
    {
      path: isTaken ? `${pack}.json` : RECORD_FILE,
      bytes: recordBytes.length,
      mediaType: 'application/json',
      read: readRecord,
      ...recordDigests,
    },
  ];
  for (const file of packFiles) {
    signal.throwIfAborted();
    const read = () => readFile(store, file);
    const found = await digestsOf(read());
    if (found.digests.get('sha256') !== file.sha256) throw await damaged(store, file);
    files.push({ path: file.path, bytes: file.bytes, mediaType: file.media_type, read, ...found });
  }
  return files;
}

async function* readFile(store: DamageContext, file: PackFile): AsyncGenerator<Uint8Array> {
  try {
    yield* store.blobs.read(file.sha256);
  } catch (error) {
    if (!isBlobDamageError(error)) throw error;
    throw await damaged(store, file, error);
  }
}

async function damaged(store: DamageContext, { path, sha256 }: PackFile, cause?: unknown): Promise<Problem> {
  await confirmDamage(store, [sha256]);
  return new Problem('blob_damaged', `The stored bytes of ${JSON.stringify(path)} are damaged.`, { cause });
}

async function digestsOf(chunks: AsyncIterable<Uint8Array>): Promise<Pick<DepositedFile, 'digests' | 'crc'>> {
  const hashes = ALGORITHMS.map((algorithm): [string, Hash] => [algorithm, createHash(algorithm)]);
  let crc = 0;
  for await (const chunk of chunks) {
    for (const [, hash] of hashes) hash.update(chunk);
    crc = crc32(chunk, crc);
  }
  return { digests: new Map(hashes.map(([algorithm, hash]) => [algorithm, hash.digest('hex')])), crc };
}
