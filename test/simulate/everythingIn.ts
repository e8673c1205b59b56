import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** Returns the text of a body and of everything that is compressed or encoded in it. */
export function everythingIn(body: Buffer): string {
  const texts = [body.toString('latin1')];
  for (let at = body.indexOf(GZIP); at !== -1; at = body.indexOf(GZIP, at + 1))
    texts.push(tried(() => gunzipSync(body.subarray(at))));
  for (const header of ZLIB)
    for (let at = body.indexOf(header); at !== -1; at = body.indexOf(header, at + 1))
      texts.push(tried(() => inflateSync(body.subarray(at))));
  for (let at = body.indexOf(LOCAL_FILE); at !== -1; at = body.indexOf(LOCAL_FILE, at + 1))
    texts.push(zipped(body, at));
  for (const [encoded] of texts.join('\n').matchAll(/[A-Za-z0-9+/]{16,}={0,2}/g)) {
    const bytes = Buffer.from(encoded, 'base64');
    texts.push(bytes.toString('latin1'));
    if (encoded.length < 40) continue;
    texts.push(
      tried(() => gunzipSync(bytes)),
      tried(() => brotliDecompressSync(bytes)),
    );
  }
  return texts.join('\n');
}

const GZIP = Buffer.from([0x1f, 0x8b]);
/** The beginnings of what zlib compresses, as in PDF and in the database. */
const ZLIB = [0x01, 0x5e, 0x9c, 0xda].map((level) => Buffer.from([0x78, level]));
/** The signature of a local file of a ZIP. */
const LOCAL_FILE = Buffer.from('PK\x03\x04', 'latin1');

/** Returns what a local file of a ZIP contains, if it is deflated; one that is stored is in the text as it is. */
function zipped(body: Buffer, at: number): string {
  if (at + 30 > body.length) return '';
  const start = at + 30 + body.readUInt16LE(at + 26) + body.readUInt16LE(at + 28);
  return tried(() => inflateRawSync(body.subarray(start), { finishFlush: 2 }));
}

function tried(decompress: () => Buffer): string {
  try {
    return decompress().toString('latin1');
  } catch {
    // These bytes only looked like compressed ones.
    return '';
  }
}
