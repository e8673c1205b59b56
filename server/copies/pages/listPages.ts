import { type Html, html } from '../../html.ts';
import type { ReadDatabase } from '../../store/sqlite/engine/open.ts';
import {
  countPacksOfLedger,
  countSourcesOfLedger,
  countStudiesOfLedger,
  packsOfLedger,
  sourcesOfLedger,
  studiesOfLedger,
} from '../../store/sqlite/node/copyPages.ts';
import { badge, counted, packList, pager, timeText } from './fragments.ts';
import { crumb, framed, type Page, type PageContext, textPage } from './frame.ts';
import { type Kind, listPath, NEWEST, PART, pagePath } from './pagePaths.ts';

interface Place {
  offset: number;
  limit: number;
}

/** An item as the search index has it: where its page is, and the words that find it. */
export interface ListedItem {
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
