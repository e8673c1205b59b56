import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vite';
import { buildInlineScript } from '../inlineScript.ts';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const root = dirname(fileURLToPath(import.meta.url));

/** Where the node finds the parts of evidence files within the built interface. */
export const EVIDENCE_SCRIPT = 'evidence/check.js';
export const EVIDENCE_STYLE = 'evidence/style.css';

/** Builds the script that evidence files carry. */
export function buildEvidenceScript(): Promise<string> {
  return buildInlineScript(root, resolve(root, 'main.ts'));
}

export function readEvidenceStyle(): Promise<string> {
  return readFile(resolve(root, 'style.css'), 'utf8');
}

/** Adds the parts of evidence files to the built interface. */
export function evidenceParts(): Plugin {
  return {
    name: 'strongroom:evidence',
    apply: 'build',
    async generateBundle() {
      this.emitFile({ type: 'asset', fileName: EVIDENCE_SCRIPT, source: await buildEvidenceScript() });
      this.emitFile({ type: 'asset', fileName: EVIDENCE_STYLE, source: await readEvidenceStyle() });
    },
  };
}
