// `npm run strongroom` begins here, in JavaScript. Without the compile cache, Node loads its TypeScript compiler, which
// takes 16 MB of memory for as long as the process runs. So the cache is turned on before the first TypeScript file is
// read. Threads and child processes find it by the environment variable. `server/cli/compileCache.ts` does the same for
// programs that start elsewhere.
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

if (process.env.NODE_COMPILE_CACHE === undefined) {
  const folder = fileURLToPath(new URL('../../node_modules/.cache/strongroom', import.meta.url));
  enableCompileCache(folder);
  process.env.NODE_COMPILE_CACHE = folder;
}
await import('./checkout.ts');
