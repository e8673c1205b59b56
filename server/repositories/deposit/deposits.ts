import type {
  Deposit,
  NewDeposit,
  NewRepository,
  Repository as ShownRepository,
} from '../../../shared/node/deposit.ts';
import { Problem } from '../../../shared/problems.ts';
import type { Slice } from '../../../shared/values/list.ts';
import { httpUrlSchema } from '../../../shared/values/text.ts';
import { recordDeposit } from '../../archive/packs/packRows.ts';
import { digestsOfPack } from '../../archive/packs/readPack.ts';
import { isPrivateHost } from '../../collection/sources/privateSources.ts';
import { archiveReadOnly, isReadOnly } from '../../ledger/appendEntry.ts';
import { type JobRun, type Jobs, type RunningJob, shuttingDown } from '../../runtime/jobs.ts';
import {
  changeDeposit,
  type DepositRow,
  deleteRepository,
  depositById,
  depositOf,
  depositsInRepository,
  depositsPage,
  insertDeposit,
  insertRepository,
  type RepositoryRow,
  repositoriesPage,
  repositoryAt,
  repositoryById,
  sendingDeposits,
} from '../../store/sqlite/archive/deposits.ts';
import { packById } from '../../store/sqlite/archive/packs.ts';
import { setOf } from '../../store/sqlite/archive/sets.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import type { Place } from '../../store/sqlite/engine/queries.ts';
import type { Store } from '../../store/store.ts';
import { marksOf, unreadableAmong, VISITOR } from '../../withholding/withholding.ts';
import { dataverseRepository } from './dataverse.ts';
import { invenioRepository } from './invenio.ts';
import { citedDeposit, depositedFiles, doiFrom, type Repository, RepositoryError } from './repository.ts';
import { RepositoryHttp, type RepositoryServices, RepositoryTokens } from './repositoryHttp.ts';
import { sendDeposit } from './sendDeposit.ts';

interface DepositsConfig extends Omit<RepositoryServices, 'settings'> {
  store: Store;
  jobs: Jobs;
  settings: () => { user_agent: string; request_timeout_seconds: number; contact_email: string };
  nodeName: string;
  /** The public address of the node; undefined if it has none. */
  publicOrigin: () => string | undefined;
}

/** The repositories in which packs can be deposited, and the deposits. */
export class Deposits {
  readonly #config: DepositsConfig;
  readonly #tokens: RepositoryTokens;
  /** By the id of the deposit. */
  readonly #running = new Map<string, RunningJob<Deposit>>();
  #isClosed = false;

  constructor(config: DepositsConfig) {
    this.#config = config;
    this.#tokens = new RepositoryTokens(config.store.folder);
  }

