import type { Comparison, Diff, DiffSide } from '../../../shared/diff.ts';
import type { NoiseRule } from '../../../shared/noise.ts';
import { Problem } from '../../../shared/problems.ts';
import {
  type DerivedDocumentRow,
  derivedDocument,
  putDerivedDocument,
} from '../../store/sqlite/collection/derivedDocuments.ts';
import {
  type ComparableEvent,
  comparableEvent,
  putEventNoise,
  rulesDigest,
} from '../../store/sqlite/collection/eventNoise.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { decompressContent } from '../derived/content.ts';
import type { Deriver } from '../derived/deriver.ts';
import { isKept, NotDerivableError, type NotDerivableReason } from '../derived/notDerivable.ts';
import { noticeDamagedObjects } from '../derived/noticeDamagedObjects.ts';
import { objectToRead } from '../derived/objectToRead.ts';
import type { DiffResult } from '../derived/tasks.ts';
import { readEvent } from '../timeline/events.ts';
import { BYTES_PER_MS, DIFF_TIMEOUT_MS, MAX_DIFF_MEGABYTES } from './limits.ts';
import { REASONS } from './reasons.ts';
import { DIFF_TOOL, versionWith } from './tool.ts';

/** So many diffs are made or wait to be, and of one source; who asks for another is told to come again. */
const MOST_MAKING = 24;
const MOST_OF_ONE_SOURCE = 6;

/** After these the bytes are still compared. */
const FALLBACKS: Partial<Record<NotDerivableReason, string>> = {
  time_out: REASONS.tooSlow,
  out_of_memory: REASONS.tooMuchMemory,
  tool_failed: REASONS.toolFailed,
};

/** The diffs of events: kept ones, and those made on first asking. */
export class Diffs {
  readonly #store: Store;
  readonly #deriver: Deriver;
  readonly #making = new Map<string, { source: string; made: Promise<DerivedDocumentRow> }>();

  constructor(store: Store, deriver: Deriver) {
    this.#store = store;
    this.#deriver = deriver;
  }

  /**
   * The diff of one event, kept or made now. Whoever asks for one that is being made waits for the same. It is made
   * anew once the tool is another, or the noise rules of the source are.
   *
   * @param id an event's number, as it stands in a path
   * @throws Problem `not_found`, `nothing_to_compare`, `blob_damaged`, `not_derivable`, `derivation_busy`,
   * `shutting_down`.
   */
  async diffOf(id: string): Promise<Diff> {
    const event = this.comparable(id);
    const kept = derivedDocument(this.#store.read, 'diff', String(event.id));
    const version = versionWith(event.rules_digest);
    const isCurrent = kept?.tool === DIFF_TOOL.name && kept.tool_version === version;
    const { content, made_at } = kept && isCurrent ? kept : await this.#makeOnce(event);
    if (content === null) throw new Error('A diff is kept with its content.');
    return this.#told(event, made_at, decompressContent<Comparison>(content));
  }

  /**
   * The diff that one event would have with other rules; it is not kept.
   *
   * @throws Problem `blob_damaged`, `derivation_busy`, `shutting_down`.
   */
  async diffWith(event: ComparableEvent, rules: readonly NoiseRule[]): Promise<Diff> {
    const tried = { ...event, rules: [...rules], rules_digest: rulesDigest(rules) };
    const { content } = await this.#derive(tried);
    return this.#told(tried, this.#store.instant(), decompressContent<Comparison>(content));
  }

  /** An event that has two versions. @throws Problem `not_found`, `nothing_to_compare`. */
  comparable(id: string): ComparableEvent {
    const event = readEvent(this.#store, id);
    const comparable = comparableEvent(this.#store.read, event.id);
    if (comparable) return comparable;
    throw new Problem(
      'nothing_to_compare',
      `Event ${event.id} is no change of one version to another, so there is nothing to compare.`,
    );
  }

  #makeOnce(event: ComparableEvent): Promise<DerivedDocumentRow> {
    const key = `${event.id} ${event.rules_digest}`;
    const making = this.#making.get(key);
    if (making) return making.made;
    const ofSource = [...this.#making.values()].filter(({ source }) => source === event.source_id).length;
    if (this.#making.size >= MOST_MAKING || ofSource >= MOST_OF_ONE_SOURCE) {
      throw new Problem('derivation_busy', 'Too many diffs are being made; try again in half a minute.', {
        headers: { 'Retry-After': '30' },
      });
    }
    const made = this.#make(event).finally(() => this.#making.delete(key));
    this.#making.set(key, { source: event.source_id, made });
    return made;
  }

  async #make(event: ComparableEvent): Promise<DerivedDocumentRow> {
    const { noise, content } = await this.#derive(event);
    const document: DerivedDocumentRow = {
      kind: 'diff',
      subject: String(event.id),
      objects: [event.previous_sha256, event.sha256],
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
      if (event.rules_digest === null || noise.is_noise === null) return;
      putEventNoise(database, [
        { event: event.id, is_noise: noise.is_noise, rules_digest: event.rules_digest },
      ]);
    });
    return document;
  }

  async #derive(event: ComparableEvent): Promise<DiffResult> {
    const task = {
      task: 'diff' as const,
      from: objectToRead(this.#store, event.previous_sha256),
      to: objectToRead(this.#store, event.sha256),
      rules: event.rules,
    };
    const sizes = [event.previous_sha256, event.sha256].map((sha256) => this.#bytes(sha256));
    const onlyBytes =
      Math.max(...sizes) > MAX_DIFF_MEGABYTES * 1_000_000 ? REASONS.tooLarge(MAX_DIFF_MEGABYTES) : null;
    const options = { timeoutMs: DIFF_TIMEOUT_MS + sizes.reduce((sum, size) => sum + size) / BYTES_PER_MS };
    try {
      return await this.#deriver.derive({ ...task, onlyBytes }, options).catch((error: unknown) => {
        const reason = error instanceof NotDerivableError ? FALLBACKS[error.reason] : undefined;
        if (reason === undefined) throw error;
        return this.#deriver.derive({ ...task, onlyBytes: reason }, options);
      });
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      await noticeDamagedObjects(this.#store, error, [event.previous_sha256, event.sha256]);
      throw new Problem(
        isKept(error.reason) ? 'not_derivable' : 'blob_damaged',
        `The two versions cannot be compared: ${error.message}`,
        { cause: error },
      );
    }
  }

  #told(event: ComparableEvent, made_at: string, comparison: Comparison): Diff {
    return {
      event: event.id,
      from: this.#side(event.previous_sha256),
      to: this.#side(event.sha256),
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
