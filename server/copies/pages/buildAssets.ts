import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const folder = resolve(dirname(fileURLToPath(import.meta.url)), 'browser');

/** The scripts of a copy's pages. Each is built to one file that loads nothing. */
const SCRIPTS = ['search.js', 'verify.js'];
const FILES = ['pages.css', 'icon.svg'];
/** The fonts of the interface, for Latin letters. Other letters are those of the reader's machine. */
const FONTS: Readonly<Record<string, string>> = {
  'text.woff2': 'inter/files/inter-latin-wght-normal.woff2',
  'serif.woff2': 'source-serif-4/files/source-serif-4-latin-wght-normal.woff2',
  'mono.woff2': 'source-code-pro/files/source-code-pro-latin-wght-normal.woff2',
};

/** The comments that name the module of each part of a bundle. */
const MODULE_COMMENTS = /^[\t ]*\/\/(?:#region|#endregion)?(?: [\w@./-]+\.[jt]s)?\n/gm;

const built = new Map<string, Promise<string>>();

/** Reads a style, a picture or a font of the pages, or builds a script of them. */
export async function readAsset(name: string): Promise<Buffer> {
  const font = FONTS[name];
  if (font !== undefined)
    return readFile(createRequire(import.meta.url).resolve(`@fontsource-variable/${font}`));
  if (!SCRIPTS.includes(name)) return readFile(resolve(folder, name));
  const known = built.get(name) ?? buildScript(name);
  built.set(name, known);
  return Buffer.from(await known);
}

/** The script is not minified, so that people can read what it does before they rely on it. */
async function buildScript(name: string): Promise<string> {
  const result = await build({
    configFile: false,
    root: folder,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      minify: false,
      lib: { entry: resolve(folder, name.replace('.js', '.ts')), formats: ['iife'], name: 'page' },
    },
  });
  const [bundle] = Array.isArray(result) ? result : [result];
  const chunk = bundle && 'output' in bundle ? bundle.output[0] : undefined;
  if (chunk?.type !== 'chunk') throw new Error(`${name} was not built.`);
  // Where the packages are on the machine that builds differs, and is nobody's business.
  return chunk.code.replace(MODULE_COMMENTS, '');
}

/**
 * Puts the style and the scripts of a copy's pages beside the code that sends them. They are in no folder of their own,
 * because a build of the server adds files to a folder that running nodes use.
 */
export function copyPages(): Plugin {
  return {
    name: 'strongroom:copy-pages',
    async generateBundle() {
      for (const name of [...FILES, ...Object.keys(FONTS), ...SCRIPTS])
        this.emitFile({ type: 'asset', fileName: `copy-pages.${name}`, source: await readAsset(name) });
    },
  };
}
