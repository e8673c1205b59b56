import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** Writes the licences of all bundled packages to one file, because their folders are not in the app. */
export function licences(): Plugin {
  return {
    name: 'strongroom:licences',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((output) =>
        output.type === 'chunk' ? output.moduleIds : [],
      );
      const folders = new Set(modules.map(packageFolderOf).filter((folder) => folder !== undefined));
      this.emitFile({
        type: 'asset',
        fileName: 'licences.txt',
        source: describePackages([...folders].sort()),
      });
    },
  };
}

/** Returns the folder of the package that a module belongs to; undefined for the app's own modules. */
function packageFolderOf(module: string): string | undefined {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
}

/** Lists the packages by the text of their licence, so that each text appears once. */
function describePackages(folders: readonly string[]): string {
  const packages = Map.groupBy(folders, licenceTextOf);
  return [...packages]
    .map(([text, named]) => `${[...new Set(named.map(nameOf))].join('\n')}\n\n${text}\n`)
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function licenceTextOf(folder: string): string {
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  return files
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .join('\n\n');
}

function nameOf(folder: string): string {
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  return `${about.name} ${about.version}${about.license ? ` (${about.license})` : ''}`;
}
