import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ImportedFileState } from '../../shared/archive/recordImport.ts';
import type { RetrievalError } from '../../shared/collection/retrieval.ts';
import { failureWords } from '../../shared/collection/retrievalWords.ts';
import { Problem } from '../../shared/problems.ts';
import { addArchivedFile, type DraftLimits, roomInDraft } from '../archive/drafts/draftFiles.ts';
import type { Drafts } from '../archive/drafts/drafts.ts';
import type {
  ReceivedAnswer,
  RecordedRequests,
  RequestToRecord,
} from '../collection/record/recordedRequests.ts';
import { HostBackoffError } from '../collection/schedule/hostRateLimiter.ts';
import type { StagedFile } from '../store/blobs/staging.ts';
import { draftFile } from '../store/sqlite/archive/drafts.ts';
import type { Store } from '../store/store.ts';
import { inSentence, Pause } from './askRepository.ts';
import type { PlannedFile } from './planFiles.ts';

export interface FileServices {
  store: Store;
  drafts: Drafts;
  requests: RecordedRequests;
  /** The delays before each further attempt, in seconds. */
  retryDelays: readonly number[];
  /** What a draft may hold. */
  limits: DraftLimits;
}

export interface FileContext {
  draft: string;
  allowPrivateAddress: boolean | undefined;
  publish: RequestToRecord['publish'];
  signal: AbortSignal;
  /** Called with the bytes that arrived, and with less than nothing for those that were of no use. */
  onBytes: (count: number) => void;
}

/** What became of a file. */
export interface FetchedFile {
  state: ImportedFileState;
  bytes: number | null;
  /** Why it is not in the draft, or what must be known of it: the end of a sentence that begins with its name. */
  note?: string;
  /** Whether it was compared with a checksum of the repository. */
  isCompared: boolean;
}

type Refusal = Required<Pick<FetchedFile, 'state' | 'note'>>;

/** Why the node does not put a file into the draft. */
export const REFUSALS = {
  no_room: { state: 'too_large', note: 'is not in the draft: it is larger than the room that is left' },
  no_space: { state: 'failed', note: 'could not be stored: there is too little space' },
  taken: {
    state: 'failed',
    note: 'is not in the draft, which has another file of that name. Remove it there and import the record again',
  },
  damaged: {
    state: 'failed',
    note: 'is damaged in the draft. Remove it there and import the record again',
  },
  released: { state: 'failed', note: 'has bytes that this archive gave up, and does not take again' },
} as const satisfies Record<string, Refusal>;

/** The draft was deleted or published while files were fetched into it. */
export class DraftClosedError extends Error {
  constructor() {
    super('The draft was deleted or published while the record was imported.');
    this.name = 'DraftClosedError';
  }
}

/** Answers that another request will not change. The address of a file may have another one beside it. */
const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 406, 410, 451]);
const FINAL_ERRORS: ReadonlySet<RetrievalError> = new Set([
  'object_too_large',
  'redirect_refused',
  'storage_full',
  'invalid_url',
  'redirect_loop',
  'too_many_redirects',
]);

/**
 * Fetches one file of a record into a draft. Each request is recorded as a retrieval. A body that breaks off is continued by
 * a range request where the file can be told to be the same; a file is in the draft only if it is what the repository states.
 *
 * @throws DraftClosedError; Problem; the signal's reason
 */
export async function fetchFile(
  services: FileServices,
  context: FileContext,
  file: PlannedFile,
): Promise<FetchedFile> {
  const download = new Download(services, context, file);
  try {
    return await download.run();
  } finally {
    await download.close();
  }
}

/** Sources: RFC 9110, section 14 (ranges) and 13.1.5 (If-Range). */
class Download {
  readonly #services: FileServices;
  readonly #context: FileContext;
  readonly #file: PlannedFile;
  readonly #pause: Pause;
  /** The pieces of a body that broke off, and the digest over them. */
  #pieces: StagedFile[] = [];
  #hash: Hash | undefined;
  /** What tells that a further piece is of the same file; undefined if nothing does. */
  #validator: string | undefined;
  #why = 'could not be fetched';

  constructor(services: FileServices, context: FileContext, file: PlannedFile) {
    this.#services = services;
    this.#context = context;
    this.#file = file;
    this.#pause = new Pause(services.store.clock, services.retryDelays, context.signal);
  }

