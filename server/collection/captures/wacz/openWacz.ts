import { createHash, createPublicKey, type KeyObject, verify, X509Certificate } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { z } from 'zod';
import { MAX_CAPTURE_UNPACKED_BYTES } from '../../../../shared/limits.ts';
import { Problem } from '../../../../shared/problems.ts';
import { type OpenZip, openZip, type ZipMember } from '../../../zip/openZip.ts';
import type { OpenBytes } from '../warc/decompress.ts';

/** A package whose every digest was checked. */
interface OpenedPackage {
  /** Its WARC files, in the order of their names. */
  warcs: OpenBytes[];
  /** How many pages it lists. */
  pages: number;
  /** Files that no digest in it covers. Nothing reads them. */
  unlisted: ZipMember[];
  /** Files of which it has only a digest that other bytes can be made to have (MD5, SHA-1). */
  weak: string[];
  /** The public key (SPKI, in base64) whose signature of its list is valid; undefined if nobody signed it. */
  signer: string | undefined;
  close: () => Promise<void>;
}

const MAX_ENTRIES = 100_000;
/** Limit on the files that are read into memory. */
const MAX_JSON_BYTES = 33_554_432;
const LIST = 'datapackage.json';
const LIST_DIGEST = 'datapackage-digest.json';
const PAGES = 'pages/pages.jsonl';

/**
 * Opens a WACZ package (1.0 to 1.2) and reads all of it once: nothing in it is used before every stated digest was found
 * to be right. WARC files that the list does not name are refused, because no digest covers them.
 *
 * @throws Problem `invalid_capture`; the signal's reason
 */
export async function openWacz(file: string, signal: AbortSignal): Promise<OpenedPackage> {
  const zip = await openPackage(file);
  try {
    return await checked(zip, signal);
  } catch (error) {
    await zip.close();
    throw asRefusal(error);
  }
}

/** Opens the first WARC file of a package, unchecked, to read what it states about itself. @throws Problem `invalid_capture` */
export async function openFirstWarc(
  file: string,
): Promise<Pick<OpenedPackage, 'close'> & { open: OpenBytes }> {
  const zip = await openPackage(file);
  const [first] = warcsIn(zip.members);
  return { open: first ? () => first.read() : async function* () {}, close: () => zip.close() };
}

async function openPackage(file: string): Promise<OpenZip> {
  try {
    return await openZip(file, { maxEntries: MAX_ENTRIES, maxBytes: MAX_CAPTURE_UNPACKED_BYTES });
  } catch (error) {
    throw asRefusal(error);
  }
}

