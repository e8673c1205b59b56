import type { MissingReason } from '../../../../shared/collection/view.ts';
import { decodeText, readBody } from '../../derived/body.ts';
import {
  MAX_ADDED_CHARACTERS,
  MAX_ADDRESS_CHARACTERS,
  MAX_LINKED_ADDRESSES,
  MAX_MISSING,
  MAX_RESOURCE_BYTES,
  MAX_RESOURCES,
  MAX_STYLESHEET_BYTES,
  MAX_STYLESHEETS,
} from '../../derived/limits.ts';
import {
  type HeldCapture,
  type MadePage,
  NotDerivableError,
  type PageTask,
} from '../../derived/process/tasks.ts';

/** A stylesheet that is held. */
interface Stylesheet {
  text: string;
  /** Its address without a fragment. */
  address: string;
}

/**
 * The captures that a page uses. Bytes are read from the archive only. An address that was not looked up yet is noted in
 * `wanted`; the page is made again once it was.
 */
export class Resources {
  readonly #captures: ReadonlyMap<string, HeldCapture | null>;
  readonly #isLast: boolean;
  readonly #used = new Map<string, HeldCapture>();
  readonly #missing = new Map<string, MissingReason>();
  readonly #assets = new Map<string, string | undefined>();
  readonly #wanted = new Set<string>();
  readonly #wantedLinks = new Set<string>();
  #added = 0;
  #sheets = 0;

  constructor({ captures, isLast }: Pick<PageTask, 'captures' | 'isLast'>) {
    this.#captures = new Map(captures);
    this.#isLast = isLast;
  }

  /** The addresses to look up before the page can be made. Empty in the last pass. */
  get wanted(): string[] {
    return this.#isLast ? [] : [...this.#wanted, ...this.#wantedLinks];
  }

  get #isDropped(): boolean {
    return !this.#isLast && this.#wanted.size + this.#wantedLinks.size > 0;
  }

  get used(): MadePage['used'] {
    return [...this.#used].map(([url, { object, moment }]) => ({ url, sha256: object.sha256, moment }));
  }

  get missing(): MadePage['missing'] {
    return [...this.#missing].map(([url, reason]) => ({ url, reason }));
  }

  /** Returns the capture of a linked address, or undefined if none is held. */
  linked(address: string): HeldCapture | undefined {
    const capture = this.#captures.get(address);
    if (capture === undefined && isShort(address) && this.#wantedLinks.size < MAX_LINKED_ADDRESSES)
      this.#wantedLinks.add(address);
    return capture ?? undefined;
  }

  /** Returns whether an address is held. Notes that it is wanted if that is not known yet. */
  has(address: string): boolean {
    return this.#find(address) !== undefined;
  }

  /** Returns the first of several addresses of one image that can be used, as a `data:` URL. Otherwise all are missing. */
  firstOf(addresses: readonly string[]): string | undefined {
    const held = addresses.filter((address) => this.has(address));
    for (const address of held) {
      const url = this.asset(address);
      if (url !== undefined) return url;
    }
    const [first] = addresses;
    if (first !== undefined && held.length === 0) this.asset(first);
    return undefined;
  }

  /** Returns an image, font or recording as a `data:` URL. Notes it as missing if that is not possible. */
  asset(address: string): string | undefined {
    // The page is made again, so only the address matters now.
    if (this.#find(address) && this.#isDropped) return undefined;
    if (!this.#assets.has(address))
      this.#assets.set(
        address,
        this.#read(address, (capture) => readAsset(capture)),
      );
    const url = this.#assets.get(address);
    return url === undefined || !this.#add(address, url.length) ? undefined : url;
  }

  /** Returns a stylesheet. Notes it as missing if that is not possible. */
  stylesheet(address: string): Stylesheet | undefined {
    const text = this.#read(address, ({ object }) => {
      const { bytes, isCut } = readBody(object, MAX_STYLESHEET_BYTES);
      if (isCut) throw new NotDerivableError('too_large', 'The stylesheet is too large.');
      return decodeText(bytes, object.contentType);
    });
    if (text === undefined) return undefined;
    this.#sheets += 1;
    if (this.#sheets > MAX_STYLESHEETS || !this.#add(address, text.length)) {
      this.#noteMissing(address, 'too_large');
      return undefined;
    }
    return { text, address };
  }

  #find(address: string): HeldCapture | undefined {
    const capture = this.#captures.get(address);
    if (capture === undefined && isShort(address) && this.#wanted.size < MAX_RESOURCES)
      this.#wanted.add(address);
    return capture ?? undefined;
  }

  #read(address: string, read: (capture: HeldCapture) => string): string | undefined {
    const capture = this.#find(address);
    if (capture === undefined) {
      this.#noteMissing(address, 'not_held');
      return undefined;
    }
    try {
      const content = read(capture);
      this.#used.set(address, capture);
      return content;
    } catch (error) {
      if (!(error instanceof NotDerivableError)) throw error;
      this.#noteMissing(address, error.reason === 'too_large' ? 'too_large' : 'unreadable');
      return undefined;
    }
  }

  #noteMissing(address: string, reason: MissingReason): void {
    if (this.#missing.has(address) || (isShort(address) && this.#missing.size < MAX_MISSING))
      this.#missing.set(address, reason);
  }

  /** Counts what an address adds to the page. */
  #add(address: string, characters: number): boolean {
    this.#added += characters;
    if (this.#added <= MAX_ADDED_CHARACTERS) return true;
    this.#added -= characters;
    this.#used.delete(address);
    this.#noteMissing(address, 'too_large');
    return false;
  }
}

function readAsset({ object }: HeldCapture): string {
  const { bytes, isCut } = readBody(object, MAX_RESOURCE_BYTES);
  if (isCut) throw new NotDerivableError('too_large', 'The object is too large to be put into a page.');
  return dataUrl(bytes, object.contentType);
}

function isShort(address: string): boolean {
  return address.length <= MAX_ADDRESS_CHARACTERS;
}

/** Types that a browser decodes and does not run. */
const PASSIVE =
  /^(image\/[a-z0-9.+-]+|font\/[a-z0-9.+-]+|audio\/[a-z0-9.+-]+|video\/[a-z0-9.+-]+|application\/(x-)?font-[a-z0-9.+-]+|application\/vnd\.ms-fontobject)$/;

/** Returns bytes as a `data:` URL. A type that could run something is replaced; a browser detects images by their bytes. */
function dataUrl(bytes: Uint8Array, contentType: string | null): string {
  const type = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return `data:${PASSIVE.test(type) ? type : 'application/octet-stream'};base64,${base64}`;
}
