import { existsSync, readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const LINK = /\]\(([^)\s]+)\)/g;

async function documents(): Promise<string[]> {
  const found: string[] = [];
  for await (const file of glob(['*.md', 'docs/**/*.md'], { cwd: ROOT })) found.push(file);
  return found.sort();
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8').replace(/^```.*?^```$/gms, '');
}

/** The anchors of a document's headings, as GitHub derives them. */
function anchorsOf(file: string): string[] {
  return [...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  );
}

function brokenLinksIn(file: string): string[] {
  return [...textOf(file).matchAll(LINK)]
    .map(([, target = '']) => target)
    .filter((target) => {
      if (/^[a-z]+:/.test(target)) return false;
      const [path = '', anchor] = target.split('#');
      const linked = path === '' ? file : join(dirname(file), path);
      if (!existsSync(join(ROOT, linked))) return true;
      return anchor !== undefined && !anchorsOf(linked).includes(anchor);
    });
}

test('every relative link in the documentation leads to a file, and every anchor to a heading', async () => {
  const files = await documents();
  expect(files).toEqual(expect.arrayContaining(['README.md', 'docs/architecture.md']));
  const broken = Object.fromEntries(files.map((file) => [file, brokenLinksIn(file)]));
  expect(broken).toEqual(Object.fromEntries(files.map((file) => [file, []])));
});

test('docs/decisions/README.md lists every decision', async () => {
  const index = textOf('docs/decisions/README.md');
  const decisions = (await documents()).filter((file) => /^docs\/decisions\/\d{4}-/.test(file));
  expect(decisions.length).toBeGreaterThan(0);
  expect(decisions.filter((file) => !index.includes(`(${file.slice('docs/decisions/'.length)})`))).toEqual(
    [],
  );
});
