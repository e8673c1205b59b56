import { type Pack, type PackFile, type PackRecord, uriOfIdentifier } from '../../../shared/archive/pack.ts';
import type { PublishedDeposit } from '../../../shared/node/deposit.ts';
import { doiUrl } from '../../../shared/values/doi.ts';
import { readPack } from '../../archive/packs/readPack.ts';
import type { SetIndex } from '../../archive/sets/setIndex.ts';
import { citedPack } from '../../citations/citedWork.ts';
import { apaReference } from '../../citations/textFormats.ts';
import { type Html, html } from '../../html.ts';
import { publishedDepositsOf, publishedDoi } from '../../store/sqlite/archive/deposits.ts';
import { listPages } from '../../store/sqlite/collection/pages.ts';
import {
  commentsUntil,
  countEventsOf,
  countPacksOfStudy,
  eventsOf,
  lastEventOfLedger,
  type PackReferences,
  packReferencesUntil,
  packsOfStudyUntil,
  packTitle,
  type RecordedSourceRow,
  sourceOfLedger,
  statusesUntil,
  studyOfLedger,
} from '../../store/sqlite/node/copyPages.ts';
import { pageItem } from './eventPage.ts';
import {
  badge,
  commentSection,
  counted,
  crumb,
  digestText,
  eventTable,
  facts,
  framed,
  objectLink,
  outwardLink,
  type Page,
  type PageContext,
  packList,
  pager,
  plainText,
  sizeText,
  textPage,
  timeText,
} from './frame.ts';
import { packData, sourceData, studyData } from './jsonLd.ts';
import { NEWEST, PART, pagePath, partPath, VERIFY } from './pagePaths.ts';

const ROOT = '../';
const MAX_COMMENTS = 500;

/** The page of a pack, as a ledger of the context's size records it. */
export async function packPage(context: PageContext, id: string): Promise<Page> {
  const { database, size } = context;
  const references = packReferencesUntil(database, id, size);
  const pack = withReferences(readPack(database, id), references);
  const set = pack.evidence.set && (await context.setOf(id));
  const path = pagePath('packs', id);
  const cited = citedPack(pack, { origin: '', publisher: context.node });
  const work = { ...cited, doi: publishedDoi(database, id, size) };
  const url = context.publicUrl === null ? undefined : context.publicUrl + path;
  const body = html`<h1>${pack.title}</h1>
<p>${badge(pack.outcome)} ${badge(pack.tag)}</p>
${pack.evidence.superseded_by && html`<p class="note">There is a newer version: <a href="${ROOT}${pagePath('packs', pack.evidence.superseded_by)}">${packTitle(database, pack.evidence.superseded_by)}</a></p>`}
${plainText(pack.summary)}
${packFacts(context, pack)}
${methodSection(pack)}${resultSection(pack)}
${set && setSection(context, set)}${fileSection(context, pack.files)}
${referenceSection(references)}${relatedSection(pack)}
<section><h2>Cite</h2><p class="text">${apaReference({ ...work, url })}</p></section>
${commentSection(commentsUntil(database, { item: id, size, limit: MAX_COMMENTS }))}`;
  const data = packData(context, work, pack.files);
  const description = pack.summary || `A data pack by ${pack.authors.map(({ name }) => name).join(', ')}.`;
  return textPage(path, framed(context, { path, title: pack.title, description, data, body }));
}

/** Replaces what the newest state says about a pack by what a smaller ledger says. */
function withReferences(pack: Pack, { replications, superseded_by, flags }: PackReferences): Pack {
  return {
    ...pack,
    replications: replications.map(({ pack: id, verdict, at }) => ({ pack: id, verdict, received_at: at })),
    evidence: { ...pack.evidence, superseded_by },
    flags: flags as Pack['flags'],
  };
}

function packFacts(context: PageContext, pack: Pack): Html {
  const { database, size } = context;
  const study = pack.study === null ? undefined : studyOfLedger(database, pack.study, size);
  const { replicates, supersedes } = pack;
  const deposits = publishedDepositsOf(database, pack.id, size);
  return facts([
    ['Authors', html`<ul class="plain">${pack.authors.map(authorItem)}</ul>`],
    ['Received', timeText(pack.evidence.received_at)],
    ['Licence', pack.license],
    ['Study', study && html`<a href="${ROOT}${pagePath('studies', study.id)}">${study.title}</a>`],
    ['Subject', pack.node],
    ['Keywords', pack.keywords.join(', ')],
    [
      'Replicates',
      replicates &&
        html`${packLink(database, replicates.pack)} ${badge(replicates.verdict)}${plainText(replicates.note)}`,
    ],
    ['New version of', supersedes && packLink(database, supersedes)],
    ['Fingerprint', digestText(pack.digest)],
    ['Published in', deposits.length > 0 && html`<ul class="plain">${deposits.map(depositItem)}</ul>`],
    [
      'Ledger entry',
      html`${pack.ledger_entry} · <a href="${ROOT}${VERIFY}#entry=${pack.ledger_entry}">Verify in the browser</a>`,
    ],
  ]);
}

