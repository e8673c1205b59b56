import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@playwright/test';
import { japanesePdfOf } from '../../support/pdf.ts';
import { type PackagedApp, packageApp } from '../support/packagedApp.ts';
import { openScriptedWeb } from '../support/scriptedWeb.ts';

const root = resolve(import.meta.dirname, '../../..');
const FAKE_ELECTRON = ['--import', resolve(import.meta.dirname, '../fakeElectron/register.ts')];
/** The archive once had 46.7 MB, and 17 MB next to it. This limit keeps it from growing again unnoticed. */
const MAX_BYTES = 24_000_000;

let folder: string;
let app: PackagedApp;

// These checks do not need Electron's program; a file with its fuses replaces it.
test.describe('The packaged app', () => {
  test.skip(process.platform !== 'linux', 'This test packages for Linux.');
  test.describe.configure({ mode: 'serial' });

  test.beforeAll(async () => {
    test.setTimeout(300_000);
    folder = await mkdtemp(join(tmpdir(), 'strongroom-packaged-'));
    app = await packageApp(folder);
  });
  test.afterAll(async () => rm(folder, { recursive: true, force: true }));

  test('has its code in the asar archive, and outside only files that the system loads by path', () => {
    expect([...app.unpacked.keys()]).toEqual([
      `node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`,
    ]);
    const packed = [...app.packed.keys()];
    expect(packed).toEqual(
      expect.arrayContaining([
        'package.json',
        'out/main/main.js',
        'out/main/cli.js',
        'out/preload/preload.cjs',
        'out/renderer/index.html',
        ...globSync('server/**/*.worker.ts', { cwd: root }).map(
          (file) => `out/main/${basename(file, '.ts')}.js`,
        ),
      ]),
    );
    expect(packed.filter((path) => /\.(node|dll|so|dylib|exe)$/.test(path))).toEqual([]);
  });

  test('contains no sources, tests or source maps, and all licences', async () => {
    const packed = [...app.packed.keys()];
    const SOURCES = /\.(map|ts|mts|cts|tsx|c|cc|h|gyp|gypi)$/;
    const TESTS = /^node_modules\/.*\/(tests?|__tests__|benchmarks?|docs|examples?|fixtures)\//;
    expect(packed.filter((path) => SOURCES.test(path) || TESTS.test(path))).toEqual([]);
    expect(packed.filter((path) => /^(server|electron|shared|renderer|test|docs)\//.test(path))).toEqual([]);
    // Neither Node nor the browser of a checkout, nor what they need.
    const packages = packed.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
    expect([...new Set(packages)].sort()).toEqual(['better-sqlite3', 'pdfjs-dist']);
    expect(app.archiveBytes).toBeLessThan(MAX_BYTES);
    expect(packed).toEqual(
      expect.arrayContaining(['node_modules/better-sqlite3/LICENSE', 'node_modules/pdfjs-dist/LICENSE']),
    );
  });

  test('lists all packages that the build bundles, with their licences', async () => {
    const imported = importedPackages(
      '{electron,server,shared}/**/*.ts',
      'renderer/{src,evidence}/**/*.{ts,tsx}',
    );
    expect(imported.length).toBeGreaterThan(50);
    const transitive = ['@exodus/bytes', 'entities', 'react-remove-scroll', 'router'];
    const [ofNode = '', ofPages = ''] = ['main', 'renderer'].map((part) =>
      readFileSync(join(app.extracted, `out/${part}/licences.txt`), 'utf8'),
    );
    for (const folder of [...imported, ...transitive].map((name) => `node_modules/${name}`)) {
      if (app.packed.has(`${folder}/package.json`)) continue;
      const licences = globSync(anyCase(`${folder}/licen[cs]e*`), { cwd: root });
      const texts = licences.map((file) => readFileSync(join(root, file), 'utf8').trim());
      for (const text of [nameAndVersion(folder), ...texts])
        expect(ofNode.includes(text) || ofPages.includes(text), `${folder}: ${text}`).toBe(true);
    }
  });

  test('has the fuses that electron-builder.yml sets', () => {
    // The ninth fuse (WebAssembly trap handlers) keeps Electron's default.
    expect(app.fuses).toBe('010011001');
  });

  test('contains every package that its code imports', async () => {
    const texts = await Promise.all(
      [...app.packed.keys()]
        .filter((path) => /^out\/main\/.*\.js$/.test(path))
        .map((path) => readFile(join(app.extracted, path), 'utf8')),
    );
    const imported = texts.flatMap((text) =>
      [
        ...text
          .replaceAll(/^\s*\/\*\*?$[^]*?\*\/$/gm, '')
          .replaceAll(/^\s*\*.*$/gm, '')
          .matchAll(/^(?:import|export) .*?["']([^."'][^"']*)["'];?$|import\(["']([^."'][^"']*)["']\)/gm),
      ].map(([, from, dynamic]) => from ?? dynamic ?? ''),
    );
    const packages = [...new Set(imported)].filter((name) => name !== 'electron' && !isBuiltin(name));
    // All others are bundled.
    expect(packages.sort()).toEqual(['better-sqlite3', 'pdfjs-dist/legacy/build/pdf.mjs']);
    const script = `for (const name of ${JSON.stringify(packages)}) await import(name);`;
    await writeFile(join(app.extracted, 'out/main/importAll.js'), script);
    const { code, stderr } = await runToEnd(['out/main/importAll.js']);
    expect(code, stderr).toBe(0);
  });

  for (const [way, words] of [
    ['under Node', ['out/main/cli.js']],
    ['through the app, with --cli', [...FAKE_ELECTRON, 'out/main/main.js', '--cli']],
  ] as const) {
    test(`runs its command line ${way}, and nodes that read documents`, async () => {
      const version = await runToEnd([...words, '--version']);
      expect(version).toEqual({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
      expect(await runToEnd([...words, 'verify', join(folder, 'nothing')])).toMatchObject({ code: 1 });
      expect(await runToEnd([...words, 'nonsense'])).toMatchObject({ code: 2, stdout: '' });
      const data = await mkdtemp(join(folder, 'data-'));
      const node = await serve([...words, 'serve', '--json', '--port', '0', '--no-collect', '--data', data]);
      expect((await fetch(node.url, { headers: { Accept: 'text/html' } })).status).toBe(200);
      expect(await textOfWatchedPdf(node)).toContain('日本');
      const ended = once(node.child, 'exit');
      node.child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      expect(await runToEnd([...words, 'ledger', 'verify', '--data', data])).toMatchObject({ code: 0 });
      expect(await runToEnd([...words, 'audit', '--data', data])).toMatchObject({ code: 0 });
    });
  }
});

/** Returns the packages that the app's own modules import, except for types. */
function importedPackages(...patterns: string[]): string[] {
  const IMPORT = /^(?:import|export) (?!type )[^;]*?from '([^'.]+)'|import\('([^'.]+)'\)/gm;
  const names = globSync(patterns, {
    cwd: root,
    exclude: ['**/*.config.ts', 'renderer/inlineScripts.ts', 'server/copies/pages/buildAssets.ts'],
  }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(IMPORT)].map(
      ([, from, dynamic]) => from ?? dynamic ?? '',
    ),
  );
  const packages = names.map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? '');
  return [...new Set(packages)].filter((name) => !name.includes(':') && name !== 'electron');
}

function nameAndVersion(folder: string): string {
  const text = readFileSync(join(root, folder, 'package.json'), 'utf8');
  const { name, version } = JSON.parse(text) as { name: string; version: string };
  return `${name} ${version}`;
}

/** Matches file names in any combination of upper and lower case. */
function anyCase(pattern: string): string[] {
  return [pattern, pattern.replace('licen[cs]e', 'LICEN[CS]E'), pattern.replace('licen[cs]e', 'Licen[cs]e')];
}

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...args], { cwd: app.extracted, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function runToEnd(args: readonly string[]): Promise<Ended> {
  const child = start(args);
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

interface Served {
  child: ChildProcess;
  url: string;
  token_file: string;
}

async function serve(args: readonly string[]): Promise<Served> {
  const child = start(args);
  child.stderr?.resume();
  if (child.stdout === null) throw new Error('Its output is not piped.');
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, ...(JSON.parse(line) as Omit<Served, 'child'>) };
  }
  throw new Error('The node ended before it listened.');
}

/** Lets the node watch a PDF whose text needs the character tables of the library; returns the text. */
async function textOfWatchedPdf({ url, token_file }: Served): Promise<string> {
  const web = await openScriptedWeb();
  web.publish('/a.pdf', {
    headers: { 'Content-Type': 'application/pdf' },
    body: japanesePdfOf(Buffer.from([0x93, 0xfa, 0x96, 0x7b])),
  });
  const headers = {
    Authorization: `Bearer ${await readFile(token_file, 'utf8')}`,
    'Content-Type': 'application/json',
  };
  const send = (path: string, body?: object) =>
    fetch(new URL(path, url), { method: 'POST', headers, body: JSON.stringify(body ?? {}) });
  await send('/manage/sources', { url: web.url('/a.pdf'), name: 'A' });
  await send('/manage/collections?wait=true');
  const events = (await (await fetch(new URL('/api/events', url))).json()) as { items: { sha256: string }[] };
  const text = await fetch(new URL(`/archive/${events.items[0]?.sha256}/text`, url));
  await web.close();
  return text.text();
}
