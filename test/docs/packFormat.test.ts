import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { bagOf } from '../../server/archive/packs/bag/bag.ts';
import { PROBLEMS } from '../../shared/problems.ts';
import { FULL_RECORD } from '../support/archive/packFiles.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/pack-format.md', import.meta.url));

test('pack-format.md documents every tag file, record field and refusal code', async () => {
  const document = await readFile(DOCUMENT, 'utf8');
  for (const { name } of bagOf(FULL_RECORD).tagFiles) expect(document).toContain(`\`${name}\``);
  for (const field of Object.keys(FULL_RECORD)) expect(document).toContain(`\`${field}\``);
  const codes = Object.entries(PROBLEMS).filter(([, { title }]) => /pack file/.test(title));
  expect(codes.length).toBeGreaterThanOrEqual(8);
  for (const [code] of codes) expect(document).toContain(`| \`${code}\` |`);
});
