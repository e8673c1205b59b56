import { html } from '../../html.ts';
import { eventsOf, lastEventOfLedger, packsOfLedger } from '../../store/sqlite/node/copyPages.ts';
import { entryAt } from '../../store/sqlite/node/ledger.ts';
import { counted, eventTable, facts, packList, timeText } from './fragments.ts';
import { framed, type Page, type PageContext, textPage } from './frame.ts';
import { catalogData } from './jsonLd.ts';
import { LISTS } from './listPages.ts';
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
