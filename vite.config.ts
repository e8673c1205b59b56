import { resolve } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const root = import.meta.dirname;

/** The renderer: built by `npm run build` (through electron.vite.config.ts) and served by the node to any browser. */
export default defineConfig({
  root: resolve(root, 'renderer'),
  base: '/',
  plugins: [react()],
  server: { proxy: { '/api': 'http://127.0.0.1:7717' } },
  build: {
    outDir: resolve(root, 'out/renderer'),
    emptyOutDir: true,
    // Browsers on the local network, not only the app's own Chromium.
    target: 'es2022',
    minify: true,
    // The server's policy allows no data: scripts or fonts beyond what it names, so nothing is inlined.
    assetsInlineLimit: 0,
    rolldownOptions: { input: resolve(root, 'renderer/index.html') },
  },
});
