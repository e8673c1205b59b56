import { expect, test } from 'vitest';
import { describeReachedLimit } from '../../renderer/src/components/feedback/ErrorNote.tsx';
import type { ProblemDocument } from '../../shared/problems.ts';

const NOW = Date.parse('2026-11-20T14:18:00.000Z');

function problem(changes: Record<string, unknown>): ProblemDocument {
  return {
    type: 'about:blank',
    title: 'Too many writes in too short a time',
    status: 429,
    detail: 'One address may make 30 writes in an hour.',
    code: 'rate_limited',
    limit: 'ip_writes_per_hour',
    quota: 30,
    resets_at: '2026-11-20T15:00:00.000Z',
    ...changes,
  };
}

function described(changes: Record<string, unknown>): string | undefined {
  return describeReachedLimit(problem(changes), 'utc', NOW);
}

test('each limit is explained in words, with the time at which it is reset', () => {
  expect(described({})).toBe(
    'Your limit of 30 contributions per hour is reached. Try again at 15:00 UTC (in 42 minutes).',
  );
  expect(
    described({ limit: 'ip_mb_per_day', quota: 100_000_000, resets_at: '2026-11-21T00:00:00.000Z' }),
  ).toBe('This would exceed your limit of 100 MB per day. Try again at 21 Nov, 00:00 UTC (in 9 hours).');
  expect(described({ limit: 'ip_writes_per_day', quota: 1 })).toContain('1 contribution per day');
  expect(described({ limit: 'site_writes_per_hour', quota: 1000 })).toContain('The total limit of');
  expect(described({ limit: 'site_gb_per_day', quota: 2_000_000_000 })).toContain('2.00 GB per day');
});

test('other problems keep the message of the node', () => {
  expect(described({ code: 'invitation_required' })).toBeUndefined();
  expect(described({ limit: 'another_limit' })).toBeUndefined();
  expect(described({ quota: undefined })).toBeUndefined();
});
