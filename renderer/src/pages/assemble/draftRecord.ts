import { compareByUtf8, newPathConflicts, newPathFault } from '../../../../shared/archive/filePath.ts';
import { type PackRecord, packRecordSchema, type ResultValue } from '../../../../shared/archive/pack.ts';
import {
  MAX_PACK_BYTES,
  MAX_PACK_FILES,
  MAX_SET_FILES,
  PACK_FORMAT,
  TERMS_VERSION,
} from '../../../../shared/limits.ts';
import { type FieldError, jsonPointer, Problem } from '../../../../shared/problems.ts';
import { parseStrictJson } from '../../../../shared/values/canonicalJson.ts';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import type { Draft, DraftResult } from './draft.ts';
import type { DraftFile } from './files/draftFile.ts';

/** Something that prevents publishing. */
export interface Issue {
  /** The id of the field or section that it belongs to. */
  field: string;
  message: string;
}

export interface CheckedDraft {
  /** The record to publish; undefined while it is incomplete. */
  record: PackRecord | undefined;
  issues: Issue[];
}

/** The id of the form field for a path in the draft. */
export function fieldId(...steps: (string | number)[]): string {
  return `field${jsonPointer(steps)}`;
}

/** Returns the size of all files together. */
export function bytesOf(files: readonly Pick<DraftFile, 'bytes'>[]): number {
  return files.reduce((sum, file) => sum + file.bytes, 0);
}

/**
 * Returns whether a draft is published as a set: its files are more than a pack can have.
 *
 * @param setBytes the largest size of a set; 0 for a visitor, who can publish no sets
 */
export function isSet(files: readonly Pick<DraftFile, 'bytes'>[], setBytes: number): boolean {
  return setBytes > MAX_PACK_BYTES && (files.length > MAX_PACK_FILES || bytesOf(files) > MAX_PACK_BYTES);
}

/**
 * Builds the record from the draft and validates it with the node's own rules. The record of a set has no files: the node
 * writes their list.
 *
 * @param setBytes see `isSet`
 */
export function checkDraft(draft: Draft, files: readonly DraftFile[], setBytes = 0): CheckedDraft {
  const isOfSet = isSet(files, setBytes);
  const raw = rawRecord(draft, isOfSet ? [] : files);
  const issues: Issue[] = [
    ...fileIssues(files),
    ...(isOfSet ? setIssues(files, setBytes) : packIssues(files, setBytes)),
    ...resultIssues(draft.results),
  ];
  const parsed = packRecordSchema.safeParse(raw);
  for (const { path, message } of parsed.error?.issues ?? []) {
    issues.push(...issueAt({ path: jsonPointer(path), message }, draft, files));
  }
  for (const fault of canonicalFaults(raw)) issues.push(...issueAt(fault, draft, files));
  const seen = new Set<string>();
  const once = issues.filter(({ field, message }) => {
    const key = `${field} ${message}`;
    return !seen.has(key) && seen.add(key);
  });
  once.sort((left, right) => placeOnPage(left.field) - placeOnPage(right.field));
  return { record: once.length === 0 ? parsed.data : undefined, issues: once };
}

/** The record for the node's draft, without files. Results that have no JSON form yet are only in the form. */
export function unfinishedRecord(draft: Draft): Record<string, unknown> {
  const { files: _, ...record } = rawRecord(draft, []);
  return canonicalFaults(record).length > 0 ? { ...record, results: {} } : record;
}

/** A longer name is refused. */
const MAX_RESULT_NAME = 100;

