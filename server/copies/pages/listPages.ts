import { type Html, html } from '../../html.ts';
import { yieldToEventLoop } from '../../runtime/background.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import {
  countEventsByDay,
  countEventsOf,
  countPacksOfLedger,
  countSourcesOfLedger,
  countStudiesOfLedger,
  type EventRange,
  eventExtent,
  eventsOf,
  lastEventOfLedger,
  packsOfLedger,
  sourcesOfLedger,
  studiesOfLedger,
} from '../../store/sqlite/node/copyPages.ts';
import { entryAt } from '../../store/sqlite/node/ledger.ts';
import {
  badge,
  counted,
  crumb,
  eventTable,
  facts,
  framed,
  monthName,
  type Page,
  type PageContext,
  packList,
  pager,
  textPage,
  timeText,
} from './frame.ts';
import { catalogData } from './jsonLd.ts';
import {
  FEED,
  INDEX,
  KINDS,
  type Kind,
  listPath,
  monthPath,
  NEWEST,
  PART,
  pagePath,
  SEARCH,
  TIMELINE,
  VERIFY,
} from './pagePaths.ts';

const SHOWN = 10;

/** The first page: what the copy holds, and what is new. */
export function indexPage(context: PageContext): Page {
  const { database, size, node, note } = context;
  const last = lastEventOfLedger(database, size);
  const packs = packsOfLedger(database, size, { offset: 0, limit: SHOWN }, 'DESC');
  const events = eventsOf(database, { last }, { limit: SHOWN, newest: true });
  const newest = entryAt(database, size)?.at;
  const [, , root = ''] = note.split('\n');
  const body = html`<h1>${node}</h1>
<p class="lead">An archive of research evidence: data packs with their files, and every observed version of the watched sources.</p>
<form class="search" action="${SEARCH}" method="get" role="search"><label for="q">Search packs, studies and sources</label><input id="q" name="q" type="search"><button>Search</button></form>
<ul class="counts">${KINDS.map((kind) => {
    const { count, one, more } = LISTS[kind];
    return html`<li><a href="${listPath(kind)}">${counted(count(database, size), one, more)}</a></li>`;
  })}<li><a href="${TIMELINE}">${counted(last, 'event')}</a></li></ul>
<section><h2>New packs</h2>${packList('', packs)}</section>
<section><h2>Newest events</h2>${eventTable(context, '', events)}<p><a href="${FEED}">Feed of events (Atom)</a></p></section>
<section><h2>This copy</h2>
${facts([
  ['Newest entry', newest && timeText(newest)],
  ['Ledger', counted(size, 'entry', 'entries')],
  ['Root', html`<code class="wrap">${root}</code>`],
  ['Files', html`<a href="checkpoint">checkpoint</a>, <a href="strongroom.json">strongroom.json</a>`],
])}<p>Everything here can be verified without relying on this archive: <a href="${VERIFY}">in the browser or by hand</a>.</p></section>`;
  const description = `The archive ${node}: data packs with their files, and every observed version of the watched sources.`;
  return textPage(
    INDEX,
    framed(context, { path: INDEX, title: node, description, data: catalogData(context), body }),
  );
}

/** The page that searches the static index. Without a script it links to the lists. */
export function searchPage(context: PageContext): Page {
  const body = html`<h1>Search</h1>
<form class="search" role="search" id="search" action="${SEARCH}" method="get"><label for="q">Words of a title, a name, an address, or a digest</label><input id="q" name="q" type="search" autocomplete="off"><button>Search</button></form>
<p id="status" role="status" class="muted"></p>
<ol id="found" class="items"></ol>
<noscript><p class="note">The search requires scripts. Without scripts, use the lists below.</p></noscript>
<ul class="plain">${KINDS.map((kind) => html`<li><a href="${listPath(kind)}">All ${LISTS[kind].more}</a></li>`)}<li><a href="${TIMELINE}">The timeline</a></li></ul>`;
  const description = 'Search the packs, studies and sources of this archive.';
  return textPage(
    SEARCH,
    framed(context, { path: SEARCH, title: 'Search', description, body, scripts: ['search.js'] }),
  );
}

