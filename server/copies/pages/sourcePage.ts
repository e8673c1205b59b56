import { html } from '../../html.ts';
import { countEventsOf, eventsOf, lastEventOfLedger } from '../../store/sqlite/node/pages/events.ts';
import { type RecordedSourceRow, sourceOfLedger } from '../../store/sqlite/node/pages/sources.ts';
import { counted, eventTable, facts, outwardLink, pager, timeText } from './fragments.ts';
import { crumb, framed } from './frame.ts';
import { sourceData } from './jsonLd.ts';
import { type Page, type PageContext, textPage } from './pageContext.ts';
import { NEWEST, PART, pagePath, partPath, VERIFY } from './pagePaths.ts';

const ROOT = '../';

/** The page of a source with its newest events; undefined if the ledger does not record it yet. */
export function sourcePage(context: PageContext, key: number): Page | undefined {
  const { database, size } = context;
  const source = sourceOfLedger(database, key, size);
  if (!source) return undefined;
  const range = { source_key: key, last: lastEventOfLedger(database, size) };
  const total = countEventsOf(database, range);
  const events = eventsOf(database, range, { limit: NEWEST, newest: true });
  const title = source.name || source.url;
  const path = pagePath('sources', source.id);
  const older = total > NEWEST ? `${source.id}/${Math.ceil(total / PART.events)}.html` : undefined;
  const body = html`<h1 class="wrap">${title}</h1>
${source.removed && html`<p class="note">This source is no longer watched. Its history stays.</p>`}
${sourceFacts(source)}
<section><h2>${counted(total, 'event')}</h2>${eventTable(context, ROOT, events, { withSource: false })}${older !== undefined && html`<p><a href="${older}">All events of this source</a></p>`}</section>`;
  const description = `What ${title} said, and when it changed.`;
  const data = sourceData(context, source, title);
  return textPage(path, framed(context, { path, title, description, data, body }));
}

function sourceFacts({ url, agency, tags, added_at, ledger_entry }: RecordedSourceRow) {
  return facts([
    ['Address', outwardLink(url)],
    ['Agency', agency],
    ['Tags', tags.join(', ')],
    ['Watched since', timeText(added_at)],
    [
      'Ledger entry',
      html`${ledger_entry} · <a href="${ROOT}${VERIFY}#entry=${ledger_entry}">Verify in the browser</a>`,
    ],
  ]);
}

/** A part of the list of a source's events, newest first. */
export function sourcePart(context: PageContext, key: number, part: number): Page | undefined {
  const { database, size } = context;
  const source = sourceOfLedger(database, key, size);
  if (!source) return undefined;
  const range = { source_key: key, last: lastEventOfLedger(database, size) };
  const total = countEventsOf(database, range);
  const offset = (part - 1) * PART.events;
  const events = eventsOf(database, range, { offset, limit: PART.events }).reverse();
  const title = source.name || source.url;
  const path = partPath('sources', source.id, part);
  const body = html`${crumb(html`<a href="../${source.id}.html">${title}</a>`)}<h1>Events ${offset + 1} to ${offset + events.length}</h1>
${eventTable(context, '../../', events, { withSource: false })}
${pager({
  newer: part < Math.ceil(total / PART.events) ? `${part + 1}.html` : undefined,
  older: part > 1 ? `${part - 1}.html` : undefined,
})}`;
  return textPage(path, framed(context, { path, title: `${title}: events, part ${part}`, body }));
}
