import { SELF } from '../../../shared/collection/observers.ts';
import type { RetrievalError } from '../../../shared/collection/retrieval.ts';
import { watchedUrlSchema } from '../../../shared/collection/source.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import type { StagedFile } from '../../store/blobs/staging.ts';
import type { NewRetrieval } from '../../store/sqlite/collection/retrievals.ts';
import { sourceByKey } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Reservation } from '../../store/sqlite/engine/writer.ts';
import { isStorageFailure } from '../../store/storageErrors.ts';
import { measureStorage, reachedStorageLimit, type Store } from '../../store/store.ts';
import { RetrievalFailure } from '../fetch/connect.ts';
import { fetchObject, withoutSessionHeaders } from '../fetch/fetchObject.ts';
import type { Attempt, FetchServices } from '../fetch/requester.ts';
import { privateRuleFor } from '../sources/privateSources.ts';
import { findOrAddPausedSource, normalizeUrl, sourceIdOf } from '../sources/sources.ts';
import { type KeptObject, type ObjectReceiver, withHeldCertificates } from './objectReceiver.ts';
import { recordRetrieval } from './recordRetrieval.ts';

interface RequestServices {
  store: Store;
  receiver: ObjectReceiver;
  fetching: FetchServices;
  settings: () => Settings;
}

/** One GET request that a person asked for. */
export interface RequestToRecord {
  url: string;
  /** Headers that are no secrets: they are sent to every host on the way, and recorded. */
  headers: Record<string, string>;
  maxBytes: number;
  /** Whether a good answer is a check of the address: it then has an event, unless the address is watched by schedule. */
  isCheck: boolean;
  /** If false, no connection to a private address is allowed; see `ObjectRequest`. */
  allowPrivateAddress: boolean | undefined;
  /** Returns the retrieval as it may be published. */
  publish: (retrieval: NewRetrieval) => NewRetrieval;
  signal: AbortSignal;
}

/** What came of a request. `discard` must be called at the end. */
export interface ReceivedAnswer {
  attempt: Omit<Attempt<StagedFile>, 'received'>;
  /** The body as far as it came; null if there is none. */
  staged: StagedFile | null;
  /** Why the body ended early; null if it is whole. */
  cut: RetrievalError | null;
  /** Whether a host at a public address answered, also with a redirect. */
  isFromPublic: boolean;
}

/** What is recorded in the transaction of the retrieval. */
type AlsoRecord = (database: WriteDatabase, retrieval: number) => void;

/**
 * Sends requests that a person asked for, with the guards of every other request of the collector, and records each one as a
 * retrieval of a paused source. robots.txt is not asked: it is for crawlers, and here a person asks for one thing.
 */
export class RecordedRequests {
  readonly #services: RequestServices;

  constructor(services: RequestServices) {
    this.#services = services;
  }

  /** Requires that anything can be stored at all. @throws Problem `data_cap_reached`, `disk_nearly_full` */
  requireRoom(): void {
    const { store, settings } = this.#services;
    const limit = reachedStorageLimit(store, settings(), 0);
    if (limit === 'data_cap_reached')
      throw new Problem(limit, 'The archive has reached its data cap. Raise the cap and try again.');
    if (limit)
      throw new Problem(limit, 'There is too little free disk space. Free some space and try again.');
  }

  /**
   * Sends a request and receives its body, of a body that breaks off what came of it. Nothing is recorded yet.
   *
   * @param look sees the chunks as they arrive
   * @throws HostBackoffError; the signal's reason
   */
  async receive(request: RequestToRecord, look: (chunk: Uint8Array) => void): Promise<ReceivedAnswer> {
    const { store, fetching, settings } = this.#services;
    const { user_agent, request_timeout_seconds } = settings();
    let cut: RetrievalError | null = null;
    let staged: StagedFile | null = null;
    const chunksUntilCut = async function* (chunks: AsyncIterable<Uint8Array>) {
      try {
        for await (const chunk of chunks) {
          look(chunk);
          yield chunk;
        }
      } catch (error) {
        if (!(error instanceof RetrievalFailure)) throw error;
        cut = error.reason;
      }
    };
    // The caller's limit may be many times what is free.
    const space = this.#spaceLeft();
    const { received: _, ...attempt } = await fetchObject<StagedFile>(fetching, {
      url: request.url,
      headers: {},
      openHeaders: request.headers,
      userAgent: user_agent,
      ignoreRobots: true,
      timeoutMs: request_timeout_seconds * 1000,
      maxBytes: Math.min(request.maxBytes, space),
      validators: async () => undefined,
      receive: async (chunks, maxBytes) => {
        try {
          staged = await store.blobs.staging.stageFile(chunksUntilCut(chunks), maxBytes);
          return staged;
        } catch (error) {
          if (isStorageFailure(error)) throw new RetrievalFailure('storage_full', error);
          throw error;
        }
      },
      allowPrivateAddress: request.allowPrivateAddress,
      signal: request.signal,
    });
    if (attempt.error === 'object_too_large' && space < request.maxBytes) attempt.error = 'storage_full';
    const answered = [attempt, ...attempt.redirects].flatMap(({ connection }) => connection ?? []);
    const isFromPublic = answered.some(({ address }) => !fetching.isPrivateAddress(address));
    return { attempt, staged, cut, isFromPublic };
  }