/** The form's sections from top to bottom; issues are listed in this order. */
const PAGE_ORDER = [
  'files',
  'title',
  'authors',
  'license',
  'outcome',
  'summary',
  'keywords',
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

/** The draft in the shape of a record, not validated yet. */
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

/**
 * A placeholder for a digest that is not computed yet, so that the rest can be validated. Never published.
 */
const UNHASHED = '0'.repeat(64);

/** The files in the order of the record. */
function inRecordOrder(files: readonly DraftFile[]): DraftFile[] {
  return files.toSorted((left, right) => compareByUtf8(left.path, right.path));
}

/** People often paste an ORCID iD as a URL. */
function plainOrcid(text: string): string {
  return text.trim().replace(/^https?:\/\/(www\.)?orcid\.org\//i, '');
}

function valueOf({ type, value }: DraftResult): ResultValue {
  switch (type) {
    case 'number':
      // Anything else is reported once, by `resultIssues`.
      return isNumberText(value) ? Number(value.trim()) : 0;
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
  const lost = files.filter((file) => !file.file && !file.isStored);
  if (lost.length > 0) {
    issues.push({
      field: fieldId('files', lost[0]?.id ?? ''),
      message: `Add ${countOf(lost.length, 'file')} again: this browser could not store the contents.`,
    });
  }
  for (const file of files) {
    if (file.error) issues.push({ field: fieldId('files', file.id), message: `${file.path}: ${file.error}` });
  }
  const unhashed = files.filter((file) => file.file && !file.sha256 && !file.error);
  if (unhashed.length > 0) {
    issues.push({
      field: 'field/files',
      message: `Hashing ${countOf(unhashed.length, 'file')}. This takes a moment.`,
    });
  }
  return issues;
}

function packIssues(files: readonly DraftFile[], setBytes: number): Issue[] {
  if (bytesOf(files) <= MAX_PACK_BYTES) return [];
  const message =
    setBytes === 0
      ? 'The files exceed the size limit of a pack. Remove some files or make two packs.'
      : 'The files exceed the size limit of a pack, and this node publishes no sets (setting “Largest set”).';
  return [{ field: 'field/files', message }];
}

/** Checks what the record of a pack checks of its files. */
function setIssues(files: readonly DraftFile[], setBytes: number): Issue[] {
  const issues: Issue[] = [];
  const ofFile = ({ id, path }: DraftFile, message: string) => {
    issues.push({ field: fieldId('files', id), message: `${path}: ${message}` });
  };
  if (bytesOf(files) > setBytes)
    issues.push({
      field: 'field/files',
      message: `The files exceed ${formatBytes(setBytes)}, the largest set of this node. Remove some files, or change the setting “Largest set”.`,
    });
  if (files.length > MAX_SET_FILES)
    issues.push({
      field: 'field/files',
      message: `A set can have at most ${formatCount(MAX_SET_FILES)} files.`,
    });
  for (const file of files) {
    const fault = newPathFault(file.path);
    if (fault) ofFile(file, fault);
  }
  for (const { index, kind } of newPathConflicts(files.map(({ path }) => path))) {
    const file = files[index];
    if (file)
      ofFile(
        file,
        kind === 'same'
          ? 'Another file has this path, or a path that differs only in case.'
          : 'Another file uses this name as a folder.',
      );
  }
  return issues;
}

function resultIssues(results: readonly DraftResult[]): Issue[] {
  const issues: Issue[] = [];
  const seen = new Set<string>();
  for (const { key, name, type, value } of results) {
    const trimmed = name.trim();
    if (trimmed !== '' && seen.has(trimmed)) {
      issues.push({
        field: fieldId('results', key, 'name'),
        message: `The result ${trimmed} is listed twice.`,
      });
    }
    seen.add(trimmed);
    if (type === 'number' && !isNumberText(value)) {
      issues.push({
        field: fieldId('results', key, 'value'),
        message: `${trimmed || 'A result'}: enter a number, such as 0.032 or 1.5e-7.`,
      });
    }
  }
  return issues;
}

export function isNumberText(text: string): boolean {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim());
}

/** A number without a canonical form, such as an integer that a double cannot represent. */
function canonicalFaults(raw: unknown): FieldError[] {
  try {
    parseStrictJson(JSON.stringify(raw));
    return [];
  } catch (error) {
    if (error instanceof Problem) return error.extra.errors ?? [{ path: '', message: error.message }];
    throw error;
  }
}

/** Messages for missing values. The rules' own messages describe limits. */
const MISSING: [RegExp, (draft: Draft, path: string) => boolean, string][] = [
  [/^\/title$/, (draft) => draft.title.trim() === '', 'Enter a title.'],
  [/^\/title$/, () => true, 'The title is longer than 300 characters.'],
  [/^\/license$/, (draft) => draft.license === null, 'Choose a licence.'],
  [/^\/outcome$/, (draft) => draft.outcome === null, 'Choose an outcome.'],
  [/^\/authors\/\d+\/name$/, isUnnamed, 'Enter a name for each author.'],
  [/^\/authors\/\d+\/name$/, () => true, "An author's name is longer than 200 characters."],
  [/^\/method\/complete$/, () => true, 'State whether the method is complete.'],
  [/^\/method$/, () => true, 'Enter the method as text or a link, or choose “No method”.'],
  [/^\/replicates\/pack$/, () => true, 'Choose the pack that this pack replicates.'],
  [/^\/replicates\/verdict$/, () => true, 'Choose the verdict of the replication.'],
  [/^\/related\/\d+\/relation$/, () => true, 'Choose how the other work is related.'],
];

function isUnnamed({ authors }: Draft, path: string): boolean {
  return authors[Number(path.split('/')[2])]?.name.trim() === '';
}

/**
 * Converts a validation error, from this page or from the node, to an issue of a form field. An unnamed
 * result is reported only once, by its row.
 */
export function issueAt(fault: FieldError, draft: Draft, files: readonly DraftFile[]): Issue[] {
  const [, area = '', step = ''] = fault.path.split('/');
  const friendly = MISSING.find(([path, applies]) => path.test(fault.path) && applies(draft, fault.path));
  const message = friendly?.[2] ?? fault.message;
  if (area === 'results' && fault.path !== '/results') {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const rows = draft.results.filter((result) => result.name.trim() === name);
    const isOfName = name === '' || name.length > MAX_RESULT_NAME;
    return rows.map(({ key }) => ({
      field: fieldId('results', key, isOfName ? 'name' : 'value'),
      message: name === '' ? 'Enter a name for the result.' : `${name}: ${message}`,
    }));
  }
  if (area === 'files' && step !== '') {
    const file = inRecordOrder(files)[Number(step)];
    return [{ field: fieldId('files', file?.id ?? ''), message: `${file?.path ?? 'A file'}: ${message}` }];
  }
  if (area === 'keywords') return [{ field: 'field/keywords', message }];
  return [{ field: `field${fault.path}`, message }];
}
