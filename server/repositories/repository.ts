/** The kinds of repositories that are read, by their interface. */
export const REPOSITORIES = [
  'InvenioRDM',
  'Dataverse',
  'OSF',
  'figshare',
  'Dryad',
  'Signposting and schema.org',
] as const;

/** A checksum that a repository states, in hex of lower case. */
export interface StatedChecksum {
  /** Node's name of the algorithm. */
  algorithm: 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';
  hex: string;
}

/** A file as a repository lists it. Nothing in it is trusted. */
export interface ListedFile {
  /** As the repository names it, with its folders. */
  name: string;
  bytes: number | null;
  checksum: StatedChecksum | null;
  /** Where it is fetched: the first address that gives it. Empty if the public does not get it; then `refusal` says why. */
  urls: string[];
  mediaType: string | null;
  refusal?: string;
  /**
   * The stated checksum may be that of another form of the file (Dataverse converts tables). If it does not match, the file
   * counts as one without a checksum.
   */
  isConverted?: boolean;
}

/** A record as a repository describes it. The texts are not cut to what a pack may have. */
export interface RepositoryRecord {
  repository: (typeof REPOSITORIES)[number];
  title: string;
  doi: string | null;
  /** The DOI of all versions together. */
  conceptDoi: string | null;
  /** The page for people. */
  url: string;
  /** Plain text. */
  summary: string;
  authors: { name: string; orcid: string | null; affiliation: string }[];
  /** As the repository names it: an identifier, a name or an address. */
  license: string | null;
  keywords: string[];
  files: ListedFile[];
  warnings: string[];
}

/** An answer to one request, as far as a description is read from it. */
export interface Answer {
  /** The address that was asked for, and the one that answered. */
  url: string;
  finalUrl: string;
  /** Null if nothing answered. */
  status: number | null;
  contentType: string;
  /** The values of the headers `Link`. */
  links: string[];
  /** Empty for anything but a whole answer. */
  text: string;
}

/** Addresses that must be asked before a record can be read. */
export class WantedError extends Error {
  readonly urls: readonly string[];

  constructor(urls: readonly string[]) {
    super(`Not asked yet: ${urls.join(' ')}`);
    this.name = 'WantedError';
    this.urls = urls;
  }
}

/** A part of the record could not be read. What the record has is not known then, so it is not imported. */
export class UnreadablePartError extends Error {
  readonly url: string;

  constructor(url: string) {
    super(`Not to be read: ${url}`);
    this.name = 'UnreadablePartError';
    this.url = url;
  }
}

/**
 * The answers so far. A reader runs again from its beginning whenever one that it wanted has come, so it is a plain function
 * of what was answered, and can run in a thread.
 */
export class Answers {
  readonly #answers: ReadonlyMap<string, Answer>;
  /** The parts of the record that the public does not get. */
  readonly refused = new Set<string>();

  constructor(answers: readonly Answer[]) {
    this.#answers = new Map(answers.map((answer) => [answer.url, answer]));
  }

  /** @throws WantedError if it was not asked yet */
  get(url: string): Answer {
    return this.all([url])[0] as Answer;
  }

  /** Returns the answers of these addresses, which are asked together. @throws WantedError */
  all(urls: readonly string[]): Answer[] {
    const missing = urls.filter((url) => !this.#answers.has(url));
    if (missing.length > 0) throw new WantedError(missing);
    return urls.map((url) => this.#answers.get(url) as Answer);
  }

  /** Returns the JSON of an answer; undefined if it is an error or no JSON. @throws WantedError */
  json(url: string): unknown {
    return jsonOf(this.get(url));
  }

  /**
   * Returns the answers of these addresses, without which a record is not whole.
   *
   * @throws WantedError; UnreadablePartError if one of them may have another answer later
   */
  allNeeded(urls: readonly string[]): Answer[] {
    const answers = this.all(urls);
    const failed = answers.find(isNoAnswer);
    if (failed) throw new UnreadablePartError(failed.url);
    for (const { url, status } of answers)
      if (status !== null && NOT_PUBLIC.has(status)) this.refused.add(url);
    return answers;
  }

  /** As `json`, for a part of the record: undefined only if the public does not get it. @throws as `allNeeded` */
  needed(url: string): unknown {
    const answer = this.allNeeded([url])[0] as Answer;
    const json = jsonOf(answer);
    if (json === undefined && answer.status === 200) throw new UnreadablePartError(url);
    return json;
  }
}

const NOT_PUBLIC: ReadonlySet<number> = new Set([401, 403, 451]);

/** Whether an address has not said what it has: another request may have another answer. */
export function isNoAnswer({ status }: Answer): boolean {
  return status === null || status >= 500 || status === 429 || status === 408;
}

/** Returns the JSON of an answer; undefined if it is an error or no JSON. */
export function jsonOf({ status, text }: Answer): unknown {
  if (status === null || status < 200 || status > 299) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Reads the records of one kind of repository. Returns undefined if the address is not one of its kind.
 *
 * @param landing the answer to the address that was given
 * @throws WantedError; UnreadablePartError
 */
export type ReadRepository = (landing: Answer, answers: Answers) => RepositoryRecord | undefined;
