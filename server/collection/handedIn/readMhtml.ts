import { createReadStream } from 'node:fs';
import { MAX_HANDED_IN_BYTES, MAX_HANDED_IN_PARTS } from '../../../shared/collection/handedIn.ts';
import { Problem } from '../../../shared/problems.ts';
import type { StagedBlob, Staging } from '../../store/blobs/staging.ts';
import { parseCaptureUrl, RefusedCaptureError } from '../captures/capture.ts';
import { publicMediaType } from '../record/publicHeaders.ts';
import {
  BrokenEncodingError,
  decoded,
  fieldOf,
  MimeError,
  type MimeFields,
  type MimePart,
  parameterOf,
  readMime,
} from './mime.ts';

/** A part of a saved page whose bytes are staged. */
export interface SavedPart {
  /** The address that the file claims, resolved; `cid:` and the content id if it claims none. */
  name: string | null;
  content_id: string | null;
  content_type: string | null;
  /** What the file says of the part. */
  headers: [string, string][];
  /** Undefined if the bytes could not be decoded. */
  staged: StagedBlob | undefined;
}

/** A saved page (RFC 2557). Its parts are staged; the caller discards them. */
interface SavedPage {
  /** The address of the page. */
  url: string;
  document: SavedPart & { staged: StagedBlob };
  parts: SavedPart[];
}

const LIMITS = {
  parts: MAX_HANDED_IN_PARTS,
  depth: 8,
  headBytes: 65_536,
  allHeadBytes: 8_388_608,
};
const READ_SIZE = 65_536;
const MAX_NAME = 4_096;
const MAX_FIELD = 1_000;
/** The fields that are kept of a part. */
const KEPT_FIELDS: ReadonlySet<string> = new Set([
  'content-type',
  'content-transfer-encoding',
  'content-id',
  'content-location',
]);

/**
 * Reads a saved page from its file, one part after the other, and stages the bytes of each. A part whose bytes cannot be
 * decoded is listed without them.
 *
 * @param url the address that the person says; by default the one in the file
 * @param mediaType of the file, which has the boundary if the file begins with its first part
 * @throws Problem `invalid_capture` if it is not a saved page, is cut off, exceeds a limit or has no document;
 * `invalid_field` if no address is known
 */
export async function readMhtml(
  staging: Pick<Staging, 'stage'>,
  { file, url, mediaType }: { file: string; url: string | undefined; mediaType: string },
): Promise<SavedPage> {
  const parts: SavedPart[] = [];
  try {
    const withoutHead = (await beginsWithPart(file)) ? mediaType : undefined;
    let page: { url: string; start: string | undefined } | undefined;
    for await (const part of readMime(
      createReadStream(file, { highWaterMark: READ_SIZE }),
      LIMITS,
      withoutHead,
    )) {
      page ??= pageOf(part.within[0] ?? part.fields, url);
      parts.push(await savedPart(staging, part, page.url));
    }
    if (!page) throw new MimeError('It has no parts.');
    return { url: page.url, document: documentOf(parts, page), parts };
  } catch (error) {
    for (const { staged } of parts) await staged?.discard();
    if (!(error instanceof MimeError)) throw error;
    throw new Problem('invalid_capture', `This saved page cannot be read: ${error.message}`);
  }
}

async function beginsWithPart(file: string): Promise<boolean> {
  for await (const chunk of createReadStream(file, { end: 1 }))
    return (chunk as Buffer).toString('latin1') === '--';
  return false;
}

/** Reads what the fields of the whole say. @throws Problem `invalid_field` */
function pageOf(fields: MimeFields, given: string | undefined): { url: string; start: string | undefined } {
  const url =
    given ?? addressIn(fields, 'snapshot-content-location') ?? addressIn(fields, 'content-location');
  const normalized = url === undefined ? undefined : httpAddress(url);
  if (normalized === undefined) {
    const message = 'The file does not say which address it shows. Give it as url.';
    throw new Problem('invalid_field', message, { errors: [{ path: '/url', message }] });
  }
  const start = parameterOf(fieldOf(fields, 'content-type') ?? '', 'start');
  return { url: normalized, start: start && withoutBrackets(start) };
}

