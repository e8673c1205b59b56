import { globSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Plugin } from 'vite';

const root = resolve(import.meta.dirname, '../..');

/**
 * Puts the style and the scripts of a copy's pages beside the code that sends them (server/copies/pages). They are in no
 * folder of their own, because a build of the server adds files to a folder that running nodes use.
 */
export function copyPages(): Plugin {
  return {
    name: 'strongroom:copy-pages',
    generateBundle() {
      for (const file of globSync('server/copies/pages/browser/*', { cwd: root }))
        this.emitFile({
          type: 'asset',
          fileName: `copy-pages.${basename(file)}`,
          source: readFileSync(resolve(root, file)),
        });
    },
  };
}