function depositItem({ doi, url, ledger_entry, peer }: PublishedDeposit): Html {
  const link = doi === null ? outwardLink(url) : outwardLink(doiUrl(doi), doi);
  return html`<li>${link} <span class="muted">${peer && `according to ${peer.name}, `}<a href="${ROOT}${VERIFY}#entry=${ledger_entry}">entry ${ledger_entry}</a></span></li>`;
}

function packLink(database: PageContext['database'], id: string): Html {
  return html`<a href="${ROOT}${pagePath('packs', id)}">${packTitle(database, id) ?? id}</a>`;
}

function authorItem({ name, orcid, affiliation }: PackRecord['authors'][number]): Html {
  return html`<li>${orcid ? outwardLink(`https://orcid.org/${orcid}`, name) : name}${affiliation && html` <span class="muted">${affiliation}</span>`}</li>`;
}

function methodSection({ method }: Pack): Html | false {
  return (
    method !== null &&
    html`<section><h2>Method</h2><p class="muted">${method.complete ? 'Complete, according to its authors.' : 'Not complete, according to its authors.'}</p>${method.link !== null && html`<p>${outwardLink(method.link)}</p>`}${plainText(method.text)}</section>`
  );
}

function resultSection({ results }: Pack): Html | false {
  const rows = Object.entries(results);
  return (
    rows.length > 0 &&
    html`<section><h2>Results</h2><div class="scroll" role="region" aria-label="Results" tabindex="0"><table><thead><tr><th scope="col">Name</th><th scope="col">Value</th></tr></thead><tbody>${rows.map(
      ([name, value]) =>
        html`<tr><th scope="row">${name}</th><td>${value === null ? 'none' : String(value)}</td></tr>`,
    )}</tbody></table></div></section>`
  );
}

/** The links to the objects of a set on one page. All of its files are in its list. */
const MAX_SET_LINKS = 2_000;

