import { extension as extensionOf, lookup } from 'mime-types';

const MAX_NAME_CHARACTERS = 120;
/** Types that say nothing about the content, so that they give no extension. */
const UNINFORMATIVE = /^(application\/(octet-stream|download|x-download|force-download)|binary\/)/i;

const ENCODED: Partial<Record<string, string>> = { gzip: '.gz', 'x-gzip': '.gz', br: '.br', zstd: '.zst' };

export interface NamedObject {
  /** The address that the bytes came from. */
  url: string;
  contentType: string | null;
  /** The content codings of the stored bytes, or null. */
  encoding: string | null;
  headers: readonly (readonly [string, string])[];
  /** The time of the capture. */
  at: string;
}

/**
 * Returns a name for a downloaded object: the one in `Content-Disposition`, else the last segment of its address, else its
 * host and the date. The name has an extension that fits the content type, and no character that a system forbids. Bytes that are stored
 * encoded get the extension of their encoding too.
 */
export function fileNameOf({ encoding, ...object }: NamedObject): string {
  const codings = encoding?.split(', ') ?? [];
  return plainName(object) + codings.map((coding) => ENCODED[coding] ?? '').join('');
}

function plainName({ url, contentType, headers, at }: Omit<NamedObject, 'encoding'>): string {
  const given = safeName(dispositionName(headers) ?? '');
  if (given !== '') return given;
  const { hostname = '', pathname = '' } = URL.parse(url) ?? {};
  const segment = safeName(decoded(pathname.split('/').findLast((part) => part !== '') ?? ''));
  const name = segment === '' ? safeName(`${hostname} ${at.slice(0, 10)}`) : segment;
  const wanted = UNINFORMATIVE.test(contentType ?? '') ? false : extensionOf(contentType ?? '');
  if (wanted === false) return name;
  return hasExtensionFor(name, contentType ?? '', segment !== '') ? name : `${name}.${wanted}`;
}

/** Text is sent as any kind of text, so any known extension of text fits it. */
function hasExtensionFor(name: string, contentType: string, isSegment: boolean): boolean {
  const dot = name.lastIndexOf('.');
  if (!isSegment || dot < 1) return false;
  const byName = lookup(name.slice(dot));
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (byName === false) return false;
  return byName === type || extensionOf(byName) === extensionOf(contentType) || type === 'text/plain';
}

/** Returns the file name of a `Content-Disposition` header (RFC 6266), the extended form first. */
function dispositionName(headers: NamedObject['headers']): string | undefined {
  const value = headers.find(([name]) => name.toLowerCase() === 'content-disposition')?.[1];
  if (value === undefined) return undefined;
  const extended = /filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(value)?.[1];
  if (extended !== undefined) return decoded(extended);
  const quoted = /filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(value)?.[1]?.replace(/\\(.)/g, '$1');
  return quoted ?? /filename\s*=\s*([^;\s"]+)/i.exec(value)?.[1];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

/** Windows and URLs forbid these characters; a name neither begins with a dot nor ends with one. */
function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? '';
  const plain = last
    .toWellFormed()
    .replace(/[<>:"|?*\p{Cc}\p{Cf}\p{Zl}\p{Zp}\ufffd]/gu, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  if (plain.length <= MAX_NAME_CHARACTERS) return plain;
  const end = /\.[a-z0-9]{1,8}$/i.exec(plain)?.[0] ?? '';
  return plain.slice(0, MAX_NAME_CHARACTERS - end.length) + end;
}
