import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createGunzip, gzipSync } from 'node:zlib';
import { WARCParser } from 'warcio';
import { importWarc } from '../../server/collection/captures/importWarc.ts';
import { type OpenBytes, unpacked } from '../../server/collection/captures/unpack.ts';
import { readWarc } from '../../server/collection/captures/warcRecords.ts';
import { ObjectReceiver } from '../../server/collection/receiveObject.ts';
import { openNodeKey } from '../../server/ledger/nodeKey.ts';
import { openStore } from '../../server/store/store.ts';
import { systemClock } from '../../shared/clock.ts';
import { DEFAULT_SETTINGS } from '../../shared/settings.ts';
import { seededRandom } from '../support/seededRandom.ts';
import { record } from '../support/warcFiles.ts';
import { type Bench, type Measurement, timed } from './bench.ts';

const RECORDS = 20_000;
const BODY_BYTES = 6_000;
const MOST_TIMES = 4;
const READ_SIZE = 262_144;

/** Imports a WARC file of 20,000 captures, each of an address of its own and durable, against reading and hashing it. */
export const captures: Bench = {
  name: 'captures',
  async run(folder): Promise<Measurement[]> {
    const measured: Measurement[] = [];
    for (const [how, isPacked] of [
      ['packed record by record', true],
      ['not packed', false],
    ] as const) {
      const file = join(folder, isPacked ? 'a.warc.gz' : 'a.warc');
      await writeWarc(file, isPacked);
      const opened = () => createReadStream(file, { highWaterMark: READ_SIZE });
      await readAndHash(opened);
      const parser = await timed(() => readAndHash(opened));
      const library = await timed(() => readByLibrary(opened));
      const barest = await timed(() => unpackAndHash(opened, isPacked));
      const ours = await importInto(join(folder, `data-${isPacked}`), opened);
      measured.push({
        what: `import of a WARC file of ${RECORDS} captures of ${BODY_BYTES} bytes, ${how}, all durable`,
        ours: `${seconds(ours)} (${Math.round(RECORDS / (ours / 1000))} captures a second)`,
        peer: [
          `a bare loop of warcio that hashes each payload ${seconds(library)}`,
          `our framing and hash alone ${seconds(parser)} (ratio ${(ours / parser).toFixed(1)})`,
          `${isPacked ? 'zlib and hash' : 'hash'} alone, without records ${seconds(barest)} (ratio ${(ours / barest).toFixed(1)})`,
        ].join('; '),
        ratio: ours / library,
        reach: `at most ${MOST_TIMES} times the first`,
        holds: ours <= MOST_TIMES * library,
      });
    }
    return measured;
  },
};

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Milliseconds until every capture was recorded and durable. */
async function importInto(dataFolder: string, opened: OpenBytes): Promise<number> {
  const store = await openStore({ folder: dataFolder, clock: systemClock });
  try {
    await openNodeKey(store);
    const settings = () => ({ ...DEFAULT_SETTINGS, min_free_disk_gb: 0 });
    const services = { store, receiver: new ObjectReceiver(store, settings), settings };
    const { signal } = new AbortController();
    const started = performance.now();
    const result = await importWarc(services, { open: opened, observer: () => 'Bench', signal });
    const ms = performance.now() - started;
    if (result.captures !== RECORDS) throw new Error(`Not all was imported: ${JSON.stringify(result)}`);
    return ms;
  } finally {
    await store.close();
  }
}

/** The bare loop that anybody would write: warcio as it comes, which is also what finds our records. */
async function readByLibrary(opened: OpenBytes): Promise<void> {
  for await (const one of new WARCParser(opened())) {
    const hash = createHash('sha256');
    for await (const chunk of one) hash.update(chunk);
    hash.digest('hex');
  }
}

/** Barer: records are found as an import finds them, with zlib and without HTTP, and their blocks are hashed. */
async function readAndHash(opened: OpenBytes): Promise<void> {
  for await (const one of readWarc(unpacked(opened), Number.POSITIVE_INFINITY)) {
    const hash = createHash('sha256');
    for await (const chunk of one.block) hash.update(chunk);
    hash.digest('hex');
  }
}

/** Barer still: the bytes alone, without looking for records. */
async function unpackAndHash(opened: OpenBytes, isPacked: boolean): Promise<void> {
  const hash = createHash('sha256');
  const stream = opened() as ReturnType<typeof createReadStream>;
  const bytes: AsyncIterable<Buffer> = isPacked ? stream.pipe(createGunzip()) : stream;
  for await (const chunk of bytes) hash.update(chunk);
  hash.digest('hex');
}

async function writeWarc(file: string, isPacked: boolean): Promise<void> {
  const handle = await open(file, 'w');
  const random = seededRandom(7);
  for (let number = 0; number < RECORDS; number += 1) {
    const bytes = record({
      uri: `http://example.com/page/${number}`,
      date: new Date(Date.parse('2020-01-01T00:00:00Z') + number * 1000).toISOString(),
      id: `<urn:uuid:00000000-0000-4000-8000-${String(number).padStart(12, '0')}>`,
      block: httpPage(number, random),
    });
    await handle.write(isPacked ? gzipSync(bytes) : bytes);
  }
  await handle.close();
}

const WORDS = Array.from({ length: 2_000 }, (_, index) =>
  Math.imul(index + 1, 0x9e3779b1)
    .toString(36)
    .slice(1, 9),
);

/** A page of six thousand bytes, made of words, so that it packs as pages do. */
function httpPage(number: number, random: () => number): string {
  let body = `<!doctype html><title>Page ${number}</title><p>`;
  while (body.length < BODY_BYTES) body += `${WORDS[Math.floor(random() * WORDS.length)]} `;
  body = body.slice(0, BODY_BYTES);
  return `HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: bench\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
