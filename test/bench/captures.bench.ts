import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createGunzip, gzipSync } from 'node:zlib';
import { WARCParser } from 'warcio';
import { decompress, type OpenBytes } from '../../server/collection/captures/warc/decompress.ts';
import { importWarc } from '../../server/collection/captures/warc/importWarc.ts';
import { readWarc } from '../../server/collection/captures/warc/readWarc.ts';
import { openArchiveForWriting } from '../../server/collection/record/coverRetrievals.ts';
import { ObjectReceiver } from '../../server/collection/record/objectReceiver.ts';
import { blobPath, syncFolder } from '../../server/store/files.ts';
import { DEFAULT_SETTINGS } from '../../shared/node/settings.ts';
import { systemClock } from '../../shared/values/clock.ts';
import { maxBlockedCpu } from '../support/blockedCpu.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { record } from '../support/warcFiles.ts';
import { type Bench, type Measurement, scaled, timed } from './bench.ts';

const RECORDS = scaled(20_000, 40);
/** The size of a warm-up import, after which the code is compiled. For the loops, the second run counts. */
const FIRST_RECORDS = scaled(1_000, 10);
const BODY_BYTES = 6_000;
const MAX_RATIO = 4;
const MAX_BLOCKED_MS = 50;
const READ_SIZE = 262_144;
const FILES_AT_ONCE = 8;
/** The interval at which the event loop's delay is sampled; each result includes it. */
const SAMPLE_INTERVAL_MS = 5;
const PACKED = 'a.warc.gz';
const UNPACKED = 'a.warc';

/** The number of URLs of the captures: one per capture, so that each adds a source, or a few observed pages. */
const SHAPES = [
  { addresses: RECORDS, of: 'as many addresses' },
  { addresses: 500, of: '500 addresses' },
];

/**
 * Imports WARC files of 20,000 captures until all is durable. The peer is a bare loop over the same file, gzipped per
 * record. For comparison, it also measures writing the same objects as durable files.
 */
export const captures: Bench = {
  name: 'captures',
  async run(folder): Promise<Measurement[]> {
    const first = await warcsIn(join(folder, 'first'), FIRST_RECORDS, FIRST_RECORDS);
    await importInto(join(first, 'data'), openedAt(join(first, PACKED)), FIRST_RECORDS);
    const imports: Imported[] = [];
    for (const { addresses, of } of SHAPES) {
      const shape = await warcsIn(join(folder, String(addresses)), addresses, RECORDS);
      const packed = openedAt(join(shape, PACKED));
      for (const isPacked of [true, false]) {
        const opened = isPacked ? packed : openedAt(join(shape, UNPACKED));
        // Directly before the import, so that the load of the machine is the same for both.
        const library = await bestOf(() => readByLibrary(packed));
        const { ms, held } = await importInto(join(shape, `data-${isPacked}`), opened, RECORDS);
        const own = isPacked ? library : await bestOf(() => readByLibrary(opened));
        const parser = await bestOf(() => readAndHash(opened));
        const barest = await bestOf(() => unpackAndHash(opened, isPacked));
        imports.push({ of, isPacked, ms, held, library, own, parser, barest });
      }
    }
    // Last, because so many files keep the disk busy for a while.
    const files = await timed(() => writeDurably(folder));
    return imports.flatMap((imported) => measurementsOf(imported, files));
  },
};

/** The durations of one import and of the loops over the same file, in milliseconds. */
interface Imported {
  of: string;
  isPacked: boolean;
  ms: number;
  /** `cpu`: the most processor time in one turn, which does not depend on what else the machine does. */
  held: { most: number; mostly: number; cpu: number };
  library: number;
  own: number;
  parser: number;
  barest: number;
}

