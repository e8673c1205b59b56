import {
  IconAlertTriangle,
  IconCheck,
  IconCircleCheck,
  IconCircleDashed,
  IconCloud,
  type TablerIcon,
} from '@tabler/icons-react';
import { type ReactNode, useSyncExternalStore } from 'react';
import type { ObjectPlaces } from '../../../../shared/node/copy.ts';
import { useCall } from '../../api/useCall.ts';
import { copyPlace, exactTime, formatCount, relativeTime } from '../../format.ts';
import { useDisplaySettings } from '../../state/displaySettings.ts';
import { useIsOwner } from '../../state/session.ts';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';
import { useCopied } from '../forms/buttons.tsx';
import classes from './data.module.css';
import { STATES, type StateDisplay, type StateKind, type StateValue } from './states.ts';

const TICK_MS = 15_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** All texts of a page share one timer. */
function subscribeToTicks(notify: () => void): () => void {
  listeners.add(notify);
  timer ??= setInterval(() => {
    for (const listener of listeners) listener();
  }, TICK_MS);
  return () => {
    listeners.delete(notify);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The current time in whole seconds, updated every few seconds. */
function useNow(): number {
  return useSyncExternalStore(subscribeToTicks, () => Math.floor(Date.now() / 1000) * 1000);
}

interface TimeTextProps {
  /** An RFC 3339 timestamp. */
  at: string;
  /** `exact` shows the timestamp and puts the relative time in the tooltip. The default is the reverse. */
  show?: 'relative' | 'exact';
}

/** A point in time, relative, with the exact timestamp on hover, in the person's time zone or UTC. */
export function TimeText({ at, show = 'relative' }: TimeTextProps) {
  const now = useNow();
  const zone = useDisplaySettings((look) => look.zone);
  const near = () => relativeTime(at, now);
  const exact = () => exactTime(at, zone);
  const [shown, hint] = show === 'relative' ? [near, exact] : [exact, near];
  return (
    <LazyTooltip label={hint}>
      {(trigger) => (
        <time {...trigger} dateTime={at} className="nowrap numeric">
          {shown()}
        </time>
      )}
    </LazyTooltip>
  );
}

/** The result of a digest check: whether it matched, when, and against what. */
export interface Verified {
  ok: boolean;
  at: string;
  /** What was compared: `the stored bytes`, `the ledger`. */
  against: string;
}

interface DigestChipProps {
  digest: string;
  /** What the digest belongs to, for screen readers: `fingerprint`, `digest of data.csv`. */
  label?: string;
  verified?: Verified;
}

/** Shows the first 8 digits of a digest. Hover or focus shows all of it; a click copies it. */
export function DigestChip({ digest, label = 'digest', verified }: DigestChipProps) {
  const { copied, copy } = useCopied();
  const zone = useDisplaySettings((look) => look.zone);
  const found =
    verified &&
    `${verified.ok ? 'Verified' : 'Does not match'} against ${verified.against}, ${exactTime(verified.at, zone)}`;
  return (
    <LazyTooltip
      maxWidth={420}
      label={
        <span className="stack gap-1 tiny">
          <code>{digest}</code>
          <span>{copied ? 'Copied' : 'Click to copy'}</span>
          {found && <span>{found}</span>}
        </span>
      }
    >
      {(trigger) => (
        <button
          {...trigger}
          type="button"
          className={`${classes.chip} sunk mono small line inline gap-1 nowrap`}
          aria-label={`${label} ${digest.slice(0, 8)}, copy${found ? `. ${found}` : ''}`}
          onClick={(event) => {
            event.stopPropagation();
            copy(digest);
          }}
        >
          {copied ? (
            <IconCheck size={13} aria-hidden />
          ) : (
            verified &&
            (verified.ok ? (
              <IconCircleCheck size={14} className="good" aria-hidden />
            ) : (
              <IconAlertTriangle size={14} className="bad" aria-hidden />
            ))
          )}
          <span>{digest.slice(0, 8)}</span>
        </button>
      )}
    </LazyTooltip>
  );
}

interface StateBadgeProps<Kind extends StateKind> {
  kind: Kind;
  value: StateValue<Kind>;
  /** `plain` for dense tables, `boxed` for a badge on its own. */
  look?: 'plain' | 'boxed';
  /** A number after the label. */
  count?: number;
}

/** A state as an icon, a label and a colour. A tooltip explains it. */
export function StateBadge<Kind extends StateKind>({
  kind,
  value,
  look = 'plain',
  count,
}: StateBadgeProps<Kind>) {
  const states = STATES[kind] as Record<StateValue<Kind>, StateDisplay>;
  const { label, icon: Icon, tone, meaning } = states[value];
  return (
    <LazyTooltip label={meaning} maxWidth={280}>
      {(trigger) => (
        <span
          {...trigger}
          className={`line inline gap-1 baseline small nowrap muted ${look === 'boxed' ? classes.boxed : ''}`}
          data-tone={tone}
        >
          <Icon size={15} stroke={1.9} aria-hidden />
          {count !== undefined && <span className="numeric">{formatCount(count)}</span>}
          <span>{label}</span>
        </span>
      )}
    </LazyTooltip>
  );
}

const HEALTH_ICONS = { well: IconCircleCheck, idle: IconCircleDashed, bad: IconAlertTriangle };

interface HealthLineProps {
  health: keyof typeof HEALTH_ICONS;
  icon?: TablerIcon;
  children: ReactNode;
}

/** Whether something that the owner looks after is well: an icon in its colour, and words. */
export function HealthLine({ health, icon: Icon = HEALTH_ICONS[health], children }: HealthLineProps) {
  return (
    <p className="line gap-2 baseline wrap-anywhere" data-health={health}>
      <Icon size={17} aria-hidden />
      <span>{children}</span>
    </p>
  );
}

const FACT_LAYOUTS = {
  column: 'stack gap-3',
  columns: 'stack columns gap-3',
  narrowColumns: 'stack columns-narrow gap-3',
  line: 'cluster start gap-5',
};

interface FactsProps {
  /** By name, in display order. */
  facts: Readonly<Record<string, ReactNode>>;
  layout?: keyof typeof FACT_LAYOUTS;
}

/** A list of names and values. Entries whose value is null, undefined or false are omitted. */
export function Facts({ facts, layout = 'column' }: FactsProps) {
  return (
    <dl className={FACT_LAYOUTS[layout]}>
      {Object.entries(facts).map(([name, value]) =>
        value === null || value === undefined || value === false ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

interface MeterProps {
  label: string;
  value: number;
  max: number;
  /** Whether the value exceeds the limit. */
  isOver?: boolean;
}

/** A thin bar that shows how much of a limit is used. The numbers are shown next to it. */
export function Meter({ label, value, max, isOver = false }: MeterProps) {
  return (
    <meter
      className={classes.meter}
      aria-label={label}
      min={0}
      max={Math.max(max, 1)}
      value={value}
      data-over={isOver || undefined}
    />
  );
}

/** Returns where an object is stored; undefined for visitors, and while no object is offloaded. */
function usePlaces(sha256: string): ObjectPlaces | undefined {
  const isOwner = useIsOwner();
  const { data: state } = useCall('readOffload', {}, { enabled: isOwner });
  const enabled = (state?.offloaded_objects ?? 0) > 0;
  return useCall('readObjectPlaces', { params: { sha256 } }, { enabled }).data;
}

/** Says where an object lies, and what reading it needs. */
export function StoredPlace({ sha256 }: { sha256: string }) {
  const places = usePlaces(sha256);
  return places ? <p className="muted small wrap-anywhere">{sentenceOf(places)}</p> : null;
}

/** A mark for an offloaded object, short enough for a row. */
export function StoredPlaceMark({ sha256 }: { sha256: string }) {
  const places = usePlaces(sha256);
  if (!places || places.is_here) return null;
  return (
    <LazyTooltip label={sentenceOf(places)} maxWidth={384}>
      {(trigger) => (
        <span {...trigger} className="line inline gap-1 nowrap muted small">
          <IconCloud size={15} aria-hidden /> In a copy
        </span>
      )}
    </LazyTooltip>
  );
}

function sentenceOf({ is_here, copies }: ObjectPlaces): string {
  const names = copies.map(({ target }) => copyPlace(target));
  const listed = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0];
  if (is_here) return listed === undefined ? 'On this disk only.' : `On this disk, and in ${listed}.`;
  if (listed === undefined) return 'Not on this disk or in any known copy.';
  const needs = copies.every(({ target }) => target.startsWith('s3:'))
    ? 'Without a network connection, it cannot be read, verified or exported.'
    : 'While that place cannot be reached, it cannot be read, verified or exported.';
  return `Not on this disk. It is in ${listed} and is read from there when you open it. ${needs}`;
}
