import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

/*
 * The scripts that stand in documents: in evidence files, and in the archived page in which a person chooses an element.
 * Each is one file that loads nothing.
 */

/** Where the node finds them, and the style of evidence files, within the built interface. */
export const CHOOSER_SCRIPT = 'chooser/choose.js';
export const EVIDENCE_SCRIPT = 'evidence/check.js';
export const EVIDENCE_STYLE = 'evidence/style.css';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const folder = dirname(fileURLToPath(import.meta.url));

/** Builds the script with which a person chooses an element of an archived page. */
export function buildChooserScript(): Promise<string> {
  return buildScript(resolve(folder, 'chooser'));
}

/** Builds the script that evidence files carry. It knows the style beside it. */
export async function buildEvidenceScript(): Promise<string> {
  const style = hash('sha256', await readEvidenceStyle());
  return buildScript(resolve(folder, 'evidence'), { STYLE_SHA256: JSON.stringify(style) });
}

export function readEvidenceStyle(): Promise<string> {
  return readFile(resolve(folder, 'evidence/style.css'), 'utf8');
}

const OWN_PAGE_FILE = resolve(folder, 'src/pages/verify/ownPage.ts');

/** The digests of the script and the style of evidence files, in hex. */
export async function evidencePageDigests(): Promise<{ script: string; style: string }> {
  return {
    script: hash('sha256', await buildEvidenceScript()),
    style: hash('sha256', await readEvidenceStyle()),
  };
}

/** Adds them to the built interface, whose page *Verify* knows the page of the evidence files that its node writes. */
export function inlineScripts(): Plugin {
  return {
    name: 'strongroom:inline-scripts',
    apply: 'build',
    async load(id) {
      if (id !== OWN_PAGE_FILE) return undefined;
      const page = { version: 'this version', ...(await evidencePageDigests()) };
      return `export const OWN_PAGE = ${JSON.stringify(page)};`;
    },
    async generateBundle() {
      // A moved file would not be replaced, and nothing else would say so.
      if (!this.getModuleInfo(OWN_PAGE_FILE)) this.error(`${OWN_PAGE_FILE} is not in the build.`);
      const add = (fileName: string, source: string) => this.emitFile({ type: 'asset', fileName, source });
      add(CHOOSER_SCRIPT, await buildChooserScript());
      add(EVIDENCE_SCRIPT, await buildEvidenceScript());
      add(EVIDENCE_STYLE, await readEvidenceStyle());
    },
  };
}

/**
 * @param root the folder of the script, whose first file is `main.ts`
 * @param define what stands for names in it
 */
async function buildScript(root: string, define: Record<string, string> = {}): Promise<string> {
  const built = await build({
    configFile: false,
    root,
    define,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      lib: { entry: resolve(root, 'main.ts'), formats: ['iife'], name: 'inline' },
    },
  });
  const [bundle] = Array.isArray(built) ? built : [built];
  const chunk = bundle && 'output' in bundle ? bundle.output[0] : undefined;
  if (chunk?.type !== 'chunk') throw new Error(`The script in ${root} was not built.`);
  return chunk.code;
}
