import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { WaczQuery } from '../../../../shared/collection/captures.ts';
import { Problem } from '../../../../shared/problems.ts';
import { isBlobDamageError } from '../../../fixity/audit.ts';
import type { Checkpoints } from '../../../ledger/checkpoints.ts';
import { openPackageKey } from '../../../ledger/nodeKey.ts';
import { proveInclusionAsFile, readCheckpoint } from '../../../ledger/prove.ts';
import type { Timestamps } from '../../../ledger/timestamps/timestamps.ts';
import { databaseFile, temporaryFolder } from '../../../store/files.ts';
import { pageById } from '../../../store/sqlite/collection/pages.ts';
import { retrievalById } from '../../../store/sqlite/collection/retrievals.ts';
import {
  addEntries,
  createPackageTables,
  indexLines,
  packagedEntries,
  packagedRetrievals,
  pageLines,
} from '../../../store/sqlite/collection/warcRows.ts';
import type { ReadDatabase } from '../../../store/sqlite/engine/open.ts';
import { openSnapshot } from '../../../store/sqlite/engine/writeAheadLog.ts';
import { entryAt, lastEntry } from '../../../store/sqlite/node/ledger.ts';
import type { Store } from '../../../store/store.ts';
import { areReadable, type Reader } from '../../../withholding/withholding.ts';
import { type StreamedFile, streamedZip } from '../../../zip/writeZip.ts';
import { provenRetrievals } from '../../record/coverRetrievals.ts';
import { coalesce, type Exporter, selectExport } from '../warc/exportWarc.ts';
import { compressIndex, INDEX_NAME, packagedWarc, WARC_NAME } from './packagedWarc.ts';

export interface PackageServices {
  store: Store;
  checkpoints: Checkpoints;
  timestamps: Pick<Timestamps, 'stampText'>;
  exporter: Exporter;
}

/** A package ready to be streamed. */
interface WaczExport {
  filename: string;
  bytes: () => AsyncGenerator<Uint8Array>;
}

type Selection = ReturnType<typeof selectExport> & { reader: Reader };

/**
 * Exports attempts as a WACZ 1.1.1 package (https://specs.webrecorder.net/wacz/1.1.1/): the WARC file that `exportWarc`
 * writes for the reader, an index, the list of pages, what proves them, and a signed list of all that. Apart from
 * `created` and what follows from it, the same attempts in the same ledger give the same bytes.
 *
 * @throws Problem `not_found` if there is no such source.
 */
export function exportWacz(services: PackageServices, query: WaczQuery, reader: Reader): WaczExport {
  const selection = { ...selectExport(services.store, query), reader };
  return { filename: `${selection.name}.wacz`, bytes: () => coalesce(write(services, selection)) };
}

/** No entry of the ZIP has a time of its own. */
const MODIFIED = new Date('1980-01-01T00:00:00Z');

async function* write(services: PackageServices, selection: Selection): AsyncGenerator<Uint8Array> {
  const { store } = services;
  const signer = await openPackageKey(store).catch((error: unknown) => {
    // A restored archive whose owner has not chosen a key yet signs nothing.
    if (error instanceof Problem && error.code === 'archive_read_only') return undefined;
    throw error;
  });
  const database = await openSnapshot(databaseFile(store.folder));
  const directoryFile = join(temporaryFolder(store.folder), `wacz-${store.randomHex(16)}`);
  try {
    createPackageTables(database);
    if (signer) addEntries(database, [signer.entry]);
    const contents = new Contents();
    const files = async function* () {
      yield* contents.files(payload(services, database, selection));
      // Other readers know the time to the second.
      const created = `${store.instant().slice(0, 19)}Z`;
      const described = contents.describe(services.exporter, selection.description, created);
      yield small('datapackage.json', described);
      const hash = `sha256:${createHash('sha256').update(described).digest('hex')}`;
      const digest = { path: 'datapackage.json', hash };
      const signedData = signer && (await signed(services, signer, { hash, created }));
      yield small(
        'datapackage-digest.json',
        JSON.stringify({ ...digest, ...(signedData && { signedData }) }, null, 2),
      );
    };
    yield* streamedZip(files(), { directoryFile, modified: MODIFIED });
  } finally {
    database.close();
    await rm(directoryFile, { force: true });
  }
}

/** Yields the files of a package in their order. Those after the WARC file describe what was written to it. */
async function* payload(
  { store, checkpoints, exporter }: PackageServices,
  database: ReadDatabase,
  selection: Selection,
): AsyncGenerator<StreamedFile> {
  yield large(`archive/${WARC_NAME}`, () => packagedWarc(store, database, exporter, selection));
  const blocks: string[] = [];
  yield large(`indexes/${INDEX_NAME}`, () => compressIndex(indexLines(database), blocks));
  yield large('indexes/index.idx', () => encoded(blocks));
  yield large('pages/pages.jsonl', () => encoded(pagesFile(store, database, selection.reader)));
  const size = lastEntry(database)?.seq ?? 0;
  if (size === 0) return;
  yield small('strongroom/checkpoint', await readCheckpoint({ read: database }, checkpoints));
  yield large('strongroom/records.jsonl', () => encoded(records(database)));
  let proofs = 0;
  for (const seq of packagedEntries(database)) {
    proofs += 1;
    if (proofs > MAX_PROOFS) return;
    // In the folder itself: py-wacz looks for each file by the last two parts of its path.
    yield small(
      `strongroom/${seq}.tlog-proof`,
      await proveInclusionAsFile({ read: database }, checkpoints, seq, size),
    );
  }
}

