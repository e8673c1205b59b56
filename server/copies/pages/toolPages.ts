import { html } from '../../html.ts';
import { framed } from './frame.ts';
import { LISTS } from './listPages.ts';
import { type Page, type PageContext, textPage } from './pageContext.ts';
import { KINDS, listPath, SEARCH, TIMELINE, VERIFY } from './pagePaths.ts';

/** The page that searches the static index. Without a script it links to the lists. */
export function searchPage(context: PageContext): Page {
  const body = html`<h1>Search</h1>
<form class="search" role="search" id="search" action="${SEARCH}" method="get"><label for="q">Words of a title, a name, an address, or a digest</label><input id="q" name="q" type="search" autocomplete="off"><button>Search</button></form>
<p id="said" role="status" class="muted"></p>
<ol id="found" class="items"></ol>
<noscript><p class="note">Searching needs scripts. Without them, read the lists.</p></noscript>
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
<noscript><p class="note">Verifying in the browser needs scripts. The commands below do the same.</p></noscript>
<p>The file is hashed on your machine. Nothing is uploaded.</p>
<div id="drop" class="drop"><label for="files">Choose files, or drop them here</label><input id="files" type="file" multiple></div>
<ul id="hashed" class="items" aria-live="polite"></ul></section>
<section id="record" aria-labelledby="record-name" hidden><h2 id="record-name">Ledger entry <span id="seq"></span></h2>
<p id="subject"></p>
<ul id="claims" class="items" aria-live="polite"></ul>
<p class="muted">The key comes from this copy. Compare it with one that you have from the archive itself: <code id="key" class="wrap" data-key="${context.key}"></code></p></section>
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
      scripts: ['sha256.js', 'values.js', 'verify.js'],
    }),
  );
}
