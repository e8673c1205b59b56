import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type Rolldown } from 'vite';
import { browserExtension } from './extension/build.ts';
import { inlineScripts } from './inlineScripts.ts';
import { ROUTE_ADDRESSES } from './src/api/routeAddresses.ts';

// electron-vite bundles this file, and then `import.meta.dirname` is the folder of its own configuration.
const root = dirname(fileURLToPath(import.meta.url));
const ROUTE_ADDRESSES_FILE = resolve(root, 'src/api/routeAddresses.ts');

/** Replaces the module of route addresses by its values: otherwise browsers load all schemas, and zod, for their paths. */
const routeAddresses: Plugin = {
  name: 'strongroom:route-addresses',
  load: (id) =>
    id === ROUTE_ADDRESSES_FILE
      ? `export const ROUTE_ADDRESSES = ${JSON.stringify(ROUTE_ADDRESSES)};`
      : undefined,
  generateBundle() {
    // A moved file would not be replaced, and nothing else would say so.
    if (!this.getModuleInfo(ROUTE_ADDRESSES_FILE)) this.error(`${ROUTE_ADDRESSES_FILE} is not in the build.`);
  },
};

const FRAME_STYLES = ['tokens.css', 'frame.css'].map((name) => resolve(root, 'src/styles', name));

/**
 * Writes the styles of the frame into the document and moves the other stylesheets behind the frame. A browser paints
 * what comes before a stylesheet while it loads the stylesheet.
 */
const paintedFrame: Plugin = {
  name: 'strongroom:painted-frame',
  transformIndexHtml: {
    order: 'post',
    handler(html) {
      const styles = FRAME_STYLES.map((file) => readFileSync(file, 'utf8')).join('\n');
      const links = html.match(STYLESHEET) ?? [];
      return html
        .replace(STYLESHEET, '')
        .replace('</head>', () => `<style>\n${withoutComments(styles)}</style>\n  </head>`)
        .replace('</body>', () => `${links.map((link) => link.trim()).join('\n')}\n  </body>`);
    },
  },
};
const STYLESHEET = /\s*<link rel="stylesheet"[^>]*>/g;

function withoutComments(css: string): string {
  return css.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\n\s*/g, '\n');
}

/** Modules that at least this many pages use are in one file, except large ones. */
const MIN_PAGES = 3;
const MAX_SHARED_MODULE_BYTES = 60_000;

/** The pages that people open most: they do not wait for what only forms, dialogs and verifications use. */
const FIRST_PAGES = ['overview/OverviewPage.tsx', 'packs/PacksPage.tsx'].map((file) =>
  resolve(root, 'src/pages', file),
);

/** Returns a function that says whether a first page imports a module. */
function firstPageModules(): (id: string, context: Rolldown.ChunkingContext) => boolean {
  const found = new Set<string>();
  return (id, context) => {
    if (found.size === 0) {
      const waiting = [...FIRST_PAGES];
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        if (found.has(next)) continue;
        found.add(next);
        waiting.push(...(context.getModuleInfo(next)?.importedIds ?? []));
      }
    }
    return found.has(id);
  };
}
const isOfFirstPage = firstPageModules();

/** The renderer. `npm run build` builds it through electron.vite.config.ts, and the node serves it to any browser. */
export default defineConfig({
  root,
  base: '/',
  plugins: [react(), inlineScripts(), browserExtension(), routeAddresses, paintedFrame],
  server: { proxy: { '/api': 'http://127.0.0.1:7717' } },
  build: {
    outDir: resolve(root, '../out/renderer'),
    emptyOutDir: true,
    // Visitors use other browsers than the app's Chromium.
    target: 'es2022',
    minify: true,
    // The server's content security policy forbids data: URLs for scripts and fonts.
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: resolve(root, 'index.html'),
      output: {
        // Over HTTP/1.1 a browser loads six files at once, so a page must not consist of dozens of small files.
        codeSplitting: {
          groups: [
            { name: 'start', tags: ['$initial'], priority: 1 },
            {
              name: (id, context) => (isOfFirstPage(id, context) ? 'first' : null),
              minShareCount: MIN_PAGES,
            },
            { name: 'shared', minShareCount: MIN_PAGES, maxModuleSize: MAX_SHARED_MODULE_BYTES },
          ],
        },
      },
    },
  },
});
