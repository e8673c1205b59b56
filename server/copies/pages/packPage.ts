import type { Pack, PackFile, PackRecord } from '../../../shared/archive/pack.ts';
import { uriOfIdentifier } from '../../../shared/archive/relatedIdentifier.ts';
import { apaReference } from '../../archive/citations/apa.ts';
import { citedPack } from '../../archive/citations/readCitedWork.ts';
import { readPack } from '../../archive/packs/readPack.ts';
import { type Html, html } from '../../html.ts';
import {
  commentsUntil,
  type PackReferences,
  packReferencesUntil,
  packTitle,
  studyOfLedger,
} from '../../store/sqlite/node/pages/items.ts';
import {
  badge,
  commentSection,
  counted,
  digestText,
  facts,
  objectLink,
  outwardLink,
  plainText,
  sizeText,
  timeText,
} from './fragments.ts';
import { framed } from './frame.ts';
import { packData } from './jsonLd.ts';
import { type Page, type PageContext, textPage } from './pageContext.ts';
import { pagePath, VERIFY } from './pagePaths.ts';

const ROOT = '../';
const MAX_COMMENTS = 500;

/** The page of a pack, as a ledger of the context's size records it. */
export function packPage(context: PageContext, id: string): Page {
  const { database, size } = context;
  const references = packReferencesUntil(database, id, size);
  const pack = withReferences(readPack(database, id), references);
  const path = pagePath('packs', id);
  const work = citedPack(pack, { origin: '', publisher: context.node });
  const url = context.publicUrl === null ? undefined : context.publicUrl + path;
  const body = html`<h1>${pack.title}</h1>
<p>${badge(pack.outcome)} ${badge(pack.tag)}</p>
${pack.evidence.superseded_by && html`<p class="note">There is a newer version: <a href="${ROOT}${pagePath('packs', pack.evidence.superseded_by)}">${packTitle(database, pack.evidence.superseded_by)}</a></p>`}
${plainText(pack.summary)}
${packFacts(context, pack)}
${methodSection(pack)}${resultSection(pack)}
${fileSection(context, pack.files)}
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
    ['Newer version of', supersedes && packLink(database, supersedes)],
    ['Fingerprint', digestText(pack.digest)],
    [
      'Ledger entry',
      html`${pack.ledger_entry} · <a href="${ROOT}${VERIFY}#entry=${pack.ledger_entry}">Verify in the browser</a>`,
    ],
  ]);
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
