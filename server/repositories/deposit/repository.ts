import { createHash } from 'node:crypto';
import { writtenDoi } from '../../../shared/values/doi.ts';
import type { DepositedFile } from './depositedFiles.ts';

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