/** The page that verifies files and records in the browser. Without a script it says how to verify by hand. */
export function verifyPage(context: PageContext): Page {
  const body = html`<h1>Verify</h1>
<p class="lead">These pages can be verified without trusting the server that sends them. Every object is named by the SHA-256 digest of its bytes, and a signed ledger records every pack, study, source and event.</p>
<section><h2>A file of yours</h2>
<noscript><p class="note">Verification in the browser requires scripts. The commands below do the same.</p></noscript>
<p>The file is hashed on your machine. Nothing is uploaded.</p>
<div id="drop" class="drop"><label for="files">Choose files, or drop them here</label><input id="files" type="file" multiple></div>
<ul id="hashed" class="items" aria-live="polite"></ul></section>
<section><h2>All files</h2>
<p>A signed list names every file of this copy. All of them are read, which can take a long time. For a large copy, use the command below.</p>
<p><button id="verify-all" type="button">Verify all files</button></p>
<p id="verified" role="status" class="muted"></p>
<ul id="faults" class="items"></ul>
<p class="muted">A page cannot see files that the list does not name, and cannot tell whether the script that runs here is the one that the archive wrote. The command can, from a computer that you trust.</p></section>
<section id="record" aria-labelledby="record-name" hidden><h2 id="record-name">Ledger entry <span id="seq"></span></h2>
<p id="subject"></p>
<ul id="claims" class="items" aria-live="polite"></ul>
<p class="muted">The key comes from this copy. Compare it with one that you received from the archive itself: <code id="key" class="wrap" data-key="${context.key}"></code></p></section>
<section><h2>By hand</h2>
<p>The digest of an object must be its name:</p>
<pre tabindex="0">curl -sO ${context.publicUrl ?? 'https://…/'}archive/DIGEST
sha256sum DIGEST</pre>
<p>The file <code>checkpoint</code> is signed by the archive (C2SP tlog-checkpoint). It covers every entry of the ledger, whose hashes and entries are below <code>tile/</code> (C2SP tlog-tiles). The files below <code>records/</code> hold each entry with what it records; the digest in the entry is the SHA-256 of the record’s canonical JSON (RFC 8785). With Strongroom itself:</p>
<pre tabindex="0">strongroom verify FOLDER</pre></section>`;
  const description = 'Verify files and records of this archive in the browser or by hand.';
  return textPage(
    VERIFY,
    framed(context, {
      path: VERIFY,
      title: 'Verify',
      description,
      body,
      scripts: ['verify.js'],
    }),
  );
}

interface Place {
  offset: number;
  limit: number;
}

/** An item as the search index has it: where its page is, and the words that find it. */
interface ListedItem {
  id: string;
  title: string;
  words: string;
}

interface List {
  title: string;
  lead: string;
  one: string;
  more: string;
  count: (database: ReadDatabase, size: number) => number;
  /** Items in the order of the ledger, oldest first, as the search index has them. */
  items: (database: ReadDatabase, size: number, place: Place) => ListedItem[];
  /** Items, newest first, as HTML. */
  show: (context: PageContext, root: string, place: Place, order: 'ASC' | 'DESC') => Html;
}

