import { html } from '../../html.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import {
  countEventsOf,
  eventExtent,
  eventsOf,
  lastEventOfLedger,
} from '../../store/sqlite/node/copyPages.ts';
import { counted, eventTable, monthName, pager } from './fragments.ts';
import { crumb, framed, type Page, type PageContext, textPage } from './frame.ts';
import { monthPath, NEWEST, PART, TIMELINE } from './pagePaths.ts';

/** The days of a month that have events, oldest first, each with its number of events. */
async function countDays(context: PageContext, month: string): Promise<{ day: string; events: number }[]> {
  const { database, size } = context;
  const last = lastEventOfLedger(database, size);
  const days: { day: string; events: number }[] = [];
  for (let date = 1; date <= 31; date += 1) {
    const day = `${month}-${String(date).padStart(2, '0')}`;
    const events = countEventsOf(database, { since: day, before: `${day}~`, last });
    if (events > 0) days.push({ day, events });
    // Counting a day of a large archive takes milliseconds.
    await yieldToEventLoop();
  }
  return days;
}

/** The months between the first and the last event, newest first. */
export function monthsOf({ database, size }: PageContext): string[] {
  const extent = eventExtent(database, lastEventOfLedger(database, size));
  if (!extent) return [];
  const months: string[] = [];
  const date = new Date(`${extent.first.slice(0, 7)}-01T00:00:00Z`);
  for (; date.toISOString().slice(0, 7) <= extent.last.slice(0, 7); date.setUTCMonth(date.getUTCMonth() + 1))
    months.push(date.toISOString().slice(0, 7));
  return months.reverse();
}

/** The list of months. */
export async function timelinePage(context: PageContext): Promise<Page> {
  const counts: { month: string; events: number }[] = [];
  for (const month of monthsOf(context)) {
    const days = await countDays(context, month);
    if (days.length > 0) counts.push({ month, events: days.reduce((sum, { events }) => sum + events, 0) });
  }
  const body = html`<h1>Timeline</h1>
<p class="lead">Every change that this archive observed, by month.</p>
${counts.length === 0 && html`<p class="muted">No events.</p>`}
<ul class="items">${counts.map(
    ({ month, events }) => html`
<li><a href="${monthPath(month)}">${monthName(month)}</a> <span class="muted">${counted(events, 'event')}</span></li>`,
  )}
</ul>`;
  const description = 'Every change that this archive observed, by month.';
  return textPage(TIMELINE, framed(context, { path: TIMELINE, title: 'Timeline', description, body }));
}

/** The page of a month: its newest events, and its days, each with a link to the part where it begins. */
export async function monthPage(context: PageContext, month: string): Promise<Page> {
  const { database, size } = context;
  const range = { since: month, before: `${month}~`, last: lastEventOfLedger(database, size) };
  const events = eventsOf(database, range, { limit: NEWEST, newest: true });
  const days = await countDays(context, month);
  const total = days.reduce((sum, each) => sum + each.events, 0);
  let earlier = 0;
  const linked = days.map(({ day, events: number }) => {
    earlier += number;
    return { day, number, part: Math.ceil(earlier / PART.events) };
  });
  const path = monthPath(month);
  const body = html`${crumb(html`<a href="../${TIMELINE}">Timeline</a>`)}<h1>${monthName(month)}</h1>
<p class="lead">${counted(total, 'event')} on ${counted(days.length, 'day')}</p>
<section><h2>Days</h2><ul class="days">${linked.map(
    ({ day, number, part }) =>
      html`<li><a href="${month}/${part}.html">${Number(day.slice(8))} <span class="muted">${counted(number, 'event')}</span></a></li>`,
  )}</ul></section>
<section><h2>Newest</h2>${eventTable(context, '../', events)}</section>
${total > events.length && html`<p><a href="${month}/${Math.ceil(total / PART.events)}.html">All events of ${monthName(month)}</a></p>`}`;
  const title = `Timeline of ${monthName(month)}`;
  return textPage(path, framed(context, { path, title, description: `${title}.`, body }));
}

/** A part of a month, newest first. */
export function monthPart(context: PageContext, month: string, part: number): Page {
  const { database, size } = context;
  const range = { since: month, before: `${month}~`, last: lastEventOfLedger(database, size) };
  const offset = (part - 1) * PART.events;
  // One more says whether there is a newer part.
  const events = eventsOf(database, range, { offset, limit: PART.events + 1 });
  const hasNewer = events.length > PART.events;
  const shown = events.slice(0, PART.events).reverse();
  const path = monthPath(month, part);
  const body = html`${crumb(html`<a href="../${month}.html">${monthName(month)}</a>`)}<h1>Events ${offset + 1} to ${offset + shown.length}</h1>
${eventTable(context, '../../', shown)}
${pager({ newer: hasNewer ? `${part + 1}.html` : undefined, older: part > 1 ? `${part - 1}.html` : undefined })}`;
  return textPage(path, framed(context, { path, title: `${monthName(month)}, part ${part}`, body }));
}
