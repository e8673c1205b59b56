import { open } from 'node:fs/promises';
import {
  type HAND_IN_KINDS,
  type HandIn,
  type HandInFields,
  MAX_HANDED_IN_BYTES,
  mayHoldToken,
  type RecordedHandIn,
} from '../../../shared/collection/handedIn.ts';
import { HANDED_IN } from '../../../shared/collection/observers.ts';
import type { PageCapture } from '../../../shared/collection/page.ts';
import type { Settings } from '../../../shared/node/settings.ts';
import { Problem } from '../../../shared/problems.ts';
import { instantOf } from '../../../shared/values/clock.ts';
import { storeWithRepair } from '../../fixity/damages.ts';
import { shuttingDown } from '../../runtime/jobs.ts';
import { type StagedBlob, type StagedFile, TooManyBytesError } from '../../store/blobs/staging.ts';
import { sameHandIn } from '../../store/sqlite/collection/handIns.ts';
import { sourceById } from '../../store/sqlite/collection/sources.ts';
import type { WriteDatabase } from '../../store/sqlite/engine/open.ts';
import { reachedStorageLimit, type Store } from '../../store/store.ts';
import { CaptureSpace } from '../captures/capture.ts';
import type { ObjectReceiver } from '../record/objectReceiver.ts';
import { publicMediaType } from '../record/publicHeaders.ts';
import { normalizeUrl, sourceIdOf } from '../sources/sources.ts';
import { type HandInToRecord, recordHandIn } from './handInRecords.ts';
import { httpAddress, readMhtml, type SavedPart } from './readMhtml.ts';

interface HandedInServices {
  store: Store;
  receiver: ObjectReceiver;
  settings: () => Settings;
  /** Fetches and draws an address as the public gets it. */
  capturePage: (url: string) => Promise<PageCapture>;
}

/** A file that was received. */
export interface ReceivedFile {
  staged: StagedFile;
  mediaType: string | undefined;
  name: string | undefined;
}

/** What was received: the file, and the picture of what was visible if there is one. */
export interface ReceivedHandIn extends ReceivedFile {
  picture?: ReceivedFile | undefined;
}

/** Adds to what was handed in, in the same transaction. */
type AlsoRecord = (database: WriteDatabase, handIn: HandIn) => void;

/** Names of nodes may be longer than those of people. */
const MAX_NAME = 80;
/** Clocks differ. What is seen within this time from now counts as seen now. */
const MAX_AHEAD_MS = 60_000;
/** Parts that are written to the disk at the same time: small ones then share a sync. */
const WRITTEN_AT_ONCE = 64;

const WATCHED_WITH_LOGIN =
  'This address is watched with a login, so it was not fetched as the public gets it.';

/** Takes what a person's own browser showed. */
export class HandedIn {
  readonly #services: HandedInServices;
  readonly #closing: AbortSignal;

  constructor(services: HandedInServices, closing: AbortSignal) {
    this.#services = services;
    this.#closing = closing;
  }

