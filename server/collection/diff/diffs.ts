import type { Comparison, Diff, DiffSide, FileDiff } from '../../../shared/collection/diff.ts';
import { MAX_SUMMARY_CHARACTERS } from '../../../shared/collection/event.ts';
import { EVERYTHING, type Scope, watchedRegion } from '../../../shared/collection/noise.ts';
import { Problem } from '../../../shared/problems.ts';
import {
  type DerivedDocumentRow,
  derivedDocument,
  putDerivedDocument,
} from '../../store/sqlite/collection/documentSearch.ts';
import {
  type ComparableEvent,
  comparableEvent,
  putEventNoise,
  withScope,
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { type EventSummary, putEventSummary } from '../../store/sqlite/collection/timeline/events.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { madeOfReadable, OWNER, type Reader, requireAllReadable } from '../../withholding/withholding.ts';
import { BYTES_PER_MS, DIFF_TIMEOUT_MS, MAX_DIFF_MEGABYTES, REASONS } from '../derived/limits.ts';
import {
  type DeriveOptions,
  type Deriver,
  noticeDamagedObjects,
  objectToRead,
} from '../derived/process/deriver.ts';
import {
  type DiffResult,
  type DiffTask,
  decompressContent,
  isPermanent,
  NotDerivableError,
  type NotDerivableReason,
  type ObjectToRead,
  TEXT_TOOLS,
} from '../derived/process/tasks.ts';
import { readEvent } from '../timeline/events.ts';
import { plainLine } from './summarize.ts';

/** Limits on diffs that are queued or being made, in total and per source. Further requests get `derivation_busy`. */
const MAX_PENDING = 24;
const MAX_PENDING_PER_SOURCE = 6;

/** Why two versions cannot be compared, for as long as they are what they are. */
const NOT_COMPARABLE: ReadonlySet<string> = new Set(['blob_damaged', 'released', 'not_derivable']);

/** The diffs of events. A diff is made on the first request and then stored. */
export class Diffs {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #making = new Map<string, { source: string; made: Promise<DerivedDocumentRow> }>();

  constructor(store: Store, deriver: Deriver) {
    this.#store = store;
    this.#deriver = deriver;
  }

  /**
   * Returns the diff of one event. Makes and stores it if there is none for the current tool and the current noise
   * rules of the source. Concurrent requests for the same diff share one computation.
   *
   * @param id an event's number, as in a request path
   * @throws Problem `not_found`, `nothing_to_compare`, `withheld`, `released`, `blob_damaged`, `not_derivable`,
   * `derivation_busy`, `shutting_down`.
   */
  async diffOf(id: string, reader: Reader): Promise<Diff> {
    const event = this.#requireComparable(id);
    const { content, made_at } = await madeOfReadable(
      () => requireAllReadable(this.#store.read, digestsOf(event), reader),
      async () => this.#currentDiff(event) ?? this.#makeOnce(event),
    );
    if (content === null) throw new Error('A stored diff has no content.');
    return this.#toDiff(event, made_at, decompressContent<Comparison>(content));
  }

  /**
   * Returns the diff that an event would have with another watched part and other rules. It is not stored.
   *
   * @throws Problem `blob_damaged`, `derivation_busy`, `shutting_down`.
   */
  async diffWith(event: ComparableEvent, scope: Scope): Promise<Diff> {
    const changed = withScope(event, scope);
    const { content } = await this.#derive(changed);
    return this.#toDiff(changed, this.#store.instant(), decompressContent<Comparison>(content));
  }

  /**
   * Returns the comparison of a change with the current rules of its source: the stored one, or one that is made with low
   * priority and not stored. Undefined if the event is no change, or its versions cannot be compared.
   *
   * @throws Problem `derivation_busy`, `shutting_down`.
   */
  async comparisonOf(id: number): Promise<Comparison | undefined> {
    const event = comparableEvent(this.#store.read, id);
    if (!event) return undefined;
    const stored = this.#currentDiff(event);
    if (!stored) return this.#comparison(event);
    return stored.content === null ? undefined : decompressContent<Comparison>(stored.content);
  }

  /** Like `comparisonOf`, for the version before the change and a later one than that of the change. */
  async comparisonWith(id: number, later: string): Promise<Comparison | undefined> {
    const event = comparableEvent(this.#store.read, id);
    return event && this.#comparison({ ...event, compared: { ...event.compared, to: later } });
  }

  async #comparison(event: ComparableEvent): Promise<Comparison | undefined> {
    try {
      const { content } = await this.#derive(event, 'low');
      return decompressContent<Comparison>(content);
    } catch (error) {
      if (error instanceof Problem && NOT_COMPARABLE.has(error.code)) return undefined;
      throw error;
    }
  }

  /**
   * Makes and stores the summary of a change, with low priority and without its diff. Returns false if the bytes are
   * damaged or missing; nothing is stored then.
   *
   * @throws Problem `derivation_busy`, `shutting_down`.
   */
  async summarize(event: ComparableEvent, write: Store['write']): Promise<boolean> {
    let summary: string | null = null;
    try {
      ({ summary } = await this.#derive(event, 'low'));
    } catch (error) {
      if (error instanceof Problem && error.code === 'blob_damaged') return false;
      if (!(error instanceof Problem && NOT_COMPARABLE.has(error.code))) throw error;
    }
    await write((database) => putEventSummary(database, summaryOf(event, summary), digestsOf(event)));
    return true;
  }

  /** The stored diff of an event, if the current tool made it with the current rules of its source. */
  #currentDiff({ id, rules_digest }: ComparableEvent): DerivedDocumentRow | undefined {
    const stored = derivedDocument(this.#store.read, 'diff', String(id));
    const isCurrent = stored?.tool === DIFF_TOOL.name && stored.tool_version === versionWith(rules_digest);
    return isCurrent ? stored : undefined;
  }

  /** @throws Problem `not_found`, `nothing_to_compare` if the event does not have two versions. */
  #requireComparable(id: string): ComparableEvent {
    const event = readEvent(this.#store, id);
    const comparable = comparableEvent(this.#store.read, event.id);
    if (comparable) return comparable;
    throw new Problem(
      'nothing_to_compare',
      `Event ${event.id} is not a change from one version to another, so there is nothing to compare.`,
    );
  }

  #makeOnce(event: ComparableEvent): Promise<DerivedDocumentRow> {
    const key = `${event.id} ${event.rules_digest}`;
    const making = this.#making.get(key);
    if (making) return making.made;
    const ofSource = [...this.#making.values()].filter(({ source }) => source === event.source_id).length;
    if (this.#making.size >= MAX_PENDING || ofSource >= MAX_PENDING_PER_SOURCE) {
      throw new Problem('derivation_busy', 'Too many diffs are being made; try again in half a minute.', {
        headers: { 'Retry-After': '30' },
      });
    }
    const made = this.#make(event).finally(() => this.#making.delete(key));
    this.#making.set(key, { source: event.source_id, made });
    return made;
  }

  async #make(event: ComparableEvent): Promise<DerivedDocumentRow> {
    const { noise, summary, content } = await this.#derive(event);
    const document: DerivedDocumentRow = {
      kind: 'diff',
      subject: String(event.id),
      objects: digestsOf(event),
      tool: DIFF_TOOL.name,
      tool_version: versionWith(event.rules_digest),
      made_at: this.#store.instant(),
      outcome: 'made',
      detail: null,
      title: null,
      content,
    };
    await this.#store.write((database) => {
      putDerivedDocument(database, document);
      putEventSummary(database, summaryOf(event, summary), document.objects);
      if (event.rules_digest === null || noise.is_noise === null) return;
      putEventNoise(database, [
        {
          event: event.id,
          is_noise: noise.is_noise,
          outside: noise.outside,
          rules_digest: event.rules_digest,
        },
      ]);
    });
    return document;
  }

  #derive(event: ComparableEvent, priority: DeriveOptions['priority'] = 'normal'): Promise<DiffResult> {
    const compared = {
      from: objectToRead(this.#store, event.compared.from),
      to: objectToRead(this.#store, event.compared.to),
      scope: event.scope,
    };
    return deriveComparison(this.#store, this.#deriver, compared, priority);
  }

  #toDiff(event: ComparableEvent, made_at: string, comparison: Comparison): Diff {
    return {
      event: event.id,
      from: this.#side(event.compared.from),
      to: this.#side(event.compared.to),
      made_at,
      tool: DIFF_TOOL,
      ...comparison,
    };
  }

  #side(sha256: string): DiffSide {
    const { contentType } = objectToRead(this.#store, sha256);
    return { sha256, bytes: this.#bytes(sha256), content_type: contentType };
  }

  #bytes(sha256: string): number {
    return blobBytes(this.#store.read, sha256) ?? 0;
  }
}

/** The objects that a diff is made of and says something about. */
function digestsOf({ sha256, previous_sha256, compared }: ComparableEvent): string[] {
  return [...new Set([previous_sha256, sha256, compared.from, compared.to])];
}

/** The process that made it read hostile bytes, so what it says is limited here again. */
function summaryOf({ id, rules_digest }: ComparableEvent, summary: string | null): EventSummary {
  const line = summary === null ? '' : plainLine(summary, MAX_SUMMARY_CHARACTERS);
  return { event: id, summary: line || null, rules_digest };
}

/** Comparisons that are being made; further requests get `derivation_busy`. */
const MAX_PENDING_FILES = 6;
/** The total size of the compressed comparisons that are kept in memory, least recently used first out. */
const MAX_KEPT_BYTES = 16_000_000;

/** A stored file, with the media type under which it is read. */
interface FileToCompare {
  sha256: string;
  bytes: number;
  content_type: string | null;
  /** The content codings of the stored bytes; absent or null if they are not encoded. */
  content_encoding?: string | null;
}

interface Made {
  made_at: string;
  /** `compressContent` of a `Comparison`. */
  content: Uint8Array;
}

/** Compares stored files with each other. Recent comparisons are kept in memory. */
export class FileDiffs {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #making = new Map<string, Promise<Made>>();
  readonly #kept = new Map<string, Made>();
  #keptBytes = 0;

  constructor(store: Store, deriver: Deriver) {
    this.#store = store;
    this.#deriver = deriver;
    store.blobs.onRemoved((sha256) => this.#forget(sha256));
  }

  /**
   * Compares two files of the archive by their kind. Concurrent requests for the same files share one computation.
   *
   * @throws Problem `blob_damaged`, `not_derivable`, `derivation_busy`, `shutting_down`.
   */
  async compare(from: FileToCompare, to: FileToCompare): Promise<FileDiff> {
    const key = JSON.stringify([from, to]);
    const { made_at, content } = this.#takeKept(key) ?? (await this.#makeOnce(key, from, to));
    const { noise: _noise, ...comparison } = decompressContent<Comparison>(content);
    const sideOf = ({ content_encoding: _encoding, ...side }: FileToCompare): DiffSide => side;
    return { from: sideOf(from), to: sideOf(to), made_at, tool: DIFF_TOOL, ...comparison } as FileDiff;
  }

  /**
   * Compares two objects, or files of packs, as what they came as, for the owner.
   *
   * @throws Problem like `compare`; `not_found`, `released`
   */
  async compareObjects(from: string, to: string): Promise<FileDiff> {
    const sides = [this.#storedAs(from), this.#storedAs(to)] as const;
    requireAllReadable(this.#store.read, [from, to], OWNER);
    return this.compare(...sides);
  }

  #storedAs(sha256: string): FileToCompare {
    const bytes = blobBytes(this.#store.read, sha256);
    if (bytes === undefined)
      throw new Problem('not_found', `The archive has no bytes with the digest ${sha256}.`);
    const { contentType, contentEncoding } = objectToRead(this.#store, sha256);
    return { sha256, bytes, content_type: contentType, content_encoding: contentEncoding };
  }

  #makeOnce(key: string, from: FileToCompare, to: FileToCompare): Promise<Made> {
    const making = this.#making.get(key);
    if (making) return making;
    if (this.#making.size >= MAX_PENDING_FILES) {
      throw new Problem('derivation_busy', 'Too many files are being compared; try again in half a minute.', {
        headers: { 'Retry-After': '30' },
      });
    }
    const made = this.#make(key, from, to).finally(() => this.#making.delete(key));
    this.#making.set(key, made);
    return made;
  }

  async #make(key: string, from: FileToCompare, to: FileToCompare): Promise<Made> {
    const { content } = await deriveComparison(this.#store, this.#deriver, {
      from: this.#toRead(from),
      to: this.#toRead(to),
      scope: EVERYTHING,
    });
    const made = { made_at: this.#store.instant(), content };
    if (![from, to].some(({ sha256 }) => this.#store.blobs.isReleased(sha256))) this.#keep(key, made);
    return made;
  }

  #toRead({ sha256, content_type, content_encoding = null }: FileToCompare): ObjectToRead {
    const file = this.#store.blobs.fileOf(sha256);
    return { sha256, file, contentType: content_type, contentEncoding: content_encoding };
  }

  /** Returns a kept comparison and marks it as the most recently used. */
  #takeKept(key: string): Made | undefined {
    const kept = this.#kept.get(key);
    if (kept) {
      this.#kept.delete(key);
      this.#kept.set(key, kept);
    }
    return kept;
  }

  /** Forgets the comparisons of a file that was given up. */
  #forget(sha256: string): void {
    for (const [key, { content }] of this.#kept) {
      if (!key.includes(sha256)) continue;
      this.#kept.delete(key);
      this.#keptBytes -= content.length;
    }
  }

  #keep(key: string, made: Made): void {
    this.#kept.set(key, made);
    this.#keptBytes += made.content.length;
    for (const [oldest, { content }] of this.#kept) {
      if (this.#keptBytes <= MAX_KEPT_BYTES) return;
      this.#kept.delete(oldest);
      this.#keptBytes -= content.length;
    }
  }
}

/** After these failures, the bytes are compared instead. */
const FALLBACKS: Partial<Record<NotDerivableReason, string>> = {
  time_out: REASONS.tooSlow,
  out_of_memory: REASONS.tooMuchMemory,
  tool_failed: REASONS.toolFailed,
};

/**
 * Compares two blobs in the derive process, within the limits of time and size. Blobs that are too large or too slow to
 * compare are compared by their bytes.
 *
 * @throws Problem `blob_damaged`, `released`, `not_derivable`, `derivation_busy`, `shutting_down`.
 */
export async function deriveComparison(
  store: Store,
  deriver: Deriver,
  { from, to, scope }: Pick<DiffTask, 'from' | 'to' | 'scope'>,
  priority: DeriveOptions['priority'] = 'normal',
): Promise<DiffResult> {
  const digests = [from.sha256, to.sha256];
  const sizes = digests.map((sha256) => blobBytes(store.read, sha256) ?? 0);
  try {
    return await compareInProcess(deriver, { from, to, scope }, sizes, priority);
  } catch (error) {
    if (!(error instanceof NotDerivableError)) throw error;
    await noticeDamagedObjects(store, error, digests);
    requireAllReadable(store.read, digests, OWNER);
    throw new Problem(
      isPermanent(error.reason) ? 'not_derivable' : 'blob_damaged',
      `The two versions cannot be compared: ${error.message}`,
      { cause: error },
    );
  }
}

/** Does the work of `deriveComparison` for any two files. @param sizes in bytes @throws NotDerivableError; Problem `derivation_busy`, `shutting_down` */
export async function compareInProcess(
  deriver: Deriver,
  compared: Pick<DiffTask, 'from' | 'to' | 'scope'>,
  sizes: readonly number[],
  priority: DeriveOptions['priority'] = 'normal',
): Promise<DiffResult> {
  const task = { task: 'diff' as const, ...compared };
  // A region is decoded row by row, however large its picture is.
  const isTooLarge =
    Math.max(...sizes) > MAX_DIFF_MEGABYTES * 1_000_000 && !watchedRegion(compared.scope.watch);
  const onlyBytes = isTooLarge ? REASONS.tooLarge(MAX_DIFF_MEGABYTES) : null;
  const timeoutMs = DIFF_TIMEOUT_MS + sizes.reduce((sum, size) => sum + size, 0) / BYTES_PER_MS;
  const options = { timeoutMs, priority };
  return deriver.derive({ ...task, onlyBytes }, options).catch((error: unknown) => {
    const reason = error instanceof NotDerivableError ? FALLBACKS[error.reason] : undefined;
    if (reason === undefined) throw error;
    return deriver.derive({ ...task, onlyBytes: reason }, options);
  });
}

/** Diffs of HTML and PDF use the extracted texts, so they depend on the versions of those tools. */
const TEXTS = [TEXT_TOOLS.html, TEXT_TOOLS.pdf].map(({ toolVersion }) => toolVersion.replace('+', '.'));
const LIBRARIES = [
  'diff.9.0.0',
  'csv-parse.7.0.3',
  'pixelmatch.7.2.0',
  'pngjs.7.0.0',
  'jpeg-js.0.4.4',
  'cheerio.1.2.0',
  'json-p3.2.3.1',
  'fontoxpath.3.34.0',
];

/**
 * The tool that makes diffs. A change to the output must raise the first number: diffs of other versions are then made
 * again. A test compares the libraries' versions with `package.json`.
 */
export const DIFF_TOOL = {
  name: 'strongroom-diff',
  version: `4+${[...LIBRARIES, ...TEXTS].join('.')}`,
} as const;

/** Returns the version under which a diff is stored. It includes the watched part and the noise rules, because they change the diff. */
export function versionWith(rulesDigest: string | null): string {
  return rulesDigest === null ? DIFF_TOOL.version : `${DIFF_TOOL.version}.rules.${rulesDigest}`;
}
