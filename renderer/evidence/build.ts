import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const root = dirname(fileURLToPath(import.meta.url));

/** Where the node finds the parts of evidence files within the built interface. */
export const EVIDENCE_SCRIPT = 'evidence/check.js';
export const EVIDENCE_STYLE = 'evidence/style.css';

/** Builds the script that evidence files carry: one file that loads nothing. */
export async function buildEvidenceScript(): Promise<string> {
  const built = await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      lib: { entry: resolve(root, 'main.ts'), formats: ['iife'], name: 'evidence' },
    },
  });
  const [bundle] = Array.isArray(built) ? built : [built];
  const chunk = bundle && 'output' in bundle ? bundle.output[0] : undefined;
  if (chunk?.type !== 'chunk') throw new Error('The script of evidence files was not built.');
  return chunk.code;
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
