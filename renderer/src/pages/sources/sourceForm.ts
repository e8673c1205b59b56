import type { ChangeEvent } from 'react';
import type { z } from 'zod';
import type { Follow, FollowKind } from '../../../../shared/collection/follow.ts';
import {
  type PictureRegion,
  selectorOf,
  type Watch,
  watchedRegion,
} from '../../../../shared/collection/noise.ts';
import type { Schedule, Weekday } from '../../../../shared/collection/schedule.ts';
import {
  type CaptureMode,
  newSourceSchema,
  type SourceChange,
  sourceChangeSchema,
  type WatchedSource,
} from '../../../../shared/collection/source.ts';
import { issueMessage } from '../../../../shared/values/checkBody.ts';
import { ApiProblem } from '../../api/client.ts';
import { createKeptDraft } from '../../state/keptDraft.ts';

/** What a part of a form gets of a draft. */
export interface DraftProps<Draft> {
  draft: Draft;
  errors: Partial<Record<keyof Draft, string>>;
  onChange: (change: Partial<Draft>) => void;
}

/** Returns the props of an input by the name of its field, for each kind of input. */
export function inputsOf<Draft>({ draft, errors, onChange }: DraftProps<Draft>) {
  const set = (name: keyof Draft, value: unknown) => onChange({ [name]: value } as Partial<Draft>);
  const shown = <Name extends keyof Draft>(name: Name) => ({ value: draft[name], error: errors[name] });
  return {
    text: <Name extends keyof Draft>(name: Name) => ({
      ...shown(name),
      onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
        set(name, event.currentTarget.value),
    }),
    /** A number is kept as text. */
    number: <Name extends keyof Draft>(name: Name) => ({
      ...shown(name),
      onChange: (value: number | string) => set(name, String(value)),
    }),
    /** For an input that gives the value itself. */
    value: <Name extends keyof Draft>(name: Name) => ({
      ...shown(name),
      onChange: (value: Draft[Name]) => set(name, value),
    }),
    checkbox: <Name extends keyof Draft>(name: Name) => ({
      checked: draft[name],
      error: errors[name],
      onChange: (event: ChangeEvent<HTMLInputElement>) => set(name, event.currentTarget.checked),
    }),
  };
}

/** When a source is checked, as typed. */
export interface ScheduleDraft {
  /** Whether the times of a cron expression replace the interval. */
  by: 'interval' | 'times';
  /** A number, or empty for the node's default. */
  every_minutes: string;
  every: string;
  /** The time zone of `every`. */
  time_zone: string;
  has_hours: boolean;
  hours_from: string;
  hours_to: string;
  /** Empty: every day. */
  hours_days: Weekday[];
  hours_zone: string;
}

/** The person's own time zone. */
const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const EMPTY_SCHEDULE: ScheduleDraft = {
  by: 'interval',
  every_minutes: '',
  every: '',
  time_zone: OWN_ZONE,
  has_hours: false,
  hours_from: '08:00',
  hours_to: '18:00',
  hours_days: [],
  hours_zone: OWN_ZONE,
};

export function scheduleDraftOf({ every_minutes, every, time_zone, active_hours }: Schedule): ScheduleDraft {
  return {
    by: every === null ? 'interval' : 'times',
    every_minutes: every_minutes === null ? '' : String(every_minutes),
    every: every ?? '',
    time_zone: time_zone ?? active_hours?.time_zone ?? (every === null ? OWN_ZONE : 'UTC'),
    has_hours: active_hours !== null,
    hours_from: active_hours?.from ?? EMPTY_SCHEDULE.hours_from,
    // The time field has no 24:00.
    hours_to: active_hours ? active_hours.to.replace('24:00', '00:00') : EMPTY_SCHEDULE.hours_to,
    hours_days: active_hours?.days ?? [],
    hours_zone: active_hours?.time_zone ?? time_zone ?? OWN_ZONE,
  };
}

/** The schedule as it is sent; not yet checked. */
export function scheduleOf(draft: ScheduleDraft): Schedule {
  const { by, every_minutes, every, time_zone, has_hours, hours_from, hours_to, hours_days, hours_zone } =
    draft;
  return {
    every_minutes: every_minutes.trim() === '' ? null : Number(every_minutes),
    every: by === 'times' ? every.trim() : null,
    time_zone: by === 'times' ? time_zone : null,
    active_hours: has_hours
      ? {
          from: hours_from,
          to: hours_to.replace('00:00', '24:00'),
          ...(hours_days.length > 0 && { days: hours_days }),
          time_zone: hours_zone,
        }
      : null,
  };
}

/** What of a source becomes sources, as typed. */
export interface FollowDraft {
  /** Empty: nothing. */
  follow_kind: FollowKind | '';
  follow_match: string;
  follow_types: string[];
  follow_limit: string;
  follow_approve: boolean;
}

export const EMPTY_FOLLOW: FollowDraft = {
  follow_kind: '',
  follow_match: '',
  follow_types: [],
  follow_limit: '50',
  follow_approve: true,
};

export function followDraftOf(follow: Follow | null): FollowDraft {
  if (!follow) return EMPTY_FOLLOW;
  const { kind, match = '', types = [], limit, approve } = follow;
  return {
    follow_kind: kind,
    follow_match: match,
    follow_types: types,
    follow_limit: String(limit),
    follow_approve: approve,
  };
}

/** For requests that need a whole address. The test fetch of a new source finds out its scheme. */
export function withScheme(url: string): string {
  return url === '' || hasScheme(url) ? url : `https://${url}`;
}

export function hasScheme(address: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(address);
}

