import type { DepositRow } from '../../store/sqlite/archive/deposits.ts';
import {
  type DepositedFile,
  type RemoteDeposit,
  type RemoteFile,
  type Repository,
  RepositoryError,
} from './repository.ts';

/** What is sent, and how the progress is kept. */
export interface Sending {
  repository: Repository;
  files: readonly DepositedFile[];
  /** Returns the deposit as it is recorded now. */
  row: () => DepositRow;
  /** Records a step durably. */
  save: (changes: Partial<DepositRow>) => Promise<void>;
  pause: (ms: number) => Promise<void>;
  /** @throws Problem `withheld`, `released` if one of these files, or of all, may not be given out any more */
  requireReadable: (file?: DepositedFile) => void;
  signal: AbortSignal;
  /** Called with the bytes that are in the repository. */
  progress: (bytes: number) => void;
}

/** Pauses before a repository is asked again whether it has a deposit: its index is behind by some seconds. */
const LOOK_AGAIN_MS = [2_000, 5_000, 10_000, 20_000];
/** Pauses after a request whose answer was lost. */
const AFTER_LOSS_MS = [2_000, 10_000, 30_000];
/** Pauses before a repository is asked again whether a publication has taken place. */
const PUBLISHING_MS = [1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/**
 * Deposits a pack, or goes on where an earlier run ended. Each step first finds out what the repository has already, so
 * that a lost answer, or the end of the node, between any two steps leads to one deposit, published once.
 *
 * @throws RepositoryError; Problem `withheld`, `released`, `blob_damaged`; the signal's reason
 */
export async function sendDeposit(sending: Sending): Promise<void> {
  const { repository, row } = sending;
  await repository.prepare();
  const deposit = await findOrCreate(sending);
  // Somebody published it on the site. What is there is what counts.
  if (deposit.isPublished) await compareFiles(sending, deposit);
  await saveRemote(sending, deposit);
  if (deposit.isPublished || deposit.isInReview) return;
  await sendFiles(sending, deposit);
  if (row().publish === 0) return;
  sending.requireReadable();
  await saveRemote(sending, await publish(sending, deposit));
}

/** Records what the repository says of a deposit. */
async function saveRemote({ save }: Sending, deposit: RemoteDeposit): Promise<void> {
  const { id, url, doi, isPublished, isInReview } = deposit;
  await save({
    remote: id,
    may_exist: 0,
    url,
    doi,
    in_review: Number(isInReview),
    ...(isPublished && { state: 'published' }),
  });
}

async function findOrCreate(sending: Sending): Promise<RemoteDeposit> {
  const { repository, row, save, pause } = sending;
  const { remote } = row();
  if (remote !== null) {
    const known = await repository.read(remote);
    if (known) return known;
    // Somebody deleted the draft. A published deposit stays, so its repository does not answer as it should.
    if (row().published_at !== null)
      throw new RepositoryError(`${row().repository_url} no longer has the published deposit.`, 404);
    await save({ remote: null, may_exist: 0 });
  }
  for (const wait of [...AFTER_LOSS_MS, undefined]) {
    const found = await lookFor(sending);
    if (found) return remember(sending, found);
    await save({ may_exist: 1 });
    try {
      return await remember(sending, await repository.create());
    } catch (error) {
      if (!(error instanceof RepositoryError)) throw error;
      if (!error.isLost) await save({ may_exist: 0 });
      if (!error.isLost || wait === undefined) throw error;
      await pause(wait);
    }
  }
  throw new TypeError('The last attempt returns or throws.');
}

/** Records where the deposit is, then reads it as a whole. */
async function remember(sending: Sending, deposit: RemoteDeposit): Promise<RemoteDeposit> {
  const { id, url, doi } = deposit;
  await sending.save({ remote: id, may_exist: 0, url, doi });
  return (await sending.repository.read(deposit.id)) ?? deposit;
}

/** Looks for a deposit of this pack. If one may be there, the repository is asked until its index must have it. */
async function lookFor({ repository, row, pause }: Sending): Promise<RemoteDeposit | undefined> {
  const mayExist = row().may_exist === 1;
  for (const wait of mayExist ? [0, ...LOOK_AGAIN_MS] : [0]) {
    await pause(wait);
    try {
      const found = await repository.find();
      if (found) return found;
    } catch (error) {
      const isUnknown = error instanceof RepositoryError && [404, 405, 501].includes(error.status ?? 0);
      if (!isUnknown) throw error;
      if (!mayExist) return undefined;
      throw new RepositoryError(
        `It is not known whether ${row().repository_url} created the deposit, and it cannot be searched. Look there for a draft of this pack and delete it, then remove the repository here and add it again.`,
        error.status,
        { cause: error },
      );
    }
  }
  return undefined;
}

/** A file with its name in the repository, and what is there under that name. */
interface ComparedFile {
  file: DepositedFile;
  name: string;
  there: RemoteFile | undefined;
  state: ReturnType<typeof compare>;
}

/** Compares the files with those in the repository, and records how many are the same. */
async function compareFiles(
  { repository, files, save }: Sending,
  deposit: RemoteDeposit,
): Promise<ComparedFile[]> {
  const names = repository.namesOf(files.map(({ path }) => path));
  const remote = new Map((await repository.files(deposit)).map((file) => [file.name, file]));
  const compared = files.map((file): ComparedFile => {
    const name = names.get(file.path) ?? file.path;
    const there = remote.get(name);
    return { file, name, there, state: compare(file, there) };
  });
  const same = compared.filter(({ state }) => state === 'same');
  await save({ files: files.length, compared: same.length });
  return compared;
}

/** Sends the files that the repository does not have, then compares all of them. */
async function sendFiles(sending: Sending, deposit: RemoteDeposit): Promise<void> {
  const { repository, signal, pause, row } = sending;
  const { id } = deposit;
  const sent = new Set<DepositedFile>();
  let losses = 0;
  for (;;) {
    const compared = await compareFiles(sending, deposit);
    const missing = compared.filter(({ state }) => state === 'missing' || state === 'different');
    const altered = missing.find(({ file }) => sent.has(file));
    if (altered) throw alteredError(row().repository_url, altered);
    let bytes = sizeOf(compared) - sizeOf(missing);
    sending.progress(bytes);
    if (missing.length === 0) return;
    try {
      for (const { file, name, there } of missing) {
        signal.throwIfAborted();
        sending.requireReadable(file);
        if (there) await repository.remove(id, there);
        await repository.send(id, name, file);
        sent.add(file);
        losses = 0;
        sending.progress((bytes += file.bytes));
      }
    } catch (error) {
      const wait = AFTER_LOSS_MS[losses];
      if (!(error instanceof RepositoryError) || !error.isLost || wait === undefined) throw error;
      losses += 1;
      await pause(wait);
    }
  }
}

/** Returns whether the repository has a file: `unknown` if it gave no checksum that can be compared, but the right size. */
function compare(
  { bytes, digests }: DepositedFile,
  there: RemoteFile | undefined,
): 'same' | 'unknown' | 'missing' | 'different' {
  if (!there?.isComplete) return 'missing';
  const expected = there.checksum === null ? undefined : digests.get(there.checksum.algorithm);
  if (expected !== undefined) return expected === there.checksum?.value ? 'same' : 'different';
  return there.bytes === bytes ? 'unknown' : 'different';
}

function sizeOf(files: readonly ComparedFile[]): number {
  return files.reduce((sum, { file }) => sum + file.bytes, 0);
}

function alteredError(url: string, { file: { digests, bytes }, name, there }: ComparedFile): RepositoryError {
  const file = JSON.stringify(name);
  if (!there?.isComplete)
    return new RepositoryError(`${url} did not keep ${file}. Nothing was published.`, 422);
  const { checksum } = there;
  const what =
    checksum === null
      ? `it has ${there.bytes ?? 'an unknown number of'} bytes there, not ${bytes}`
      : `its ${checksum.algorithm} is ${checksum.value} there, not ${digests.get(checksum.algorithm) ?? ''}`;
  return new RepositoryError(`${url} changed ${file}: ${what}. Nothing was published.`, 422);
}

/** Publishes a deposit. If the answer is lost, the repository is asked what happened before it is asked again. */
async function publish({ repository, row, pause }: Sending, deposit: RemoteDeposit): Promise<RemoteDeposit> {
  let now: RemoteDeposit | undefined = deposit;
  for (const again of [...AFTER_LOSS_MS, undefined]) {
    let lost: RepositoryError | undefined;
    try {
      now = await repository.publish(deposit.id);
      if (now?.isPublished) return now;
    } catch (error) {
      if (!(error instanceof RepositoryError) || !error.isLost) throw error;
      lost = error;
    }
    for (const wait of lost ? [again ?? 0] : [0, ...PUBLISHING_MS]) {
      await pause(wait);
      now = await repository.read(deposit.id);
      if (now?.isPublished || now?.isInReview) return now;
    }
    if (lost && again === undefined) throw lost;
    if (!lost) break;
  }
  throw new RepositoryError(
    `${row().repository_url} accepted the publication, but has not published yet. Continue the deposit later.`,
  );
}
