import type { NewSource, SourceImport, SourcePreview } from '../../../shared/collection/source.ts';
import { MEGABYTE } from '../../../shared/limits.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { shuttingDown } from '../../runtime/jobs.ts';
import { runInThread } from '../../runtime/threads.ts';
import { markUnnamed, sourceById } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Store } from '../../store/store.ts';
import { fetchObject } from '../fetch/fetchObject.ts';
import type { FetchServices, Network } from '../fetch/requester.ts';
import { expiryOf } from '../profiles/logins.ts';
import type { Profiles } from '../profiles/profiles.ts';
import { hashBody } from '../record/objectReceiver.ts';
import { describePage, isDrawnByScript } from '../record/quality/judgePage.ts';
import { HostBackoffError } from '../schedule/hostRateLimiter.ts';
import { PrivateAddressCheck } from './privateSources.ts';
import type { SourceList, TriedList } from './sourceList/readSourceList.ts';
import {
  FIRST_CHECK_DELAY_MS,
  FIRST_CHECK_SPACING_MS,
  normalizeUrl,
  requireProfileOf,
  sourceIdOf,
  watchSource,
} from './sources.ts';

/** The number of sources per transaction. Other reads and writes run between two batches. */
const BATCH = 50;

type Item = SourceImport['items'][number];

/**
 * Adds the sources of a list as if each were added by itself. Sources that are already watched are unchanged. An
 * invalid entry is refused and does not affect the others. The first checks are spread over time.
 *
 * @param everyMinutes the node's default interval.
 * @throws Problem `invalid_list` if the list as a whole cannot be read. Nothing is added then.
 */
export async function importSources(
  { store, network }: { store: Store; network: Network },
  list: SourceList,
  everyMinutes: number,
): Promise<SourceImport> {
  const read = await runInThread<TriedList>('readSourceList', list);
  if ('refused' in read) throw new Problem('invalid_list', read.refused);
  const { entries, ignoredColumns } = read.list;
  const privateAddresses = new PrivateAddressCheck(network, entries.length);
  const items: Item[] = [];
  for (let start = 0; start < entries.length; start += BATCH) {
    const batch = entries.slice(start, start + BATCH);
    const allowsPrivateAddress = await Promise.all(
      batch.map(async (entry) => 'source' in entry && (await privateAddresses.allows(entry.url))),
    );
    const written = await store.write((database) =>
      batch.map((entry, index): Item => {
        const { line, url } = entry;
        if ('detail' in entry)
          return { line, url, outcome: 'refused', code: 'invalid_field', detail: entry.detail };
        const position = { index: start + index, count: entries.length };
        const nextCheck = firstCheck(store, entry.source.every_minutes ?? everyMinutes, position);
        const allowPrivate = allowsPrivateAddress[index] ?? false;
        return { line, url, ...added(database, store, entry.source, nextCheck, allowPrivate) };
      }),
    );
    items.push(...written);
  }
  const count = (outcome: Item['outcome']) => items.filter((item) => item.outcome === outcome).length;
  return {
    added: count('added'),
    already: count('already'),
    refused: count('refused'),
    ignored_columns: ignoredColumns,
    items,
  };
}

/** Returns when an entry is first checked: in a minute, plus a delay by its position that is at most one interval. */
function firstCheck(
  { clock }: Pick<Store, 'clock'>,
  everyMinutes: number,
  { index, count }: { index: number; count: number },
): string {
  const spread = Math.min(everyMinutes * 60_000, count * FIRST_CHECK_SPACING_MS);
  return instantOf(clock.now() + FIRST_CHECK_DELAY_MS + Math.floor((index / count) * spread));
}

function added(
  database: WriteDatabase,
  store: Store,
  source: NewSource,
  nextCheck: string,
  allowPrivate: boolean,
): Pick<Item, 'outcome' | 'source' | 'code' | 'detail'> {
  try {
    const { id, key, name } = watchSource(database, store, source, nextCheck, allowPrivate);
    if (name === '') markUnnamed(database, key);
    return { outcome: 'added', source: id };
  } catch (error) {
    // `watchSource` throws a Problem before it writes anything.
    if (!(error instanceof Problem)) throw error;
    if (error.code === 'source_exists')
      return { outcome: 'already', source: String(error.extra.members?.source) };
    return { outcome: 'refused', code: error.code, detail: error.message };
  }
}

