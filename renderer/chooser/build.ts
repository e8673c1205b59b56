import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { buildInlineScript } from '../inlineScript.ts';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const root = dirname(fileURLToPath(import.meta.url));

/** Where the node finds the script within the built interface. */
export const CHOOSER_SCRIPT = 'chooser/choose.js';

/** Builds the script with which a person chooses an element of an archived page. */
export function buildChooserScript(): Promise<string> {
  return buildInlineScript(root, resolve(root, 'main.ts'));
}

/** Adds that script to the built interface. */
export function chooserScript(): Plugin {
  return {
    name: 'strongroom:chooser',
    apply: 'build',
    async generateBundle() {
      this.emitFile({ type: 'asset', fileName: CHOOSER_SCRIPT, source: await buildChooserScript() });
    },
  };
}