/** The files of a set. One that was cut has a link to each of its pieces. */
function setSection(context: PageContext, set: SetIndex): Html {
  const rows: Html[] = [];
  let links = 0;
  for (let file = 0; file < set.count; file += 1) {
    const path = set.pathOf(file);
    const parts = set.partsOf(file);
    links += parts.length;
    if (links > MAX_SET_LINKS) break;
    const [only] = parts;
    const name =
      parts.length === 1 && only
        ? objectLink(context, { root: ROOT, sha256: only.sha256, name: path, text: path })
        : html`${path}${parts.map(({ sha256, path: piece }) => html` ${objectLink(context, { root: ROOT, sha256, name: `${path}.${piece}`, text: piece })}`)}`;
    rows.push(html`
<tr><th scope="row" class="wrap">${name}</th><td>${sizeText(set.bytesOf(file))}</td><td>${digestText(set.sha256Of(file))}</td></tr>`);
  }
  const others = set.count - rows.length;
  return html`<section><h2>Set of ${counted(set.count, 'file')}, ${sizeText(set.bytes)}</h2>
<p class="muted">The pieces of a file, joined in their order, have its digest.${others > 0 && html` The list below has ${counted(others, 'more file')}.`}</p>
<div class="scroll" role="region" aria-label="Files of the set" tabindex="0"><table><thead><tr><th scope="col">File</th><th scope="col">Size</th><th scope="col">SHA-256</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

function fileSection(context: PageContext, files: readonly PackFile[]): Html {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return html`<section><h2>${counted(files.length, 'file')}, ${sizeText(bytes)}</h2>
${
  files.length > 0 &&
  html`<div class="scroll" role="region" aria-label="Files" tabindex="0"><table><thead><tr><th scope="col">File</th><th scope="col">Size</th><th scope="col">SHA-256</th></tr></thead><tbody>${files.map(
    ({ path, sha256, bytes: size }) => html`
<tr><th scope="row" class="wrap">${objectLink(context, { root: ROOT, sha256, name: path, text: path })}</th><td>${sizeText(size)}</td><td>${digestText(sha256)}</td></tr>`,
  )}</tbody></table></div>`
}</section>`;
}

function referenceSection({ replications, flags }: PackReferences): Html {
  return html`${
    replications.length > 0 &&
    html`<section><h2>${counted(replications.length, 'replication')}</h2><ul class="items">${replications.map(
      ({ pack, title, verdict, at }) =>
        html`<li><a href="${ROOT}${pagePath('packs', pack)}">${title}</a> ${badge(verdict)} <span class="muted">${timeText(at)}</span></li>`,
    )}</ul></section>`
  }${
    flags.length > 0 &&
    html`<section><h2>${counted(flags.length, 'flag')}</h2><ul class="items">${flags.map(
      ({ reason, note, at }) =>
        html`<li><strong>${reason}</strong> <span class="muted">${timeText(at)}</span>${plainText(note)}</li>`,
    )}</ul></section>`
  }`;
}

function relatedSection({ related }: Pack): Html | false {
  return (
    related.length > 0 &&
    html`<section><h2>Related works</h2><ul class="items">${related.map(
      ({ relation, identifier }) =>
        html`<li><span class="muted">${relation}</span> ${outwardLink(uriOfIdentifier(identifier), identifier)}</li>`,
    )}</ul></section>`
  );
}

/** The page of a study with its newest packs; undefined if the ledger does not record it yet. */
export function studyPage(context: PageContext, id: string): Page | undefined {
  const { database, size } = context;
  const study = studyOfLedger(database, id, size);
  if (!study) return undefined;
  const total = countPacksOfStudy(database, id, size);
  const packs = packsOfStudyUntil(database, { study: id, size, order: 'DESC' }, { offset: 0, limit: NEWEST });
  const path = pagePath('studies', id);
  const older = total > NEWEST ? `${id}/${Math.ceil(total / PART.packs)}.html` : undefined;
  const body = html`<h1>${study.title}</h1>
<p>${badge(study.status)}</p>
${plainText(study.question)}${plainText(study.description)}
${facts([
  ['Created', timeText(study.created_at)],
  ['Subject', study.node],
  [
    'Status',
    html`<ol class="plain">${statusesUntil(database, id, size).map(
      ({ status, at, note }) =>
        html`<li>${status} <span class="muted">${timeText(at)}</span>${plainText(note)}</li>`,
    )}</ol>`,
  ],
  [
    'Ledger entry',
    html`${study.ledger_entry} · <a href="${ROOT}${VERIFY}#entry=${study.ledger_entry}">Verify in the browser</a>`,
  ],
])}
<section><h2>${counted(total, 'pack')}</h2>${packList(ROOT, packs)}${older !== undefined && html`<p><a href="${older}">All packs of this study</a></p>`}</section>
${commentSection(commentsUntil(database, { item: id, size, limit: MAX_COMMENTS }))}`;
  const description = study.question || study.description || undefined;
  const data = studyData(context, study, packs);
  return textPage(path, framed(context, { path, title: study.title, description, data, body }));
}

/** A part of the list of a study's packs, newest first. */
export function studyPart(context: PageContext, id: string, part: number): Page {
  const { database, size } = context;
  const title = studyOfLedger(database, id, size)?.title ?? id;
  const total = countPacksOfStudy(database, id, size);
  const place = { offset: (part - 1) * PART.packs, limit: PART.packs };
  const packs = packsOfStudyUntil(database, { study: id, size }, place).reverse();
  const path = partPath('studies', id, part);
  const body = html`${crumb(html`<a href="../${id}.html">${title}</a>`)}<h1>Packs ${place.offset + 1} to ${place.offset + packs.length}</h1>
${packList('../../', packs)}
${pager({
  newer: part < Math.ceil(total / PART.packs) ? `${part + 1}.html` : undefined,
  older: part > 1 ? `${part - 1}.html` : undefined,
})}`;
  return textPage(path, framed(context, { path, title: `${title}: packs, part ${part}`, body }));
}

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
<section><h2>${counted(total, 'event')}</h2>${eventTable(context, ROOT, events, { withSource: false })}${older !== undefined && html`<p><a href="${older}">All events of this source</a></p>`}</section>
${pagesSection(context, source.id)}`;
  const description = `The observed versions of ${title}, and when it changed.`;
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

/** The page captures that the page of a source lists. */
const LISTED_PAGES = 50;

/** Lists the newest page captures of a source. */
function pagesSection(context: PageContext, source: string): Html | false {
  const pages = listPages(context.database, { source, size: context.size, limit: LISTED_PAGES });
  if (pages.length === 0) return false;
  return html`<section><h2>The page as a browser drew it</h2><ul class="items">${pages.map((page) =>
    pageItem(context, page),
  )}
</ul></section>`;
}