/** What is sent; not yet checked. */
export function followOf(draft: FollowDraft): Follow | null {
  const { follow_kind, follow_match, follow_types, follow_limit, follow_approve } = draft;
  if (follow_kind === '') return null;
  return {
    kind: follow_kind,
    ...(follow_match.trim() !== '' && { match: follow_match.trim() }),
    ...(follow_types.length > 0 && { types: follow_types }),
    limit: Number(follow_limit),
    approve: follow_approve,
  };
}

/** The ways to name the part that is watched, in the order of the form. */
export const WATCH_KINDS = ['css', 'heading', 'table', 'region', 'json_path', 'xpath'] as const;
export type WatchKind = (typeof WATCH_KINDS)[number];

/** The part that is watched, as typed. */
export interface WatchDraft {
  /** Empty: everything. */
  watch_kind: WatchKind | '';
  watch_value: string;
  /** Only of a table. */
  watch_columns: string[];
  /** Only of a picture. */
  watch_region: Record<keyof PictureRegion, string>;
}

export const EMPTY_WATCH: WatchDraft = {
  watch_kind: '',
  watch_value: '',
  watch_columns: [],
  watch_region: { x: '', y: '', width: '', height: '' },
};

export function watchDraftOf(watch: Watch | null): WatchDraft {
  if (!watch) return EMPTY_WATCH;
  const kind = WATCH_KINDS.find((name) => name in watch) ?? 'css';
  const region = watchedRegion(watch);
  if (region) {
    const { x, y, width, height } = region;
    const watch_region = { x: String(x), y: String(y), width: String(width), height: String(height) };
    return { ...EMPTY_WATCH, watch_kind: kind, watch_region };
  }
  return {
    ...EMPTY_WATCH,
    watch_kind: kind,
    watch_value: selectorOf(watch).value,
    watch_columns: ('columns' in watch && watch.columns) || [],
  };
}

/** What is sent; not yet checked. */
export function watchOf({ watch_kind, watch_value, watch_columns, watch_region }: WatchDraft): Watch | null {
  const value = watch_value.trim();
  switch (watch_kind) {
    case '':
      return null;
    case 'table':
      return { table: value, ...(watch_columns.length > 0 && { columns: watch_columns }) };
    case 'css':
      return { css: value };
    case 'xpath':
      return { xpath: value };
    case 'json_path':
      return { json_path: value };
    case 'heading':
      return { heading: value };
    case 'region': {
      const { x, y, width, height } = watch_region;
      return { region: { x: Number(x), y: Number(y), width: Number(width), height: Number(height) } };
    }
  }
}

/** The form's fields as text. */
export interface SourceDraft extends ScheduleDraft, FollowDraft, WatchDraft {
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
  capture: CaptureMode;
  /** Whether a change of the picture alone is an event, and from how many percent of its pixels. */
  has_picture_events: boolean;
  picture_events: string;
  /** The id of the profile with which it is watched; empty: none. */
  profile: string;
  /** After how many days the bytes of a version are given up; empty: they are kept. */
  keep_days: string;
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
  ...EMPTY_WATCH,
  max_object_mb: '',
  ignore_robots: false,
  allow_private: true,
  headers: '',
  capture: 'object',
  has_picture_events: false,
  picture_events: '1',
  profile: '',
  keep_days: '',
};

/** In place of a profile that was removed or not restored. It stays so until another is chosen. */
export const MISSING_PROFILE = 'missing';

export function draftOf(source: WatchedSource): SourceDraft {
  const { url, name, agency, tags, max_object_mb, ignore_robots, allow_private, headers } = source;
  const { capture, picture_events, keep_days } = source;
  return {
    url,
    name,
    agency,
    tags,
    ...scheduleDraftOf(source),
    ...followDraftOf(source.follow),
    ...watchDraftOf(source.watch),
    max_object_mb: max_object_mb === null ? '' : String(max_object_mb),
    ignore_robots,
    allow_private,
    headers: Object.entries(headers)
      .map(([header, value]) => `${header}: ${value}`)
      .join('\n'),
    capture,
    has_picture_events: picture_events !== null,
    picture_events:
      picture_events === null
        ? EMPTY_DRAFT.picture_events
        : String(Number((picture_events * 100).toFixed(4))),
    profile: source.login === 'missing' ? MISSING_PROFILE : (source.profile ?? ''),
    keep_days: keep_days === null ? '' : String(keep_days),
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
  const { capture, has_picture_events, picture_events } = draft;
  return {
    name: name.trim(),
    agency: agency.trim(),
    tags,
    ...scheduleOf(draft),
    follow: followOf(draft),
    watch: watchOf(draft),
    max_object_mb: numberOf(max_object_mb),
    ignore_robots,
    headers: headersOf(headers),
    capture,
    picture_events: capture === 'page' && has_picture_events ? Number(picture_events) / 100 : null,
    ...(draft.profile !== MISSING_PROFILE && { profile: draft.profile || null }),
    keep_days: numberOf(draft.keep_days),
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
  if (first === 'watch') return second === 'columns' ? 'watch_columns' : 'watch_value';
  if (first === 'follow') return `follow_${second || 'kind'}` as DraftField;
  if (first !== 'active_hours') return first as DraftField;
  return second === 'time_zone' ? 'hours_zone' : (`hours_${second || 'to'}` as DraftField);
}

/** A header's error names the header, because one field contains all of them. */
function messageOf(issue: z.core.$ZodIssue): string {
  const [, name] = issue.path;
  const message = issueMessage(issue.code === 'invalid_key' ? (issue.issues[0] ?? issue) : issue);
  // A region has four fields and one message.
  if (name === 'region' && issue.path[2] !== undefined) return `${String(issue.path[2])}: ${message}`;
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

/** The source form, until the source is added. Headers may be secret. */
export const useNewSourceDraft = createKeptDraft('strongroom-new-source', EMPTY_DRAFT, (draft) => ({
  ...draft,
  headers: '',
}));
