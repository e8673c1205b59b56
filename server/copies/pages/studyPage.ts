import { html } from '../../html.ts';
import {
  commentsUntil,
  countPacksOfStudy,
  packsOfStudyUntil,
  statusesUntil,
  studyOfLedger,
} from '../../store/sqlite/node/pages/items.ts';
import { badge, commentSection, counted, facts, packList, pager, plainText, timeText } from './fragments.ts';
import { crumb, framed } from './frame.ts';
import { studyData } from './jsonLd.ts';
import { type Page, type PageContext, textPage } from './pageContext.ts';
import { NEWEST, PART, pagePath, partPath, VERIFY } from './pagePaths.ts';

const ROOT = '../';
const MAX_COMMENTS = 500;

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
