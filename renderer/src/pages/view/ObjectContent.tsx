import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import type { ObjectView } from '../../../../shared/collection/view.ts';
import { ApiProblem, sendRequest } from '../../api/client.ts';
import { ticketed } from '../../api/ownerSession.ts';
import { useCall } from '../../api/useCall.ts';
import { JsonContent } from '../../components/content/JsonTree.tsx';
import { ObjectText } from '../../components/content/ObjectCard.tsx';
import { RowsTable, TextBox } from '../../components/content/RowsTable.tsx';
import { Facts } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { exactBytes, formatBytes, formatCount } from '../../format.ts';
import classes from './ViewPage.module.css';

const PdfPreview = lazy(() => import('../../components/content/PdfPreview.tsx'));

/** An archived object that is not a page, shown as what it is. */
export function ObjectContent({ view }: { view: ObjectView }) {
  const { kind, sha256, content, file_name, final_url } = view;
  switch (kind) {
    case 'image':
      return <ArchivedImage key={content} address={content} name={file_name} />;
    case 'pdf':
      return (
        <div className="stack gap-4">
          <Suspense fallback={<p className="muted">Loading…</p>}>
            <PdfPreview key={content} address={content} name={file_name} bytes={view.bytes} />
          </Suspense>
          <ObjectText sha256={sha256} />
        </div>
      );
    case 'feed':
    case 'xml':
      return <XmlContent key={content} address={content} base={final_url} sha256={sha256} />;
    case 'markdown':
    case 'csv':
    case 'json':
    case 'text':
      return <DerivedContent sha256={sha256} kind={kind} base={final_url} />;
    default:
      return <OtherObject view={view} />;
  }
}

function ArchivedImage({ address, name }: { address: string; name: string }) {
  const [isBroken, setIsBroken] = useState(false);
  if (isBroken) return <p className="muted">This browser cannot show the image. Download it to open it.</p>;
  return <img className="image" src={ticketed(address)} alt={name} onError={() => setIsBroken(true)} />;
}

function OtherObject({ view }: { view: ObjectView }) {
  return (
    <div className="stack gap-4">
      <p>There is no view for this type of file. Download it to open it.</p>
      <Facts
        facts={{
          'Content type': view.content_type ?? 'unknown',
          Size: exactBytes(view.bytes),
          'File name': view.file_name,
        }}
      />
    </div>
  );
}

const Markdown = lazy(async () => ({
  default: (await import('../../components/content/Markdown.tsx')).Markdown,
}));

/** How much text is shown. */
const SHOWN_CHARACTERS = 300_000;

interface DerivedContentProps {
  sha256: string;
  kind: 'markdown' | 'csv' | 'json' | 'text';
  /** The address that relative links refer to. */
  base: string;
}

/** An object that is shown by its text, which the node has decoded. */
function DerivedContent({ sha256, kind, base }: DerivedContentProps) {
  const { data, error, refetch } = useCall('readObjectText', { params: { sha256 } });
  if (error instanceof ApiProblem && error.document.code === 'not_derivable')
    return <p className="muted">{error.message}</p>;
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <output className="muted">Loading…</output>;
  if (kind === 'json' && !data.truncated)
    return (
      <div className="stack gap-4">
        <JsonContent text={data.text} label={LABEL} asText={(text) => <PlainText text={text} />} />
      </div>
    );
  if (kind !== 'csv' && kind !== 'markdown')
    return (
      <div className="stack gap-4">
        <PlainText text={data.text} isCut={data.truncated} />
      </div>
    );
  const isWhole = data.text.length <= SHOWN_CHARACTERS && !data.truncated;
  const text = data.text.slice(0, SHOWN_CHARACTERS);
  return (
    <div className="stack gap-4">
      {kind === 'csv' && data.kind === 'csv' ? (
        <Rows text={text} isWhole={isWhole} />
      ) : kind === 'csv' ? (
        <PlainText text={data.text} isCut={data.truncated} />
      ) : (
        <Suspense fallback={<p className="muted">Loading…</p>}>
          <div className={`${classes.sheet} sheet`}>
            <h2 className="visually-hidden">Content</h2>
            <Markdown text={text} base={base} />
          </div>
        </Suspense>
      )}
      {!isWhole && (kind === 'markdown' || data.kind === 'csv') && <Cut characters={text.length} />}
    </div>
  );
}

const LABEL = 'Content of the object';

/** The beginning of a text. `isCut`: the text itself is the beginning of a longer one. */
function PlainText({ text, isCut = false }: { text: string; isCut?: boolean }) {
  const shown = text.slice(0, SHOWN_CHARACTERS);
  return (
    <>
      <TextBox text={shown} label={LABEL} isBounded />
      {(isCut || shown.length < text.length) && <Cut characters={shown.length} />}
    </>
  );
}

function Cut({ characters }: { characters: number }) {
  return (
    <p className="muted small">
      The first {formatCount(characters)} characters are shown. Download the object to see all of it.
    </p>
  );
}

/** The node writes a row per line, with cells separated by tabs. */
function Rows({ text, isWhole }: { text: string; isWhole: boolean }) {
  const rows = useMemo(() => text.split('\n').map((line) => line.split('\t')), [text]);
  return <RowsTable rows={rows} isWhole={isWhole} />;
}

const MAX_XML_BYTES = 8_388_608;
const SHOWN_ENTRIES = 200;

interface XmlContentProps {
  /** The path of the bytes. */
  address: string;
  /** The address that relative links refer to. */
  base: string;
  sha256: string;
}