/** Bounds the memory for the list of files. Further proofs can be had from the node. */
const MAX_PROOFS = 10_000;

/** Yields the list of pages. A page whose text the reader may not read by then is listed without it. */
async function* pagesFile(store: Store, database: ReadDatabase, reader: Reader): AsyncGenerator<string> {
  yield `${JSON.stringify({ format: 'json-pages-1.0', id: 'pages', title: 'All Pages', hasText: true })}\n`;
  for (const { line, text: sha256 } of pageLines(database)) {
    const text = sha256 === null ? undefined : await readableText(store, sha256, reader);
    yield `${text === undefined ? line : JSON.stringify({ ...(JSON.parse(line) as object), text })}\n`;
  }
}

async function readableText(store: Store, sha256: string, reader: Reader): Promise<string | undefined> {
  const isReadable = () => areReadable(store.read, [sha256], reader);
  const text = isReadable() ? await readText(store, sha256) : undefined;
  return isReadable() ? text : undefined;
}

/** Returns the text of a page; undefined if it is missing or damaged, which the WARC file says. */
async function readText({ blobs }: Pick<Store, 'blobs'>, sha256: string): Promise<string | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of blobs.read(sha256)) pieces.push(piece);
  } catch (error) {
    if (isBlobDamageError(error)) return undefined;
    throw error;
  }
  const bytes = Buffer.concat(pieces);
  return createHash('sha256').update(bytes).digest('hex') === sha256 ? bytes.toString() : undefined;
}

/**
 * Yields what the proofs are of: the ledger entries, the page captures, and the retrievals, each with the proof that an
 * entry covers it.
 */
async function* records(database: ReadDatabase): AsyncGenerator<string> {
  for (const seq of packagedEntries(database)) {
    const entry = entryAt(database, seq);
    yield `${JSON.stringify({ entry })}\n`;
    const page = entry?.type === 'page.captured' ? pageById(database, entry.subject) : undefined;
    if (page) yield `${JSON.stringify({ page })}\n`;
  }
  const retrievals = function* () {
    for (const id of packagedRetrievals(database)) {
      const retrieval = retrievalById(database, id);
      if (retrieval) yield retrieval;
    }
  };
  for await (const proven of provenRetrievals(database, retrievals())) yield `${JSON.stringify(proven)}\n`;
}

async function* encoded(lines: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer> {
  for await (const line of lines) yield Buffer.from(line);
}

function small(name: string, text: string): StreamedFile {
  return { name, bytes: text.length, isCompressed: false, read: () => encoded([text]) };
}

/** A file whose size is not known before it is written. */
function large(name: string, read: StreamedFile['read']): StreamedFile {
  return { name, bytes: Number.MAX_SAFE_INTEGER, isCompressed: false, read };
}

/** The files that were written, as the list of a package names them. */
class Contents {
  readonly #resources: { name: string; path: string; hash: string; bytes: number }[] = [];

  /** Passes files on and notes the size and the digest of each while it is read. */
  async *files(files: AsyncIterable<StreamedFile>): AsyncGenerator<StreamedFile> {
    for await (const file of files) yield { ...file, read: () => this.#noting(file) };
  }

  async *#noting({ name: path, read }: StreamedFile): AsyncGenerator<Uint8Array> {
    const sha256 = createHash('sha256');
    let bytes = 0;
    for await (const chunk of read()) {
      sha256.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
    const name = path.slice(path.lastIndexOf('/') + 1);
    this.#resources.push({ name, path, hash: `sha256:${sha256.digest('hex')}`, bytes });
  }

  describe({ nodeName, version }: Exporter, description: string, created: string): string {
    return JSON.stringify(
      {
        profile: 'data-package',
        wacz_version: '1.1.1',
        title: nodeName,
        description,
        created,
        software: `Strongroom/${version}`,
        resources: this.#resources,
      },
      null,
      2,
    );
  }
}

/** Returns the signature of a package (https://specs.webrecorder.net/wacz-auth/0.1.0/), timestamped if there is an authority. */
async function signed(
  { exporter, timestamps }: PackageServices,
  { publicKey, sign }: Awaited<ReturnType<typeof openPackageKey>>,
  { hash, created }: { hash: string; created: string },
): Promise<Record<string, string>> {
  const signature = sign(hash);
  const stamped = await timestamps.stampText(signature);
  return {
    hash,
    created,
    software: `Strongroom/${exporter.version}`,
    version: '0.1.0',
    signature,
    publicKey,
    ...(stamped && {
      timeSignature: stamped.reply.toString('base64'),
      timestampCert: stamped.certificates,
    }),
  };
}
