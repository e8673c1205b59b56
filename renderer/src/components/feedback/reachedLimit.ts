import type { Settings } from '../../../../shared/node/settings.ts';
import type { ProblemDocument } from '../../../../shared/problems.ts';
import { countOf, formatBytes } from '../../format/size.ts';
import { clockTime, relativeTime } from '../../format/time.ts';
import type { Zone } from '../../state/displaySettings.ts';

type WriteLimit = Extract<keyof Settings, `ip_${string}` | `site_${string}`>;

const LIMITS: Record<WriteLimit, (quota: number) => string> = {
  ip_writes_per_hour: (quota) => `Your limit of ${contributions(quota)} per hour is reached.`,
  ip_writes_per_day: (quota) => `Your limit of ${contributions(quota)} per day is reached.`,
  ip_mb_per_day: (quota) => `This would exceed your limit of ${formatBytes(quota)} per day.`,
  site_writes_per_hour: (quota) =>
    `The limit of ${contributions(quota)} per hour for everyone together is reached.`,
  site_gb_per_day: (quota) =>
    `This would exceed the limit of ${formatBytes(quota)} per day for everyone together.`,
};

function contributions(quota: number): string {
  return countOf(quota, 'contribution');
}

/** The message for a reached limit, with the time at which it is reset. Undefined for other problems. */
export function describeReachedLimit(document: ProblemDocument, zone: Zone, now: number): string | undefined {
  const { code, limit, quota, resets_at } = document;
  if (code !== 'rate_limited' || typeof limit !== 'string' || typeof resets_at !== 'string') return undefined;
  const describe = Object.hasOwn(LIMITS, limit) ? LIMITS[limit as WriteLimit] : undefined;
  if (!describe || typeof quota !== 'number') return undefined;
  return `${describe(quota)} Try again at ${clockTime(resets_at, zone, now)} (${relativeTime(resets_at, now)}).`;
}
