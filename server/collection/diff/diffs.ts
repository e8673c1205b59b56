import type { Comparison, Diff, DiffSide } from '../../../shared/collection/diff.ts';
import { MAX_SUMMARY_CHARACTERS } from '../../../shared/collection/event.ts';
import type { NoiseRule } from '../../../shared/collection/noise.ts';
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
} from '../../store/sqlite/collection/timeline/eventNoise.ts';
import { type EventSummary, putEventSummary } from '../../store/sqlite/collection/timeline/eventSummaries.ts';
import { blobBytes } from '../../store/sqlite/node/blobs.ts';
import type { Store } from '../../store/store.ts';
import { objectToRead } from '../derived/body/objectToRead.ts';
import { decompressContent } from '../derived/content.ts';
import type { DeriveOptions, Deriver } from '../derived/process/deriver.ts';
import type { DiffResult } from '../derived/process/tasks.ts';
import { readEvent } from '../timeline/events.ts';
import { deriveComparison } from './deriveComparison.ts';
import { DIFF_TOOL, versionWith } from './diffTool.ts';
import { plainLine } from './summarize.ts';

/** Limits on diffs that are queued or being made, in total and per source. Further requests get `derivation_busy`. */
const MAX_PENDING = 24;
const MAX_PENDING_PER_SOURCE = 6;

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
   * Returns the diff of one event. Makes and stores it if there is none for the current tool and the current noise rules
   * of the source. Concurrent requests for the same diff share one computation.
   *
   * @param id an event's number, as in a request path
   * @throws Problem `not_found`, `nothing_to_compare`, `blob_damaged`, `not_derivable`, `derivation_busy`,
   * `shutting_down`.
   */
  async diffOf(id: string): Promise<Diff> {
    const event = this.#requireComparable(id);
    const stored = derivedDocument(this.#store.read, 'diff', String(event.id));
    const version = versionWith(event.rules_digest);
    const isCurrent = stored?.tool === DIFF_TOOL.name && stored.tool_version === version;
    const { content, made_at } = stored && isCurrent ? stored : await this.#makeOnce(event);
    if (content === null) throw new Error('A stored diff has no content.');
    return this.#toDiff(event, made_at, decompressContent<Comparison>(content));
  }

  /**
   * Returns the diff that an event would have with other rules. It is not stored.
   *
   * @throws Problem `blob_damaged`, `derivation_busy`, `shutting_down`.
   */
  async diffWith(event: ComparableEvent, rules: readonly NoiseRule[]): Promise<Diff> {
    const withRules = { ...event, rules: [...rules], rules_digest: rulesDigest(rules) };
    const { content } = await this.#derive(withRules);
    return this.#toDiff(withRules, this.#store.instant(), decompressContent<Comparison>(content));
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
    const stored = derivedDocument(this.#store.read, 'diff', String(id));
    const isCurrent =
      stored?.tool === DIFF_TOOL.name && stored.tool_version === versionWith(event.rules_digest);
    try {
      const { content } = isCurrent ? stored : await this.#derive(event, 'low');
      return content === null ? undefined : decompressContent<Comparison>(content);
    } catch (error) {
      if (error instanceof Problem && (error.code === 'blob_damaged' || error.code === 'not_derivable'))
        return undefined;
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
      if (!(error instanceof Problem && error.code === 'not_derivable')) throw error;
    }
    await write((database) => putEventSummary(database, summaryOf(event, summary)));
    return true;
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
      putEventSummary(database, summaryOf(event, summary));
      if (event.rules_digest === null || noise.is_noise === null) return;
      putEventNoise(database, [
        { event: event.id, is_noise: noise.is_noise, rules_digest: event.rules_digest },
      ]);
    });
    return document;
  }

  #derive(event: ComparableEvent, priority: DeriveOptions['priority'] = 'normal'): Promise<DiffResult> {
    const compared = {
      from: objectToRead(this.#store, event.previous_sha256),
      to: objectToRead(this.#store, event.sha256),
      rules: event.rules,
    };
    return deriveComparison(this.#store, this.#deriver, compared, priority);
  }

  #toDiff(event: ComparableEvent, made_at: string, comparison: Comparison): Diff {
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

/** The process that made it read hostile bytes, so what it says is limited here again. */
function summaryOf({ id, rules_digest }: ComparableEvent, summary: string | null): EventSummary {
  const line = summary === null ? '' : plainLine(summary, MAX_SUMMARY_CHARACTERS);
  return { event: id, summary: line || null, rules_digest };
}
