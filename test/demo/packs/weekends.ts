import { type Dataset, readDataset } from '../datasets.ts';
import type { OwnerApi } from '../ownerApi.ts';
import { meanDifference, outcomeOf, proportionDifference, rounded, verdictOf } from '../statistics.ts';
import { OUTCOME_RULE, publish } from './draft.ts';

const NODE = 'earth/weather';

interface Day {
  date: string;
  weekend: boolean;
  wet: boolean;
  warmest: number;
}

/** Publishes rain and temperature by day of the week in Seattle, and a replication for rain in New York. */
export async function publishWeekends(api: OwnerApi): Promise<void> {
  await api.call('createNode', { body: { path: NODE, title: 'Weather' } });
  const seattle = readDataset('seattle-weather.csv');
  await publishWarmth(api, seattle);
  const rain = await publishRain(api, seattle, daysOf(seattle), 'Seattle');
  const both = readDataset('weather.csv');
  const newYork = daysOf({ ...both, rows: both.rows.filter(({ location }) => location === 'New York') });
  await publishRain(api, both, newYork, 'New York', {
    id: rain.id,
    difference: Number(rain.results.share_difference),
  });
}

function daysOf({ rows }: Dataset): Day[] {
  return rows.map((row) => {
    const date = String(row.date);
    const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
    return {
      date,
      weekend: weekday === 0 || weekday === 6,
      wet: Number(row.precipitation) > 0,
      warmest: Number(row.temp_max),
    };
  });
}

function used(days: Day[]) {
  return {
    columns: ['date', 'weekend', 'wet', 'temp_max'],
    rows: days.map(({ date, weekend, wet, warmest }) => [date, Number(weekend), Number(wet), warmest]),
  };
}

async function publishRain(
  api: OwnerApi,
  dataset: Dataset,
  days: Day[],
  place: string,
  original?: { id: string; difference: number },
) {
  const [weekend, weekdays] = [days.filter((day) => day.weekend), days.filter((day) => !day.weekend)];
  const wet = (some: Day[]) => ({ count: some.filter((day) => day.wet).length, of: some.length });
  const found = proportionDifference(wet(weekend), wet(weekdays));
  const percent = (share: number) => rounded(share * 100, 1);
  return publish(api, {
    dataset,
    title: `Does it rain more often at weekends in ${place}?`,
    summary: `Of ${weekend.length} weekend days ${percent(wet(weekend).count / weekend.length)} % were wet, of ${weekdays.length} weekdays ${percent(wet(weekdays).count / weekdays.length)} %: a difference of ${percent(found.difference)} points (95 % interval ${percent(found.low)} to ${percent(found.high)}). Days that follow each other are not independent, so the interval is too narrow rather than too wide.`,
    method: {
      complete: true,
      text: [
        `1. From ${dataset.file.path} take the days of ${place} (2012 to 2015); they are in used.csv. A day is wet if its precipitation is above 0; a weekend day is a Saturday or Sunday of the Gregorian calendar.`,
        '2. share_difference is the share of wet days at weekends less that on weekdays; its 95 % interval is ± 1.959964 · √(p(1−p)/n + q(1−q)/m).',
        `3. ${OUTCOME_RULE}`,
        ...(original
          ? [
              '4. The verdict is “reproduced” if the interval lies on the same side of 0 as the original’s difference, “partial” if only the difference itself does, else “failed”.',
            ]
          : []),
      ].join('\n'),
    },
    outcome: outcomeOf(found),
    results: {
      place,
      days: days.length,
      share_difference: rounded(found.difference),
      difference_low: rounded(found.low),
      difference_high: rounded(found.high),
    },
    keywords: ['weather', 'weekday', place],
    node: NODE,
    replicates: original && {
      pack: original.id,
      verdict: verdictOf(original.difference, found.difference, found),
      note: 'The same question at another place.',
    },
    used: used(days),
  });
}

async function publishWarmth(api: OwnerApi, dataset: Dataset): Promise<void> {
  const days = daysOf(dataset);
  const warmest = (weekend: boolean) =>
    days.filter((day) => day.weekend === weekend).map((day) => day.warmest);
  const { difference, low, high } = meanDifference(warmest(true), warmest(false));
  await publish(api, {
    dataset,
    title: 'Are weekends warmer than weekdays in Seattle?',
    summary: `The daily maximum differs by ${rounded(difference, 2)} °C between weekends and weekdays (95 % interval ${rounded(low, 2)} to ${rounded(high, 2)}).`,
    method: {
      complete: true,
      text: [
        '1. From data/seattle-weather.csv take temp_max of every day; the days are in used.csv.',
        '2. difference_celsius is the mean over Saturdays and Sundays less the mean over the other days; its 95 % interval is ± 1.959964 · √(s²/n + t²/m).',
        `3. ${OUTCOME_RULE}`,
      ].join('\n'),
    },
    outcome: outcomeOf({ low, high }),
    results: {
      days: days.length,
      difference_celsius: rounded(difference),
      difference_low: rounded(low),
      difference_high: rounded(high),
    },
    keywords: ['weather', 'weekday', 'Seattle'],
    node: NODE,
    used: used(days),
  });
}
