import { execFileSync } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeTestNodes, openTestNode, temporaryFolder } from '../../../support/node.ts';
import { runHere } from '../../../support/runHere.ts';
import { gzippedByRecord, record, response, sha1 } from '../../../support/warcFiles.ts';
import { CollectingNode } from '../../support.ts';
import { imported, sendFile } from '../support.ts';
import { builtPackage, digestOf, type PackageParts, signedInBrowser } from './support.ts';

let node: CollectingNode;

beforeEach(async () => {
  node = new CollectingNode(await openTestNode());
});
afterEach(closeTestNodes);

const WACZ = { type: 'application/wacz' };
const ONE = { 'data.warc.gz': gzippedByRecord([response('one')]) };

/** What Browsertrix keeps of a page besides the answers. */
const VIEW = record({
  type: 'resource',
  uri: 'urn:view:http://example.com/',
  contentType: 'image/png',
  block: 'PNG',
});

describe('importing a WACZ package', () => {
  test.each<[string, PackageParts]>([
    [
      '1.1.1, as ArchiveWeb.page signs it',
      {
        digest: async (hash) => ({ path: 'datapackage.json', hash, signedData: await signedInBrowser(hash) }),
      },
    ],
    [
      '1.1.1, signed with the key of a domain',
      {
        digest: async (hash) => ({ path: 'datapackage.json', hash, signedData: await signedByDomain(hash) }),
      },
    ],
    ['1.1.1 without datapackage-digest.json', { digest: null }],
    [
      '1.0.0 with its digests in stats',
      {
        list: ({ resources }) => ({
          profile: 'data-package',
          wacz_version: '1.0.0',
          resources: resources.map(({ path, hash, bytes }) => ({
            path,
            stats: { hash: hash.slice(7), bytes },
            hashing: 'sha256',
          })),
        }),
      },
    ],
    [
      '1.1.0 with MD5, as py-wacz can write it',
      { algorithm: 'md5', list: (list) => ({ ...list, wacz_version: '1.1.0' }) },
    ],
    ['1.2.0', { list: (list) => ({ ...list, profile: 'wacz', wacz_version: '1.2.0' }) }],
    ['1.2 without its version', { list: ({ resources }) => ({ profile: 'wacz', resources }) }],
    ['whose files are deflated', { entries: (entries) => entries.map((entry) => ({ ...entry, method: 8 })) }],
  ])('reads %s', async (_what, parts) => {
    const result = await imported(node, await builtPackage(ONE, parts), WACZ);
    expect(result).toMatchObject({ captures: 1, pages: 1, events: [1], refused: [] });
    expect(await node.events()).toMatchObject([
      { observer: 'Archive', original_observed_at: '2020-01-01T12:00:00.000Z' },
    ]);
  });

  test('takes application/zip too, and reads several WARC files as one', async () => {
    const revisit = record({
      type: 'revisit',
      date: '2020-01-02T00:00:00Z',
      fields: {
        'WARC-Payload-Digest': sha1('one'),
        'WARC-Profile': 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest',
      },
    });
    // Crawlers with several workers refer to what another worker wrote.
    const warcs = {
      'a.warc': revisit,
      'b.warc.gz': gzippedByRecord([
        response('one', { fields: { 'WARC-Payload-Digest': sha1('one') } }),
        VIEW,
      ]),
    };
    const result = await imported(node, await builtPackage(warcs), { type: 'application/zip' });
    expect(result).toMatchObject({ captures: 2, pages: 1, refused: [{ reason: 'not_http', count: 1 }] });
  });

  test('reads what Python writes, streamed or not', async () => {
    const folder = await temporaryFolder();
    const warc = join(folder, 'data.warc.gz');
    await writeFile(warc, ONE['data.warc.gz']);
    execFileSync('python3', ['-c', WRITE_WITH_PYTHON, warc, join(folder, 'one.wacz')]);
    expect(await imported(node, await readFile(join(folder, 'one.wacz')), WACZ)).toMatchObject({
      captures: 1,
    });
  });

  test.each<[string, PackageParts, RegExp]>([
    [
      'a WARC file that was changed',
      changing('archive/data.warc.gz', gzippedByRecord([response('two')])),
      /archive\/data\.warc\.gz.* was changed/,
    ],
    ['pages that were changed', changing('pages/pages.jsonl', 'x'), /pages\/pages\.jsonl.* was changed/],
    [
      'a list that was changed',
      { digest: () => ({ path: 'datapackage.json', hash: digestOf('another') }) },
      /datapackage\.json was changed/,
    ],
    [
      'another size',
      { list: (list) => ({ ...list, resources: list.resources.map((each) => ({ ...each, bytes: 1 })) }) },
      /was changed/,
    ],
    [
      'a signature by another key',
      {
        digest: async (hash) => ({
          path: 'datapackage.json',
          hash,
          signedData: {
            ...(await signedInBrowser(hash)),
            publicKey: (await signedInBrowser(hash)).publicKey,
          },
        }),
      },
      /signature is not valid/,
    ],
    [
      'a signature over another list',
      {
        digest: async (hash) => ({
          path: 'datapackage.json',
          hash,
          signedData: await signedInBrowser(digestOf('x')),
        }),
      },
      /signature is not valid/,
    ],
    [
      'a signature without a key',
      { digest: (hash) => ({ path: 'datapackage.json', hash, signedData: { hash, signature: 'AA==' } }) },
      /signature is not valid/,
    ],
    [
      'a WARC file that is not listed',
      { list: (list) => ({ ...list, resources: list.resources.slice(1) }) },
      /does not list/,
    ],
    [
      'a listed file that is missing',
      {
        list: (list) => ({ ...list, resources: [...list.resources, { path: 'logs/x', hash: digestOf('') }] }),
      },
      /lacks/,
    ],
    [
      'a file that leads elsewhere',
      { list: (list) => ({ ...list, resources: [...list.resources, { path: '../x', hash: digestOf('') }] }) },
      /lacks/,
    ],
    [
      'the same file listed twice',
      { list: (list) => ({ ...list, resources: [...list.resources, ...list.resources] }) },
      /twice/,
    ],
    [
      'a file without a digest',
      {
        list: ({ resources: [first, ...rest], ...list }) => ({
          ...list,
          resources: [{ path: first?.path }, ...rest],
        }),
      },
      /no digest/,
    ],
    [
      'an unknown digest',
      {
        list: ({ resources: [first, ...rest], ...list }) => ({
          ...list,
          resources: [{ ...first, hash: 'crc:00' }, ...rest],
        }),
      },
      /no digest/,
    ],
    ['version 2.0.0', { list: (list) => ({ ...list, wacz_version: '2.0.0' }) }, /1\.0 to 1\.2/],
    [
      'a package of packages',
      { list: (list) => ({ ...list, profile: 'multi-wacz-package' }) },
      /another kind/,
    ],
    [
      'a list that is not JSON',
      { digest: null, entries: (entries) => replaced(entries, 'datapackage.json', '{') },
      /not JSON/,
    ],
    [
      'no datapackage.json',
      { entries: (entries) => entries.filter(({ name }) => name !== 'datapackage.json') },
      /no datapackage\.json/,
    ],
    [
      'two lists',
      { entries: (entries) => [...entries, { name: 'datapackage.json', data: '{}' }] },
      /same name/,
    ],
    [
      'an unsafe name',
      { entries: (entries) => [...entries, { name: '../escape', data: 'x' }] },
      /cannot be read/,
    ],
    [
      'a symbolic link',
      { entries: (entries) => [...entries, { name: 'link', data: '/etc/passwd', mode: 0o120777 }] },
      /symbolic link/,
    ],
    [
      'a bomb',
      {
        entries: (entries) => [
          ...entries,
          { name: 'bomb', method: 8, data: 'x', both: { uncompressed: 0xffff_fff0 } },
        ],
      },
      /cannot be read/,
    ],
    [
      'bytes before the first file',
      { entries: ([first, ...rest]) => [{ ...first, before: Buffer.from('x') }, ...rest] as never },
      /cannot be read|not a WARC/,
    ],
  ])('refuses %s, and keeps nothing', async (_what, parts, sentence) => {
    const answer = await sendFile(node, await builtPackage(ONE, parts), WACZ);
    const problem = (await answer.json()) as { code: string; detail: string };
    expect([answer.status, problem.code]).toEqual([422, 'invalid_capture']);
    expect(problem.detail).toMatch(sentence);
    expect(await node.events()).toEqual([]);
    expect(await node.read('/api/sources')).toMatchObject({ total: 0 });
  });

  test('refuses a package without a WARC file', async () => {
    const answer = await sendFile(node, await builtPackage({}), WACZ);
    expect([answer.status, await answer.json()]).toMatchObject([
      422,
      { detail: expect.stringContaining('no WARC file') },
    ]);
  });

  test('is imported on the command line, with no node running and by a running node', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'crawl-7.wacz');
    const info = record({
      type: 'warcinfo',
      contentType: 'application/warc-fields',
      block: 'operator: A Library\r\n',
    });
    await writeFile(file, await builtPackage({ 'data.warc.gz': gzippedByRecord([info, response('one')]) }));
    const run = async () =>
      JSON.parse(
        (await runHere(['import', file, '--data', join(folder, 'data'), '--json'])).stdout,
      ) as object;
    expect(await run()).toMatchObject({
      ok: true,
      kind: 'captures',
      observer: 'A Library',
      captures: 1,
      pages: 1,
    });
    const running = await openTestNode({ dataFolder: join(folder, 'data') });
    expect(await run()).toMatchObject({ ok: true, observer: 'A Library', captures: 0, already_held: 1 });
    await running.close();
  });
});

