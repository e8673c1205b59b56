import { createHash, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export interface WarcRecordParts {
  type?: string;
  version?: '1.0' | '1.1';
  uri?: string;
  date?: string;
  id?: string;
  contentType?: string;
  /** Additional named fields, or replacements of the default ones; null omits a field. */
  fields?: Record<string, string | null>;
  block?: string | Buffer;
}

export const NOON = '2020-01-01T12:00:00Z';

/** Returns the bytes of one record; valid unless its parts say otherwise. */
export function record({
  type = 'response',
  version = '1.1',
  uri = 'http://example.com/',
  date = NOON,
  id = `<urn:uuid:${randomUUID()}>`,
  contentType = type === 'resource' ? 'text/html' : 'application/http; msgtype=response',
  fields = {},
  block = '',
}: WarcRecordParts): Buffer {
  const bytes = Buffer.from(block);
  const all: Record<string, string | null> = {
    'WARC-Type': type,
    'WARC-Target-URI': uri,
    'WARC-Date': date,
    'WARC-Record-ID': id,
    'Content-Type': contentType,
    'Content-Length': String(bytes.length),
    ...fields,
  };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}\r\n`],
  );
  return Buffer.concat([
    Buffer.from(`WARC/${version}\r\n${lines.join('')}\r\n`),
    bytes,
    Buffer.from('\r\n\r\n'),
  ]);
}

/** Returns an HTTP response, with `Content-Length` or with the given headers. */
export function http(
  body: string | Buffer,
  { status = 200, headers }: { status?: number; headers?: Record<string, string> } = {},
): Buffer {
  const bytes = Buffer.from(body);
  const all = headers ?? { 'Content-Type': 'text/html', 'Content-Length': String(bytes.length) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Said\r\n${lines.join('')}\r\n`, 'latin1'), bytes]);
}

/** Returns a record with a capture of a page. */
export function response(body: string | Buffer, parts: WarcRecordParts & { status?: number } = {}): Buffer {
  return record({ ...parts, block: parts.block ?? http(body, { status: parts.status ?? 200 }) });
}

function base32(bytes: Buffer): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  const digits = bits.match(/.{1,5}/g) ?? [];
  return digits
    .map((five) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five.padEnd(5, '0'), 2)])
    .join('');
}

export function sha1(body: string | Buffer): string {
  return `sha1:${base32(createHash('sha1').update(body).digest())}`;
}

export function sha256(body: string | Buffer): string {
  return createHash('sha256').update(body).digest('hex');
}

/** Returns a file whose records are gzipped one by one, as the standard recommends. */
export function gzippedByRecord(records: readonly Buffer[]): Buffer {
  return Buffer.concat(records.map((one) => gzipSync(one)));
}