  /**
   * Requires that there is room for any file before one is received. @throws Problem `disk_nearly_full`,
   * `data_cap_reached`, `shutting_down`
   */
  requireRoom(bytes: number): void {
    if (this.#closing.aborted) throw shuttingDown();
    const limit = reachedStorageLimit(this.#services.store, this.#services.settings(), bytes);
    if (limit) throw noRoom(limit);
  }

  /** Receives a file. @throws Problem `body_too_large`; whatever the chunks throw */
  async receive(chunks: AsyncIterable<Uint8Array>, maxBytes = MAX_HANDED_IN_BYTES): Promise<StagedFile> {
    try {
      return await this.#services.store.blobs.staging.stageFile(chunks, maxBytes);
    } catch (error) {
      throw error instanceof TooManyBytesError ? tooLarge(maxBytes) : error;
    }
  }

  /**
   * Keeps a file with its parts, byte for byte, and records them in one transaction, in which they are also withheld. The
   * file is discarded in any case.
   *
   * @param name who hands it in, unless the fields say it
   * @param also adds to it in the same transaction, unless it was handed in before
   * @throws Problem `invalid_field`, `unsupported_media_type`, `invalid_capture`, `disk_nearly_full`, `data_cap_reached`,
   * `shutting_down`
   */
  async handIn(
    received: ReceivedHandIn,
    fields: HandInFields,
    name: string,
    also?: AlsoRecord,
  ): Promise<{ handIn: HandIn; isNew: boolean }> {
    const staged: StagedBlob[] = [received.staged, ...(received.picture ? [received.picture.staged] : [])];
    try {
      requireConfirmed(fields);
      const seen_at = this.#seenAt(fields.seen_at);
      const { staged: file } = received;
      const picture = received.picture && (await requirePicture(received.picture));
      const { kind, mediaType } = await kindOf({ ...received, file: file.file });
      const saved =
        kind === 'mhtml'
          ? await readMhtml(this.#services.store.blobs.staging, {
              file: file.file,
              url: fields.url,
              mediaType,
            })
          : wholeFile(file, mediaType, fields.url);
      for (const part of saved.parts) if (part.staged && part.staged !== file) staged.push(part.staged);
      // The address may be the one in the file.
      requireConfirmed({ ...fields, url: saved.url });
      const observer = HANDED_IN + (fields.name ?? name.slice(0, MAX_NAME));
      const { url } = saved;
      const identity = { file: file.sha256, url, seen_at, observer };
      const same = sameHandIn(this.#services.store.read, identity);
      if (same) return { handIn: same, isNew: false };
      const toRecord: HandInToRecord = {
        ...saved,
        observer,
        seen_at,
        kind,
        title: fields.title || null,
        note: fields.note || null,
        file: { sha256: file.sha256, bytes: file.bytes, media_type: publicMediaType(mediaType) ?? MHTML },
        picture,
        isWithheld: fields.withheld ?? true,
        ...(await this.#publicPage(fields.fetch === true, url)),
      };
      return await this.#keep(staged, (database) => this.#record(database, identity, toRecord, also));
    } finally {
      for (const blob of staged) await blob.discard();
    }
  }

  #seenAt(given: string | undefined): string {
    const { clock } = this.#services.store;
    if (given === undefined) return instantOf(clock.now());
    if (Date.parse(given) > clock.now() + MAX_AHEAD_MS)
      throw invalidField('/seen_at', 'This is in the future.');
    return Date.parse(given) > clock.now() ? instantOf(clock.now()) : given;
  }

  /** Fetches and draws what the public gets. That it cannot be had is recorded, and fails nothing. */
  async #publicPage(isAsked: boolean, url: string): Promise<Pick<HandInToRecord, 'page' | 'page_error'>> {
    if (!isAsked) return { page: null, page_error: null };
    // The public does not get what a login shows.
    const source = sourceById(this.#services.store.read, sourceIdOf(normalizeUrl(url)));
    if (source?.needs_login) return { page: null, page_error: WATCHED_WITH_LOGIN };
    try {
      return { page: (await this.#services.capturePage(url)).id, page_error: null };
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'storage_failed') throw error;
      return { page: null, page_error: error.message };
    }
  }

  /** A browser that sent it twice at once finds it recorded: then nothing is. */
  *#record(
    database: WriteDatabase,
    identity: Parameters<typeof sameHandIn>[1],
    toRecord: HandInToRecord,
    also?: AlsoRecord,
  ): Generator<void, { handIn: HandIn; isNew: boolean }, void> {
    const same = sameHandIn(database, identity);
    if (same) return { handIn: same, isNew: false };
    const handIn = yield* recordHandIn(database, this.#services.store, toRecord);
    also?.(database, handIn);
    return { handIn, isNew: true };
  }

  /** Makes the bytes durable, then records what names them. */
  async #keep(
    staged: readonly StagedBlob[],
    record: (database: WriteDatabase) => Generator<void, { handIn: HandIn; isNew: boolean }, void>,
  ): Promise<{ handIn: HandIn; isNew: boolean }> {
    const { store, receiver } = this.#services;
    if (this.#closing.aborted) throw shuttingDown();
    const space = new CaptureSpace(receiver);
    const blobs = [...new Map(staged.map((blob) => [blob.sha256, blob])).values()];
    try {
      for (let start = 0; start < blobs.length; start += WRITTEN_AT_ONCE)
        await Promise.all(
          blobs.slice(start, start + WRITTEN_AT_ONCE).map((blob) => this.#store(blob, space)),
        );
      return await store.writeInSteps(record);
    } finally {
      space.close();
    }
  }

  /** Makes the bytes durable unless they are already. */
  async #store(blob: StagedBlob, space: CaptureSpace): Promise<void> {
    const { store, receiver, settings } = this.#services;
    if (await receiver.isStored(blob.sha256)) return;
    if (!space.reserve(blob.bytes))
      throw noRoom(reachedStorageLimit(store, settings(), blob.bytes) ?? 'disk_nearly_full');
    await storeWithRepair(store, blob);
  }
}

/** Returns what the record says of a picture. @throws Problem `unsupported_media_type` if it is something else */
async function requirePicture({ staged, ...described }: ReceivedFile): Promise<RecordedHandIn['file']> {
  const { kind, mediaType } = await kindOf({ ...described, file: staged.file });
  if (kind !== 'picture')
    throw new Problem('unsupported_media_type', 'The part “picture” is no PNG, JPEG, WebP or GIF.');
  return { sha256: staged.sha256, bytes: staged.bytes, media_type: mediaType };
}

/** A file that is the document itself. @throws Problem `invalid_field` without an address */
function wholeFile(
  staged: StagedFile,
  mediaType: string,
  given: string | undefined,
): { url: string; document: SavedPart & { staged: StagedBlob }; parts: SavedPart[] } {
  const url = given === undefined ? undefined : httpAddress(given);
  if (url === undefined) {
    const isMissing = given === undefined;
    throw invalidField(
      '/url',
      isMissing ? 'Give the address that it shows.' : 'Enter an address without a name or a password.',
    );
  }
  const document = {
    name: url,
    content_id: null,
    content_type: mediaType,
    headers: [['Content-Type', mediaType]] as [string, string][],
    staged,
  };
  return { url, document, parts: [document] };
}

/** @throws Problem `invalid_field` if an address that may hold a token is to be fetched and the person was not asked */
function requireConfirmed({ url, fetch, fetch_confirmed }: HandInFields): void {
  if (fetch !== true || fetch_confirmed === true || url === undefined || !mayHoldToken(url)) return;
  throw invalidField(
    '/fetch_confirmed',
    'This address may hold a token: who fetches it may act in your name. Confirm that this node may fetch it.',
  );
}

function invalidField(path: string, message: string): Problem {
  return new Problem('invalid_field', message, { errors: [{ path, message }] });
}

/** A file, or a body, has more bytes than a file may have. */
export function tooLarge(maxBytes = MAX_HANDED_IN_BYTES): Problem {
  return new Problem('body_too_large', `A file can have at most ${maxBytes} bytes.`);
}

function noRoom(limit: 'data_cap_reached' | 'disk_nearly_full'): Problem {
  return limit === 'data_cap_reached'
    ? new Problem(limit, 'The archive has reached its data cap. Raise the cap and try again.')
    : new Problem(limit, 'There is too little free disk space for this file. Free some space and try again.');
}

/** A file as the client describes it. */
interface DescribedFile {
  file: string;
  /** The Content-Type that was sent with it. */
  mediaType: string | undefined;
  name: string | undefined;
}

interface FileKind {
  kind: (typeof HAND_IN_KINDS)[number];
  mediaType: string;
}

const HEAD_BYTES = 1_024;
const MAX_MEDIA_TYPE = 300;
const SIGNATURES: readonly (readonly [RegExp, FileKind])[] = [
  // A mark or empty lines may be before it.
  [/^[\s\0\xef\xbb\xbf]{0,1019}%PDF-/, { kind: 'pdf', mediaType: 'application/pdf' }],
  [/^\x89PNG\r\n\x1a\n/, { kind: 'picture', mediaType: 'image/png' }],
  [/^\xff\xd8\xff/, { kind: 'picture', mediaType: 'image/jpeg' }],
  [/^GIF8[79]a/, { kind: 'picture', mediaType: 'image/gif' }],
  [/^RIFF[^]{4}WEBP/, { kind: 'picture', mediaType: 'image/webp' }],
];
const MHTML = 'multipart/related';
const MHTML_TYPES = /^(multipart\/related|message\/rfc822|application\/x-mimearchive)\b/i;
const MHTML_HEAD =
  /^(From|Snapshot-Content-Location|Subject|Date|MIME-Version|Content-Type|X-MAF|X-MimeOLE): ?/i;
const HTML_TYPES = /^(text\/html|application\/xhtml\+xml)\b/i;
const HTML_HEAD = /^(?:\xef\xbb\xbf)?\s*(?:<!--[^]*?-->\s*)*<(?:!doctype html|html|head|body)\b/i;

/**
 * Returns what a file is. The bytes decide, and what was said of them only where they do not.
 *
 * @throws Problem `unsupported_media_type` if it is none of the kinds that can be handed in
 */
export async function kindOf({ file, mediaType = '', name = '' }: DescribedFile): Promise<FileKind> {
  const head = await headOf(file);
  for (const [signature, kind] of SIGNATURES) if (signature.test(head)) return kind;
  const declared = mediaType.slice(0, MAX_MEDIA_TYPE);
  const isHtml = HTML_HEAD.test(head);
  if (!isHtml && (MHTML_TYPES.test(declared) || /\.mht(ml)?$/i.test(name) || MHTML_HEAD.test(head)))
    return { kind: 'mhtml', mediaType: MHTML_TYPES.test(declared) ? declared : MHTML };
  if (isHtml || HTML_TYPES.test(declared) || /\.x?html?$/i.test(name))
    return {
      kind: 'html',
      mediaType: (HTML_TYPES.test(declared) ? publicMediaType(declared) : null) ?? 'text/html',
    };
  throw new Problem(
    'unsupported_media_type',
    'This is no saved page (MHTML), HTML file, PDF, PNG, JPEG, WebP or GIF.',
  );
}

async function headOf(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
