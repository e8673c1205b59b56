import { html } from '../../html.ts';
import { entryAt } from '../../store/sqlite/node/ledger.ts';
import { eventsOf, lastEventOfLedger } from '../../store/sqlite/node/pages/events.ts';
import { packsOfLedger } from '../../store/sqlite/node/pages/items.ts';
import { counted, eventTable, facts, packList, timeText } from './fragments.ts';
import { framed } from './frame.ts';
import { catalogData } from './jsonLd.ts';
import { LISTS } from './listPages.ts';
import { type Page, type PageContext, textPage } from './pageContext.ts';
import { FEED, INDEX, KINDS, listPath, SEARCH, TIMELINE, VERIFY } from './pagePaths.ts';

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
<p class="lead">An archive of research evidence: data packs with their files, and what watched sources said and when.</p>
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
])}<p>Everything here can be verified without this archive’s help: <a href="${VERIFY}">in the browser or by hand</a>.</p></section>`;
  const description = `The archive ${node}: data packs with their files, and what watched sources said and when.`;
  return textPage(
    INDEX,
    framed(context, { path: INDEX, title: node, description, data: catalogData(context), body }),
  );
}
