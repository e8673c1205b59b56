import { DEFAULT_EVERY_MINUTES, restoreDrillSchema } from '../../shared/node/copy.ts';
import type { Settings } from '../../shared/node/settings.ts';
import { every, inBackground } from '../runtime/background.ts';
import type { Log } from '../runtime/log.ts';
import { type NetworkPause, readNetworkPause } from '../runtime/machineState.ts';
import { allCopies, type CopyRow, holdsWithheldKey } from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { isOutdated } from './sync.ts';

interface ScheduleServices {
  store: Store;
  log: Log;
  settings: () => Pick<Settings, 'audit_every_days' | 'drill_every_days'>;
  /** Why nothing is sent over the network in the background. */
  networkPause?: (() => Promise<NetworkPause>) | undefined;
  /** Starts a sync, a complete check or a restore drill of a copy. */
  sync: (id: string) => { finished: Promise<unknown> };
  check: (id: string) => { finished: Promise<unknown> };
  drill: (id: string) => { finished: Promise<unknown> };
}

/** How often the node checks whether a copy is behind. */
const POLL_INTERVAL_MS = 60_000;
const MS_PER_MINUTE = 60_000;
const MS_PER_DAY = 86_400_000;
/** The time between a scheduled check that failed, or a drill that was cancelled, and the next one. */
const CHECK_AGAIN_MS = 21_600_000;
/** The time between a drill that could not be done and the next one. */
const DRILL_AGAIN_MS = MS_PER_DAY;

/** Keeps copies up to date, reads them back as often as this archive is audited, and tests restoring them. */
export class CopySchedule {
  readonly #services: ScheduleServices;
  /** Only of this process: after a start, a copy that is behind is due at once. */
  readonly #syncedAt = new Map<string, number>();
  readonly #checkedAt = new Map<string, number>();
  readonly #drilledAt = new Map<string, number>();
  #isDrilling = false;
  /** As it was when last looked at. */
  #paused: NetworkPause = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(services: ScheduleServices) {
    this.#services = services;
  }

  start(): void {
    const { log } = this.#services;
    this.#timer = every(
      POLL_INTERVAL_MS,
      () => this.#poll(),
      (error) => log.warn({ error }, 'The state of the copies could not be read.'),
    ).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Records the start of a sync, scheduled or requested. */
  syncBegins(id: string): void {
    this.#syncedAt.set(id, this.#services.store.clock.now());
  }

  /** Why a copy is not synced in the background now; null if it is. */
  pauseOf(copy: CopyRow): NetworkPause {
    return isRemote(copy) ? this.#paused : null;
  }

  async #poll(): Promise<void> {
    const { store, networkPause = readNetworkPause } = this.#services;
    const copies = allCopies(store.read);
    if (copies.some(isRemote)) this.#paused = await networkPause();
    if (this.#timer === undefined) return;
    for (const copy of copies) {
      if (this.pauseOf(copy) !== null) continue;
      this.#syncIfDue(copy);
      this.#checkIfDue(copy);
      this.#drillIfDue(copy);
    }
  }

  #syncIfDue(copy: CopyRow): void {
    const { id, every_minutes, synced_size } = copy;
    const { store, sync, log } = this.#services;
    const everyMs = (every_minutes ?? DEFAULT_EVERY_MINUTES) * MS_PER_MINUTE;
    const isDue = store.clock.now() - (this.#syncedAt.get(id) ?? 0) >= everyMs;
    const size = lastEntry(store.read)?.seq ?? 0;
    if ((synced_size >= size && !isOutdated(store.read, copy, size)) || !isDue) return;
    inBackground(
      () => sync(id).finished,
      (error) => log.warn({ error, copy: id }, 'A copy could not be brought up to date.'),
    );
  }

  /** Starts a complete check if the last one is too long ago. */
  #checkIfDue({ id, added_at, read_back_at, synced_size }: CopyRow): void {
    const { store, settings, check, log } = this.#services;
    const everyMs = settings().audit_every_days * MS_PER_DAY;
    const now = store.clock.now();
    const isOverdue = everyMs > 0 && now - Date.parse(read_back_at ?? added_at) >= everyMs;
    if (synced_size === 0 || !isOverdue) return;
    const last = this.#checkedAt.get(id);
    if (last !== undefined && now - last < CHECK_AGAIN_MS) return;
    this.#checkedAt.set(id, now);
    inBackground(
      () => check(id).finished,
      (error) => log.warn({ error, copy: id }, 'A copy could not be read back.'),
    );
  }

  /** Starts a restore drill of a complete copy, if it is due. One copy after the other. */
  #drillIfDue(copy: CopyRow): void {
    const { store, settings, log } = this.#services;
    const { id, is_listed, synced_size } = copy;
    const { drill_every_days } = settings();
    const now = store.clock.now();
    if (drill_every_days === 0 || synced_size === 0 || is_listed === 0 || this.#isDrilling) return;
    if (!isDrillDue(copy, now, drill_every_days * MS_PER_DAY)) return;
    // It may have been cancelled.
    const begun = this.#drilledAt.get(id);
    if (begun !== undefined && now - begun < CHECK_AGAIN_MS) return;
    this.#drilledAt.set(id, now);
    inBackground(
      () => this.#drill(id),
      (error) => log.warn({ error, copy: id }, 'A copy could not be tested.'),
    );
  }

  async #drill(id: string): Promise<void> {
    this.#isDrilling = true;
    try {
      await this.#services.drill(id).finished;
    } finally {
      this.#isDrilling = false;
    }
  }
}

/**
 * Returns whether a restore drill of a copy is due: after its interval, the next day if it could not be done, and soon after
 * what it found missing may have been put right.
 */
function isDrillDue(copy: CopyRow, now: number, everyMs: number): boolean {
  if (copy.last_drill === null) return true;
  const { at, outcome } = restoreDrillSchema.parse(JSON.parse(copy.last_drill));
  const since = now - Date.parse(at);
  if (since >= everyMs) return true;
  if (outcome === 'restored') return false;
  if (outcome === 'damaged') return copy.checked_at !== null && copy.checked_at > at;
  if (outcome === 'key_missing' && !holdsWithheldKey(copy)) return false;
  return since >= DRILL_AGAIN_MS;
}

/** Returns whether a copy is reached over the network: a bucket, unless its store runs on this machine. */
function isRemote({ target, endpoint }: { target: string; endpoint: string | null }): boolean {
  if (!target.startsWith('s3:')) return false;
  const host = endpoint === null ? undefined : URL.parse(endpoint)?.hostname;
  return host === undefined || !/^(localhost|127\..*|\[::1\])$/.test(host);
}
