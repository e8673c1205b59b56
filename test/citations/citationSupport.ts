import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import type { Citation } from '../../shared/archive/citation.ts';
import { DATACITE_SCHEMA } from '../support/archive/dataciteSchema.ts';
import type { TestNode } from '../support/node.ts';

export async function citationOf(node: TestNode, id: string): Promise<Citation> {
  const response = await node.fetch(`/api/items/${id}/cite`);
  expect(response.status).toBe(200);
  return (await response.json()) as Citation;
}

export async function citedAs(node: TestNode, id: string, format: string): Promise<string> {
  const response = await node.fetch(`/api/items/${id}/cite?format=${format}`);
  expect(response.status).toBe(200);
  return response.text();
}

const ajv = new Ajv2020({ allErrors: true });
formats.default(ajv, ['date', 'uri']);
const validate = ajv.compile(DATACITE_SCHEMA);

/** Returns the citation in DataCite's JSON, which must keep the rules of schema 4.5 and later. */
export async function validDatacite(node: TestNode, id: string): Promise<object> {
  const record = JSON.parse(await citedAs(node, id, 'datacite')) as object;
  expect(validate(record) || validate.errors).toBe(true);
  return record;
}

/** Titles with the syntax of citation formats. */
export const HOSTILE_TITLES = [
  'An }unbalanced{ brace, and {one} more \\{',
  'C:\\new\\title ends in a backslash \\',
  '100 % of $5 & #1_a ~ b^2 "quoted" \'single\' @misc{x, y = {z}}',
  'Line one\r\nTY  - BOOK\nER  - \n\u2028TI  - other\u0000 \u0007end',
  '<i>x</i> <script>alert(1)</script> </b> &amp;',
  'and others and and, Jr. = # % ,',
  '電子メールの件名 — Über Größe, Ελλάδα, العربية, 𝔘𝔫𝔦',
];

/** Removes the marks that the parser adds to protected capitals. */
export function plain(text: string | undefined): string | undefined {
  return text?.replace(/<\/?span[^>]*>/g, '');
}
