import type { z } from 'zod';
import {
  newSourceSchema,
  type SourceChange,
  sourceChangeSchema,
  type WatchedSource,
} from '../../../../../shared/collection/source.ts';
import { issueMessage } from '../../../../../shared/values/issueMessage.ts';
import { ApiProblem } from '../../../api/client.ts';
import {
  EMPTY_SCHEDULE,
  type ScheduleDraft,
  scheduleDraftOf,
  scheduleOf,
} from '../schedule/scheduleDraft.ts';
import { EMPTY_FOLLOW, type FollowDraft, followDraftOf, followOf } from './followDraft.ts';

/** The form's fields as text. */
export interface SourceDraft extends ScheduleDraft, FollowDraft {
  url: string;
  name: string;
  agency: string;
  tags: string[];
  /** A number, or empty for the node's default. */
  max_object_mb: string;
  ignore_robots: boolean;
  /** Whether the source may be at a private address. Of a new source, the node decides. */
  allow_private: boolean;
  /** One header per line, `Name: value`. */
  headers: string;
}

export type DraftField = keyof SourceDraft;
export type DraftErrors = Partial<Record<DraftField, string>>;

export const EMPTY_DRAFT: SourceDraft = {
  url: '',
  name: '',
  agency: '',
  tags: [],
  ...EMPTY_SCHEDULE,
  ...EMPTY_FOLLOW,
  max_object_mb: '',
  ignore_robots: false,
  allow_private: true,
  headers: '',
};

export function draftOf(source: WatchedSource): SourceDraft {
  const { url, name, agency, tags, max_object_mb, ignore_robots, allow_private, headers } = source;
  return {
    url,
    name,
    agency,
    tags,
    ...scheduleDraftOf(source),
    ...followDraftOf(source.follow),
    max_object_mb: max_object_mb === null ? '' : String(max_object_mb),
    ignore_robots,
    allow_private,
    headers: Object.entries(headers)
      .map(([header, value]) => `${header}: ${value}`)
      .join('\n'),
  };
}

type Checked<Value> = { value: Value } | { errors: DraftErrors };

/** Validates the form as a new source with the node's own rules. */
export function newSourceOf(draft: SourceDraft): Checked<z.output<typeof newSourceSchema>> {
  return checked(newSourceSchema, { ...fieldsOf(draft), url: draft.url.trim() });
}

/** Validates the form as a change: all fields except the URL. */
export function changeOf(draft: SourceDraft): Checked<SourceChange> {
  return checked(sourceChangeSchema, { ...fieldsOf(draft), allow_private: draft.allow_private });
}

function fieldsOf(draft: SourceDraft) {
  const { name, agency, tags, max_object_mb, ignore_robots, headers } = draft;
  return {
    name: name.trim(),
    agency: agency.trim(),
    tags,
    ...scheduleOf(draft),
    follow: followOf(draft),
    max_object_mb: numberOf(max_object_mb),
    ignore_robots,
    headers: headersOf(headers),
  };
}

function numberOf(text: string): number | null {
  return text.trim() === '' ? null : Number(text);
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

function checked<Value>(schema: z.ZodType<Value>, fields: unknown): Checked<Value> {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return { value: parsed.data };
  const errors: DraftErrors = {};
  for (const issue of parsed.error.issues) {
    errors[fieldAt(issue.path)] ??= messageOf(issue);
  }
  return { errors };
}

/** The form's field of a path in what is sent: its schedule and what it follows have a field for each part. */
function fieldAt(path: readonly PropertyKey[]): DraftField {
  const [first, second = ''] = path.map(String);
  if (first === 'follow') return `follow_${second || 'kind'}` as DraftField;
  if (first !== 'active_hours') return first as DraftField;
  return second === 'time_zone' ? 'time_zone' : (`hours_${second || 'to'}` as DraftField);
}

/** A header's error names the header, because one field contains all of them. */
function messageOf(issue: z.core.$ZodIssue): string {
  const [, name] = issue.path;
  const message = issueMessage(issue.code === 'invalid_key' ? (issue.issues[0] ?? issue) : issue);
  return issue.path[0] === 'headers' && name !== undefined ? `“${String(name)}”: ${message}` : message;
}

/** The node's errors by field. Errors without a field are shown below the form. */
export function errorsOf(error: unknown): DraftErrors {
  const errors: DraftErrors = {};
  if (!(error instanceof ApiProblem)) return errors;
  for (const { path, message } of error.document.errors ?? []) {
    const field = fieldAt(path.split('/').slice(1));
    if (field in EMPTY_DRAFT) errors[field] ??= message;
  }
  return errors;
}