function warcsIn(members: readonly ZipMember[]): ZipMember[] {
  return members
    .filter(({ name }) => /^archive\/[^/]+\.warc(\.gz)?$/i.test(name))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

async function checked(zip: OpenZip, signal: AbortSignal): Promise<OpenedPackage> {
  const { members } = zip;
  const byName = new Map(members.map((member) => [member.name, member]));
  if (byName.size < members.length) refuse('It has two files of the same name.');
  const list = byName.get(LIST);
  if (!list) return refuse('It has no datapackage.json.');
  const listBytes = await readJson(list);
  const { signer, isWeak } = await checkListDigest(byName.get(LIST_DIGEST), listBytes);
  const { resources } = parsed(packageSchema, listBytes, LIST);
  const named = new Set<string>();
  let pages = 0;
  for (const resource of resources) {
    signal.throwIfAborted();
    const member = byName.get(resource.path);
    if (!member || member.folder) return refuse(`It lacks ${JSON.stringify(resource.path)}, which it lists.`);
    if (named.has(resource.path)) refuse(`It lists ${JSON.stringify(resource.path)} twice.`);
    named.add(resource.path);
    const lines = await checkResource(member, resource, signal);
    if (resource.path === PAGES) pages = lines;
  }
  const warcs = warcsIn(members);
  if (warcs.length === 0) refuse('It has no WARC file in archive/.');
  const unnamed = warcs.find(({ name }) => !named.has(name));
  if (unnamed) refuse(`It does not list ${JSON.stringify(unnamed.name)}, so no digest covers that file.`);
  const unlisted = membersWithContent(members).filter(
    ({ name }) => name !== LIST && name !== LIST_DIGEST && !named.has(name),
  );
  const opened = warcs.map((warc) => () => warc.read());
  const weak = resources.filter(({ digest }) => isWeakDigest(digest)).map(({ path }) => path);
  if (isWeak) weak.unshift(LIST);
  return { warcs: opened, pages, unlisted, weak, signer, close: () => zip.close() };
}

/** Leaves out the entries of folders that contain other members. Many programs add them, and they have no content. */
function membersWithContent(members: readonly ZipMember[]): ZipMember[] {
  const names = members.map(({ name }) => name).sort();
  const next = new Map(names.map((name, index) => [name, names[index + 1] ?? '']));
  return members.filter(
    ({ name, folder, bytes }) => !(folder && bytes === 0 && next.get(name)?.startsWith(name)),
  );
}

/** A digest with its algorithm. Without one, its length tells it. Earlier packages have it in `stats`. */
const resourceSchema = z
  .object({
    path: z.string(),
    hash: z.string().optional(),
    bytes: z.number().optional(),
    stats: z.object({ hash: z.string().optional(), bytes: z.number().optional() }).optional(),
  })
  .transform(({ path, hash, bytes, stats }, context) => {
    const digest = parseDigest(hash ?? stats?.hash ?? '');
    if (digest) return { path, digest, bytes: bytes ?? stats?.bytes };
    context.addIssue(`${JSON.stringify(path)} has no digest that can be checked.`);
    return z.NEVER;
  });
type Resource = z.output<typeof resourceSchema>;

const packageSchema = z.object({
  profile: z
    .enum(['data-package', 'wacz', 'wacz-package'], 'It is a package of packages, or of another kind.')
    .optional(),
  wacz_version: z
    .string()
    .regex(/^1\.[012](\.\d+)?$/, 'Only the versions 1.0 to 1.2 can be read.')
    .optional(),
  resources: z.array(resourceSchema).max(MAX_ENTRIES),
});

interface Digest {
  algorithm: string;
  hex: string;
}

const ALGORITHM_OF_LENGTH: Readonly<Record<number, string>> = {
  32: 'md5',
  40: 'sha1',
  64: 'sha256',
  128: 'sha512',
};

function isWeakDigest({ algorithm }: Digest): boolean {
  return algorithm === 'md5' || algorithm === 'sha1';
}

function parseDigest(text: string): Digest | undefined {
  const [, stated, hex] = /^(?:(md5|sha-?1|sha-?256|sha-?512):)?([0-9a-f]+)$/i.exec(text) ?? [];
  const algorithm = ALGORITHM_OF_LENGTH[hex?.length ?? 0];
  if (hex === undefined || algorithm === undefined) return undefined;
  if (stated !== undefined && stated.toLowerCase().replace('-', '') !== algorithm) return undefined;
  return { algorithm, hex: hex.toLowerCase() };
}

/** Reads a file and compares it with its digest and its size. Returns how many pages it lists, if it is a list of pages. */
async function checkResource(
  member: ZipMember,
  { path, digest, bytes }: Resource,
  signal: AbortSignal,
): Promise<number> {
  const hash = createHash(digest.algorithm);
  const counter = new PageCounter();
  for await (const chunk of member.read()) {
    signal.throwIfAborted();
    hash.update(chunk);
    if (path === PAGES) counter.add(chunk);
  }
  if (hash.digest('hex') !== digest.hex || (bytes !== undefined && bytes !== member.bytes))
    refuse(`${JSON.stringify(path)} was changed: it does not have the digest and the size that it lists.`);
  return counter.pages;
}

const LINE_END = '\n'.charCodeAt(0);

/** Counts the lines after the first one, which describes the list. Empty lines do not count. */
class PageCounter {
  #lines = 0;
  #isEmpty = true;

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(LINE_END, at);
      if (end !== at) {
        if (this.#isEmpty) this.#lines += 1;
        this.#isEmpty = false;
      }
      if (end < 0) return;
      this.#isEmpty = true;
      at = end + 1;
    }
  }

  get pages(): number {
    return Math.max(0, this.#lines - 1);
  }
}

/** A signature as wacz-auth 0.1.0 describes it: by a key, or by the key of a domain's certificate. */
const signedDataSchema = z.object({
  hash: z.string(),
  signature: z.string(),
  publicKey: z.string().optional(),
  /** PEM; the first certificate is that of the domain. */
  domainCert: z.string().optional(),
});
type SignedData = z.output<typeof signedDataSchema>;

const listDigestSchema = z.object({
  path: z.literal(LIST),
  hash: z.string(),
  signedData: signedDataSchema.nullish(),
});

/**
 * Checks the digest of the list, and its signature if there is one. A signature that does not verify refuses the package.
 * Returns the public key that made it, if there is one, and whether the digest is weak.
 */
async function checkListDigest(
  member: ZipMember | undefined,
  list: Buffer,
): Promise<{ signer: string | undefined; isWeak: boolean }> {
  if (!member) return { signer: undefined, isWeak: false };
  const { hash, signedData } = parsed(listDigestSchema, await readJson(member), LIST_DIGEST);
  const digest = parseDigest(hash);
  if (!digest || createHash(digest.algorithm).update(list).digest('hex') !== digest.hex)
    return refuse('datapackage.json was changed: it does not have the digest in datapackage-digest.json.');
  const isWeak = isWeakDigest(digest);
  if (!signedData) return { signer: undefined, isWeak };
  const fault =
    signedData.hash === hash ? describeWrongSignature(signedData) : 'It covers a different datapackage.json.';
  if (fault !== undefined) refuse(`Its signature is not valid. ${fault}`);
  return { signer: keyOf(signedData)?.export({ format: 'der', type: 'spki' }).toString('base64'), isWeak };
}

/**
 * Verifies a signature, and returns in a sentence why it does not hold; undefined if it does. Whose the key is, and whether
 * a certificate is trusted, is not for this node to say.
 */
function describeWrongSignature({ hash, signature, ...by }: SignedData): string | undefined {
  const key = keyOf(by);
  if (!key) return 'It has no public key that can be read.';
  const bytes = Buffer.from(signature, 'base64');
  // Browsers write the two numbers one after the other, other programs in DER.
  const holds = (['ieee-p1363', 'der'] as const).some((dsaEncoding) => {
    try {
      return verify('sha256', Buffer.from(hash), { key, dsaEncoding }, bytes);
    } catch {
      // Bytes that are no signature in this encoding do not verify.
      return false;
    }
  });
  return holds ? undefined : 'It was made with another key or for another hash.';
}

function keyOf({
  publicKey,
  domainCert,
}: Pick<SignedData, 'publicKey' | 'domainCert'>): KeyObject | undefined {
  try {
    if (domainCert !== undefined) return new X509Certificate(domainCert).publicKey;
    if (publicKey === undefined) return undefined;
    return createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

async function readJson(member: ZipMember): Promise<Buffer> {
  if (member.bytes > MAX_JSON_BYTES) refuse(`${member.name} has more than ${MAX_JSON_BYTES} bytes.`);
  return buffer(member.read());
}

function parsed<Schema extends z.ZodType>(schema: Schema, bytes: Buffer, name: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch {
    return refuse(`${name} is not JSON.`);
  }
  const result = schema.safeParse(value);
  return result.success
    ? result.data
    : refuse(`${name}: ${result.error.issues[0]?.message ?? 'It is malformed.'}`);
}

function refuse(why: string): never {
  throw new Problem('invalid_capture', `This WACZ package cannot be read. ${why}`);
}

/** The problems of a ZIP are those of the package. Others, such as errors of the disk, stay what they are. */
function asRefusal(error: unknown): unknown {
  if (!(error instanceof Problem) || error.code === 'invalid_capture') return error;
  const detail = `This WACZ package cannot be read. ${error.message}`;
  return new Problem('invalid_capture', detail, { cause: error });
}
