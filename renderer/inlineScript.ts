import { build } from 'vite';

/**
 * Builds a script that stands in a document: one file that loads nothing.
 *
 * @param root the folder of the script
 * @param entry the path of its first file
 */
export async function buildInlineScript(root: string, entry: string): Promise<string> {
  const built = await build({
    configFile: false,
    root,
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      minify: true,
      lib: { entry, formats: ['iife'], name: 'inline' },
    },
  });
  const [bundle] = Array.isArray(built) ? built : [built];
  const chunk = bundle && 'output' in bundle ? bundle.output[0] : undefined;
  if (chunk?.type !== 'chunk') throw new Error(`The script ${entry} was not built.`);
  return chunk.code;
}
