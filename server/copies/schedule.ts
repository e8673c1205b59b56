import { DEFAULT_EVERY_MINUTES } from '../../shared/node/copy.ts';
import type { Settings } from '../../shared/node/settings.ts';
import type { Log } from '../runtime/log.ts';
import { allCopies, type CopyRow } from '../store/sqlite/node/copies.ts';
import { lastEntry } from '../store/sqlite/node/ledger.ts';
import type { Store } from '../store/store.ts';
import { isRemote, type NetworkPause, readNetworkPause } from './networkPause.ts';
import { isOutdated } from './sync.ts';

export interface ScheduleServices {
  store: Store;
  log: Log;
  settings: () => Pick<Settings, 'audit_every_days'>;
  /** Whether objects may leave this disk for a copy. */
  isOffloading: () => boolean;
  /** Why nothing is sent over the network in the background. */
  networkPause?: (() => Promise<NetworkPause>) | undefined;
  /** Starts a sync or a complete check of a copy. */
  sync: (id: string) => { finished: Promise<unknown> };
  check: (id: string) => { finished: Promise<unknown> };
}

/** How often the node checks whether a copy is behind. */
const LOOK_EVERY_MS = 60_000;
const MS_PER_MINUTE = 60_000;
const MS_PER_DAY = 86_400_000;
/** The time between a scheduled check that failed and the next one. */
const CHECK_AGAIN_MS = 21_600_000;

/** Keeps copies up to date, and reads them back if objects have left this disk for them. */
export class CopySchedule {
  readonly #services: ScheduleServices;
  readonly #syncedAt = new Map<string, number>();
  readonly #checkedAt = new Map<string, number>();
  /** As it was when last looked at. */
  #paused: NetworkPause = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(services: ScheduleServices) {
    this.#services = services;
  }

  start(): void {
    const { log } = this.#services;
    const look = () =>
      void this.#look().catch((error: unknown) =>
        log.warn({ error }, 'The state of the copies could not be read.'),
      );
    this.#timer = setInterval(look, LOOK_EVERY_MS);
    this.#timer.unref();
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

  async #look(): Promise<void> {
    const { store, networkPause = readNetworkPause } = this.#services;
    const copies = allCopies(store.read);
    if (copies.some(isRemote)) this.#paused = await networkPause();
    if (this.#timer === undefined) return;
    for (const copy of copies) {
      if (this.pauseOf(copy) !== null) continue;
      this.#syncIfDue(copy);
      this.#checkIfDue(copy);
    }
  }

  #syncIfDue(copy: CopyRow): void {
    const { id, every_minutes, synced_size } = copy;
    const { store, sync, log } = this.#services;
    const everyMs = (every_minutes ?? DEFAULT_EVERY_MINUTES) * MS_PER_MINUTE;
    const isDue = store.clock.now() - (this.#syncedAt.get(id) ?? 0) >= everyMs;
    const size = lastEntry(store.read)?.seq ?? 0;
    if ((synced_size >= size && !isOutdated(store.read, copy, size)) || !isDue) return;
    sync(id).finished.catch((error: unknown) =>
      log.warn({ error, copy: id }, 'A copy could not be brought up to date.'),
    );
  }

  /** Reads a copy back as often as this archive is audited, if objects may leave this disk for it. */
  #checkIfDue({ id, added_at, read_back_at }: CopyRow): void {
    const { store, settings, isOffloading, check, log } = this.#services;
    const everyMs = settings().audit_every_days * MS_PER_DAY;
    if (!isOffloading() || everyMs === 0) return;
    const now = store.clock.now();
    const last = this.#checkedAt.get(id);
    if (last !== undefined && now - last < CHECK_AGAIN_MS) return;
    if (now - Date.parse(read_back_at ?? added_at) < everyMs) return;
    this.#checkedAt.set(id, now);
    check(id).finished.catch((error: unknown) =>
      log.warn({ error, copy: id }, 'A copy could not be read back.'),
    );
  }
}