function measurementsOf(imported: Imported, files: number): Measurement[] {
  const { of, isPacked, ms, held, library, own, parser, barest } = imported;
  const ratioTo = (other: number) => `${seconds(other)} (ratio ${(ms / other).toFixed(1)})`;
  return [
    {
      what: `import of a WARC file of ${RECORDS} captures of ${of}, ${BODY_BYTES} bytes each, ${isPacked ? 'gzipped per record' : 'not compressed'}, all durable`,
      ours: `${seconds(ms)} (${Math.round(RECORDS / (ms / 1000))} captures a second)`,
      peer: [
        `a bare loop of warcio that hashes each payload of the packed file ${seconds(library)}`,
        ...(isPacked ? [] : [`the same of this file ${ratioTo(own)}`]),
        `our framing and hash alone ${ratioTo(parser)}`,
        `${isPacked ? 'zlib and hash' : 'hash'} alone, without records ${ratioTo(barest)}`,
        `writing and syncing ${RECORDS} files of that size alone ${ratioTo(files)}`,
      ].join('; '),
      ratio: ms / library,
      target: `at most ${MAX_RATIO} times the first`,
      holds: ms <= MAX_RATIO * library,
    },
    {
      what: 'longest block of the event loop during the import',
      ours: `${held.most.toFixed(0)} ms; ${held.mostly.toFixed(0)} ms in 99 of 100 turns; at most ${held.cpu.toFixed(0)} ms of processor time`,
      target: `at most ${MAX_BLOCKED_MS} ms`,
      holds: held.most <= MAX_BLOCKED_MS,
    },
  ];
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Returns the duration of the second run; the first one loads the file and compiles the code. */
async function bestOf(work: () => Promise<void>): Promise<number> {
  await work();
  return timed(work);
}

function openedAt(file: string): OpenBytes {
  return () => createReadStream(file, { highWaterMark: READ_SIZE });
}

/** Returns the time until every capture was durable, and the longest block of the event loop, in milliseconds. */
async function importInto(
  dataFolder: string,
  opened: OpenBytes,
  records: number,
): Promise<Pick<Imported, 'ms' | 'held'>> {
  const { store } = await openArchiveForWriting({ folder: dataFolder, clock: systemClock });
  try {
    const settings = () => ({ ...DEFAULT_SETTINGS, min_free_disk_gb: 0 });
    const services = { store, receiver: new ObjectReceiver(store, settings), settings };
    const { signal } = new AbortController();
    const held = monitorEventLoopDelay({ resolution: SAMPLE_INTERVAL_MS });
    held.enable();
    const started = performance.now();
    let captured = 0;
    const cpu = await maxBlockedCpu(async () => {
      captured = (await importWarc(services, { files: [opened], observer: () => 'Bench', signal })).captures;
    });
    const ms = performance.now() - started;
    held.disable();
    if (captured !== records) throw new Error(`${captured} of ${records} captures were imported.`);
    const heldFor = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - SAMPLE_INTERVAL_MS);
    return { ms, held: { most: heldFor(held.max), mostly: heldFor(held.percentile(99)), cpu } };
  } finally {
    await store.close();
  }
}

/** The obvious loop with warcio, the library that the import uses too. */
async function readByLibrary(opened: OpenBytes): Promise<void> {
  for await (const one of new WARCParser(opened())) {
    const hashing = createHash('sha256');
    for await (const chunk of one) hashing.update(chunk);
    hashing.digest('hex');
  }
}

/** A simpler loop: finds records as the import does, without parsing HTTP, and hashes their blocks. */
async function readAndHash(opened: OpenBytes): Promise<void> {
  for await (const one of readWarc(decompress(opened), Number.POSITIVE_INFINITY)) {
    const hashing = createHash('sha256');
    for await (const chunk of one.block) hashing.update(chunk);
    hashing.digest('hex');
  }
}

/** The simplest loop: decompresses and hashes the bytes without finding records. */
async function unpackAndHash(opened: OpenBytes, isPacked: boolean): Promise<void> {
  const hashing = createHash('sha256');
  const stream = opened() as ReturnType<typeof createReadStream>;
  const bytes: AsyncIterable<Buffer> = isPacked ? stream.pipe(createGunzip()) : stream;
  for await (const chunk of bytes) hashing.update(chunk);
  hashing.digest('hex');
}

/** Writes the same captures into two files, gzipped per record and uncompressed. */
async function warcsIn(folder: string, addresses: number, records: number): Promise<string> {
  await mkdir(folder);
  const packed = await open(join(folder, PACKED), 'w');
  const unpackedFile = await open(join(folder, UNPACKED), 'w');
  const random = seededRandom(7);
  for (let number = 0; number < records; number += 1) {
    const bytes = record({
      uri: `http://example.com/page/${number % addresses}`,
      date: new Date(Date.parse('2020-01-01T00:00:00Z') + number * 1000).toISOString(),
      id: `<urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, '0')}>`,
      block: httpPage(number, random),
    });
    await packed.write(gzipSync(bytes));
    await unpackedFile.write(bytes);
  }
  await packed.close();
  await unpackedFile.close();
  return folder;
}

/** Writes and syncs each object in its own file, and its folder: the minimum for an import without a journal. */
async function writeDurably(folder: string): Promise<void> {
  for (let first = 0; first < RECORDS; first += FILES_AT_ONCE) {
    const numbers = Array.from({ length: FILES_AT_ONCE }, (_, index) => first + index);
    await Promise.all(
      numbers.map(async (number) => {
        const bytes = Buffer.alloc(BODY_BYTES, number);
        const file = blobPath(join(folder, 'alone'), hash('sha256', String(number), 'hex'));
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, bytes, { flush: true });
        await syncFolder(dirname(file));
      }),
    );
  }
}

const WORDS = Array.from({ length: 2_000 }, (_, index) =>
  Math.imul(index + 1, 0x9e3779b1)
    .toString(36)
    .slice(1, 9),
);

/** Returns a page of 6,000 bytes made of words, which compresses like a real page. */
function httpPage(number: number, random: () => number): string {
  let body = `<!doctype html><title>Page ${number}</title><p>`;
  while (body.length < BODY_BYTES) body += `${WORDS[Math.floor(random() * WORDS.length)]} `;
  body = body.slice(0, BODY_BYTES);
  return `HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: bench\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
