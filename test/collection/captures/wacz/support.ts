import { execFile } from 'node:child_process';
import { createHash, createPublicKey, webcrypto } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { openZip } from '../../../../server/zip/openZip.ts';
import { type BuiltEntry, buildZip } from '../../../support/archive/zipBuilder.ts';
import { type TestNode, temporaryFolder } from '../../../support/node.ts';

const run = promisify(execFile);

interface IndexEntry {
  key: string;
  type: string;
  url: string;
  mime: string;
  status: number;
  digest: string;
  offset: number;
  length: number;
  method?: string;
  requestBody?: string;
}

interface SignedData {
  hash: string;
  created: string;
  software: string;
  version: string;
  signature: string;
  publicKey: string;
  timeSignature?: string;
  timestampCert?: string;
}

/** What a valid package holds. */
export interface ValidPackage {
  names: string[];
  entries: IndexEntry[];
  pages: { id: string; url: string; ts: string; title?: string; text?: string }[];
  records: number;
  digest: { hash: string; signedData?: SignedData };
  package: { created: string; software: string; title: string };
}

export async function exportedPackage(node: TestNode, query = ''): Promise<Buffer> {
  const answer = await node.fetch(`/api/wacz?${query}`);
  expect([answer.status, answer.headers.get('Content-Type')]).toEqual([200, 'application/wacz']);
  return Buffer.from(await answer.arrayBuffer());
}

/** Validates a package by the specifications alone: with Python, and its signature as a browser does. */
export async function validated(bytes: Buffer): Promise<ValidPackage> {
  const file = join(await temporaryFolder(), 'package.wacz');
  await writeFile(file, bytes);
  const { stdout } = await run('python3', [join(import.meta.dirname, 'validateWacz.py'), file], {
    maxBuffer: 64 * 1024 * 1024,
  });
  const found = JSON.parse(stdout) as ValidPackage;
  const { signedData, hash } = found.digest;
  if (signedData) {
    expect([signedData.hash, signedData.created]).toEqual([hash, found.package.created]);
    expect(await verifiesInBrowser(signedData)).toBe(true);
  }
  return found;
}

/** Returns the files of a package. */
export async function unzipped(bytes: Buffer): Promise<Record<string, Buffer>> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'package.wacz'), bytes);
  const zip = await openZip(join(folder, 'package.wacz'), LIMITS);
  const files: Record<string, Buffer> = {};
  for (const member of zip.members) files[member.name] = await buffer(member.read());
  await zip.close();
  return files;
}

const LIMITS = { maxEntries: 10_000, maxBytes: 1_000_000_000 };

/** Verifies a signature with WebCrypto, as ArchiveWeb.page makes it. */
async function verifiesInBrowser({ hash, signature, publicKey }: SignedData): Promise<boolean> {
  const { subtle } = webcrypto;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-384' };
  const key = await subtle.importKey('spki', Buffer.from(publicKey, 'base64'), algorithm, true, ['verify']);
  const how = { name: 'ECDSA', hash: 'SHA-256' };
  return subtle.verify(how, key, Buffer.from(signature, 'base64'), new TextEncoder().encode(hash));
}

/** Signs a hash with WebCrypto, as ArchiveWeb.page does. */
export async function signedInBrowser(hash: string): Promise<Record<string, string>> {
  const { subtle } = webcrypto;
  const algorithm = { name: 'ECDSA', namedCurve: 'P-384' };
  const { privateKey, publicKey } = await subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const how = { name: 'ECDSA', hash: 'SHA-256' };
  const signature = Buffer.from(await subtle.sign(how, privateKey, new TextEncoder().encode(hash)));
  const spki = Buffer.from(await subtle.exportKey('spki', publicKey));
  expect(createPublicKey({ key: spki, format: 'der', type: 'spki' }).asymmetricKeyType).toBe('ec');
  return {
    hash,
    signature: signature.toString('base64'),
    publicKey: spki.toString('base64'),
    created: '2024-04-17T17:02:07.848Z',
    software: 'Webrecorder ArchiveWeb.page 0.11.3, using warcio.js 2.2.0',
  };
}

export function digestOf(bytes: Buffer | string, algorithm = 'sha256'): string {
  return `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
}

/** What a package by another program holds. Members that are not set have valid defaults. */
export interface PackageParts {
  files?: Record<string, Buffer | string>;
  /** Of the digests in the list. */
  algorithm?: string;
  /** Changes of the list, after its resources were computed. */
  list?: (list: PackageList) => object;
  /** The digest file; null for none. */
  digest?: ((hash: string) => Promise<object> | object) | null;
  entries?: (entries: BuiltEntry[]) => BuiltEntry[];
}

interface PackageList {
  profile?: string;
  wacz_version?: string;
  resources: { name: string; path: string; hash: string; bytes: number }[];
}

const PAGE_LIST = [
  { format: 'json-pages-1.0', id: 'pages', title: 'All Pages' },
  { id: '1db0ef709a', url: 'http://example.com/', ts: '2020-01-01T12:00:00Z', title: 'Example' },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');

/** Builds a package with these WARC files, as the specification says. */
export async function builtPackage(
  warcs: Record<string, Buffer>,
  {
    files = {},
    algorithm = 'sha256',
    list = (same) => same,
    digest = (hash) => ({ path: 'datapackage.json', hash }),
    entries = (same) => same,
  }: PackageParts = {},
): Promise<Buffer> {
  const archive = Object.entries(warcs).map(([name, bytes]): [string, Buffer] => [`archive/${name}`, bytes]);
  const all: [string, Buffer | string][] = [
    ...archive,
    ['indexes/index.cdxj', 'com,example)/ 20200101120000 {}\n'],
    ['pages/pages.jsonl', PAGE_LIST],
    ...Object.entries(files),
  ];
  const resources = all.map(([path, bytes]) => ({
    name: path.slice(path.lastIndexOf('/') + 1).toLowerCase(),
    path,
    hash: digestOf(bytes, algorithm),
    bytes: Buffer.byteLength(bytes),
  }));
  const listText = JSON.stringify(list({ profile: 'data-package', wacz_version: '1.1.1', resources }));
  const built: BuiltEntry[] = [
    ...all.map(([name, data]) => ({ name, data })),
    { name: 'datapackage.json', data: listText },
  ];
  if (digest)
    built.push({ name: 'datapackage-digest.json', data: JSON.stringify(await digest(digestOf(listText))) });
  return buildZip(entries(built));
}
