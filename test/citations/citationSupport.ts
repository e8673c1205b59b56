import { expect } from 'vitest';
import type { Citation } from '../../shared/archive/citation.ts';
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