  /** Returns `allowPrivateAddress` for the first address of an import that the owner starts now. */
  privateRuleFor(url: string): Promise<false | undefined> {
    return privateRuleFor(this.#services.fetching, url);
  }

  /**
   * Records an answer: its bytes become durable, then one transaction writes the retrieval and what belongs to it. A body
   * that broke off is recorded without its bytes.
   *
   * @param also is called only if the archive has the bytes
   * @returns the id of the retrieval, and its error; null if the address cannot be a source
   */
  async record(
    request: RequestToRecord,
    { attempt, staged, cut }: ReceivedAnswer,
    also?: AlsoRecord,
  ): Promise<{ retrieval: number; error: RetrievalError | null } | null> {
    const { receiver } = this.#services;
    const published = request.publish(this.#retrievalOf(request, attempt));
    const url = normalizeUrl(published.url);
    if (!watchedUrlSchema.safeParse(url).success) return null;
    const certificates = await receiver.keepCertificates(attempt.certificates);
    let kept: KeptObject | undefined;
    try {
      if (cut === null && staged) kept = await receiver.keep(staged);
      const object = kept?.isStored ? staged : null;
      const error = kept?.isStored === false ? 'storage_full' : (attempt.error ?? cut);
      const body = { url, error, sha256: object?.sha256 ?? null, bytes: object?.bytes ?? null };
      const retrieval = withHeldCertificates({ ...published, ...body }, (sha256) =>
        certificates.held.has(sha256),
      );
      const reservation = kept?.reservation;
      const id = await this.#write(retrieval, { isCheck: request.isCheck, also, reservation });
      certificates.recorded();
      if (object) await staged?.leave();
      return { retrieval: id, error };
    } finally {
      kept?.reservation?.release();
      await certificates.discard();
    }
  }

  async #write(
    given: NewRetrieval,
    {
      isCheck,
      also,
      reservation,
    }: { isCheck: boolean; also: AlsoRecord | undefined; reservation: Reservation | undefined },
  ): Promise<number> {
    const { store, settings } = this.#services;
    const { url, error, sha256 } = given;
    const source = await store.write((database) =>
      findOrAddPausedSource(database, sourceIdOf(url), url, store.instant()),
    );
    const mayChange = isCheck && error === null && sourceByKey(store.read, source.key)?.paused !== false;
    const { retrieval } = await recordRetrieval(
      store,
      {
        retrieval: { ...given, source_key: source.key },
        outcome: mayChange && sha256 !== null ? { kind: 'object', sha256 } : null,
        // What is recorded besides names these bytes.
        andAlso: sha256 === null ? undefined : also,
        reservation,
      },
      settings(),
    );
    return retrieval;
  }

  /** Returns how many bytes the owner's limits leave. */
  #spaceLeft(): number {
    const { store, settings } = this.#services;
    const { cap_bytes, held_bytes, free_bytes, min_free_bytes } = measureStorage(store, settings());
    return Math.max(0, Math.min(cap_bytes - held_bytes, free_bytes - min_free_bytes));
  }

  #retrievalOf({ url }: RequestToRecord, attempt: ReceivedAnswer['attempt']): NewRetrieval {
    return {
      source_key: 0,
      round: null,
      url,
      final_url: attempt.final_url,
      redirects: attempt.redirects,
      observer: SELF,
      observed_at: this.#services.store.instant(),
      original_observed_at: null,
      status: attempt.status,
      error: attempt.error,
      content_type: attempt.content_type,
      headers: withoutSessionHeaders(attempt.headers),
      request: attempt.request,
      sha256: null,
      bytes: null,
      duration_ms: attempt.duration_ms,
      page_label: null,
      connection: attempt.connection,
    };
  }
}