interface PreviewServices extends FetchServices {
  store: Store;
  profiles: Pick<Profiles, 'open'>;
  settings: () => Settings;
}

/** The previews that the owner asks for, until the collector closes. */
export class Previews {
  readonly #services: PreviewServices;
  readonly #closing: AbortSignal;
  readonly #running = new Set<Promise<unknown>>();

  /** @param closing aborts the previews that run. */
  constructor(services: PreviewServices, closing: AbortSignal) {
    this.#services = services;
    this.#closing = closing;
  }

  /** Fetches once, with a login if one is named, and stores nothing. @throws Problem `preview_failed`, `shutting_down` */
  preview(url: string, profile: string | null): Promise<SourcePreview> {
    const { settings, ...services } = this.#services;
    return this.run((signal) => previewSource(services, settings(), { url, profile }, signal));
  }

  /** Runs another preview, which stores nothing either. @throws Problem `preview_failed`, `shutting_down`, and its own */
  run<Result>(work: (closing: AbortSignal) => Promise<Result>): Promise<Result> {
    const preview = work(this.#closing).catch((error: unknown) => {
      throw this.#explain(error);
    });
    this.#running.add(preview);
    return preview.finally(() => this.#running.delete(preview));
  }

  /** Resolves when no preview is running. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  #explain(error: unknown): unknown {
    if (this.#closing.aborted) return shuttingDown();
    if (!(error instanceof HostBackoffError)) return error;
    return new Problem(
      'preview_failed',
      `This host accepts no requests until ${new Date(error.until).toISOString()}. Try again then.`,
    );
  }
}

/**
 * Fetches a URL once, as a check would, and returns what would be stored. Stores nothing.
 *
 * @throws HostBackoffError; Problem `invalid_field`, `profile_key_damaged`; the signal's reason.
 */
async function previewSource(
  { store, profiles, connections, ...services }: Omit<PreviewServices, 'settings'>,
  settings: Settings,
  { url: givenUrl, profile }: { url: string; profile: string | null },
  signal: AbortSignal,
): Promise<SourcePreview> {
  const url = normalizeUrl(givenUrl);
  const known = sourceById(store.read, sourceIdOf(url));
  requireProfileOf(store.read, profile, url);
  const login = profile === null ? undefined : await profiles.open(profile, url);
  const mayBePrivate = await new PrivateAddressCheck(services).allows(url);
  const attempt = await fetchObject(login || !connections ? services : { ...services, connections }, {
    url,
    headers: {},
    login,
    userAgent: settings.user_agent,
    ignoreRobots: false,
    timeoutMs: settings.request_timeout_seconds * 1000,
    maxBytes: Math.floor(settings.max_object_mb * MEGABYTE),
    validators: async () => undefined,
    receive: hashBody,
    ...(mayBePrivate ? {} : { allowPrivateAddress: false }),
    signal,
  });
  const described = await describePage({ ...attempt, url });
  const expiry =
    login &&
    expiryOf({
      ...attempt,
      url,
      isWall: described.page_label !== null,
      html: attempt.beginning.toString('utf8'),
      before: undefined,
      hasVersion: false,
    });
  if (login && !expiry)
    await store.write((database) => {
      if (login.isCurrent(database)) login.save(database);
    });
  return {
    url,
    final_url: attempt.final_url,
    status: attempt.status,
    error: expiry ? 'profile_expired' : attempt.error,
    content_type: attempt.content_type,
    sha256: attempt.received?.sha256 ?? null,
    bytes: attempt.received?.bytes ?? null,
    duration_ms: attempt.duration_ms,
    ...described,
    drawn_by_script: await isDrawnByScript({ ...attempt, url }),
    watched_as: known && !known.removed ? known.id : null,
    private_address: mayBePrivate,
  };
}
