import { parseStrictJson } from '../../../../shared/canonicalJson.ts';
import { compareByUtf8 } from '../../../../shared/filePath.ts';
import { jsonPointer } from '../../../../shared/jsonPointer.ts';
import { MAX_PACK_BYTES, PACK_FORMAT, TERMS_VERSION } from '../../../../shared/limits.ts';
import { type PackRecord, packRecordSchema, type ResultValue } from '../../../../shared/pack.ts';
import { type FieldError, Problem } from '../../../../shared/problems.ts';
import { countOf } from '../../format/size.ts';
import type { Draft, DraftResult } from './draft.ts';
import type { DraftFile } from './files/draftFiles.ts';

/** Something that stands between the draft and its publication. */
export interface Issue {
  /** The id of the field, or of the section, that it is about. */
  field: string;
  message: string;
}

export interface CheckedDraft {
  /** The record as it would be published; only where nothing is missing. */
  record: PackRecord | undefined;
  issues: Issue[];
}

/** The id of the form's field for a place in the draft. */
export function fieldId(...steps: (string | number)[]): string {
  return `field${jsonPointer(steps)}`;
}

/** The record that the draft stands for, and everything that the node would refuse about it. */
export function checkDraft(draft: Draft, files: readonly DraftFile[]): CheckedDraft {
  const raw = rawRecord(draft, files);
  const issues: Issue[] = [...fileIssues(files), ...resultIssues(draft.results)];
  const parsed = packRecordSchema.safeParse(raw);
  for (const { path, message } of parsed.error?.issues ?? []) {
    issues.push(...issueAt({ path: jsonPointer(path), message }, draft, files));
  }
  for (const fault of canonicalFaults(raw)) issues.push(...issueAt(fault, draft, files));
  if (!draft.acceptsTerms) issues.push({ field: 'field/terms_version', message: 'Accept the terms.' });
  const seen = new Set<string>();
  const once = issues.filter(({ field, message }) => {
    const key = `${field} ${message}`;
    return !seen.has(key) && seen.add(key);
  });
  once.sort((left, right) => placeOnPage(left.field) - placeOnPage(right.field));
  return { record: once.length === 0 ? parsed.data : undefined, issues: once };
}

/** The form's parts from top to bottom, so that what is missing is told in that order. */
const PAGE_ORDER = [
  'files',
  'title',
  'summary',
  'keywords',
  'authors',
  'outcome',
  'license',
  'method',
  'results',
  'study',
  'node',
  'replicates',
  'supersedes',
  'related',
  'terms_version',
];

function placeOnPage(field: string): number {
  return PAGE_ORDER.indexOf(field.split('/')[1] ?? '');
}

/** What the draft says, in the record's own shape; not checked yet. */
function rawRecord(draft: Draft, files: readonly DraftFile[]) {
  return {
    pack_format: PACK_FORMAT,
    terms_version: TERMS_VERSION,
    title: draft.title.trim(),
    summary: draft.summary,
    authors: draft.authors.map(({ name, orcid, affiliation }) => ({
      name: name.trim(),
      orcid: plainOrcid(orcid) || null,
      affiliation: affiliation.trim(),
    })),
    license: draft.license,
    outcome: draft.outcome,
    method: draft.hasMethod
      ? { text: draft.method.text, link: draft.method.link.trim() || null, complete: draft.method.complete }
      : null,
    results: Object.fromEntries(draft.results.map((result) => [result.name.trim(), valueOf(result)])),
    keywords: draft.keywords,
    node: draft.node,
    study: draft.study,
    replicates: draft.replicates,
    supersedes: draft.supersedes,
    related: draft.related.map(({ relation, identifier }) => ({ relation, identifier: identifier.trim() })),
    files: inRecordOrder(files).map(({ path, sha256, bytes, mediaType }) => ({
      path,
      sha256: sha256 ?? UNHASHED,
      bytes,
      media_type: mediaType,
    })),
  };
}

/** Stands in for a digest that is not known yet, so that the rest can be checked; never published. */
const UNHASHED = '0'.repeat(64);

/** The files in the order in which a record lists them. */
function inRecordOrder(files: readonly DraftFile[]): DraftFile[] {
  return files.toSorted((left, right) => compareByUtf8(left.path, right.path));
}

