import { Parser } from 'htmlparser2';
import { isOrcid } from '../../shared/archive/pack.ts';
import type { License } from '../../shared/archive/vocabulary.ts';
import { writtenDoi } from '../../shared/values/doi.ts';
import type { StatedChecksum } from './repository.ts';

/** Reading JSON that anybody may have written: each function takes any value. */
export type Fields = Record<string, unknown>;

/** Returns an object; an empty one in place of anything else. */
export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Returns the value at a path of members. */
export function at(value: unknown, ...path: string[]): unknown {
  let found = value;
  for (const name of path) {
    const parent = fields(found);
    found = Object.hasOwn(parent, name) ? parent[name] : undefined;
  }
  return found;
}

/** Returns a list; a single value counts as a list of one. */
export function list(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

/** Returns a text without spaces around it; numbers count as text. Anything else is empty. */
export function textOf(value: unknown): string {
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return typeof value === 'string' ? value.toWellFormed().trim() : '';
}

/** Returns the first text that is not empty. */
export function firstText(...values: unknown[]): string {
  for (const value of values) {
    const found = textOf(value);
    if (found !== '') return found;
  }
  return '';
}

/** Returns a whole number of bytes, or null. */
export function bytesOf(value: unknown): number | null {
  const bytes = typeof value === 'string' && /^\d{1,15}$/.test(value.trim()) ? Number(value) : value;
  return typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null;
}

/** Returns the DOI of a text that is one, as it is written there, or null. */
export function doiIn(value: unknown): string | null {
  return writtenDoi(textOf(value)) ?? null;
}

/** Returns the ORCID iD of a text that is one, as such or as an address, or null. */
export function orcidIn(value: unknown): string | null {
  const found = /^(?:https?:\/\/(?:www\.)?orcid\.org\/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])\/?$/i.exec(
    textOf(value),
  );
  const orcid = found?.[1]?.toUpperCase();
  return orcid !== undefined && isOrcid(orcid) ? orcid : null;
}

const HEX_LENGTHS = { md5: 32, sha1: 40, sha256: 64, sha384: 96, sha512: 128 } as const;

/** Returns a checksum, or null if the algorithm is unknown or the value has another length. */
export function checksumOf(algorithm: unknown, value: unknown): StatedChecksum | null {
  const name = textOf(algorithm).toLowerCase().replaceAll(/[-_ ]/g, '');
  const hex = textOf(value).toLowerCase();
  if (!Object.hasOwn(HEX_LENGTHS, name) || !/^[0-9a-f]+$/.test(hex)) return null;
  const known = name as keyof typeof HEX_LENGTHS;
  return hex.length === HEX_LENGTHS[known] ? { algorithm: known, hex } : null;
}

/** Returns the absolute http(s) address of a text; undefined if it is none. */
export function addressOf(value: unknown, base?: string): string | undefined {
  const text = textOf(value);
  const url = text === '' ? null : URL.parse(text, base);
  return url && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== ''
    ? url.href
    : undefined;
}

/** Returns the last segment of an address's path, decoded; empty if there is none. */
export function lastSegment(address: string): string {
  const segment =
    URL.parse(address)
      ?.pathname.split('/')
      .findLast((one) => one !== '') ?? '';
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const BLOCK = /^(p|div|br|li|ul|ol|h[1-6]|tr|table|section|article|blockquote|pre|hr)$/;
const HIDDEN = /^(script|style|template)$/;
/** Far more than a summary may have. */
const MAX_PLAIN_CHARACTERS = 100_000;

/** Returns the text of HTML, a block a line. Plain text stays as it is. */
export function plainText(value: unknown): string {
  const html = textOf(value);
  if (!/[<&]/.test(html)) return html.slice(0, MAX_PLAIN_CHARACTERS);
  let text = '';
  let hidden = 0;
  const parser = new Parser({
    onopentag: (name) => {
      if (HIDDEN.test(name)) hidden += 1;
      if (BLOCK.test(name)) text += '\n';
    },
    onclosetag: (name) => {
      if (HIDDEN.test(name)) hidden -= 1;
      if (BLOCK.test(name)) text += '\n';
    },
    ontext: (piece) => {
      if (hidden === 0 && text.length < MAX_PLAIN_CHARACTERS) text += piece.replace(/[^\S\n]+/g, ' ');
    },
  });
  parser.end(html.slice(0, 4 * MAX_PLAIN_CHARACTERS));
  return text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

const BY =
  /^(cc-?by-?4\.0(-international)?|cc-by-attribution-4\.0-international|creative-commons-attribution-4\.0-international(-license|-public-license)?)$/;
const ZERO =
  /^(cc-?0(-1\.0)?(-universal)?|cc-zero|cc0-1\.0-universal-public-domain-dedication|creative-commons-zero-v?1\.0-universal|creative-commons-cc0-1\.0-universal)$/;

/** Returns the licence of packs that an identifier, a name or an address means; null if it is another one. */
export function licenseOf(stated: string): License | null {
  const text = stated.trim().toLowerCase();
  const path = /^https?:\/\/(?:www\.)?creativecommons\.org(\/[^?#]*)/.exec(text)?.[1] ?? '';
  if (/^\/licenses\/by\/4\.0(\/|$)/.test(path)) return 'CC-BY-4.0';
  if (/^\/publicdomain\/zero\/1\.0(\/|$)/.test(path)) return 'CC0-1.0';
  const spdx = /^https?:\/\/(?:www\.)?spdx\.org\/licenses\/([^/?#]+?)(?:\.(?:html|json))?$/.exec(text)?.[1];
  const name = (spdx ?? text).replaceAll(/[\s_()]+/g, '-').replaceAll(/-+/g, '-');
  if (BY.test(name)) return 'CC-BY-4.0';
  return ZERO.test(name) ? 'CC0-1.0' : null;
}