/** A feed as a list of its entries; other XML as it is written. */
function XmlContent({ address, base, sha256 }: XmlContentProps) {
  const { data, error, refetch } = useQuery({
    queryKey: ['xml', address],
    queryFn: async ({ signal }) => {
      const response = await sendRequest(address, { signal });
      if (!response.ok) throw new Error(`The object could not be loaded (status ${response.status}).`);
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (bytes.length > MAX_XML_BYTES) return null;
      const xml = decodeXml(bytes, response.headers.get('Content-Type') ?? '');
      return { xml, feed: parseFeed(xml, base) };
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <output className="muted">Loading…</output>;
  if (data === null) {
    return (
      <div className="stack gap-4">
        <p className="muted">
          The object is larger than {formatBytes(MAX_XML_BYTES)}. Only its text is shown.
        </p>
        <ObjectText sha256={sha256} />
      </div>
    );
  }
  if (data.feed) return <Entries feed={data.feed} />;
  return <TextBox text={data.xml.slice(0, SHOWN_CHARACTERS)} label="Content of the object" isBounded />;
}

/** Decodes by the charset of the content type, else by the XML declaration, else as UTF-8. */
function decodeXml(bytes: Uint8Array, contentType: string): string {
  const declaration = new TextDecoder('latin1').decode(bytes.subarray(0, 200));
  const label =
    /charset\s*=\s*["']?([^\s"';]+)/i.exec(contentType)?.[1] ??
    /^[^<]*<\?xml[^>]*encoding\s*=\s*["']([^"']+)/i.exec(declaration)?.[1] ??
    'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return new TextDecoder().decode(bytes);
    throw error;
  }
}

function Entries({ feed: { title, entries } }: { feed: Feed }) {
  const shown = entries.slice(0, SHOWN_ENTRIES);
  return (
    <section className={`${classes.sheet} sheet`} aria-label="Entries of the feed">
      {title && <h2>{title}</h2>}
      {entries.length === 0 && <p className="muted">The feed has no entries.</p>}
      <ol className="stack gap-4 plain">
        {shown.map((entry, index) => (
          // Entries may repeat.
          <li key={index}>
            <h3>{entry.title || 'Without a title'}</h3>
            <p className="small muted">
              {[entry.date, entry.author].filter(Boolean).join(', ')}{' '}
              {entry.link && <EntryLink link={entry.link} />}
            </p>
            {entry.summary && <p>{entry.summary}</p>}
          </li>
        ))}
      </ol>
      {shown.length < entries.length && (
        <p className="small muted">
          The first {shown.length} of {entries.length} entries are shown.
        </p>
      )}
    </section>
  );
}

function EntryLink({ link }: { link: string }) {
  return (
    <a href={link} target="_blank" rel="noopener noreferrer nofollow" className="wrap-anywhere">
      {link}
    </a>
  );
}

interface FeedEntry {
  title: string;
  /** As written in the feed. */
  date: string;
  author: string;
  /** An http or https address, or empty. */
  link: string;
  /** Plain text. */
  summary: string;
}

interface Feed {
  title: string;
  entries: FeedEntry[];
}

const MAX_SUMMARY_CHARACTERS = 600;

/** Parses an RSS 0.9 to 2.0 or Atom feed. Returns undefined for other XML. Nothing is loaded. */
function parseFeed(xml: string, base: string): Feed | undefined {
  const document = new DOMParser().parseFromString(xml, 'application/xml');
  const root = document.documentElement;
  if (!['rss', 'feed', 'RDF'].includes(root.localName)) return undefined;
  const channel = childrenOf(root, 'channel')[0] ?? root;
  const items = [channel, root].flatMap((parent) => [
    ...childrenOf(parent, 'item'),
    ...childrenOf(parent, 'entry'),
  ]);
  return {
    title: textOf(channel, 'title'),
    entries: [...new Set(items)].map((item) => entryOf(item, base)),
  };
}

function entryOf(item: Element, base: string): FeedEntry {
  const author = childrenOf(item, 'author')[0];
  return {
    title: plainText(textOf(item, 'title')),
    date: textOf(item, 'pubDate', 'published', 'updated', 'date'),
    author: (author && textOf(author, 'name')) || textOf(item, 'author', 'creator'),
    link: linkOf(item, base),
    summary: plainText(textOf(item, 'description', 'summary', 'content', 'encoded')).slice(
      0,
      MAX_SUMMARY_CHARACTERS,
    ),
  };
}

function linkOf(item: Element, base: string): string {
  const links = childrenOf(item, 'link');
  const link = links.find((one) => (one.getAttribute('rel') ?? 'alternate') === 'alternate') ?? links[0];
  const url = link && URL.parse((link.getAttribute('href') ?? link.textContent ?? '').trim(), base);
  return url && /^https?:$/.test(url.protocol) ? url.href : '';
}

function childrenOf(parent: Element, name: string): Element[] {
  return [...parent.children].filter((child) => child.localName === name);
}

/** Returns the text of the first child with one of these names. */
function textOf(parent: Element, ...names: string[]): string {
  for (const name of names) {
    const text = childrenOf(parent, name)[0]?.textContent?.trim();
    if (text) return text;
  }
  return '';
}

/** Removes markup and decodes character references. */
function plainText(html: string): string {
  // The parser runs and loads nothing, but it reports event handlers, so it gets no tags.
  const { body } = new DOMParser().parseFromString(html.replace(/<[^>]*>/g, ' '), 'text/html');
  return (body.textContent ?? '').replace(/\s+/g, ' ').trim();
}