/** The lists of packs, studies and sources. */
export const LISTS: Record<Kind, List> = {
  packs: {
    title: 'Packs',
    lead: 'Data packs with their files, methods and results.',
    one: 'pack',
    more: 'packs',
    count: countPacksOfLedger,
    items: (database, size, place) =>
      packsOfLedger(database, size, place).map(({ id, title, summary, authors, keywords }) => ({
        id,
        title,
        words: [
          ...(JSON.parse(authors) as { name: string }[]).map(({ name }) => name),
          ...(JSON.parse(keywords) as string[]),
          summary,
        ].join(' '),
      })),
    show: ({ database, size }, root, place, order) =>
      packList(root, newestFirst(packsOfLedger(database, size, place, order), order)),
  },
  studies: {
    title: 'Studies',
    lead: 'Questions, and the packs that answer them.',
    one: 'study',
    more: 'studies',
    count: countStudiesOfLedger,
    items: (database, size, place) =>
      studiesOfLedger(database, size, place).map(({ id, title, question }) => ({
        id,
        title,
        words: question,
      })),
    show: ({ database, size }, root, place, order) =>
      itemList(
        newestFirst(studiesOfLedger(database, size, place, order), order).map(
          ({ id, title, status, created_at }) => ({
            link: `${root}${pagePath('studies', id)}`,
            title,
            more: html`${timeText(created_at)} ${badge(status)}`,
          }),
        ),
      ),
  },
  sources: {
    title: 'Sources',
    lead: 'The addresses that this archive watches or has captures of.',
    one: 'source',
    more: 'sources',
    count: countSourcesOfLedger,
    items: (database, size, place) =>
      sourcesOfLedger(database, size, place).map(({ id, name, url, agency, tags }) => ({
        id,
        title: name || url,
        words: [url, agency, ...tags].join(' '),
      })),
    show: ({ database, size }, root, place, order) =>
      itemList(
        newestFirst(sourcesOfLedger(database, size, place, order), order).map(
          ({ id, name, url, agency, removed }) => ({
            link: `${root}${pagePath('sources', id)}`,
            title: name || url,
            more: html`${name !== '' && html`<span class="wrap">${url}</span> `}${agency} ${removed && badge('no longer watched')}`,
          }),
        ),
      ),
  },
};

function newestFirst<Item>(items: Item[], order: 'ASC' | 'DESC'): Item[] {
  return order === 'DESC' ? items : items.reverse();
}

function itemList(items: readonly { link: string; title: string; more: Html }[]): Html {
  return html`<ul class="items">${items.map(
    ({ link, title, more }) => html`
<li><a class="wrap" href="${link}">${title}</a><p class="muted">${more}</p></li>`,
  )}
</ul>`;
}

/** The first page of a list: the newest items. */
export function listPage(context: PageContext, kind: Kind): Page {
  const { title, lead, one, more, count, show } = LISTS[kind];
  const total = count(context.database, context.size);
  const path = listPath(kind);
  const body = html`<h1>${title}</h1><p class="lead">${lead}</p>
<p>${counted(total, one, more)}</p>
${total > 0 && show(context, '', { offset: 0, limit: NEWEST }, 'DESC')}
${total > NEWEST && html`<p><a href="${listPath(kind, Math.ceil(total / PART[kind]))}">All ${more}</a></p>`}`;
  return textPage(path, framed(context, { path, title, description: lead, body }));
}

/** A part of a list, newest first. */
export function listPart(context: PageContext, kind: Kind, part: number): Page {
  const { title, count, show } = LISTS[kind];
  const total = count(context.database, context.size);
  const place = { offset: (part - 1) * PART[kind], limit: PART[kind] };
  const path = listPath(kind, part);
  const last = Math.min(total, place.offset + place.limit);
  const body = html`${crumb(html`<a href="../${listPath(kind)}">${title}</a>`)}<h1>${title} ${place.offset + 1} to ${last}</h1>
${show(context, '../', place, 'ASC')}
${pager({
  newer: part < Math.ceil(total / PART[kind]) ? `list-${part + 1}.html` : undefined,
  older: part > 1 ? `list-${part - 1}.html` : undefined,
})}`;
  return textPage(path, framed(context, { path, title: `${title}, part ${part}`, body }));
}

function monthRange({ database, size }: PageContext, month: string): EventRange {
  return { since: month, before: `${month}~`, last: lastEventOfLedger(database, size) };
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
    const events = countEventsOf(context.database, monthRange(context, month));
    if (events > 0) counts.push({ month, events });
    // Counting a month of a large archive takes milliseconds.
    await yieldToEventLoop();
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
export function monthPage(context: PageContext, month: string): Page {
  const { database } = context;
  const range = monthRange(context, month);
  const events = eventsOf(database, range, { limit: NEWEST, newest: true });
  const days = countEventsByDay(database, range);
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
  const { database } = context;
  const range = monthRange(context, month);
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
