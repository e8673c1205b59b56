import { describe, expect, test } from 'vitest';
import { type Outcome, transition } from '../../../server/collection/record/recordRetrieval.ts';
import type { Standing } from '../../../server/store/sqlite/collection/sources.ts';

const OLD = 'a'.repeat(64);
const NEW = 'b'.repeat(64);
const SETTINGS = { unavailable_after_failures: 3, gone_after_minutes: 10 };

const same: Outcome = { kind: 'object', sha256: OLD };
const changed: Outcome = { kind: 'object', sha256: NEW };
const missing: Outcome = { kind: 'missing' };
const failure: Outcome = { kind: 'failure' };

/** Returns the time this many minutes after the first check. */
function minute(minutes: number): string {
  return new Date(Date.parse('2026-11-20T10:00:00.000Z') + minutes * 60_000).toISOString();
}

const FRESH: Standing = {
  state: 'new',
  failures: 0,
  missing_since: null,
  consecutive: 0,
  failing_since: null,
};

/** Applies checks a minute apart, or at the given minutes. Returns the state after each check and all events. */
function play(state: Standing['state'], outcomes: (Outcome | [Outcome, number])[], settings = SETTINGS) {
  let standing: Standing = { ...FRESH, state };
  let last = state === 'new' ? null : OLD;
  const states: string[] = [];
  const events: string[] = [];
  outcomes.forEach((step, index) => {
    const [outcome, at] = Array.isArray(step) ? step : [step, index];
    const next = transition(standing, outcome, last, settings, minute(at));
    standing = next.standing;
    if (outcome.kind === 'object') last = outcome.sha256;
    states.push(standing.state);
    events.push(...next.events.map((event) => `${index}:${event}`));
  });
  return { standing, states, events };
}

describe('new', () => {
  test('on success, new digest: first_seen, → available', () => {
    expect(play('new', [changed])).toMatchObject({ states: ['available'], events: ['0:first_seen'] });
  });
  test('on 404 or 410: stays new', () => {
    const { states, events, standing } = play('new', [
      [missing, 0],
      [missing, 20],
      [missing, 40],
    ]);
    expect({ states, events }).toEqual({ states: ['new', 'new', 'new'], events: [] });
    expect(standing).toMatchObject({ consecutive: 3, failing_since: minute(0) });
  });
  test('on any other failure: stays new', () => {
    expect(play('new', [failure, failure, failure, failure])).toMatchObject({
      states: ['new', 'new', 'new', 'new'],
      events: [],
    });
  });
});

describe('available', () => {
  test('on success, same digest: no event', () => {
    expect(play('available', [same, same])).toMatchObject({ states: ['available', 'available'], events: [] });
  });
  test('on success, new digest: changed', () => {
    expect(play('available', [changed])).toMatchObject({ states: ['available'], events: ['0:changed'] });
  });
  test('on the second 404 or 410 in a row, at least 10 minutes after the first: disappeared, → gone', () => {
    expect(
      play('available', [
        [missing, 0],
        [missing, 10],
      ]),
    ).toMatchObject({ states: ['available', 'gone'], events: ['1:disappeared'] });
  });
  test('on 404 or 410 less than 10 minutes after the first of the run: no event', () => {
    const soon = play('available', [
      [missing, 0],
      [missing, 5],
      [missing, 9.99],
      [missing, 10.01],
    ]);
    expect(soon).toMatchObject({
      states: ['available', 'available', 'available', 'gone'],
      events: ['3:disappeared'],
    });
  });
  test('on the second 404 or 410 in a row, with gone_after_minutes 0: disappeared, → gone', () => {
    const settings = { ...SETTINGS, gone_after_minutes: 0 };
    expect(
      play(
        'available',
        [
          [missing, 0],
          [missing, 0],
        ],
        settings,
      ),
    ).toMatchObject({ states: ['available', 'gone'], events: ['1:disappeared'] });
  });
  test('on the third other failure in a row: unavailable, → unavailable', () => {
    expect(play('available', [failure, failure, failure])).toMatchObject({
      states: ['available', 'available', 'unavailable'],
      events: ['2:unavailable'],
    });
  });
  test('a success resets the counts', () => {
    const { standing, events } = play('available', [failure, failure, same, failure, failure]);
    expect(events).toEqual([]);
    expect(standing).toMatchObject({ failures: 2, consecutive: 2, failing_since: minute(3) });
  });
  test('404s and other failures end each other’s runs but count as one run of failing', () => {
    const { standing, events } = play('available', [
      [failure, 0],
      [failure, 1],
      [missing, 2],
      [failure, 3],
      [missing, 20],
      [failure, 21],
    ]);
    expect(events).toEqual([]);
    expect(standing).toMatchObject({
      failures: 1,
      missing_since: null,
      consecutive: 6,
      failing_since: minute(0),
    });
  });
});

describe('unavailable', () => {
  test('on success, same digest: recovered, → available', () => {
    expect(play('unavailable', [same])).toMatchObject({ states: ['available'], events: ['0:recovered'] });
  });
  test('on success, new digest: recovered, then changed', () => {
    expect(play('unavailable', [changed])).toMatchObject({
      states: ['available'],
      events: ['0:recovered', '0:changed'],
    });
  });
  test('on 404 or 410: as for available', () => {
    expect(
      play('unavailable', [
        [missing, 0],
        [missing, 5],
        [missing, 10],
      ]),
    ).toMatchObject({ states: ['unavailable', 'unavailable', 'gone'], events: ['2:disappeared'] });
  });
  test('on any other failure: no event', () => {
    expect(play('unavailable', Array<Outcome>(7).fill(failure))).toMatchObject({ events: [] });
  });
});

describe('gone', () => {
  test('on success, same digest: recovered, → available', () => {
    expect(play('gone', [same])).toMatchObject({ states: ['available'], events: ['0:recovered'] });
  });
  test('on success, new digest: recovered, then changed', () => {
    expect(play('gone', [changed])).toMatchObject({
      states: ['available'],
      events: ['0:recovered', '0:changed'],
    });
  });
  test('on 404, 410 or any other failure: no event', () => {
    const outcomes: [Outcome, number][] = [
      [missing, 0],
      [missing, 20],
      [failure, 21],
      [failure, 22],
      [failure, 23],
    ];
    expect(play('gone', outcomes)).toMatchObject({ states: Array(5).fill('gone'), events: [] });
  });
});

test('a full life: every event once, each from its own cause', () => {
  const life = play('new', [
    changed,
    same,
    failure,
    failure,
    failure,
    failure,
    same,
    [missing, 10],
    [missing, 20],
    changed,
  ]);
  expect(life.events).toEqual([
    '0:first_seen',
    '1:changed',
    '4:unavailable',
    '6:recovered',
    '8:disappeared',
    '9:recovered',
    '9:changed',
  ]);
});