function changing(path: string, data: Buffer | string): PackageParts {
  return { entries: (entries) => replaced(entries, path, data) };
}

function replaced<Entry extends { name: string | Buffer }>(
  entries: Entry[],
  path: string,
  data: Buffer | string,
): Entry[] {
  return entries.map((entry) => (entry.name === path ? { ...entry, data } : entry));
}

/** Signs as authsign does: ECDSA P-256 in DER, with a certificate. */
async function signedByDomain(hash: string): Promise<object> {
  const folder = await temporaryFolder();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  await writeFile(join(folder, 'key.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const args = [
    'req',
    '-x509',
    '-key',
    'key.pem',
    '-subj',
    '/CN=signing.example',
    '-days',
    '9',
    '-out',
    'cert.pem',
  ];
  execFileSync('openssl', args, { cwd: folder });
  return {
    hash,
    created: '2024-06-06T16:14:01Z',
    software: 'authsigner 0.5.0',
    signature: sign('sha256', Buffer.from(hash), privateKey).toString('base64'),
    domain: 'signing.example',
    domainCert: await readFile(join(folder, 'cert.pem'), 'utf8'),
  };
}

const WRITE_WITH_PYTHON = `
import hashlib, json, sys, zipfile
class Pipe:
    def __init__(self, file): self.file = file
    def write(self, data): return self.file.write(data)
    def flush(self): self.file.flush()
warc = open(sys.argv[1], 'rb').read()
with open(sys.argv[2], 'wb') as out, zipfile.ZipFile(Pipe(out), 'w') as package:
    package.writestr('archive/data.warc.gz', warc)
    pages = b'{"format": "json-pages-1.0", "id": "pages"}\\n'
    package.writestr('pages/pages.jsonl', pages, zipfile.ZIP_DEFLATED)
    resources = [{'name': p.split('/')[1], 'path': p, 'hash': 'sha256:' + hashlib.sha256(d).hexdigest(), 'bytes': len(d)}
                 for p, d in [('archive/data.warc.gz', warc), ('pages/pages.jsonl', pages)]]
    listed = json.dumps({'profile': 'data-package', 'resources': resources, 'wacz_version': '1.1.1', 'software': 'py-wacz 0.4.9'}, indent=2)
    package.writestr('datapackage.json', listed, zipfile.ZIP_DEFLATED)
    digest = {'path': 'datapackage.json', 'hash': 'sha256:' + hashlib.sha256(listed.encode()).hexdigest()}
    package.writestr('datapackage-digest.json', json.dumps(digest), zipfile.ZIP_DEFLATED)
`;
