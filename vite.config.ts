import { resolve } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { evidenceParts } from './vite.evidence.ts';

const root = import.meta.dirname;

/** The renderer. `npm run build` builds it through electron.vite.config.ts, and the node serves it to any browser. */
export default defineConfig({
  root: resolve(root, 'renderer'),
  base: '/',
  plugins: [react(), evidenceParts()],
  server: { proxy: { '/api': 'http://127.0.0.1:7717' } },
  build: {
    outDir: resolve(root, 'out/renderer'),
    emptyOutDir: true,
    // Visitors use other browsers than the app's Chromium.
    target: 'es2022',
    minify: true,
    // The server's content security policy forbids data: URLs for scripts and fonts.
    assetsInlineLimit: 0,
    rolldownOptions: { input: resolve(root, 'renderer/index.html') },
  },
});