  async listRepositories(place: Place): Promise<Slice<ShownRepository>> {
    const tokens = await this.#tokens.all();
    const { items, total } = repositoriesPage(this.#config.store.read, place);
    return { items: items.map((row) => ({ ...row, has_token: Object.hasOwn(tokens, row.id) })), total };
  }

  /** Adds a repository, or gives one that is known its new token. @throws Problem `invalid_field` */
  async addRepository({ kind, url: given, token, ...added }: NewRepository): Promise<ShownRepository> {
    const { store, isPrivateAddress } = this.#config;
    const { community = null } = added;
    const url = new URL(given).href.replace(/\/+$/, '');
    if (url.startsWith('http:') && !isPrivateHost(url, isPrivateAddress)) {
      const message = 'The token would be sent unencrypted. Use the https address.';
      throw new Problem('invalid_field', message, { errors: [{ path: '/url', message }] });
    }
    const row = await store.write((database) => {
      const known = repositoryAt(database, kind, url, community);
      const added_at = store.instant();
      const added = known ?? { id: `re_${store.randomHex(20)}`, kind, url, community, added_at };
      if (!known) insertRepository(database, added);
      return added;
    });
    // A repository without a token is shown as such. A token without a repository would stay in the file for ever.
    await this.#tokens.set(row.id, token);
    return { ...row, has_token: true };
  }

  /** Forgets a repository. Its running deposits end as failed; what was deposited stays there. @throws Problem `not_found` */
  async removeRepository(id: string): Promise<void> {
    const { store, jobs } = this.#config;
    if (!repositoryById(store.read, id)) throw new Problem('not_found', `There is no repository ${id}.`);
    await this.#tokens.set(id, undefined);
    await store.write((database) => deleteRepository(database, id));
    const running = depositsInRepository(store.read, id).flatMap((each) => this.#running.get(each) ?? []);
    await Promise.all(running.map(({ job }) => jobs.cancel(job.id)));
  }

  /** Returns a page of the deposits, newest first; those of one pack, or all. */
  list(place: Place, pack: string | undefined): Slice<Deposit> {
    const { items, total } = depositsPage(this.#config.store.read, place, { pack: pack ?? null });
    return { items: items.map(shown), total };
  }

  /**
   * Deposits a pack, or goes on with its deposit in this repository. Returns the deposit if there is nothing to do, else
   * the job, which rejects if the deposit fails. `ended` returns the deposit as it is then.
   *
   * @throws Problem `unknown_pack`, `unknown_target`, `invalid_field`, `withheld`, `released`, `archive_read_only`,
   * `shutting_down`
   */
  async deposit({ pack, repository: id, publish }: NewDeposit): Promise<Deposit | RunningJob<Deposit>> {
    const { store } = this.#config;
    // What is published must be recorded.
    if (isReadOnly(store.read)) throw archiveReadOnly();
    const repository = repositoryById(store.read, id);
    if (!repository) throw wrong('unknown_target', 'repository', `There is no repository ${id}.`);
    requireDepositable(store, pack);
    const row = await store.write((database) => {
      const known = depositOf(database, pack, id);
      const updated_at = store.instant();
      if (known?.state === 'published') return known;
      if (known) {
        // A community may have declined what was submitted. It is submitted again only if somebody asks for that.
        const isWanted = known.publish === 1 && known.in_review === 0;
        const changes = { publish: Number(publish || isWanted), error: null, updated_at };
        changeDeposit(database, known.id, { ...changes, state: 'sending' });
      } else insertDeposit(database, newRow(store, { pack, repository, publish }));
      return depositOf(database, pack, id);
    });
    if (!row) throw new TypeError('The deposit was not stored.');
    return row.state === 'published' ? shown(row) : this.#start(row);
  }

  /** Waits for a job of `deposit`. Returns the deposit, also if it failed for a reason that it states. */
  async ended({ finished }: RunningJob<Deposit>, { pack, repository }: NewDeposit): Promise<Deposit> {
    try {
      return await finished;
    } catch (error) {
      const row = depositOf(this.#config.store.read, pack, repository);
      if (row?.state !== 'failed' || this.#isClosed) throw error;
      return shown(row);
    }
  }

  /** Goes on with the deposits that were running when the node ended. */
  resume(): void {
    const { store } = this.#config;
    for (const id of sendingDeposits(store.read)) {
      const row = depositById(store.read, id);
      if (row) this.#start(row);
    }
  }

  /** Starts no more deposits. Running ones go on at the next start; `Jobs.close` ends them. */
  close(): void {
    this.#isClosed = true;
  }

  #start(row: DepositRow): RunningJob<Deposit> {
    if (this.#isClosed) throw shuttingDown();
    const running = this.#running.get(row.id);
    if (running) return running;
    const started = this.#config.jobs.start('deposit', 'bytes', (run) => this.#run(row, run));
    this.#running.set(row.id, started);
    return started;
  }

  async #run(row: DepositRow, run: JobRun): Promise<Deposit> {
    const { store, log } = this.#config;
    const save = (changes: Partial<DepositRow>) =>
      store.write((database) => {
        const updated_at = store.instant();
        changeDeposit(database, row.id, { ...changes, updated_at });
        if (changes.state === 'published') recordPublished(database, row.id, updated_at);
      });
    const current = () => depositById(store.read, row.id) ?? row;
    try {
      for (let isEnded = false; !isEnded; ) {
        await this.#send(row, { run, save, current });
        isEnded = await store.write((database) => {
          const now = depositById(database, row.id);
          // The publication was asked for when the draft was complete.
          if (now?.state === 'sending' && now.publish === 1 && now.in_review === 0) return false;
          const changes = { state: 'draft' as const, updated_at: store.instant() };
          if (now?.state === 'sending') changeDeposit(database, row.id, changes);
          return true;
        });
      }
      return shown(current());
    } catch (error) {
      // A node that ends goes on with it at its next start.
      if (this.#isClosed) throw error;
      const isNamed = error instanceof RepositoryError || error instanceof Problem || run.signal.aborted;
      if (!isNamed) log.error({ error, deposit: row.id }, 'A deposit failed.');
      await save({ state: 'failed', error: sentenceOf(error, run.signal) });
      throw error;
    } finally {
      // Before `finished` settles: a request that follows it starts anew.
      this.#running.delete(row.id);
    }
  }

  async #send(
    { pack, repository: id }: DepositRow,
    {
      run: { signal, progress },
      save,
      current,
    }: { run: JobRun; save: (changes: Partial<DepositRow>) => Promise<void>; current: () => DepositRow },
  ): Promise<void> {
    const { store } = this.#config;
    const added = repositoryById(store.read, id);
    const token = (await this.#tokens.all())[id];
    if (!added || token === undefined)
      throw new RepositoryError(
        'The repository was removed, or its token is not in this data folder. Add it again.',
        401,
      );
    const files = await depositedFiles(store, pack, signal);
    const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const { http, repository } = this.#open(added, { pack, token, signal });
    await sendDeposit({
      repository,
      files,
      row: current,
      save,
      pause: (ms) => http.pause(ms),
      requireReadable: (file) => requireDepositable(store, pack, file?.digests.get('sha256')),
      signal,
      progress: (bytes) => progress(bytes, total),
    });
  }

  #open(
    { kind, url, community }: RepositoryRow,
    { pack, token, signal }: { pack: string; token: string; signal: AbortSignal },
  ): { http: RepositoryHttp; repository: Repository } {
    const { store, settings, nodeName, publicOrigin } = this.#config;
    const cited = citedDeposit(store.read, pack, { origin: publicOrigin(), node: nodeName });
    const header = HEADERS[kind];
    const http = new RepositoryHttp(this.#config, { url, token, header, signal });
    const contact = settings().contact_email;
    const repository =
      kind === 'invenio'
        ? invenioRepository(http, cited, community)
        : dataverseRepository(http, cited, { community, contact });
    return { http, repository };
  }
}

const HEADERS = {
  invenio: ['authorization', 'Bearer '],
  dataverse: ['x-dataverse-key', ''],
} as const;

function newRow(
  store: Store,
  { pack, repository, publish }: { pack: string; repository: RepositoryRow; publish: boolean },
): DepositRow {
  const at = store.instant();
  return {
    id: `dp_${store.randomHex(20)}`,
    pack,
    repository: repository.id,
    repository_kind: repository.kind,
    repository_url: repository.url,
    publish: Number(publish),
    state: 'sending',
    remote: null,
    may_exist: 0,
    url: null,
    doi: null,
    in_review: 0,
    files: 0,
    compared: 0,
    error: null,
    created_at: at,
    updated_at: at,
    published_at: null,
    ledger_entry: null,
  };
}

/** Records a published deposit in the ledger, in the transaction that says that it is published. */
function recordPublished(database: WriteDatabase, id: string, now: string): void {
  const row = depositById(database, id);
  if (!row || row.url === null) return;
  const { pack, doi, repository_kind, repository_url, updated_at, published_at } = row;
  const at = published_at ?? now;
  const address = publicAddress(row.url, repository_kind);
  // A record that breaks its own schema could not be imported again.
  const url = httpUrlSchema.safeParse(address).success ? address : repository_url;
  const deposit = { pack, doi: doiFrom(doi ?? undefined), url, repository: repository_kind, at };
  const { entry } = recordDeposit(database, deposit, now);
  changeDeposit(database, id, { ledger_entry: entry, published_at: at, updated_at });
}

/** The page of a record of InvenioRDM has no query. One that a repository adds could be a secret link. */
function publicAddress(address: string, kind: DepositRow['repository_kind']): string {
  const url = new URL(address);
  [url.username, url.password, url.hash] = ['', '', ''];
  if (kind === 'invenio') url.search = '';
  return url.href;
}

function shown({
  remote: _remote,
  may_exist: _mayExist,
  ledger_entry: _entry,
  publish,
  in_review,
  ...row
}: DepositRow): Deposit {
  return { ...row, publish: publish === 1, in_review: in_review === 1 };
}

/**
 * Requires that a pack can be deposited: it is no set, and everybody may read it, or one of its files.
 *
 * @throws Problem `unknown_pack`, `invalid_field`, `withheld`, `released`
 */
function requireDepositable({ read }: Store, pack: string, file?: string): void {
  const row = packById(read, pack);
  if (!row) throw wrong('unknown_pack', 'pack', `There is no pack ${pack}.`);
  if (setOf(read, row.ledger_entry))
    throw wrong(
      'invalid_field',
      'pack',
      'A set cannot be deposited: a repository would get only the list of its files. Deposit its parts.',
    );
  const digests = file === undefined ? digestsOfPack(read, row) : [file];
  const [hidden] = unreadableAmong(read, digests, VISITOR);
  if (hidden === undefined) return;
  if (marksOf(read, hidden).released)
    throw new Problem(
      'released',
      'Bytes of this pack were given up, so it cannot be deposited as a whole. Deposit a new version without these files.',
    );
  throw new Problem(
    'withheld',
    'Files of this pack are withheld from visitors, and a repository would show them to everybody. Show them again first, or deposit a new version without them.',
  );
}

function wrong(
  code: 'unknown_pack' | 'unknown_target' | 'invalid_field',
  field: string,
  message: string,
): Problem {
  return new Problem(code, message, { errors: [{ path: `/${field}`, message }] });
}

function sentenceOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof RepositoryError || error instanceof Problem) return error.message;
  return signal.aborted ? 'It was cancelled.' : 'Something failed on this node. Its log says what.';
}