  get #have(): number {
    return this.#pieces.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async run(): Promise<FetchedFile> {
    for (const url of this.#file.urls) {
      this.#pause.startAgain();
      await this.#startAgain();
      do {
        const fetched = await this.#attempt(url);
        if (fetched === 'next') break;
        if (fetched !== 'again') return fetched;
      } while (await this.#pause.beforeNext());
    }
    return { state: 'failed', bytes: this.#file.bytes, note: this.#why, isCompared: false };
  }

  async close(): Promise<void> {
    await Promise.all(this.#pieces.map((piece) => piece.discard()));
    this.#pieces = [];
  }

  async #startAgain(): Promise<void> {
    this.#context.onBytes(-this.#have);
    await this.close();
    this.#hash = undefined;
    this.#validator = undefined;
  }

  /** Sends one request. Returns `again` if another one may help, and `next` if only another address may. */
  async #attempt(url: string): Promise<FetchedFile | 'again' | 'next'> {
    const have = this.#have;
    const room = roomInDraft(this.#services.store.read, this.#context.draft, this.#services.limits).bytes;
    const request = this.#requestFor(url, have, room);
    const { algorithm } = this.#file.checksum ?? { algorithm: 'sha256' };
    const whole = createHash(algorithm);
    const continued = this.#hash?.copy();
    let arrived = 0;
    let answer: ReceivedAnswer;
    try {
      answer = await this.#services.requests.receive(request, (chunk) => {
        whole.update(chunk);
        continued?.update(chunk);
        arrived += chunk.length;
        this.#context.onBytes(chunk.length);
      });
    } catch (error) {
      if (!(error instanceof HostBackoffError)) throw error;
      this.#why = `could not be fetched: the repository asks to wait until ${new Date(error.until).toISOString()}`;
      return this.#pause.isPossibleUntil(error.until) ? 'again' : 'next';
    }
    const { attempt, staged, cut } = answer;
    if (attempt.status === 206 && have > 0 && continued && staged && isContinuedAt(attempt.headers, have))
      return this.#takePiece(request, { ...answer, staged }, continued);
    if (attempt.status === 200 && attempt.error === null && staged) {
      await this.#startAgain();
      if (cut === null) return this.#takeWhole(request, { ...answer, staged }, whole.digest('hex'));
      return this.#keepPiece(request, { ...answer, staged }, whole);
    }
    this.#context.onBytes(-arrived);
    await this.#record(request, answer);
    await staged?.discard();
    // The pieces are of no use where the rest of the file is not to be had.
    if (have > 0 && (attempt.status === 206 || attempt.status === 416)) await this.#startAgain();
    return this.#afterFailure(answer);
  }

  #requestFor(url: string, have: number, room: number): RequestToRecord {
    const { allowPrivateAddress, publish, signal } = this.#context;
    return {
      url,
      headers:
        have === 0
          ? { accept: '*/*' }
          : {
              accept: '*/*',
              range: `bytes=${have}-`,
              ...(this.#validator !== undefined && { 'if-range': this.#validator }),
            },
      maxBytes: Math.max(0, room - have),
      isCheck: false,
      allowPrivateAddress,
      publish,
      signal,
    };
  }

  /**
   * Records a request that did not bring the whole file. A piece of a file is recorded without its bytes: it would be an
   * object of its own, which is not withheld or released with the file.
   */
  async #record(request: RequestToRecord, answer: ReceivedAnswer): Promise<void> {
    const isPiece = answer.attempt.status === 206;
    await this.#services.requests.record(request, isPiece ? { ...answer, staged: null } : answer);
  }

  /** Says what a failed request means. */
  #afterFailure({ attempt, cut }: ReceivedAnswer): FetchedFile | 'again' | 'next' {
    const { status, retry_at } = attempt;
    const error = attempt.error ?? cut ?? 'invalid_response';
    if (error === 'object_too_large')
      return { ...REFUSALS.no_room, bytes: this.#file.bytes, isCompared: false };
    this.#why = `could not be fetched: ${wordsOf(error, status)}`;
    if (retry_at !== null) this.#pause.waitUntil(retry_at);
    if (FINAL_ERRORS.has(error) || (status !== null && REFUSED.has(status))) return 'next';
    return 'again';
  }

  /** Keeps what came of a body that broke off, if the rest of the same file can be asked for. */
  async #keepPiece(
    request: RequestToRecord,
    answer: ReceivedAnswer & { staged: StagedFile },
    hash: Hash,
  ): Promise<'again'> {
    const { attempt, staged, cut } = answer;
    await this.#record(request, answer);
    this.#why = `could not be fetched: ${wordsOf(cut ?? 'body_cut_short', attempt.status)}`;
    const header = (name: string) => attempt.headers.find(([key]) => key.toLowerCase() === name)?.[1];
    const etag = header('etag');
    this.#validator = etag?.startsWith('"') ? etag : header('last-modified');
    const isContinuable =
      header('accept-ranges') !== 'none' && (this.#validator !== undefined || this.#file.checksum !== null);
    if (isContinuable && staged.bytes > 0) {
      this.#pieces = [staged];
      this.#hash = hash;
    } else {
      this.#context.onBytes(-staged.bytes);
      await staged.discard();
    }
    return 'again';
  }

  /** Adds a further piece. The last one completes the file. */
  async #takePiece(
    request: RequestToRecord,
    answer: ReceivedAnswer & { staged: StagedFile },
    hash: Hash,
  ): Promise<FetchedFile | 'again'> {
    const { staged, cut, attempt } = answer;
    this.#pieces.push(staged);
    this.#hash = hash;
    if (cut !== null) {
      this.#why = `could not be fetched: ${wordsOf(cut, attempt.status)}`;
      await this.#record(request, answer);
      return 'again';
    }
    const bytes = this.#have;
    const verdict = this.#verdict(bytes, hash.digest('hex'));
    if (verdict.state === 'mismatch') {
      // The file may have changed in between, so it is fetched as a whole.
      await this.#record(request, answer);
      await this.#startAgain();
      this.#why = 'could not be fetched: it broke off, and its pieces are not of one file';
      return 'again';
    }
    const refusal = await this.#putJoined();
    await this.#record(request, answer);
    return refusal ? { ...verdict, ...refusal } : verdict;
  }

  /** Adds the pieces to the draft as one file. Returns why it was not added. */
  async #putJoined(): Promise<Refusal | undefined> {
    const { path, mediaType } = this.#file;
    if (draftFile(this.#services.store.read, this.#context.draft, path)) return REFUSALS.taken;
    try {
      await this.#services.drafts.putFile(
        this.#context.draft,
        { path, media_type: mediaType },
        joined(this.#pieces),
      );
      return undefined;
    } catch (error) {
      const code = error instanceof Problem ? error.code : undefined;
      if (code === 'not_found' || code === 'draft_published') throw new DraftClosedError();
      if (code === 'pack_too_large' || code === 'drafts_full') return REFUSALS.no_room;
      if (code === 'data_cap_reached' || code === 'disk_nearly_full') return REFUSALS.no_space;
      if (code === 'released') return REFUSALS.released;
      throw error;
    }
  }

  /** Records a whole body and, if it is what the repository states, adds it to the draft in the same transaction. */
  async #takeWhole(
    request: RequestToRecord,
    answer: ReceivedAnswer & { staged: StagedFile },
    digest: string,
  ): Promise<FetchedFile | 'again'> {
    const { staged } = answer;
    const { sha256, bytes } = staged;
    const { path, mediaType } = this.#file;
    const verdict = this.#verdict(bytes, digest);
    const { store, requests, limits } = this.#services;
    let added: ReturnType<typeof addArchivedFile> | undefined;
    const add = (database: Parameters<typeof addArchivedFile>[0]) => {
      const row = { path, sha256, bytes, media_type: mediaType };
      added = addArchivedFile(database, this.#context.draft, row, { at: store.instant(), limits });
    };
    try {
      const recorded = await requests.record(request, answer, verdict.state === 'held' ? add : undefined);
      if (recorded?.error === 'storage_full') return { ...verdict, ...REFUSALS.no_space };
      if (recorded === null)
        return { ...verdict, state: 'failed', note: 'has an address that cannot be recorded' };
      if (verdict.state === 'mismatch')
        verdict.note += `. What it sent is kept as evidence: retrieval ${recorded.retrieval}, SHA-256 ${sha256}`;
    } finally {
      await staged.discard();
    }
    if (added === 'closed') throw new DraftClosedError();
    if (added !== undefined && added !== 'added') return { ...verdict, ...REFUSALS[added] };
    return verdict;
  }

  /** Compares what was received with what the repository states. */
  #verdict(bytes: number, digest: string): FetchedFile {
    const { checksum, isConverted = false, bytes: stated } = this.#file;
    if (checksum?.hex === digest) return { state: 'held', bytes, isCompared: true };
    if (checksum && !isConverted)
      return {
        state: 'mismatch',
        bytes,
        note: `is not in the draft: it does not have the checksum that the repository states. ${checksum.algorithm}:${checksum.hex} is stated, and ${checksum.algorithm}:${digest} was received`,
        isCompared: true,
      };
    if (stated !== null && stated !== bytes)
      return {
        state: 'mismatch',
        bytes,
        note: `is not in the draft: it does not have the size that the repository states. ${stated} bytes are stated, and ${bytes} were received`,
        isCompared: false,
      };
    return { state: 'held', bytes, isCompared: false };
  }
}

function wordsOf(error: RetrievalError, status: number | null): string {
  return inSentence(failureWords(error, status));
}

/** Whether the answer to a range request begins where the last piece ended. */
function isContinuedAt(headers: readonly [string, string][], position: number): boolean {
  const range = headers.find(([name]) => name.toLowerCase() === 'content-range')?.[1] ?? '';
  return Number(/^bytes (\d{1,15})-/.exec(range.trim())?.[1] ?? -1) === position;
}

async function* joined(pieces: readonly StagedFile[]): AsyncGenerator<Uint8Array> {
  for (const { file } of pieces) yield* createReadStream(file) as AsyncIterable<Buffer>;
}
