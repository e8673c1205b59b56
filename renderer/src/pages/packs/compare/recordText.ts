import type { ChangedField } from '../../../../../shared/archive/packComparison.ts';
import { relationLabel } from '../../../format/relationLabel.ts';

type Json = ChangedField['before'];

/** The fields of a record, as the pack's page names them. */
const LABELS: Readonly<Record<string, string>> = {
  pack_format: 'Pack format',
  terms_version: 'Terms',
  title: 'Title',
  summary: 'Summary',
  authors: 'Authors',
  license: 'Licence',
  outcome: 'Outcome',
  method: 'Method',
  results: 'Results',
  keywords: 'Keywords',
  node: 'Subject',
  study: 'Study',
  replicates: 'Replication',
  supersedes: 'New version of',
  related: 'Related works',
};

export function fieldLabel(field: string): string {
  return LABELS[field] ?? field;
}

/** A value of a record as lines that a person reads: one per author, keyword or result. Empty for null. */
export function recordText(field: string, value: Json): string {
  if (field === 'related' && Array.isArray(value)) return value.map(relatedLine).join('\n');
  return textOf(value);
}

function relatedLine(value: Json): string {
  const { relation, identifier } = value as { relation: string; identifier: string };
  return `${relationLabel(relation)} ${identifier}`;
}

function textOf(value: Json): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.map(lineOf).join('\n');
  if (typeof value === 'object') {
    return Object.entries(value)
      .filter(([, inner]) => inner !== null && inner !== '')
      .map(([name, inner]) => `${name}: ${lineOf(inner)}`)
      .join('\n');
  }
  return String(value);
}

function lineOf(value: Json): string {
  if (value === null || typeof value !== 'object') return String(value);
  return Object.values(value)
    .filter((inner) => inner !== null && inner !== '')
    .map((inner) => (typeof inner === 'object' ? JSON.stringify(inner) : String(inner)))
    .join(', ');
}
