import { type BaseBlock, fromBER } from 'asn1js';
import { hexOf } from './bytes.ts';

/** Bytes are not the ASN.1 structure that was expected. */
export class DerError extends Error {
  override name = 'DerError';
}

/** One ASN.1 value: its tag, its whole encoding, and its parts if it is constructed. */
export interface DerValue {
  /** `universal`, or `context` for a tag such as `[0]`. */
  tagClass: 'universal' | 'context' | 'other';
  tag: number;
  /** The encoding with tag and length. Signatures are computed over it, so it is never encoded again. */
  encoding: Uint8Array;
  /** The encoding without tag and length. */
  content: Uint8Array;
  parts: readonly DerValue[];
}

/** A token with its certificates needs about 15 levels and a few hundred values. */
const LIMITS = { maxDepth: 40, maxNodes: 10_000, maxContentLength: 1_000_000, parseEmbedded: false };

const CLASSES: Record<number, DerValue['tagClass']> = { 1: 'universal', 3: 'context' };

/**
 * Parses one ASN.1 value that fills the bytes. The library also accepts a value with bytes after it; this does not.
 *
 * @throws DerError
 */
export function parseDer(bytes: Uint8Array): DerValue {
  let parsed: { offset: number; result: unknown };
  try {
    parsed = fromBER(new Uint8Array(bytes), LIMITS);
  } catch (error) {
    throw new DerError(error instanceof Error ? error.message : String(error));
  }
  if (parsed.offset !== bytes.length) throw new DerError('It is cut short, or bytes follow it.');
  return valueOf(parsed.result as BaseBlock);
}

function valueOf(block: BaseBlock): DerValue {
  const { idBlock, lenBlock, valueBlock, valueBeforeDecodeView: encoding } = block;
  const { value } = valueBlock as { value?: unknown };
  const content = encoding.subarray(idBlock.blockLength + lenBlock.blockLength);
  const parts = idBlock.isConstructed && Array.isArray(value) ? (value as BaseBlock[]).map(valueOf) : [];
  requireLength(content, parts, block);
  return { tagClass: CLASSES[idBlock.tagClass] ?? 'other', tag: idBlock.tagNumber, encoding, content, parts };
}

/** The library reads on where a length is too small or too large. Other programs do not. @throws DerError */
function requireLength(
  content: Uint8Array,
  parts: readonly DerValue[],
  { idBlock, lenBlock }: BaseBlock,
): void {
  // Some authorities write the end of a value instead of its length.
  if (lenBlock.isIndefiniteForm) return;
  const inParts = parts.reduce((sum, part) => sum + part.encoding.length, 0);
  if (content.length !== lenBlock.length || (idBlock.isConstructed && inParts !== content.length))
    throw new DerError('The length of a value is wrong.');
}

/** The universal tags that are read here. */
export const TAG = {
  boolean: 1,
  integer: 2,
  bitString: 3,
  octetString: 4,
  oid: 6,
  sequence: 16,
  set: 17,
  utcTime: 23,
  generalizedTime: 24,
} as const;

/** Returns a value if it has this universal tag. @throws DerError */
export function expectTag(value: DerValue | undefined, tag: number, what: string): DerValue {
  if (value?.tagClass !== 'universal' || value.tag !== tag) throw new DerError(`It has no ${what}.`);
  const isConstructed = ((value.encoding[0] ?? 0) & 0x20) !== 0;
  if ((tag === TAG.sequence || tag === TAG.set) && !isConstructed)
    throw new DerError(`Its ${what} is not made of parts.`);
  return value;
}

/** Returns the part with the context tag `[tag]`, if there is one. */
export function tagged(value: DerValue, tag: number): DerValue | undefined {
  return value.parts.find((part) => part.tagClass === 'context' && part.tag === tag);
}

/** Returns an object identifier in dotted form. @throws DerError */
export function oidOf(value: DerValue | undefined, what: string): string {
  const { content } = expectTag(value, TAG.oid, what);
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    arc = arc * 128 + (byte & 127);
    if (byte < 128) {
      if (arcs.length === 0)
        arcs.push(Math.min(2, Math.floor(arc / 40)), arc - 40 * Math.min(2, Math.floor(arc / 40)));
      else arcs.push(arc);
      arc = 0;
    }
  }
  return arcs.join('.');
}

/** Returns the bytes of an OCTET STRING, also of one in several parts. @throws DerError */
export function octetsOf(value: DerValue | undefined, what: string): Uint8Array {
  const { parts, content } = expectTag(value, TAG.octetString, what);
  if (parts.length === 0) return content;
  const pieces = parts.map((part) => octetsOf(part, what));
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Returns an INTEGER in hex, with no leading zeros. @throws DerError */
export function integerHexOf(value: DerValue | undefined, what: string): string {
  const { content } = expectTag(value, TAG.integer, what);
  // DER: a zero comes first only before a byte that would make the number negative.
  if (content.length > 1 && content[0] === 0 && (content[1] ?? 0) < 0x80)
    throw new DerError(`Its ${what} is not written as DER.`);
  return hexOf(content).replace(/^(00)+(?=..)/, '');
}

/** Returns a UTCTime or GeneralizedTime in milliseconds since the epoch. @throws DerError */
export function timeOf(value: DerValue | undefined, what: string): number {
  const isShort = value?.tag === TAG.utcTime;
  const { content } = expectTag(value, isShort ? TAG.utcTime : TAG.generalizedTime, what);
  const text = String.fromCharCode(...content);
  const found = /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\.\d{1,9})?Z$/.exec(text);
  const [, year = '', month, day, hour, minute, second, fraction = ''] = found ?? [];
  if (year.length !== (isShort ? 2 : 4)) throw new DerError(`Its ${what} is not a time.`);
  // RFC 5280, section 4.1.2.5.1: two digits are a year from 1950 to 2049.
  const full = isShort ? String(Number(year) + (Number(year) < 50 ? 2000 : 1900)) : year;
  const time = Date.parse(`${full}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}Z`);
  if (Number.isNaN(time)) throw new DerError(`Its ${what} is not a time.`);
  return time;
}