async function savedPart(
  staging: Pick<Staging, 'stage'>,
  { fields, content }: MimePart,
  base: string,
): Promise<SavedPart> {
  const id = fieldOf(fields, 'content-id');
  const content_id = id === undefined ? null : withoutBrackets(id).slice(0, MAX_FIELD);
  const location = addressIn(fields, 'content-location');
  return {
    name: nameOf(location, base) ?? (content_id === null ? null : `cid:${content_id}`),
    content_id,
    content_type: publicMediaType(fieldOf(fields, 'content-type') ?? null),
    headers: fields.flatMap(keptField),
    staged: await stagePart(staging, content, fieldOf(fields, 'content-transfer-encoding')),
  };
}

/** Returns what is kept of a field. Records are public, and a media type may have the name of a file. */
function keptField([name, value]: MimeFields[number]): [string, string][] {
  const known = name.toLowerCase();
  const kept = known === 'content-type' ? publicMediaType(value) : value.slice(0, MAX_NAME);
  return KEPT_FIELDS.has(known) && kept !== null ? [[name, kept]] : [];
}

async function stagePart(
  staging: Pick<Staging, 'stage'>,
  content: AsyncIterable<Buffer>,
  encoding: string | undefined,
): Promise<StagedBlob | undefined> {
  try {
    return await staging.stage(decoded(content, encoding), MAX_HANDED_IN_BYTES);
  } catch (error) {
    if (error instanceof BrokenEncodingError) return undefined;
    throw error;
  }
}

const ENCODED_WORD = /=\?([\w-]{1,40})(?:\*[\w-]*)?\?([bq])\?([^?\s]*)\?=/gi;

/** Returns the address in a field: without the spaces at which it was folded (RFC 2557, section 4.4), decoded (RFC 2047). */
function addressIn(fields: MimeFields, name: string): string | undefined {
  return fieldOf(fields, name)
    ?.replace(ENCODED_WORD, (whole, charset: string, encoding: string, text: string) => {
      const bytes =
        encoding.toLowerCase() === 'b'
          ? Buffer.from(text, 'base64')
          : Buffer.from(
              text
                .replaceAll('_', ' ')
                .replace(/=([0-9a-f]{2})/gi, (_, code: string) =>
                  String.fromCharCode(Number.parseInt(code, 16)),
                ),
              'latin1',
            );
      try {
        return new TextDecoder(charset).decode(bytes);
      } catch (error) {
        // Nobody knows this encoding.
        if (error instanceof RangeError) return whole;
        throw error;
      }
    })
    .replace(/\s+/g, '');
}

/** Resolves what a file claims as the address of a part. It is only a name: nothing is read from it or written to it. */
function nameOf(location: string | undefined, base: string): string | undefined {
  const url = location === undefined ? null : URL.parse(location, base);
  if (!url) return undefined;
  url.hash = '';
  return url.href.length <= MAX_NAME ? url.href : undefined;
}

/** Returns an address as a source has it; undefined if it is none that this node could fetch. */
export function httpAddress(address: string): string | undefined {
  try {
    return parseCaptureUrl(address);
  } catch (error) {
    if (error instanceof RefusedCaptureError) return undefined;
    throw error;
  }
}

function withoutBrackets(id: string): string {
  return id.replace(/^<|>$/g, '');
}

/**
 * Returns the document of a saved page: the part that the whole names as its start, else the one with the address of the
 * page, else the first page, else the first part (RFC 2557, section 4).
 */
function documentOf(
  parts: readonly SavedPart[],
  { url, start }: { url: string; start: string | undefined },
): SavedPage['document'] {
  const isPage = ({ content_type }: SavedPart) =>
    /^(text\/html|application\/xhtml\+xml)\b/i.test(content_type ?? '');
  const found =
    (start === undefined ? undefined : parts.find(({ content_id }) => content_id === start)) ??
    parts.find((part) => part.name === url && isPage(part)) ??
    parts.find(isPage) ??
    parts[0];
  if (!found?.staged) throw new MimeError('The bytes of its document cannot be decoded.');
  return { ...found, staged: found.staged };
}
