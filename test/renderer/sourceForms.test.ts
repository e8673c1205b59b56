import { describe, expect, test } from 'vitest';
import { ApiProblem } from '../../renderer/src/api/client.ts';
import { intervalText, unitOf } from '../../renderer/src/format.ts';
import { previewAddress } from '../../renderer/src/pages/sources/AddSource.tsx';
import { ruleErrorsOf } from '../../renderer/src/pages/sources/NoiseFields.tsx';
import { scheduleDraftOf, scheduleOf } from '../../renderer/src/pages/sources/sourceForm.ts';
import type { Schedule } from '../../shared/collection/schedule.ts';
import type { SourcePreview } from '../../shared/collection/source.ts';
import type { ProblemDocument } from '../../shared/problems.ts';

describe('an interval', () => {
  test.each([
    [1, '1 minute', 'minutes'],
    [45, '45 minutes', 'minutes'],
    [60, '1 hour', 'hours'],
    [90, '1 hour 30 minutes', 'minutes'],
    [120, '2 hours', 'hours'],
    [1_440, '1 day', 'days'],
    [2_160, '1 day 12 hours', 'hours'],
    [10_080, '7 days', 'days'],
  ])('of %i minutes is %s', (minutes, text, unit) => {
    expect([intervalText(minutes), unitOf(minutes)]).toEqual([text, unit]);
  });
});

describe('a schedule', () => {
  const hours = { from: '08:00', to: '24:00', time_zone: 'America/New_York' };
  const at_interval = { every_minutes: 30, every: null, time_zone: null, active_hours: null };
  const at_times = {
    every_minutes: null,
    every: '0 8 * * 1-5',
    time_zone: 'Europe/Berlin',
    active_hours: null,
  };
  test.each<[string, Schedule]>([
    ['of the node', { ...at_interval, every_minutes: null }],
    ['at an interval', at_interval],
    ['at an interval, in hours', { ...at_interval, active_hours: { ...hours, days: ['mon', 'sun'] } }],
    ['at times', at_times],
    ['at times and hours of different zones', { ...at_times, active_hours: hours }],
  ])('%s is the same after it was opened and saved', (_, schedule) => {
    expect(scheduleOf(scheduleDraftOf(schedule))).toEqual(schedule);
  });

  test('whose times have the zone of the hours keeps both zones', () => {
    const inherited = { ...at_times, time_zone: null, active_hours: hours };
    expect(scheduleOf(scheduleDraftOf(inherited))).toEqual({ ...inherited, time_zone: hours.time_zone });
  });
});

describe('an address without a scheme', () => {
  const answers = (url: string) => ({ url, error: null, status: 200 }) as SourcePreview;
  const fails = (url: string) => ({ url, error: 'connection_refused', status: null }) as SourcePreview;
  const serverError = (url: string) => ({ url, error: 'http_error', status: 503 }) as SourcePreview;

  async function tried(address: string, preview: (url: string) => SourcePreview) {
    const urls: string[] = [];
    const { url, note } = await previewAddress(address, async (each) => {
      urls.push(each);
      return preview(each);
    });
    return { urls, url, note };
  }

  test('is tried as https first', async () => {
    expect(await tried('a.example/x', answers)).toEqual({
      urls: ['https://a.example/x'],
      url: 'https://a.example/x',
      note: 'Added https://, and the server responded.',
    });
    expect((await tried('a.example', serverError)).url).toBe('https://a.example');
  });

  test('is tried as http if https does not answer, and this is said', async () => {
    const found = await tried('a.example:8080', (url) =>
      url.startsWith('https:') ? fails(url) : answers(url),
    );
    expect(found.url).toBe('http://a.example:8080');
    expect(found.note).toMatch(/^https:\/\/ failed \(.+\), but http:\/\/ responded\.$/);
  });

  test('stays https if neither answers', async () => {
    const found = await tried('a.example', fails);
    expect([found.url, found.urls.length]).toEqual(['https://a.example', 2]);
    expect(found.note).toContain('Neither');
  });

  test('with a scheme nothing else is tried', async () => {
    expect(await tried('http://a.example', fails)).toEqual({
      urls: ['http://a.example'],
      url: 'http://a.example',
      note: undefined,
    });
  });
});

describe('the errors of noise rules', () => {
  const refused = (path: string) =>
    new ApiProblem({ errors: [{ path, message: 'Not valid.' }], code: 'invalid_request' } as ProblemDocument);

  test('are at the rule that they name', () => {
    expect(ruleErrorsOf(refused('/noise_rules/1/note'), 'noise_rules')).toEqual({
      1: { note: 'Not valid.' },
    });
  });

  test('are at no rule if the list as a whole is refused', () => {
    expect(ruleErrorsOf(refused('/noise_rules'), 'noise_rules')).toEqual({});
  });
});