/** An ORCID iD is often pasted as its address. */
function plainOrcid(text: string): string {
  return text.trim().replace(/^https?:\/\/(www\.)?orcid\.org\//i, '');
}

function valueOf({ type, value }: DraftResult): ResultValue {
  switch (type) {
    case 'number':
      return Number(value.trim());
    case 'boolean':
      return value === 'true';
    case 'null':
      return null;
    case 'text':
      return value;
  }
}

function fileIssues(files: readonly DraftFile[]): Issue[] {
  const issues: Issue[] = [];
  const lost = files.filter((file) => !file.file);
  if (lost.length > 0) {
    issues.push({
      field: fieldId('files', lost[0]?.id ?? ''),
      message: `${countOf(lost.length, 'file')} must be dropped again: this browser could not keep the bytes.`,
    });
  }
  for (const file of files) {
    if (file.error) issues.push({ field: fieldId('files', file.id), message: `${file.path}: ${file.error}` });
  }
  const unhashed = files.filter((file) => file.file && !file.sha256 && !file.error);
  if (unhashed.length > 0) {
    issues.push({
      field: 'field/files',
      message: `${countOf(unhashed.length, 'file')} being hashed; this takes a moment.`,
    });
  }
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > MAX_PACK_BYTES) {
    issues.push({
      field: 'field/files',
      message: 'The files are larger than a pack may be. Take some out, or make two packs.',
    });
  }
  return issues;
}

function resultIssues(results: readonly DraftResult[]): Issue[] {
  const issues: Issue[] = [];
  const seen = new Set<string>();
  for (const { key, name, type, value } of results) {
    const field = fieldId('results', key);
    const trimmed = name.trim();
    if (trimmed !== '' && seen.has(trimmed)) {
      issues.push({ field, message: `The result ${trimmed} is given twice.` });
    }
    seen.add(trimmed);
    if (type === 'number' && !isNumberText(value)) {
      issues.push({
        field,
        message: `${trimmed || 'A result'}: a number such as 0.032 or 1.5e-7 is needed.`,
      });
    }
  }
  return issues;
}

export function isNumberText(text: string): boolean {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim());
}

/** What has no single canonical form, such as an integer that a double cannot hold. */
function canonicalFaults(raw: unknown): FieldError[] {
  try {
    parseStrictJson(JSON.stringify(raw));
    return [];
  } catch (error) {
    if (error instanceof Problem) return error.extra.errors ?? [{ path: '', message: error.message }];
    throw error;
  }
}

/** Sentences for what is simply not there yet; a rule's own sentence speaks of limits. */
const MISSING: [RegExp, (draft: Draft, path: string) => boolean, string][] = [
  [/^\/title$/, (draft) => draft.title.trim() === '', 'Give it a title.'],
  [/^\/title$/, () => true, 'The title is longer than 300 characters.'],
  [/^\/license$/, (draft) => draft.license === null, 'Choose a licence.'],
  [/^\/outcome$/, (draft) => draft.outcome === null, 'Say what came out of it.'],
  [/^\/authors\/\d+\/name$/, isUnnamed, 'Each author needs a name.'],
  [/^\/authors\/\d+\/name$/, () => true, 'The name of an author is longer than 200 characters.'],
  [/^\/method$/, () => true, 'Give the method as a text or a link, or say that there is none.'],
  [/^\/replicates\/pack$/, () => true, 'Choose the pack that this one replicates.'],
  [/^\/replicates\/verdict$/, () => true, 'Say how the replication came out.'],
  [/^\/related\/\d+\/relation$/, () => true, 'Choose how the other work is related.'],
];

function isUnnamed({ authors }: Draft, path: string): boolean {
  return authors[Number(path.split('/')[2])]?.name.trim() === '';
}

/**
 * What a rule says about a place in the record, as an issue of the form's field; from this page's own check or from
 * the node's answer. A result without a name is told once, by its row.
 */
export function issueAt(fault: FieldError, draft: Draft, files: readonly DraftFile[]): Issue[] {
  const [, area = '', step = ''] = fault.path.split('/');
  const friendly = MISSING.find(([path, applies]) => path.test(fault.path) && applies(draft, fault.path));
  const message = friendly?.[2] ?? fault.message;
  if (area === 'results' && fault.path !== '/results') {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const rows = draft.results.filter((result) => result.name.trim() === name);
    return rows.map(({ key }) => ({
      field: fieldId('results', key),
      message: name === '' ? 'A result needs a name.' : `${name}: ${message}`,
    }));
  }
  if (area === 'files' && step !== '') {
    const file = inRecordOrder(files)[Number(step)];
    return [{ field: fieldId('files', file?.id ?? ''), message: `${file?.path ?? 'A file'}: ${message}` }];
  }
  if (area === 'keywords') return [{ field: 'field/keywords', message }];
  return [{ field: `field${fault.path}`, message }];
}
