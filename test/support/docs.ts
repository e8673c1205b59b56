import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Reads the named code blocks of a document in `docs/`: programs and files to save, and commands to run. */
export async function codeBlocksOf(document: string, language: string): Promise<Map<string, string>> {
  const file = fileURLToPath(new URL(`../../docs/${document}`, import.meta.url));
  const blocks = (await readFile(file, 'utf8')).matchAll(
    new RegExp(`^\`\`\`${language} (\\S+)\\n(.*?)^\`\`\`$`, 'gms'),
  );
  return new Map([...blocks].map(([, name = '', body = '']) => [name, body]));
}
