import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Uint8ArrayReader, Uint8ArrayWriter, ZipWriter } from '@zip.js/zip.js';
import { build, type InlineConfig, type Plugin } from 'vite';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const root = dirname(fileURLToPath(import.meta.url));
const out = resolve(root, '../../out');
const folder = resolve(out, 'extension');
const ZIP = resolve(out, 'strongroom-extension.zip');

const FILES = ['popup.html', 'options.html', 'style.css'];
/** The same extension is the same bytes. */
const MODIFIED = new Date(1980, 0, 1);

const COMMON: InlineConfig = { configFile: false, root, publicDir: false, logLevel: 'error' };
const TARGET = {
  outDir: folder,
  emptyOutDir: false,
  target: 'es2023',
  minify: false,
  modulePreload: false,
} as const;

/** Builds the browser extension with the interface: a folder to load unpacked, and a ZIP. */
export function browserExtension(): Plugin {
  return { name: 'strongroom:extension', apply: 'build', writeBundle: buildExtension };
}

async function buildExtension(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const input = Object.fromEntries(
    ['background', 'popup', 'options'].map((name) => [name, resolve(root, `${name}.ts`)]),
  );
  const output = { entryFileNames: '[name].js', chunkFileNames: '[name].js' };
  await build({ ...COMMON, build: { ...TARGET, rolldownOptions: { input, output } } });
  // Pages get no modules: one file that imports nothing.
  const lib = {
    entry: resolve(root, 'inPage.ts'),
    formats: ['iife' as const],
    name: 'inPage',
    fileName: () => 'inPage.js',
  };
  await build({ ...COMMON, build: { ...TARGET, lib } });
  for (const name of FILES) await cp(resolve(root, name), resolve(folder, name));
  await cp(resolve(root, 'icons'), folder, { recursive: true });
  await writeFile(resolve(folder, 'manifest.json'), await manifest());
  await writeFile(ZIP, await zipped());
}

/** The extension has the version of the program. */
async function manifest(): Promise<string> {
  const [own, program] = await Promise.all(
    [resolve(root, 'manifest.json'), resolve(root, '../../package.json')].map((file) =>
      readFile(file, 'utf8'),
    ),
  );
  const { version } = JSON.parse(program ?? '') as { version: string };
  return `${JSON.stringify({ ...(JSON.parse(own ?? '') as object), version }, null, 2)}\n`;
}

/** The files are at the top of the ZIP, as browsers and their shops want them. */
async function zipped(): Promise<Uint8Array> {
  const zip = new ZipWriter(new Uint8ArrayWriter());
  for (const name of (await readdir(folder)).sort())
    await zip.add(name, new Uint8ArrayReader(await readFile(resolve(folder, name))), {
      lastModDate: MODIFIED,
    });
  return zip.close();
}
