import { brotliDecompressSync, gunzipSync, inflateRawSync } from 'node:zlib';
import type { Dice } from './dice.ts';

/*
 * Every byte string of a simulation carries a marker: a word that occurs nowhere else. What must not be seen is searched by
 * it. The part that differs comes first, because a full-text index leaves out what a word has in common with the one before.
 */
const ENDING = 'zqxmk';
const PLAIN = new RegExp(`[a-z]{8}${ENDING}`, 'g');
/** A marker may be without its first letters in an index. */
const CUT = new RegExp(`[a-z]{4,8}${ENDING}`, 'g');
const LOCAL_FILE = 0x04034b50;
const LOCAL_HEADER_BYTES = 30;

export function newMarker(dice: Dice): string {
  return dice.letters(8) + ENDING;
}

/** Returns the markers in a body and in everything that is compressed or encoded in it. */
export function markersIn(body: Buffer): Set<string> {
  const found = new Set<string>();
  for (const text of textsIn(body)) for (const [marker] of text.matchAll(PLAIN)) found.add(marker);
  return found;
}

/** Returns those of the markers that a file of the data folder has, whole or without their first letters. */
export function tracesIn(file: Buffer, markers: Iterable<string>): string[] {
  const known = [...markers];
  const traces = new Set<string>();
  for (const [part] of file.toString('latin1').matchAll(CUT))
    for (const marker of known) if (marker.endsWith(part)) traces.add(marker);
  return [...traces];
}

function* textsIn(body: Buffer): Generator<string> {
  const text = body.toString('latin1');
  yield text;
  for (
    let at = body.indexOf(Buffer.from([0x1f, 0x8b]));
    at >= 0;
    at = body.indexOf(Buffer.from([0x1f, 0x8b]), at + 1)
  )
    yield tried(() => gunzipSync(body.subarray(at)));
  for (let at = body.indexOf('PK\x03\x04'); at >= 0; at = body.indexOf('PK\x03\x04', at + 1))
    yield zipped(body, at);
  for (const [encoded] of text.matchAll(/[A-Za-z0-9+/]{24,}={0,2}/g)) {
    const bytes = Buffer.from(encoded, 'base64');
    yield bytes.toString('latin1');
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) yield tried(() => gunzipSync(bytes));
    if (encoded.length >= 40 && encoded.length < 200_000) yield tried(() => brotliDecompressSync(bytes));
  }
}

/** Returns what a local file of a ZIP contains, if it is deflated; one that is stored is in the text as it is. */
function zipped(body: Buffer, at: number): string {
  if (at + LOCAL_HEADER_BYTES > body.length || body.readUInt32LE(at) !== LOCAL_FILE) return '';
  if (body.readUInt16LE(at + 8) === 0) return '';
  const start = at + LOCAL_HEADER_BYTES + body.readUInt16LE(at + 26) + body.readUInt16LE(at + 28);
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
